"""Every chart draws, the same bytes twice, in colours that a page can turn."""

import re
import struct
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import vl_convert

from tests.builders import a_moe_run, scaled_case
from tracegen.charts import buffers, by_layer, experts, file_plan, file_tokens, forms, heatmap, svg, theme, timeline
from tracegen.contract.text import three, whole_percent
from tracegen.report.document.assets import Assets
from tracegen.report.figures.catalogue import CHARTS
from tracegen.report.figures.context import Context
from tracegen.report.figures.heatmap import HEATMAP
from tracegen.report.pages.parts import figure


@pytest.fixture(scope="module")
def figures() -> dict[str, svg.Drawing]:
    context = Context(a_moe_run(), scaled_case(6, 4, moe=True, splits=2))
    views = [figure(context, Assets(), of) for of in CHARTS.values() if of.when.holds(context)]
    assert len(views) == 20 and {"file-tokens", "heatmap", "experts-next", "kv-cache"} < {v.key for v in views}
    return {v.key: v.drawing for v in views if v.drawing}


def test_every_chart_is_drawn_with_marks_and_a_text_alternative(figures: dict[str, svg.Drawing]) -> None:
    for key, drawing in figures.items():
        root = ElementTree.fromstring(drawing.svg)
        marks = [e for e in root.iter() if e.tag.endswith(("path", "rect")) and e.get("fill", "none") != "none"]
        assert marks, key
        assert root[0].tag.endswith("title") and root[0].text, key
        assert len(marks) <= 5_000
        assert forms.to_pdf(svg.paper(drawing)).startswith(b"%PDF")
        png = forms.to_png(drawing.svg)
        width, height = struct.unpack(">II", png[16:24])
        asked = [float(root.get(name, "0")) for name in ("width", "height")]
        assert png.startswith(b"\x89PNG")
        assert [width, height] == pytest.approx([2 * n for n in asked], abs=2)
        assert (drawing.spec and '"values"' in drawing.spec) or '"datasets"' in (drawing.spec or "")


def test_inline_colours_are_variables_and_ids_are_the_figures_own(figures: dict[str, svg.Drawing]) -> None:
    seen: set[str] = set()
    for key, drawing in figures.items():
        assert not re.findall(r'(?:fill|stroke)="#', drawing.inline), key
        ids = set(re.findall(r'\bid="([^"]+)"', drawing.inline))
        assert all(name.startswith(f"{key}-") for name in ids) and not ids & seen
        seen |= ids


def test_many_threads_have_more_spans_than_altair_takes_by_itself() -> None:
    n = 6_000
    rows = pd.DataFrame(
        {
            "thread": [i % 400 for i in range(n)],
            "device": [None] * n,
            "begin_ns": range(0, 10 * n, 10),
            "end_ns": range(7, 10 * n + 7, 10),
            "state": ["work"] * n,
            "component": ["attention_q"] * n,
        }
    )
    document = svg.themed(timeline.chart(rows))
    assert [len(data) for data in document["datasets"].values()] == [n]


def test_copied_cells_are_hatched_and_disk_cells_are_not(figures: dict[str, svg.Drawing]) -> None:
    assert "url(#heatmap-hatch)" in figures["heatmap"].inline
    drawing = figure(Context(a_moe_run(), scaled_case(2, 2, copied=False)), Assets(), HEATMAP).drawing
    assert drawing is not None and "hatch" not in drawing.inline


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    a, b = sorted((luminance(one), luminance(other)), reverse=True)
    return (a + 0.05) / (b + 0.05)


def test_sizes_named_at_a_curve_have_a_rim_of_the_ground_below_them(figures: dict[str, svg.Drawing]) -> None:
    (named,) = re.findall(r'<[^>]* paint-order="stroke"[^>]*>', figures["cache-rates"].inline)
    assert f'stroke="var(--tg-ground,{theme.INK["ground"][1]})"' in named and named.startswith(("<g", "<text"))


