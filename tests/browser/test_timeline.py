"""The interactive timeline: what it tells equals the spans table; pointer, keys, touch, address, chunks and sums."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import drawn
from tests.builders import a_moe_run, scaled_case, with_facts, with_faults
from tests.report.rendered import undrawn
from tests.report_files import write_report
from tracegen.charts import theme

pytestmark = pytest.mark.browser

CASE = scaled_case(5, 2, moe=True, threads=3)
LEFT, RIGHT, PITCH = 72, 12, 42  # of the picture: where the first moment lies, what is free at the right, a lane
LAST = int(CASE["passes"]["pass_id"].max())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The picture of its script is looked at, not its figures."""
    return write_report(tmp_path_factory.mktemp("timeline"), undrawn(CASE, a_moe_run()))


def opened(page: Any, root: Path, address: str = "") -> Any:
    page.goto((root / "timeline/index.html").as_uri() + address)
    page.wait_for_selector("canvas[data-to]")
    page.locator("canvas[data-tg=lanes]").scroll_into_view_if_needed()
    return page


def fields(page: Any) -> dict[str, str]:
    return dict(
        page.evaluate(
            "[...document.querySelectorAll('[data-tg=about] div')].map(d =>"
            " [d.children[0].textContent, d.children[1].textContent])"
        )
    )


def shown(page: Any) -> tuple[int, int]:
    """What the lanes show once the input has been heard and drawn."""
    canvas = page.locator("canvas[data-tg=lanes]")
    page.wait_for_timeout(60)
    drawn(page)
    return int(canvas.get_attribute("data-from")), int(canvas.get_attribute("data-to"))


def span(pass_id: int, node: int, thread: int = 0) -> dict[str, Any]:
    spans = CASE["spans"]
    one = spans[(spans["pass_id"] == pass_id) & (spans["node"] == node) & (spans["thread"] == thread)].iloc[0]
    begin = int(CASE["passes"].set_index("pass_id")["begin_ns"][pass_id])
    graph = int(CASE["passes"].set_index("pass_id")["graph"][pass_id])
    nodes = CASE["graph_nodes"]
    about = nodes[(nodes["graph"] == graph) & (nodes["node"] == node)].iloc[0]
    return {
        "begin": int(one["begin_ns"]) - begin,
        "work": int(one["work_ns"]),
        "barrier": int(one["barrier_ns"]),
        "wait": int(one["wait_ns"]),
        "about": about,
    }


def point(page: Any, time: float, lane: int) -> tuple[float, float]:
    """Where a moment of a thread lies on the screen."""
    box = page.locator("canvas[data-tg=lanes]").bounding_box()
    begin, end = shown(page)
    x = box["x"] + LEFT + (time - begin) / (end - begin) * (box["width"] - LEFT - RIGHT)
    return x, box["y"] + PITCH * lane + 28


def legend(page: Any) -> list[str]:
    """The labels of the legend, without their sums."""
    labels = "items => items.map(item => item.childNodes[1].textContent)"
    return [str(label) for label in page.eval_on_selector_all("[data-tg=legend] li", labels)]


def ns(text: str) -> float:
    number, unit = text.replace("\u202f", "").split()
    return float(number) * {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1}[unit]


def test_the_address_chooses_a_span_and_tells_what_the_table_holds(page: Any, root: Path) -> None:
    opened(page, root, f"#pass={LAST}&node=15")
    one, found = span(LAST, 15), fields(page)
    assert (found["result"], found["operation"]) == (one["about"]["name"], one["about"]["op"])
    assert (found["node"], found["layer"], found["component"]) == ("15", "0", one["about"]["component"])
    for name, key in (("begin", "begin"), ("work", "work"), ("waiting inside", "barrier"), ("barrier wait", "wait")):
        assert ns(found[name]) == pytest.approx(one[key], rel=0.005), name
    assert page.locator("[data-tg=choose]").input_value() == str(LAST)
    link = page.locator("[data-tg=about] a").get_attribute("href")
    assert link == f"../operations/index.html#pass={LAST}&node=15"


def test_pointing_tells_the_span_below_and_a_click_leads_to_its_operation(page: Any, root: Path) -> None:
    opened(page, root, f"#pass={LAST}")
    one = span(LAST, 15, thread=1)
    x, y = point(page, one["begin"] + one["work"] / 2, 1)
    page.mouse.move(x, y)
    page.wait_for_selector("[data-tg=about] a")
    assert (fields(page)["node"], fields(page)["thread"]) == ("15", "1")
    page.mouse.click(x, y)
    page.wait_for_url(re.compile(rf"operations/index\.html#pass={LAST}&node=15$"))
    assert page.wait_for_selector("tr.tg-chosen").get_attribute("data-node") == "15"


