"""Tokens by experts of any layer: the marks on the canvas equal the routing table."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import MOE_TABLES
from tests.builders import N_EXPERTS

pytestmark = pytest.mark.browser

LEFT, TOP, LINE = 96, 8, 16  # of the grid: where the first expert and token lie, height of a token's line
GENERATED = MOE_TABLES["passes"].loc[MOE_TABLES["passes"]["kind"] == "generate", "pass_id"].tolist()
MARKS = """([left, top, line, n, tokens]) => {
  const canvas = document.querySelector('canvas[data-tg=grid]'), ratio = devicePixelRatio;
  const pen = canvas.getContext('2d'), wide = (canvas.width / ratio - left - 2) / n, found = [];
  const at = (x, y) => pen.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data.join();
  for (let t = 0; t < tokens; t++) {
    const row = [...Array(n).keys()].map(e => at(left + (e + 0.5) * wide, top + (t + 0.5) * line - 1));
    const often = row.filter(c => row.filter(d => d === c).length > n / 2)[0];
    found.push(row.map((c, e) => c === often ? -1 : e).filter(e => e >= 0));
  }
  return found;
}"""


def chosen(layer: int) -> list[list[int]]:
    """The experts of each generated token in a layer, the strongest first."""
    rows = MOE_TABLES["routing"][MOE_TABLES["routing"]["layer"] == layer].sort_values(["pass_id", "row", "rank"])
    return [list(rows[rows["pass_id"] == p]["expert"]) for p in GENERATED]


def marks(page: Any) -> list[list[int]]:
    return list(page.evaluate(MARKS, [LEFT, TOP, LINE, N_EXPERTS, len(GENERATED)]))


def test_every_layer_can_be_chosen_and_shows_what_its_tokens_chose(page: Any, moe_report: Path) -> None:
    page.goto((moe_report / "experts/index.html").as_uri())
    for layer in range(3):
        page.wait_for_selector(f"canvas[data-layer='{layer}']")
        assert marks(page) == [sorted(one) for one in chosen(layer)]
        page.keyboard.press("n")
    assert page.locator("[data-tg=next]").is_disabled() and page.url.endswith("#layer=2")
    page.select_option("[data-tg=choose]", "1")
    page.wait_for_selector("canvas[data-layer='1']")
    assert marks(page) == [sorted(one) for one in chosen(1)]


def test_a_token_is_shown_with_its_experts(page: Any, moe_report: Path) -> None:
    page.goto((moe_report / "experts/index.html").as_uri() + "#layer=1")
    page.wait_for_selector("canvas[data-layer='1']")
    page.focus("canvas[data-tg=grid]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expert = chosen(1)[0][0]
    n = sum(expert in one for one in chosen(1))
    said = page.locator("[data-tg=about]").inner_text()
    given = f"token 2 (pass {GENERATED[1]})"  # what this pass gives, as on all pages
    assert said.startswith(f"{given} chose {', '.join(map(str, chosen(1)[1]))}, the strongest first.")
    assert said.endswith(f"Expert {expert} is chosen by {n} of {len(GENERATED)} tokens in this layer.")
    box = page.locator("canvas[data-tg=grid]").bounding_box()
    page.mouse.move(box["x"] + LEFT + 5, box["y"] + TOP + LINE * 3.5)
    assert page.locator("[data-tg=about]").inner_text().startswith(f"token 4 (pass {GENERATED[3]}) chose ")


def test_an_unknown_layer_says_so(page: Any, moe_report: Path) -> None:
    page.goto((moe_report / "experts/index.html").as_uri() + "#layer=77")
    page.wait_for_selector("canvas[data-layer='0']")
    assert "No token chose experts in layer 77" in page.locator("[data-tg=status]").inner_text()


def test_without_scripts_figures_and_tables_remain(tab: Any, moe_report: Path) -> None:
    page = tab(moe_report / "experts/index.html", java_script_enabled=False)
    for key in ("", "-load"):
        assert page.locator(f"#fig-experts{key} svg:visible").count() == 1, key
    assert not page.locator("canvas").is_visible()
    page.goto((moe_report / "appendix/index.html").as_uri())
    for fold in page.locator("details.tg-unfold > summary").all():
        fold.click()
    for key in ("tokens", "cover", "sticky", "weights"):
        assert page.locator(f"#fig-experts-{key} svg:visible").count() == 1, key