def test_contrast_on_both_grounds() -> None:
    _, *grounds = theme.INK["ground"]
    waiting = [theme.INK[name] for name in ("inside", "after", "bar", "disk", "paging", "outside")]
    for _, light, dark in (*theme.GROUPS.values(), *theme.BUFFERS.values(), *waiting):
        assert contrast(light, grounds[0]) >= 3 and contrast(dark, grounds[1]) >= 3
    for name in ("ink", "muted", "good", "warn", "bad"):
        _, light, dark = theme.INK[name]
        assert contrast(light, grounds[0]) >= 4.5 and contrast(dark, grounds[1]) >= 4.5


def test_no_two_parts_of_time_look_alike() -> None:
    drawn = [
        theme.GROUPS["other"],
        *(of for of in theme.INK.values() if of[1] in dict(file_tokens.WAITS.values()).values()),
    ]
    for scheme in (1, 2):
        rgb = [[int(of[scheme][i : i + 2], 16) for i in (1, 3, 5)] for of in drawn]
        for i, one in enumerate(rgb):
            assert all(max(abs(a - b) for a, b in zip(one, other, strict=True)) > 32 for other in rgb[:i]), drawn[i]


def test_a_buffer_wears_the_colour_of_a_part_of_the_model_only_if_it_holds_that_part() -> None:
    hues = {light: name for name, (_, light, _) in theme.GROUPS.items()}
    shared = {name: hues[colour] for name, colour in buffers.COLOURS.items() if colour in hues}
    assert shared == {"KV cache": "KV cache", "other": "other"}


def test_every_component_has_a_group() -> None:
    from tracegen.contract.tables import COMPONENTS

    assert set(theme.GROUP_OF) == set(COMPONENTS) and set(theme.GROUP_OF.values()) <= set(theme.GROUPS)


def test_every_colour_of_the_theme_is_one_variable() -> None:
    light, _ = theme.variables()
    assert len(set(light.values())) == len(light)


def test_layers_without_a_number_stand_last_and_many_layers_stand_side_by_side() -> None:
    rows = pd.DataFrame({"layer": [10, 2, None], "group": "FFN", "ns_per_token": [1.0, 2.0, 3.0]})
    few = by_layer.stacked(rows, "ns_per_token", "of time").to_dict()["encoding"]
    assert few["y"]["sort"] == ["layer 2", "layer 10", "no layer"] and few["x"]["title"] == "µs of time"
    many = pd.DataFrame({"layer": [*range(40), None], "group": "FFN", "ns_per_token": 1.0})
    encodings = by_layer.stacked(many, "ns_per_token", "of time").to_dict()["encoding"]
    assert encodings["x"]["sort"] == [*map(str, range(40)), "no layer"]


def test_every_chart_takes_the_same_width(figures: dict[str, svg.Drawing]) -> None:
    for key, drawing in figures.items():
        width = float(ElementTree.fromstring(drawing.svg).get("width", "0"))
        assert min(abs(width - each) for each in theme.WIDTHS[1:]) <= 25, (key, width)
        assert "max-width" not in drawing.inline


def test_text_on_steps_of_the_scale_is_readable() -> None:
    (_, light_ink, dark_ink), (_, light, dark) = theme.INK["ink"], theme.INK["ground"]
    for step, (a, b) in enumerate(zip(theme.SEQUENTIAL_LIGHT, theme.SEQUENTIAL_DARK, strict=True)):
        strong = step >= theme.N_STEPS // 2
        assert contrast(a, light if strong else light_ink) >= 4.5, step
        assert contrast(b, dark if strong else dark_ink) >= 4.5, step


def test_more_is_stronger_on_both_grounds() -> None:
    for scale, ground in ((theme.SEQUENTIAL_LIGHT, 1), (theme.SEQUENTIAL_DARK, 2)):
        steps = [contrast(colour, theme.INK["ground"][ground]) for colour in scale]
        assert steps == sorted(steps) and steps[0] >= 1.3
        assert contrast(theme.LITTLE[ground], theme.INK["ground"][ground]) >= 1.3