def test_colours_are_those_of_the_components_and_of_waiting_in_both_schemes(tab: Any, root: Path) -> None:
    nodes = CASE["graph_nodes"]
    node = int(nodes.loc[(nodes["graph"] == 1) & (nodes["op"] == "MUL"), "node"].iloc[0])  # short: its wait is seen
    for scheme, at in (("light", 1), ("dark", 2)):
        page = tab(color_scheme=scheme, viewport={"width": 1280, "height": 1000}, device_scale_factor=2)
        opened(page, root, f"#pass={LAST}&node={node}")
        page.add_style_tag(content=".tracegen{color-scheme:light dark}")
        page.evaluate("document.body.setAttribute('data-changed', '1')")
        page.click("[data-tg=fit]")
        shown(page)
        one = span(LAST, node)
        middle = page.evaluate(COLOUR_AT, [one["begin"] + one["work"] / 2, LEFT, RIGHT])
        after = page.evaluate(COLOUR_AT, [one["begin"] + one["work"] + one["barrier"] + one["wait"] / 2, LEFT, RIGHT])
        hexes = (theme.GROUPS["norm"][at], theme.INK["after"][at])
        assert one["about"]["component"] == "norm"
        assert [middle, after] == [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in hexes]
        assert page.evaluate("document.querySelector('canvas[data-tg=lanes]').width") == pytest.approx(
            2 * page.locator("canvas[data-tg=lanes]").bounding_box()["width"], abs=2
        )


def test_waiting_for_the_disk_is_drawn_where_the_work_of_an_operation_begins(page: Any, tmp_path: Path) -> None:
    tables = with_faults(CASE)
    run = with_facts(a_moe_run(), trace=dict(faults_recorded=True))
    root = write_report(tmp_path, undrawn(tables, run))
    spans = tables["spans"][(tables["spans"]["pass_id"] == LAST) & (tables["spans"]["thread"] == 0)]
    longest = spans.loc[(spans["fault_ns"] / spans["work_ns"]).where(spans["fault_ns"] < spans["work_ns"]).idxmax()]
    opened(page, root, f"#pass={LAST}&node={longest['node']}")
    assert "waiting for the disk" in page.locator("[data-tg=legend]").inner_text()
    page.click("[data-tg=fit]")
    shown(page)
    begin = span(LAST, int(longest["node"]))["begin"]
    inks = [
        page.evaluate(COLOUR_AT, [begin + time, LEFT, RIGHT])
        for time in (longest["fault_ns"] / 2, (longest["fault_ns"] + longest["work_ns"]) / 2)
    ]
    ink = [int(theme.INK["disk"][1][i : i + 2], 16) for i in (1, 3, 5)]
    assert inks[0] == ink and inks[1] != ink
    assert ns(fields(page)["of it waiting for the disk"]) == pytest.approx(int(longest["fault_ns"]), rel=0.01)


COLOUR_AT = """([time, left, right]) => {
  const canvas = document.querySelector('canvas[data-tg=lanes]'), ratio = devicePixelRatio;
  const from = +canvas.dataset.from, to = +canvas.dataset.to, wide = canvas.width / ratio - left - right;
  const x = left + (time - from) / (to - from) * wide;
  return [...canvas.getContext('2d').getImageData(Math.round(x * ratio), 28 * ratio, 1, 1).data].slice(0, 3);
}"""


def test_the_kind_of_operation_can_colour_the_work(page: Any, root: Path) -> None:
    opened(page, root)
    first = legend(page)
    assert first[0] == "embedding" and first[-2:] == ["waiting inside", "barrier wait"]
    page.select_option("[data-tg=colours]", "op")
    page.wait_for_function("document.querySelector('[data-tg=legend]').textContent.includes('MUL_MAT')")
    kinds = legend(page)[:-2]
    present = set(CASE["graph_nodes"].loc[CASE["graph_nodes"]["kind"] == "op", "op"])
    assert set(kinds) - {"other kinds"} <= present and len(kinds) == len(theme.GROUPS)


def test_wheel_keys_buttons_and_drag_move_and_zoom(page: Any, root: Path) -> None:
    opened(page, root, f"#pass={LAST}")
    begin, whole = shown(page)
    assert begin == 0
    x, y = point(page, whole / 2, 0)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    after = shown(page)
    assert after[1] - after[0] < whole * 0.8 and after[0] < whole / 2 < after[1]
    assert sum(after) / 2 == pytest.approx(whole / 2, rel=0.02)  # what the pointer is at stays where it is
    page.mouse.down()
    page.mouse.move(x + 200, y, steps=4)
    page.mouse.up()
    dragged = shown(page)
    assert dragged[0] < after[0] and dragged[1] - dragged[0] == pytest.approx(after[1] - after[0], abs=3)
    assert page.url.endswith(f"#pass={LAST}")  # a drag is not a click
    page.click("[data-tg=whole]")
    assert shown(page) == (0, whole)
    page.focus("canvas[data-tg=lanes]")
    for key in ("+", "+", "ArrowRight"):
        page.keyboard.press(key)
    right = shown(page)
    assert right[1] - right[0] == pytest.approx(whole / 4, rel=0.01) and right[0] > 3 * whole / 8
    page.keyboard.press("-")
    assert shown(page)[1] - shown(page)[0] == pytest.approx(whole / 2, rel=0.01)
    page.keyboard.press("0")
    assert shown(page) == (0, whole)


