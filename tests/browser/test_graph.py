"""The graph page in Chromium, from file://: search, facts, colours, zoom, the whole graph."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.browser.conftest import MOE_TABLES
from tests.builders import a_run, scaled_case
from tests.report.rendered import undrawn
from tests.report_files import write_report
from tracegen.analysis import operations
from tracegen.analysis.node_means import node_means, population
from tracegen.contract import quantities as q
from tracegen.contract.model import Check

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u202e"


@pytest.fixture(scope="module")
def means() -> pd.DataFrame:
    passes = population(MOE_TABLES, [0, 1]).passes
    return node_means(operations.op_rows(MOE_TABLES), passes).set_index("node")


@pytest.fixture
def open_(tab: Callable[..., Any]) -> Callable[..., Any]:
    """Open the graph page of a report."""

    def go(root: Path, anchor: str = "", **options: Any) -> Any:
        address = (root / "graph/index.html").as_uri() + anchor
        return tab(address, viewport={"width": 1280, "height": 900}, **options)

    return go


def node_of(name: str) -> int:
    nodes = MOE_TABLES["graph_nodes"]
    return int(nodes[(nodes["graph"] == 0) & (nodes["name"] == name) & (nodes["op"] != "NONE")]["node"].iloc[-1])


def facts(page: Any) -> dict[str, str]:
    pairs = "rows => rows.map(row => [row.querySelector('dt').innerText, row.querySelector('dd').innerText])"
    return dict(page.eval_on_selector_all("[data-tg=facts] .tg-facts > div", pairs))


def chosen(page: Any) -> list[str]:
    return list(page.eval_on_selector_all(".tg-graph .tg-chosen", "found => found.map(one => one.id)"))


# Search


FOUND: dict[str, Callable[[dict[str, Any]], bool]] = {
    "MUL_MAT_ID": lambda n: "MUL_MAT_ID" in n["op"],
    "blk.1": lambda n: n["layer"] == 1,
    "layer 2 router": lambda n: n["layer"] == 2 and "router" in f"{n['name']} {n['component']}",
}


def test_search_finds_what_the_tables_hold_and_shows_fifty(open_: Any, moe_report: Path) -> None:
    page = open_(moe_report)
    nodes = MOE_TABLES["graph_nodes"]
    for query, keep in FOUND.items():
        rows = [n for n in nodes[nodes["graph"] == 0].to_dict("records") if keep(n)]
        page.fill("[data-tg=find]", query)
        assert page.locator("[data-tg=found]").inner_text().startswith(f"{len(rows)} match")
        assert page.locator("[data-tg=matches] li").count() == min(len(rows), 50)
        shown = " ".join(page.locator("[data-tg=matches] .tg-code").all_inner_texts())
        assert all(n["name"] in shown for n in rows[:50]), query
    page.fill("[data-tg=find]", "a")
    assert page.locator("[data-tg=matches] li").count() == 50
    assert re.fullmatch(r"\d+ matches, the first 50 are shown", page.locator("[data-tg=found]").inner_text())
    page.fill("[data-tg=find]", "no such thing")
    assert page.locator("[data-tg=found]").inner_text() == "Nothing in the graph has all these words."


def test_enter_leads_to_a_node_of_a_layer_that_shares_its_drawing(open_: Any, moe_report: Path) -> None:
    page, node = open_(moe_report), node_of("attn_out-2")
    page.fill("[data-tg=find]", "attn_out-2")
    page.press("[data-tg=find]", "Enter")
    assert chosen(page) == [f"g0-n{node_of('attn_out-0')}"]
    assert f"#g0-n{node}&pass=2&node={node}" in page.url
    assert "Drawn as layer 0: layer 2 has the same shape." in page.locator("[data-tg=facts]").inner_text()
    box = page.locator(".tg-graph .tg-chosen").bounding_box()
    assert 0 < box["y"] < 900 and 0 < box["x"] < 1280
    assert page.evaluate("document.activeElement.textContent") == "attn_out-2"


def test_the_keyboard_alone_walks_the_matches_and_the_graph(open_: Any, moe_report: Path) -> None:
    page = open_(moe_report)
    page.focus("[data-tg=find]")
    page.keyboard.type("ffn_moe_down")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = page.evaluate("document.activeElement.querySelector('.tg-code').textContent")
    page.keyboard.press("Enter")
    assert page.locator("[data-tg=facts] h3").inner_text() in second
    page.locator("[data-tg=facts] .tg-way").last.focus()
    reader = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    assert page.locator("[data-tg=facts] h3").inner_text() in reader
    page.go_back()
    assert page.locator("[data-tg=facts] h3").inner_text() in second


# Facts


def test_facts_are_those_of_the_tables(open_: Any, moe_report: Path, means: pd.DataFrame) -> None:
    page, nodes = open_(moe_report), MOE_TABLES["graph_nodes"]
    own = nodes[(nodes["graph"] == 0) & (nodes["kind"] == "op")].set_index("node")
    for node in own.index:
        page.evaluate(f"location.hash = '#g0-n{node}'")
        page.wait_for_function(f"document.querySelector('[data-tg=facts]').innerText.includes('node {node}\\n')")
        row, mean, said = own.loc[node], means.loc[node], facts(page)
        assert page.locator("[data-tg=facts] h3").inner_text() == row["name"]
        assert said["Operation"] == f"{row['op']}, node {node}"
        assert said["Component"] == row["component"] and said["Type"] == row["dtype"]
        time, size = said["Time per token"], said["Bytes per token"]
        if mean["state"] == "fused":
            assert time.startswith("no time of its own: fused into")
        else:
            assert time.split("\n")[0] == q.duration(round(mean["duration_ns"]))
        assert size.split(" (")[0] == q.size(round(mean["touched_bytes"]))


def test_links_lead_to_the_operation_and_to_the_weight_in_memory(open_: Any, moe_report: Path) -> None:
    node = node_of("attn_out-1")
    page = open_(moe_report, f"#g0-n{node}")
    links = page.locator("[data-tg=facts] .tg-onward a")
    names = MOE_TABLES["tensors"].set_index("name")["tensor"]
    tensor = names["blk.1.attn_output.weight"]
    assert links.nth(1).get_attribute("href") == f"../file/index.html#tensor={tensor}"
    links.nth(0).click()
    page.wait_for_selector("tr.tg-chosen")
    assert page.locator("tr.tg-chosen").get_attribute("data-node") == str(node)
    page.locator("tr.tg-open a", has_text="in the graph").click()
    page.wait_for_selector("[data-tg=facts] h3")
    assert page.locator("[data-tg=facts] h3").inner_text() == "attn_out-1"


def test_a_click_shows_facts_and_keeps_the_layer(open_: Any, moe_report: Path) -> None:
    page = open_(moe_report, f"#g0-n{node_of('attn_out-1')}")
    before = page.evaluate("scrollY")
    page.locator(f"#g0-n{node_of('ffn_inp-0')} text").first.click()
    assert page.locator("[data-tg=facts] h3").inner_text() == "ffn_inp-1"
    node = node_of("ffn_inp-1")
    assert page.url.endswith(f"#g0-n{node}&pass=2&node={node}") and abs(page.evaluate("scrollY") - before) < 400
    page.select_option("[data-tg=facts] select", label="layer 2")
    assert page.locator("[data-tg=facts] h3").inner_text() == "ffn_inp-2"
    page.click("[data-tg=facts] button[aria-label='close the facts']")
    assert chosen(page) == [] and "#" not in page.url and page.locator("[data-tg=facts]").is_hidden()


def test_a_tensor_has_facts_and_a_node_that_is_not_there_says_so(open_: Any, moe_report: Path) -> None:
    nodes = MOE_TABLES["graph_nodes"]
    weight = nodes[(nodes["graph"] == 0) & (nodes["name"] == "blk.2.ffn_norm.weight")]["node"].iloc[0]
    page = open_(moe_report, f"#g0-n{weight}")
    assert facts(page)["Tensor"] == f"leaf {weight}" and facts(page)["Read by"] == "MUL ffn_norm-2"
    page = open_(moe_report, "#g1-n99999")
    assert page.locator("[data-tg=facts]").inner_text() == "Graph 1 has no node 99999."


# Colours


def test_colours_are_the_means_of_the_layers(open_: Any, moe_report: Path, means: pd.DataFrame) -> None:
    page = open_(moe_report)
    state = json.loads(page.evaluate("document.getElementById('tg-graph').textContent"))
    names = MOE_TABLES["graph_nodes"][MOE_TABLES["graph_nodes"]["graph"] == 0].set_index("node")["name"]
    per_layer = node_of("l_out-1") - node_of("l_out-0")  # the builder's layers are numbered alike
    own = [node for node, name in names.items() if name.endswith("-0") and node in means.index]
    assert len(own) > 15
    for mode, column in (("time", "duration_ns"), ("bytes", "touched_bytes")):
        page.check(f"input[value={mode}]")
        ends = state["scales"][mode]["ends"]
        assert ends[-1] == pytest.approx(means[column].max())
        for node in own:
            values = [means.loc[node + per_layer * i, column] for i in range(3)]
            step = page.locator(f"#g0-n{node}").get_attribute("data-step")
            if pd.isna(values[0]):
                assert step == "none", names[node]
            else:
                mean = sum(round(v) for v in values) / 3
                least = min(i for i, end in enumerate([*ends[:-1], float("inf")]) if mean <= end)
                assert int(step) == least, names[node]
        assert page.locator("[data-tg=legend] .tg-swatch").count() == len(ends) + 1
        assert "4 measured generate passes" in page.locator("[data-tg=legend]").inner_text()
    page.check("input[value=component]")
    assert page.locator(".tg-graph [data-step]").count() == 0


def test_text_on_every_step_of_colour_can_be_read(open_: Any, moe_report: Path) -> None:
    for scheme in ("light", "dark"):
        page = open_(moe_report, color_scheme=scheme)
        page.add_style_tag(content=".tracegen{color-scheme:light dark}")
        page.check("input[value=bytes]")
        pairs = page.evaluate(
            "[...document.querySelectorAll('.tg-op[data-step]:not([data-step=none])')].map(one =>"
            " [getComputedStyle(one.querySelector('rect')).fill, getComputedStyle(one.querySelector('text')).fill])"
        )
        assert pairs and min(contrast(*pair) for pair in pairs) >= 4.5, scheme


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(n) / 255 for n in re.findall(r"\d+", colour)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


# Zoom

FRAME = "#fig-graph-0-block-1 .tg-drawing"


def width(page: Any) -> float:
    return float(page.evaluate(f"document.querySelector('{FRAME} svg').getBoundingClientRect().width"))


def test_buttons_and_keys_change_the_size(open_: Any, moe_report: Path) -> None:
    page = open_(moe_report)
    natural = width(page)
    page.click("#fig-graph-0-block-1 [aria-label^=larger]")
    assert width(page) == pytest.approx(natural * 1.25, rel=0.01)
    page.click("#fig-graph-0-block-1 [aria-label^=smaller]")
    assert width(page) == pytest.approx(natural, rel=0.01)
    page.focus(FRAME)
    for key, factor in (("+", 1.25), ("+", 1.5625), ("-", 1.25), ("0", 1)):
        page.keyboard.press(key)
        assert width(page) == pytest.approx(natural * factor, rel=0.01)
    page.click("#fig-graph-0-block-1 [aria-label^='as large']")
    frame = page.evaluate(f"document.querySelector('{FRAME}').clientWidth")
    assert width(page) <= frame + 1


def test_the_wheel_scrolls_the_page_unless_it_is_meant_for_the_drawing(open_: Any, moe_report: Path) -> None:
    page = open_(moe_report)
    page.set_viewport_size({"width": 1280, "height": 500})
    page.evaluate(f"document.querySelector('{FRAME}').scrollIntoView()")
    box, natural, top = page.locator(FRAME).bounding_box(), width(page), page.evaluate("scrollY")
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.wheel(0, 200)
    page.wait_for_function(f"scrollY > {top}")
    assert width(page) == natural
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_function(f"document.querySelector('{FRAME} svg').getBoundingClientRect().width > {natural}")
    page.focus(FRAME)
    larger = width(page)
    page.mouse.wheel(0, -100)
    page.wait_for_function(f"document.querySelector('{FRAME} svg').getBoundingClientRect().width > {larger}")


def test_drag_and_arrows_move_and_a_drag_is_no_click(open_: Any, moe_report: Path) -> None:
    page = open_(moe_report)
    page.focus(FRAME)
    for _ in range(6):
        page.keyboard.press("+")
    page.evaluate(f"document.querySelector('{FRAME}').scrollIntoView()")

    def scrolled() -> list[float]:
        return list(page.evaluate(f"(f => [f.scrollLeft, f.scrollTop])(document.querySelector('{FRAME}'))"))

    before, box = scrolled(), page.locator(FRAME).bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 240, box["y"] + 250, steps=4)
    page.mouse.up()
    assert scrolled() == [before[0] + 60, before[1] + 50]
    assert "#" not in page.url and page.locator("[data-tg=facts]").is_hidden()
    page.focus(FRAME)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert scrolled() == [before[0] + 140, before[1] + 130]


def test_two_fingers_change_the_size(open_: Any, moe_report: Path) -> None:
    page = open_(moe_report, has_touch=True)
    natural = width(page)
    page.evaluate(
        f"""(() => {{
        const frame = document.querySelector('{FRAME}');
        const finger = (id, x) => new Touch({{ identifier: id, target: frame, clientX: x, clientY: 100 }});
        const send = (type, gap) => frame.dispatchEvent(new TouchEvent(type, {{ bubbles: true, cancelable: true,
            touches: [finger(0, 200), finger(1, 200 + gap)] }}));
        send('touchstart', 100); send('touchmove', 150);
        }})()"""
    )
    assert width(page) == pytest.approx(natural * 1.5, rel=0.01)


# The whole graph


def test_the_whole_graph_has_every_node_once_and_every_way_between_blocks(open_: Any, moe_report: Path) -> None:
    page = open_(moe_report, f"#g0-n{node_of('ffn_inp-2')}")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    page.click("[data-tg=draw]")
    assert page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)") == ids
    nodes, edges = (MOE_TABLES[n][MOE_TABLES[n]["graph"] == 0] for n in ("graph_nodes", "graph_edges"))
    boxes = page.evaluate(
        "[...document.querySelectorAll('.tg-all :is(.tg-op, .tg-noop)')].map(one => one.dataset.node)"
    )
    assert sorted(map(int, boxes)) == sorted(nodes[nodes["kind"] != "leaf"]["node"])
    titles = page.evaluate(
        "[...document.querySelectorAll('.tg-all :is(.tg-op, .tg-noop, .tg-leaf)')].map(one =>"
        " [one.dataset.node, one.querySelector('title').textContent])"
    )
    known = nodes.set_index("node")
    for node, title in titles:
        assert title == f"{known.loc[int(node), 'op']} {known.loc[int(node), 'name']} (node {node})"
    layer = nodes.set_index("node")["layer"]
    crossing = {
        (int(s), int(t))
        for s, t in zip(edges["source"], edges["target"], strict=True)
        if known.loc[s, "kind"] != "leaf" and str(layer[s]) != str(layer[t])
    }
    drawn = {
        int(n) for n in page.evaluate("[...document.querySelectorAll('.tg-between')].map(one => one.dataset.from)")
    }
    read = {s for s, _ in crossing}
    assert drawn and drawn <= read and {node_of(f"l_out-{i}") for i in range(3)} <= drawn
    assert page.locator(".tg-all .tg-chosen").get_attribute("data-node") == str(node_of("ffn_inp-2"))


def test_in_the_whole_graph_each_node_has_its_colour_and_facts(
    open_: Any, moe_report: Path, means: pd.DataFrame
) -> None:
    page = open_(moe_report)
    page.check("input[value=time]")
    page.click("[data-tg=draw]")
    state = json.loads(page.evaluate("document.getElementById('tg-graph').textContent"))
    ends = [*state["scales"]["time"]["ends"][:-1], float("inf")]
    drawn = "all => all.map(one => [Number(one.dataset.node), one.dataset.step])"
    steps = dict(page.eval_on_selector_all(".tg-all :is(.tg-op, .tg-noop)", drawn))
    for node, value in means["duration_ns"].items():
        expected = "none" if pd.isna(value) else str(min(i for i, end in enumerate(ends) if round(value) <= end))
        assert steps[node] == expected, node
    node = node_of("ffn_inp-1")
    page.locator(f".tg-all .tg-op[data-node='{node}']").dispatch_event("click")
    assert page.locator("[data-tg=facts] h3").inner_text() == "ffn_inp-1"


def test_search_stays_in_the_whole_graph_while_that_is_looked_at(open_: Any, moe_report: Path) -> None:
    page = open_(moe_report)
    page.click("[data-tg=draw]")
    frame = page.locator(".tg-whole-frame")
    frame.evaluate("frame => frame.scrollIntoView({ block: 'center' })")
    for _ in range(8):
        page.keyboard.press("+")
    page.fill("[data-tg=find]", "l_out-2")
    page.press("[data-tg=find]", "Enter")
    box, around = page.locator(".tg-all .tg-chosen").bounding_box(), frame.bounding_box()
    assert around["x"] <= box["x"] and box["x"] + box["width"] <= around["x"] + around["width"]
    assert around["y"] <= box["y"] and box["y"] + box["height"] <= around["y"] + around["height"]


def test_a_large_graph_stays_light(open_: Any, long_report: Path) -> None:
    """Elements, not seconds: what a browser has to lay out grows with the nodes, not with their square."""
    page = open_(long_report)
    assert (long_report / "data/graph/graph-0.js").stat().st_size > 10_000  # deflated
    page.click("[data-tg=draw]")
    n_nodes = page.locator(".tg-all .tg-op, .tg-all .tg-noop").count()
    assert n_nodes > 680
    assert page.evaluate("document.querySelectorAll('.tg-all *').length") < 20 * n_nodes


# Without, hostile, narrow


def test_without_scripts_nothing_is_offered_that_needs_them(open_: Any, moe_report: Path) -> None:
    page = open_(moe_report, java_script_enabled=False)
    assert not page.locator(".tg-tools").is_visible() and not page.locator("[data-tg=draw]").is_visible()
    href = page.locator("#fig-graph-0-block-1 svg a").first.get_attribute("href")
    assert href.startswith("../operations/index.html#pass=")


def test_hostile_names_stay_text(open_: Any, tmp_path: Path) -> None:
    tables = scaled_case(1, 2)
    nodes = tables["graph_nodes"]
    tables["graph_nodes"] = nodes.assign(name=[f"{HOSTILE}{'x' * 10_000 * (i == 3)}-{i}" for i in range(len(nodes))])
    page = open_(write_report(tmp_path, undrawn(tables)))
    page.fill("[data-tg=find]", "onerror")
    page.press("[data-tg=find]", "Enter")
    page.click("[data-tg=draw]")
    assert page.locator("img").count() == 0
    heading = page.locator("[data-tg=facts] h3").inner_text()
    assert heading.startswith("</script><img src=x") and "\u202e" not in heading
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_a_failed_check_replaces_times(open_: Any, tmp_path: Path) -> None:
    run = a_run(checks=(Check("monotone_time", "Times are monotone", "failed", "3", "0"),))
    page = open_(write_report(tmp_path, undrawn(scaled_case(1, 1), run)), "#g0-n1")
    assert page.locator("input[value=time]").is_disabled() and not page.locator("input[value=bytes]").is_disabled()
    assert "Times are monotone" in facts(page)["Time per token"]


def test_a_narrow_screen_does_not_scroll_sideways(open_: Any, moe_report: Path) -> None:
    page = open_(moe_report)
    page.set_viewport_size({"width": 360, "height": 740})
    page.fill("[data-tg=find]", "attn_out-1")
    page.press("[data-tg=find]", "Enter")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box, panel = (page.locator(one).bounding_box() for one in (".tg-graph .tg-chosen", "[data-tg=facts]"))
    assert box["y"] >= 0 and box["y"] + box["height"] <= panel["y"]


def test_an_address_puts_its_node_into_the_middle(open_: Any, moe_report: Path) -> None:
    for node in (3, 20):
        page = open_(moe_report, f"#g0-n{node}")
        place = f"document.querySelector(`.tg-chosen[data-node='{node}']`)?.getBoundingClientRect()"
        page.wait_for_function(f"(at => at && 100 < at.y + at.height / 2 && at.y + at.height / 2 < 800)({place})")
