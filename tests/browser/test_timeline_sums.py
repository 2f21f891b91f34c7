"""The sums of the timeline in Chromium: what is visible or marked, against the stored spans counted one by one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_timeline import CASE, LAST, ns, opened, point, shown
from tests.report_files import written_report
from tracegen.charts import theme

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_report(tmp_path_factory.mktemp("timeline"), CASE)


def sums(page: Any) -> dict[str, float]:
    """What the legend says, ns."""
    rows = page.eval_on_selector_all(
        "[data-tg=legend] li",
        "items => items.map(item => [item.childNodes[1].textContent, item.lastChild.textContent])",
    )
    return {label: ns(text.strip().rsplit(", ", 1)[0]) for label, text in rows}


def counted(pass_id: int, begin: float, end: float) -> dict[str, float]:
    """The same from the tables, span by span."""
    passes, nodes = CASE["passes"].set_index("pass_id"), CASE["graph_nodes"]
    mine = nodes[nodes["graph"] == passes.loc[pass_id, "graph"]].set_index("node")["component"]
    total: dict[str, float] = {}
    for row in CASE["spans"][CASE["spans"]["pass_id"] == pass_id].to_dict("records"):
        at = row["begin_ns"] - passes.loc[pass_id, "begin_ns"]
        group = theme.group(mine[row["node"]])
        for kind, length in (
            (group, row["work_ns"]),
            ("waiting inside", row["barrier_ns"]),
            ("waiting after", row["wait_ns"]),
        ):
            total[kind] = total.get(kind, 0) + max(0, min(at + length, end) - max(at, begin))
            at += length
    return total


def agrees(said: dict[str, float], true: dict[str, float]) -> None:
    for kind, value in true.items():
        assert said.get(kind, 0.0) == pytest.approx(value, rel=0.006, abs=1), kind


def test_the_legend_adds_up_what_is_visible(page: Any, root: Path) -> None:
    opened(page, root, f"#pass={LAST}")
    agrees(sums(page), counted(LAST, *shown(page)))
    for _ in range(2):
        page.click("[data-tg=closer]")
    page.wait_for_timeout(100)
    begin, end = shown(page)
    assert end - begin < 1e12
    agrees(sums(page), counted(LAST, begin, end))
    assert "of what is visible" in page.locator("[data-tg=sums]").inner_text()


def test_a_marked_area_is_added_up_stays_and_stands_in_the_address(page: Any, root: Path) -> None:
    opened(page, root, f"#pass={LAST}")
    _, whole = shown(page)
    x, y = point(page, whole * 0.25, 0)
    page.keyboard.down("Shift")
    page.mouse.move(x, y)
    page.mouse.down()
    to = point(page, whole * 0.5, 0)[0]
    page.mouse.move(to, y, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    area = re.search(r"area=(\d+),(\d+)", page.url)
    assert area
    begin, end = map(int, area.groups())
    assert begin == pytest.approx(whole * 0.25, rel=0.02) and end == pytest.approx(whole * 0.5, rel=0.02)
    page.wait_for_timeout(100)
    agrees(sums(page), counted(LAST, begin, end))
    page.click("[data-tg=closer]")
    page.wait_for_timeout(100)
    agrees(sums(page), counted(LAST, begin, end))
    opened(page, root, f"#pass={LAST}&area={begin},{end}")
    agrees(sums(page), counted(LAST, begin, end))
    page.click("[data-tg=no-area]")
    page.wait_for_timeout(100)
    assert "area" not in page.url
    agrees(sums(page), counted(LAST, *shown(page)))


@pytest.mark.parametrize("junk", ["area=5", "area=9,3", "area=0,99999999999999", "area=a,b", "area=-1,5"])
def test_an_area_that_cannot_be_is_none(page: Any, root: Path, junk: str) -> None:
    opened(page, root, f"#pass={LAST}&{junk}")
    assert page.locator("[data-tg=no-area]").is_hidden()


def test_the_strip_says_what_a_pass_did(page: Any, root: Path) -> None:
    opened(page, root, f"#pass={LAST}")
    passes, spans = CASE["passes"].set_index("pass_id"), CASE["spans"]
    mine = spans[spans["pass_id"] == LAST]
    time = (passes.loc[LAST, "end_ns"] - passes.loc[LAST, "begin_ns"]) * mine["thread"].nunique()
    said = re.search(r"waiting after (\d+)\u202f%", page.locator("[data-tg=pass]").inner_text())
    share = 100 * mine["wait_ns"].sum() / time
    assert (int(said[1]) if said else 0) == pytest.approx(share, abs=1.01 if said else 5)