@pytest.mark.parametrize("top", [1, 3, 8, 9, 23, 1000])
def test_steps_of_the_experts_scale_are_whole_numbers_that_reach_the_top(top: int) -> None:
    drawn = experts.chart(pd.DataFrame({"layer": 0, "expert": [0, 1], "n_tokens": [0, top]})).to_dict()
    names = [v["text"] for rows in drawn["datasets"].values() for v in rows if "text" in v]
    assert names[0] == "0" and len(set(names)) == len(names)
    assert int(names[-1].removeprefix("≤ ")) >= top > 0
    cells = [v for rows in drawn["datasets"].values() for v in rows if "n_tokens" in v]
    assert [c["colour"] == theme.INK["ground"][1] for c in cells] == [True, False]


def test_numbers_of_labels_have_three_digits() -> None:
    assert [three(v) for v in (39.0, 0.0648, 1234.6, 0)] == ["39.0", "0.0648", "1\u202f235", "0"]
    assert [whole_percent(v) for v in (0, 0.004, 0.284)] == ["0 %", "< 1 %", "28 %"]


def a_heatmap(rows: pd.DataFrame, below: pd.DataFrame, step: int) -> Any:
    """One cell in each of the rows, in this step of the scale; `below`: the bytes of buffers."""
    cells = pd.DataFrame(
        {
            "row": rows["row"],
            "begin": 0,
            "end": 500,
            "n_passes": 1,
            "touched_bytes": 100,
            "size_bytes": 500,
            "memory": "disk",
            "step": step,
            "tensor": "t",
            "layer": "0",
            "dtype": "F32",
        }
    )
    bands = pd.DataFrame({"begin": [0], "end": [1000], "layer": [0], "component": ["norm"]})
    return heatmap.chart(cells, rows, bands, bands, below, heatmap.Axis(1000, (), 0), width=690)


@pytest.mark.parametrize(("prompt", "cut"), [(7000, True), (900, True), (700, False), (300, False)])
def test_the_buffers_of_tokens_take_the_room_and_rows_that_reach_further_are_counted(prompt: int, cut: bool) -> None:
    rows = pd.DataFrame({"row": range(4), "label": ["warm-up", "prompt", "token 1", "token 2"], "n_passes": 1})
    rows = rows.assign(outside=rows["row"] == 0, generate=rows["row"] > 1)
    sizes = [prompt / 2, prompt, 300, 400]
    below = pd.DataFrame({"row": range(4), "group": "compute", "touched_bytes": [int(n * 2**20) for n in sizes]})
    chart = a_heatmap(rows, below, step=-1)
    bars = next(view for view in chart.to_dict()["vconcat"] if view.get("mark", {}).get("type") == "bar")
    x, n = bars["encoding"]["x"], sum(each > 400 for each in sizes)
    assert x.get("scale") == ({"domain": [0, 400.0], "clamp": True} if cut else None)
    words = f"; {n} {'row' if n == 1 else 'rows'} cut, up to {prompt:,} MiB" if cut else ""
    assert x["title"] == f"touched in buffers, MiB{words}"
    drawn = vl_convert.vegalite_to_svg(svg.themed(chart))
    assert theme.LITTLE[1] in drawn and "up to 1 %" in drawn


@pytest.mark.parametrize("n_rows", [3, 10, 97, 225, 240])
def test_every_row_of_the_heatmap_that_is_to_be_named_has_its_name(n_rows: int) -> None:
    """Vega drops the first name of an axis at some heights, where its row begins at the very edge."""
    labels = ["warm-up", "prompt → token 0", *(f"token {i}" for i in range(1, n_rows - 1))]
    rows = pd.DataFrame({"row": range(n_rows), "label": labels, "outside": [True] + [False] * (n_rows - 1)})
    chart = a_heatmap(rows, pd.DataFrame({"row": []}), step=1)
    drawn = re.findall(r"<text[^>]*>([^<]+)</text>", vl_convert.vegalite_to_svg(svg.themed(chart)))
    named = [label for label in labels if label in drawn]
    assert named[:2] == labels[:2]
    apart = labels.index(named[2]) - 1
    assert named[1:] == labels[1::apart]