def test_keys_go_from_operation_to_operation_and_open_one(page: Any, root: Path) -> None:
    opened(page, root, f"#pass={LAST}&node=15")
    page.focus("canvas[data-tg=lanes]")
    spans = CASE["spans"]
    order = list(spans[(spans["pass_id"] == LAST) & (spans["thread"] == 0)].sort_values("begin_ns")["node"])
    page.keyboard.press(".")
    following = str(order[order.index(15) + 1])
    assert fields(page)["node"] == following and page.url.endswith(f"#pass={LAST}&node={following}&thread=0")
    page.keyboard.press("ArrowDown")
    assert (fields(page)["thread"], fields(page)["node"]) == ("1", str(order[order.index(15)]))  # begins a little later
    page.keyboard.press("f")
    begin, end = shown(page)
    one = span(LAST, 15, thread=1)
    assert begin <= one["begin"] and end >= one["begin"] + one["work"] and end - begin < 2 * one["work"]
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(rf"operations/index\.html#pass={LAST}&node=15$"))


def test_passes_are_gone_through_by_keys_list_and_strip(page: Any, root: Path) -> None:
    opened(page, root, f"#pass={LAST}")
    assert page.locator("[data-tg=next]").is_disabled()
    page.keyboard.press("p")
    page.wait_for_function(f"document.querySelector('[data-tg=choose]').value === '{LAST - 1}'")
    assert page.url.endswith(f"#pass={LAST - 1}")
    box = page.locator("canvas[data-tg=strip]").bounding_box()
    n = len(CASE["passes"]) - 1  # the load has no graph
    page.mouse.click(box["x"] + box["width"] * 1.5 / n, box["y"] + 50)
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent.startsWith('prompt → token 0')")
    row = CASE["passes"].set_index("pass_id").loc[2]
    said = page.locator("[data-tg=pass]").inner_text()
    duration = re.search(r"\(prompt\): (\d+(?:\.\d+)? [^\s.;]+)", said)
    assert duration and ns(duration[1]) == pytest.approx(row["end_ns"] - row["begin_ns"], rel=0.005)


def test_an_unknown_address_says_so(page: Any, root: Path) -> None:
    opened(page, root, "#pass=99&node=1")
    page.wait_for_function("document.querySelector('[data-tg=status]').textContent.includes('no pass 99')")
    opened(page, root, f"#pass={LAST}&node=9999")
    page.evaluate("location.reload()")
    page.wait_for_function("document.querySelector('[data-tg=status]').textContent.includes('Node 9999 has no time')")


def test_a_finger_chooses_and_does_not_leave(tab: Any, root: Path) -> None:
    page = opened(tab(has_touch=True, viewport={"width": 360, "height": 800}), root, f"#pass={LAST}")
    one = span(LAST, 15)
    page.touchscreen.tap(*point(page, one["begin"] + one["work"] / 2, 0))
    page.wait_for_selector("[data-tg=about] a")
    assert fields(page)["node"] == "15" and "timeline/index.html" in page.url


# Sums: what is visible or marked, against the stored spans counted one by one


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
            ("barrier wait", row["wait_ns"]),
        ):
            total[kind] = total.get(kind, 0) + max(0, min(at + length, end) - max(at, begin))
            at += length
    return total


def agrees(said: dict[str, float], true: dict[str, float]) -> None:
    for kind, value in true.items():
        assert said.get(kind, 0.0) == pytest.approx(value, rel=0.006, abs=1), kind


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
    drawn(page)
    agrees(sums(page), counted(LAST, begin, end))
    page.click("[data-tg=closer]")
    drawn(page)
    agrees(sums(page), counted(LAST, begin, end))
    opened(page, root, f"#pass={LAST}&area={begin},{end}")
    agrees(sums(page), counted(LAST, begin, end))
    page.click("[data-tg=no-area]")
    drawn(page)
    assert "area" not in page.url and "of what is visible" in page.locator("[data-tg=sums]").inner_text()
    agrees(sums(page), counted(LAST, *shown(page)))


def test_an_area_that_cannot_be_is_none(page: Any, root: Path) -> None:
    for junk in ("area=5", "area=9,3", "area=0,99999999999999"):
        page.goto("about:blank")
        opened(page, root, f"#pass={LAST}&{junk}")
        assert page.locator("[data-tg=no-area]").is_hidden(), junk


def test_the_strip_says_what_a_pass_did(page: Any, root: Path) -> None:
    opened(page, root, f"#pass={LAST}")
    passes, spans = CASE["passes"].set_index("pass_id"), CASE["spans"]
    mine = spans[spans["pass_id"] == LAST]
    time = (passes.loc[LAST, "end_ns"] - passes.loc[LAST, "begin_ns"]) * mine["thread"].nunique()
    said = re.search(r"barrier wait (\d+)\u202f%", page.locator("[data-tg=pass]").inner_text())
    share = 100 * mine["wait_ns"].sum() / time
    assert (int(said[1]) if said else 0) == pytest.approx(share, abs=1.01 if said else 5)
