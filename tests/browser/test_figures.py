"""Figures tell the row of data of the mark that is pointed at, and stay what they are."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.browser.conftest import MOE_RUN, MOE_TABLES, drawn
from tests.charts.expanded import expanded
from tests.report_files import write_report
from tracegen.analysis.accesses import ranges
from tracegen.analysis.passes import labels
from tracegen.report.document.page import Report
from tracegen.report.pages.render import render_report
from tracegen.site import vega

pytestmark = pytest.mark.browser

TOOLTIP = ".tg-told:not([hidden])"
MARKS = "[...document.querySelectorAll('[data-key={}] .tg-targets *')].filter(e => e.__data__ && e.__data__.tooltip)"
ON_TOP = """e => {
  const at = e.getBoundingClientRect(), y = at.top + at.height / 2;
  return y > 0 && y < innerHeight && document.elementFromPoint(at.left + at.width / 2, y) === e;
}"""
SIZES = """drawing => [...drawing.querySelectorAll('svg')].map(svg => svg.getBoundingClientRect())
  .filter(at => at.width).map(at => {
  return [at.left, at.top, at.width, at.height].map(n => Math.round(n)).join();
})"""

# The classes of the layouts that are shown, for each figure that has several.
LAYOUTS = """() => [...document.querySelectorAll('.tg-layouts')].map(drawing => [...drawing.children]
  .filter(e => e.tagName === 'svg' && getComputedStyle(e).display !== 'none').map(e => e.getAttribute('class')))"""
# The sizes of type of the figures that are shown, as it appears on the screen.
TYPE = """() => [...document.querySelectorAll('.tg-layouts > svg')].filter(e => getComputedStyle(e).display !== 'none')
  .flatMap(svg => [...svg.querySelectorAll('text')].filter(e => e.textContent.trim())
    .map(e => parseFloat(getComputedStyle(e).fontSize) * svg.getBoundingClientRect().width
      / svg.viewBox.baseVal.width))"""

# Pairs of words of one drawing that lie on each other.
OVERLAPPING = """() => [...document.querySelectorAll('.tg-drawing > svg:not(.tg-graph)')].flatMap(svg => {
  const words = [...svg.querySelectorAll('text')].filter(e => e.textContent.trim())
    .map(e => [e.textContent, e.getBoundingClientRect()]);
  return words.flatMap(([one, a], i) => words.slice(i + 1).filter(([, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3
  ).map(([other]) => [svg.closest('figure').id, one, other].join(': ')));
})"""


@pytest.fixture(scope="module")
def report() -> Report:
    return render_report(MOE_RUN, MOE_TABLES, citable=None)


@pytest.fixture(scope="module")
def root(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    engine = vega.script(tmp_path_factory.mktemp("cache"))
    return write_report(tmp_path_factory.mktemp("figures"), report, engine)


STILL = {"timeline": "#fig-timeline"}  # a page -> what leads to its drawing, which stands aside for an explorer


def unfold(page: Any) -> None:
    """Open what the appendix has folded."""
    page.evaluate("document.querySelectorAll('details.tg-unfold').forEach(part => { part.open = true; })")


def shown(page: Any, key: str) -> Any:
    """The drawing, once it tells."""
    unfold(page)
    drawing = page.locator(f"[data-key={key}]")
    drawing.scroll_into_view_if_needed()
    drawing.dispatch_event("pointerenter")  # as a pointer does that comes to it; only then is Vega asked for
    page.wait_for_selector(f"[data-key={key}][data-told]")
    return drawing


def tooltip(page: Any) -> dict[str, str]:
    page.wait_for_selector(TOOLTIP)
    names, values = page.locator(f"{TOOLTIP} dt").all_text_contents(), page.locator(f"{TOOLTIP} dd").all_text_contents()
    return dict(zip(names, values, strict=True))


def table(report: Report, key: str) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(report.files[f"data/{key}.csv"]))


def test_every_figure_of_every_page_tells_and_lies_where_it_is_drawn(page: Any, root: Path, report: Report) -> None:
    seen = set()
    for one in report.pages:
        page.goto((root / one.path).as_uri() + STILL.get(one.key, ""))
        page.eval_on_selector_all("details.tg-more", "all => all.forEach(one => { one.open = true; })")
        for key in page.eval_on_selector_all("[data-targets]", "all => all.map(one => one.dataset.key)"):
            drawing = shown(page, key)
            assert int(drawing.get_attribute("data-told")) > 0, key
            assert len(set(drawing.evaluate(SIZES))) == 1, key
            seen.add(key)
    assert {f"figures/{key}.vl.json" for key in seen} == {name for name in report.files if name.endswith(".vl.json")}


@pytest.mark.parametrize(("viewport", "width"), [(360, "360"), (760, "690"), (1280, "1190")])
def test_a_figure_is_shown_in_the_layout_for_its_width_and_tells_there(
    page: Any, root: Path, report: Report, viewport: int, width: str
) -> None:
    page.set_viewport_size({"width": viewport, "height": 900})
    for path, still in (("index.html", ""), ("experts/index.html", ""), ("timeline/index.html", STILL["timeline"])):
        page.goto("about:blank")
        page.goto((root / path).as_uri() + still)
        layouts = page.evaluate(LAYOUTS)
        assert len(layouts) == page.locator(".tg-layouts").count()
        # on a wide page only maps of file and time take its whole width; others have their caption beside them
        assert {name for names in layouts for name in names} <= {f"tg-at-{width}", "tg-at-690"}, path
        assert (all(len(names) == 1 for names in layouts) and [f"tg-at-{width}"] in layouts) or width == "1190", path
        for size in page.evaluate(TYPE):
            assert 11.2 <= size <= 17, (path, viewport, size)
        wide = page.evaluate("[...document.querySelectorAll('.tg-layouts')].map(e => e.scrollWidth - e.clientWidth)")
        assert wide and max(wide) <= 1, path
    for path, key in (("operations", "components"), ("appendix", "tokens")):
        page.goto((root / path / "index.html").as_uri())
        drawing = shown(page, key)
        assert int(drawing.get_attribute("data-told")) > 0
        assert len(set(drawing.evaluate(SIZES))) == 1


@pytest.mark.parametrize("viewport", [360, 1280])
def test_a_wide_table_says_that_it_scrolls_and_a_figure_never_does(page: Any, root: Path, viewport: int) -> None:
    page.set_viewport_size({"width": viewport, "height": 900})
    page.goto((root / "appendix/index.html").as_uri())
    unfold(page)
    drawn(page)
    wide = "[...document.querySelectorAll('.tg-title + {}')].map(e => [e.scrollWidth > e.clientWidth + 1, {}])"
    word = "getComputedStyle(e.previousElementSibling, '::after').content.includes('scroll sideways')"
    tables = page.evaluate(wide.format(".tg-scroll", word))
    assert tables and all(overflows == says for overflows, says in tables)
    assert any(overflows for overflows, _ in tables) == (viewport == 360)
    page.goto((root / "operations/index.html").as_uri())
    drawn(page)
    figures = page.evaluate(wide.format(".tg-drawing", word))
    assert figures and not any(overflows or says for overflows, says in figures)
    links = "[...document.querySelectorAll('.tg-links')].map(e => e.getBoundingClientRect().right)"
    assert max(page.evaluate(links)) <= viewport


def test_tooltips_follow_a_page_that_becomes_narrow(page: Any, root: Path) -> None:
    page.goto((root / "operations/index.html").as_uri())
    shown(page, "components")
    page.set_viewport_size({"width": 360, "height": 900})
    page.wait_for_selector("[data-key=components] .tg-targets.tg-at-360")
    drawing = shown(page, "components")
    page.evaluate_handle(f"{MARKS.format('components')}[0]").as_element().hover()
    assert any("per token" in key and float(value) > 0 for key, value in tooltip(page).items())
    assert len(set(drawing.evaluate(SIZES))) == 1 and page.locator("[data-key=components] .tg-targets").count() == 1


def test_a_bar_tells_the_row_that_it_stands_for(page: Any, root: Path, report: Report) -> None:
    page.goto((root / "appendix/index.html").as_uri())
    shown(page, "layers")
    rows = table(report, "layers")
    rows = rows[rows["ns_per_token"] > 0]
    scale = 1e6 if rows.groupby("layer", dropna=False)["ns_per_token"].sum().max() >= 1e6 else 1e3
    found = page.evaluate(f"{MARKS.format('layers')}.length")
    seen = {}
    for i in range(found):
        mark = page.evaluate_handle(f"{MARKS.format('layers')}[{i}]").as_element()
        if mark.bounding_box()["width"] < 2:
            continue
        mark.hover()
        words = tooltip(page)
        (value,) = [float(words[name].replace(",", "")) for name in words if name.endswith("per token")]
        seen[words["layer"], words["group"]] = value
    assert len(seen) > 8
    for row in rows.itertuples():
        key = ("no layer" if pd.isna(row.layer) else f"layer {int(row.layer)}", str(row.group))
        if key in seen:
            assert seen.pop(key) == pytest.approx(row.ns_per_token / scale, rel=1e-3)
    assert not seen


def test_a_cell_of_the_heatmap_tells_all_bytes_of_its_place(page: Any, root: Path) -> None:
    """Against a count of the single bytes between the two ends that the tooltip names."""
    page.goto((root / "appendix/index.html").as_uri())
    shown(page, "heatmap")
    files = MOE_TABLES["files"].set_index("file")["axis_begin"]
    names = labels(MOE_TABLES)
    used = ranges(MOE_TABLES)
    cells = f"{MARKS.format('heatmap')}.filter(e => e.__data__.datum.stretch).filter({ON_TOP})"
    cells += ".filter(e => e.getBoundingClientRect().width > 3)"
    for i in (0, 7, 20):
        page.evaluate_handle(f"{cells}[{i}]").as_element().hover()
        words = tooltip(page)
        begin, end = (int(number.replace(",", "")) for number in words["bytes of the file"].split(" to "))
        painted = np.zeros(end - begin, dtype=bool)
        of_pass = used[used["pass_id"].map(names) == words["pass"]]
        for row in of_pass.itertuples():
            low, high = row.begin + files[row.file] - begin, row.end + files[row.file] - begin
            painted[max(low, 0) : max(high, 0)] = True
        count, share = int(painted.sum()), painted.mean()
        assert words["bytes used"] == f"{count:,} of {end - begin:,} bytes ({share:.1%})"
        tensors = MOE_TABLES["tensors"].set_index("name")
        tensor = tensors.loc[words["tensor"].split(",")[0].split(" to ")[0]]
        assert tensor["offset"] + files[tensor["file"]] < end
        assert words["memory"] in ("mapped", "copied") and words["type"].split(",")[0] == str(tensor["dtype"])


def test_a_click_on_a_row_of_the_picture_chooses_its_token_on_every_page(page: Any, root: Path) -> None:
    page.goto((root / "index.html").as_uri())
    shown(page, "file-tokens")
    names = labels(MOE_TABLES)
    (token,) = [number for number, name in names.items() if name == "token 2"]
    marks = f"{MARKS.format('file-tokens')}.filter(e => e.__data__.datum.pass_id === {token}).filter({ON_TOP})"
    page.evaluate_handle(f"{marks}[0]").as_element().click()
    assert f"#pass={token}" in page.url and f"token 2 (pass {token})" in page.locator("[data-tg=chosen]").inner_text()
    page.goto((root / "operations/index.html").as_uri() + f"#pass={token}&at=top")
    page.wait_for_function(f"document.querySelector('[data-tg=label]').textContent === 'token 2 (pass {token})'")


def test_vega_is_asked_for_only_when_a_reader_comes_to_a_figure(page: Any, root: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((root / "index.html").as_uri())
    page.locator("[data-key=file-tokens]").scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    assert not [url for url in asked if "vega" in url or "figures/" in url]
    assert sum((root / url.partition(str(root))[2].lstrip("/")).stat().st_size for url in asked) <= 400_000
    page.locator("[data-key=file-tokens]").hover()
    page.wait_for_selector("[data-key=file-tokens][data-told]")
    assert len([url for url in asked if "vega" in url]) == 1


def test_the_row_of_the_chosen_token_is_framed_in_the_picture(page: Any, root: Path) -> None:
    names = labels(MOE_TABLES)
    for token in (1, 3):
        (pass_id,) = [number for number, name in names.items() if name == f"token {token}"]
        page.goto("about:blank")
        page.goto((root / "index.html").as_uri() + f"#pass={pass_id}")
        page.wait_for_selector("[data-key=file-tokens] .tg-chosen-row:visible")
        frame = page.locator("[data-key=file-tokens] .tg-chosen-row:visible").bounding_box()
        heads = page.locator("[data-key=file-tokens] svg:visible text")
        inside = [
            head.inner_html()
            for head in heads.all()
            if (at := head.bounding_box()) and frame["y"] < at["y"] + at["height"] / 2 < frame["y"] + frame["height"]
        ]
        assert [word for word in inside if word.startswith("token ")] == [f"token {token}"]
    page.click("[data-tg=clear-all]")
    page.wait_for_selector(".tg-chosen-row", state="detached")
    page.goto("about:blank")
    page.goto((root / "index.html").as_uri())
    page.locator("[data-key=file-tokens] svg:visible text", has_text="token 2").first.click()  # at once, on its name
    page.wait_for_selector(".tg-chosen-row:visible")
    (chosen,) = [number for number, name in names.items() if name == "token 2"]
    assert f"pass={chosen}" in page.url


def test_figures_that_cannot_show_the_chosen_token_say_where_it_is(page: Any, root: Path) -> None:
    (pass_id,) = [number for number, name in labels(MOE_TABLES).items() if name == "token 2"]
    for path in ("index.html", "operations/index.html", "timeline/index.html", "experts/index.html"):
        page.goto((root / path).as_uri() + f"#pass={pass_id}")
        assert page.locator(".tg-of-all").count() == 0, path
    page.goto((root / "appendix/index.html").as_uri())
    unfold(page)
    n = page.locator("figure.tg-figure > [data-targets]").count()
    assert n > 5 and page.locator(".tg-of-all").count() == 0
    page.evaluate(f"location.hash = 'pass={pass_id}&layer=1'")
    page.wait_for_function(f"document.querySelectorAll('.tg-of-all').length === {n}")
    line = page.locator(".tg-of-all").first
    assert line.inner_text() == f"all tokens; for token 2 (pass {pass_id}) see the operations"
    page.emulate_media(media="print")
    assert not line.is_visible()
    page.emulate_media(media="screen")
    line.locator("a").click()
    page.wait_for_function(f"document.querySelector('[data-tg=label]')?.textContent === 'token 2 (pass {pass_id})'")
    assert f"pass={pass_id}&layer=1" in page.url
    page.goto((root / "appendix/index.html").as_uri() + "#pass=99999")
    assert page.locator(".tg-of-all").count() == 0, "this run has no such pass"


def test_a_band_that_is_widened_to_be_seen_tells_its_own_end(page: Any, root: Path, report: Report) -> None:
    page.goto((root / "appendix/index.html").as_uri())
    shown(page, "heatmap")
    spec = expanded(report.files["figures/heatmap.vl.json"])
    bands = [row for rows in spec["datasets"].values() for row in rows if "true_end" in row]
    assert any(row["end"] > row["true_end"] for row in bands)
    marks = f"{MARKS.format('heatmap')}.filter(e => e.__data__.datum.true_end)"
    for i in range(3):
        row = page.evaluate(f"{marks}[{i}].__data__.datum")
        words = page.evaluate(f"{marks}[{i}].__data__.tooltip")
        (end,) = [words[name] for name in words if name.endswith(", to")]
        assert float(end) == pytest.approx(row["true_end"], rel=1e-3)


def test_keys_go_from_mark_to_mark_and_escape_ends_it(page: Any, root: Path) -> None:
    page.goto((root / "operations/index.html").as_uri())
    drawing = shown(page, "components")
    assert "full stop and comma" in drawing.get_attribute("aria-label")
    drawing.focus()
    page.keyboard.press(".")
    first = tooltip(page)
    page.keyboard.press(".")
    name = f"document.querySelector('{TOOLTIP} dd').textContent"
    page.wait_for_function(f"{name} !== '{first['name']}'")
    page.keyboard.press(",")
    page.wait_for_function(f"{name} === '{first['name']}'")
    page.keyboard.press("Escape")
    assert page.locator(TOOLTIP).count() == 0
    page.evaluate_handle(f"{MARKS.format('components')}[0]").as_element().hover()
    assert tooltip(page)
    box = drawing.bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + box["height"] - 4)
    assert page.locator(TOOLTIP).count() == 0, "a tooltip ends where the mark ends"


def test_without_a_site_nothing_is_asked_for_and_the_drawing_is_the_same(
    page: Any, root: Path, moe_report: Path
) -> None:
    page.goto((root / "appendix/index.html").as_uri())
    drawing = shown(page, "tokens")
    inside = "drawing => drawing.querySelector('svg').outerHTML"
    lively = drawing.evaluate(inside)
    assert drawing.evaluate("d => getComputedStyle(d.querySelector('.tg-targets')).opacity") == "0"
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((moe_report / "appendix/index.html").as_uri())
    unfold(page)
    page.locator("[data-key=tokens]").scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    assert page.locator("[data-key=tokens]").evaluate(inside) == lively
    assert not [url for url in asked if "figures/" in url or "vega" in url]


@pytest.mark.parametrize("of", ["moe_report", "long_report"])
def test_no_word_of_a_figure_lies_on_another(page: Any, request: pytest.FixtureRequest, of: str) -> None:
    root: Path = request.getfixturevalue(of)
    seen = 0
    for path in sorted(root.rglob("index.html")):
        page.goto(path.as_uri())
        seen += page.locator(".tg-drawing > svg:not(.tg-graph) text").count()
        assert page.evaluate(OVERLAPPING) == []
    assert seen > 100