def test_on_dark_ground_every_colour_is_the_dark_one_of_its_name() -> None:
    light, dark = theme.variables()
    drawn = "".join(f'<path fill="{colour}" stroke="none"/>' for colour in light.values())
    assert theme.on_dark(drawn) == "".join(f'<path fill="{dark[name]}" stroke="none"/>' for name in light)
    assert theme.on_dark('<path fill="url(#a)" stroke="transparent"/>') == '<path fill="url(#a)" stroke="transparent"/>'


@pytest.mark.parametrize("width", theme.WIDTHS)
def test_a_row_marks_its_longest_pass_and_a_phone_shows_all_numbers(width: int) -> None:
    parts = pd.DataFrame({"begin": [0], "end": [900], "layer": [0], "last_layer": [0], "group": ["FFN"]})
    at = file_plan.plan(parts, width, 6, True)
    rows = pd.DataFrame(
        {
            "row": range(6),
            "pass_id": range(6),
            "label": "",
            "is_prompt": [True, *[False] * 5],
            "took": "2 ms",
            "longest_ns": [None, None, 3.0, None, None, None],
            "longest": ["", "", "3 ms", "", "", ""],
            "read": ["9 MiB", "8 MiB", *["–"] * 4],
            "needed": ["7 MiB", "6 MiB", *["–"] * 4],
        }
    )
    laid = file_tokens._laid(at, rows)
    bars, took = file_tokens._bars(at, laid, pd.DataFrame({"row": range(6), "FFN": 2.0}), ["FFN"])
    line = bars[bars["what"] == "longest pass of a row"]
    of_row = bars[(bars["pass_id"] == 2) & bars["what"].str.startswith("computing")]
    assert set(line["pass_id"]) == {2}
    assert (line["right"].max() - at.lane) / (of_row["right"].max() - at.lane) == pytest.approx(1.5)
    said = " ".join([*took["text"], *(words for some in file_tokens._numbers(at, laid) for words in some["text"])])
    assert all(words in said for words in ("9 MiB", "7 MiB", "8 MiB", "6 MiB", "needed of it", "3 ms")), said
    assert (laid["bottom"] <= laid["top"].shift(-1).fillna(1e9)).all() and (laid["end"] <= laid["bottom"]).all()


BARS = pd.DataFrame(
    [
        ("router 2 %", 100.0, 104.0, 40.0),  # too narrow for its words
        ("attention 23 %", 104.0, 260.0, 40.0),
        ("waiting for the disk 1 %", 260.0, 262.0, 40.0),
        ("experts 44 %", 262.0, 520.0, 60.0),
    ],
    columns=["short", "left", "right", "bottom"],
)


def test_a_name_stands_at_the_part_that_it_names_where_there_is_room() -> None:
    named = file_tokens._named(BARS)
    assert named[["text", "left", "top"]].to_numpy().tolist() == [
        ["attention 23 %", 104.0, 50.0],
        ["experts 44 %", 262.0, 70.0],
    ]


@pytest.mark.parametrize(
    ("prompt", "slowest", "gaps"), [(10.0, 2.0, ["own", "own"]), (2.0, 2.0, []), (1.0, 9.0, ["cut"])]
)
def test_a_bar_that_is_not_to_scale_has_a_gap(prompt: float, slowest: float, gaps: list[str]) -> None:
    rows = pd.DataFrame(
        {
            "row": range(4),
            "pass_id": range(4),
            "label": "",
            "is_prompt": [True, False, False, False],
            "took": "",
            "top": 0.0,
            "bottom": 9.0,
            "end": 9.0,
        }
    )
    times = pd.DataFrame({"row": range(4), "attention": [prompt, 2.0, 2.0, slowest]})
    at = SimpleNamespace(lane=100.0, numbers=400.0)
    bars, _ = file_tokens._bars(at, rows, times, ["attention"])  # type: ignore[arg-type]
    found = bars[bars["colour"] == theme.INK["ground"][1]]
    assert found["what"].map({"a scale of its own": "own", "longer: cut here": "cut"}).tolist() == gaps
    assert (found["right"] < 400 - 62).all() and set(found["pass_id"]) <= {0 if "own" in gaps else 3}
