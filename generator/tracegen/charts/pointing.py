"""What a figure tells of the mark under the pointer: its row of data, in the words of its axes and legend.

A page shows the drawing as it is and lays `targets` over it, invisible: the same chart as a Vega document, in which
each mark has its text. So what is pointed at never changes how the picture looks.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import vl_convert

# Columns of a chart's data that say how a mark looks, not what it is.
LOOKS = {"colour", "ink", "step", "rank", "text", "at", "width"}
WORDS = {
    "label": "pass", "line": "token", "even": "even choice", "n_tokens": "tokens", "touched_bytes": "touched bytes",
    "middle": "layer in the middle", "value": "part", "share": "share of the phase",
}  # fmt: skip
ENDS = ("end", "high", "true_end")  # said after where they begin
LEGEND = "legend"  # the name of a view that shows what colours mean: nothing in it is data
MOST = 5000  # marks; more are too small to point at, and slow a page down
TOGETHER = ("layer", "hconcat", "vconcat")


def told(document: dict[str, Any]) -> dict[str, Any]:
    """A Vega-Lite document in which each mark tells its row of data, as far as it stands for one."""
    document = copy.deepcopy(document)
    titles = _titles(document)
    for part, rows in _parts(document, document):
        if rows and _kind(part) not in ("text", "rule"):
            names = sorted(
                set(rows[0]) - LOOKS, key=lambda name: (not isinstance(rows[0][name], str), name in ENDS, name)
            )
            names = [name for name in names if name != "end" or "true_end" not in names]
            part["encoding"]["tooltip"] = [_field(name, rows, titles) for name in names]
    return document


def is_pointable(document: dict[str, Any]) -> bool:
    """Whether marks are few enough to be pointed at one by one."""
    return sum(len(rows) for _, rows in _parts(document, document)) <= MOST


def targets(document: dict[str, Any]) -> dict[str, Any]:
    """`told` as a Vega document for pages: of a single line its points are what is pointed at."""
    document = told(document)
    for part, rows in list(_parts(document, document)):
        if _kind(part) == "line" and "color" in part["encoding"]:
            part["encoding"].pop("tooltip")  # its points tell
        elif _kind(part) == "line":
            _by_place(part, len(rows))
    made: dict[str, Any] = vl_convert.vegalite_to_vega(document)
    del made["$schema"]  # an address, and pages load nothing from outside
    return made


def _by_place(part: dict[str, Any], n: int) -> None:
    """A line as two layers: itself, and a bar as high as the plot for each of its points."""
    encoding = part.pop("encoding")
    mark, tooltip = part.pop("mark"), encoding.pop("tooltip")
    bar = {"type": "rule", "strokeWidth": max(1, 1000 // max(n, 1))}
    place = {"x": encoding["x"], "tooltip": tooltip}
    part["layer"] = [{"mark": mark, "encoding": encoding}, {"mark": bar, "encoding": place}]


def _field(name: str, rows: list[Mapping[str, Any]], titles: Mapping[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {"field": name, "title": titles.get(name) or name.replace("_", " ")}
    if name == "share":
        return made | {"type": "quantitative", "format": ".1%"}
    values = [row[name] for row in rows if isinstance(row.get(name), (int, float))]
    if any(isinstance(value, float) for value in values):
        made |= {"type": "quantitative", "format": ",.0f" if max(map(abs, values)) >= 1000 else ",.4~r"}
    return made


def _titles(document: dict[str, Any]) -> dict[str, str]:
    """Titles of the axes by the field they show; a stretch has two fields and one title."""
    shown, stretches = dict(WORDS), dict[str, str]()
    for part, _ in _parts(document, document):
        encoding = part["encoding"]
        for name, channel in encoding.items():
            title, other = channel.get("title") if isinstance(channel, dict) else None, encoding.get(f"{name}2")
            if title and channel.get("field"):
                shown[channel["field"]] = title
                if other and other.get("field"):
                    stretches |= {channel["field"]: f"{title}, from", other["field"]: f"{title}, to"}
                    stretches |= {f"true_{other['field']}": f"{title}, to"}  # what was widened to be seen
    return shown | stretches


def _kind(part: Mapping[str, Any]) -> str:
    mark = part["mark"]
    return str(mark["type"] if isinstance(mark, dict) else mark)


def _parts(
    part: Any, document: Mapping[str, Any], data: Mapping[str, Any] | None = None
) -> Iterator[tuple[dict[str, Any], list[Mapping[str, Any]]]]:
    """Every part of a document that draws marks, with the rows it reads, its own or those of what holds it."""
    data = part.get("data", data or {})
    if part.get("name") == LEGEND:
        return
    if "mark" in part:
        yield part, document.get("datasets", {}).get(data.get("name"), data.get("values", []))
    for together in TOGETHER:
        for inner in part.get(together, ()):
            yield from _parts(inner, document, data)
