"""Tooltips of figures: the row of data of the mark under the pointer, named as on axes and legend.

A page shows the drawing and lays `targets` over it, invisible: the same chart as a Vega document whose marks have
tooltips. The drawing itself does not change.
"""

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from tracegen.charts import theme

# Columns of a chart's data that set the look of a mark; tooltips leave them out.
LOOKS = {"pass_id", "colour", "ink", "step", "rank", "text", "at", "width", "left", "right", "top", "bottom"}
WORDS = {
    "label": "pass",
    "line": "token",
    "even": "even choice",
    "n_tokens": "tokens",
    "touched_bytes": "touched bytes",
    "middle": "layer in the middle",
    "value": "part",
    "share": "share of the phase",
}
ENDS = ("end", "high", "true_end")  # columns that follow the start of a stretch
LEGEND = "legend"  # the name of a view that explains colours and holds no data
MOST = 2000  # marks: more are too small to point at, and slow a page down
MOST_NARROW = 500  # marks of a drawing for a phone, where a finger covers several
TOGETHER = ("layer", "hconcat", "vconcat")


def with_tooltips(document: dict[str, Any]) -> dict[str, Any]:
    """The Vega-Lite document with a tooltip on each mark that stands for a row of data."""
    document = copy.deepcopy(document)
    titles = _titles(document)
    for part, rows in _parts(document, document):
        if rows and _kind(part) not in ("text", "rule") and "tooltip" not in part["encoding"]:
            names = sorted(
                set(rows[0]) - LOOKS, key=lambda name: (not isinstance(rows[0][name], str), name in ENDS, name)
            )
            names = [name for name in names if name != "end" or "true_end" not in names]
            part["encoding"]["tooltip"] = [_field(name, rows, titles) for name in names]
    return document


def is_pointable(document: dict[str, Any], width: int = 0) -> bool:
    """Whether marks are few enough to be pointed at one by one; `width` of the layout in px, 0: the only one."""
    most = MOST_NARROW if width and theme.narrow(width) else MOST
    return sum(len(rows) for _, rows in _parts(document, document)) <= most


def targets(document: dict[str, Any]) -> dict[str, Any]:
    """`with_tooltips` as a Vega document for pages; a line has its tooltips on its points."""
    document = with_tooltips(document)
    for part, rows in list(_parts(document, document)):
        if _kind(part) == "line" and "color" in part["encoding"]:
            part["encoding"].pop("tooltip")  # a layer of points has them
        elif _kind(part) == "line":
            _by_place(part, len(rows))
    import vl_convert  # loads a JavaScript engine

    vega: dict[str, Any] = vl_convert.vegalite_to_vega(document)
    del vega["$schema"]  # an address, and pages load nothing from outside
    return vega


def shared_values(documents: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The Vega documents of a figure's layouts by width, and the `values` that they have in common, each once.

    In a document the place of its values in that list stands in place of the values.
    """
    values: list[Any] = []
    places: dict[str, int] = {}
    layouts = {}
    for width, document in documents.items():
        data = []
        for source in document.get("data", []):
            if "values" in source:
                key = json.dumps(source["values"], sort_keys=True)
                if key not in places:
                    places[key] = len(values)
                    values.append(source["values"])
                source = source | {"values": places[key]}
            data.append(source)
        layouts[width] = document | {"data": data}
    return {"layouts": layouts, "values": values}


def pass_rows(datasets: Mapping[str, list[Mapping[str, Any]]]) -> list[list[float]]:
    """The row of a drawing that holds the marks of each pass: pass_id, left, top, right, bottom (px), by pass.

    Only of marks that have all of these; a row of several passes has the first of them.
    """
    names = ("left", "top", "right", "bottom")
    found: dict[int, list[Mapping[str, Any]]] = {}
    for row in (row for rows in datasets.values() for row in rows):
        if pd.notna([row.get(name) for name in ("pass_id", *names)]).all():
            found.setdefault(int(row["pass_id"]), []).append(row)
    ends = {"left": min, "top": min, "right": max, "bottom": max}
    return [[p, *(ends[name](row[name] for row in rows) for name in names)] for p, rows in sorted(found.items())]


def _by_place(part: dict[str, Any], n: int) -> None:
    """Turn a line into two layers: the line, and for each point a bar as high as the plot, with the tooltip."""
    encoding = part.pop("encoding")
    mark, tooltip = part.pop("mark"), encoding.pop("tooltip")
    bar = {"type": "rule", "strokeWidth": max(1, 1000 // max(n, 1))}
    place = {"x": encoding["x"], "tooltip": tooltip}
    part["layer"] = [{"mark": mark, "encoding": encoding}, {"mark": bar, "encoding": place}]


def _field(name: str, rows: list[Mapping[str, Any]], titles: Mapping[str, str]) -> dict[str, Any]:
    field: dict[str, Any] = {"field": name, "title": titles.get(name) or name.replace("_", " ")}
    if name == "share":
        return field | {"type": "quantitative", "format": ".1%"}
    values = [row[name] for row in rows if isinstance(row.get(name), (int, float))]
    if any(isinstance(value, float) for value in values):
        field |= {"type": "quantitative", "format": ",.0f" if max(map(abs, values)) >= 1000 else ",.4~r"}
    return field


def _titles(document: dict[str, Any]) -> dict[str, str]:
    """Field -> title of its axis; the two fields of a stretch get `…, from` and `…, to`."""
    shown, stretches = dict(WORDS), dict[str, str]()
    for part, _ in _parts(document, document):
        encoding = part["encoding"]
        for name, channel in encoding.items():
            title, second = channel.get("title") if isinstance(channel, dict) else None, encoding.get(f"{name}2")
            if title and channel.get("field"):
                shown[channel["field"]] = title
                if second and second.get("field"):
                    stretches |= {channel["field"]: f"{title}, from", second["field"]: f"{title}, to"}
                    stretches |= {f"true_{second['field']}": f"{title}, to"}  # of marks widened to be visible
    return shown | stretches


def _kind(part: Mapping[str, Any]) -> str:
    mark = part["mark"]
    return str(mark["type"] if isinstance(mark, dict) else mark)


def _parts(
    part: Any, document: Mapping[str, Any], data: Mapping[str, Any] | None = None
) -> Iterator[tuple[dict[str, Any], list[Mapping[str, Any]]]]:
    """Every part of a document that draws marks, with its rows: its own, or those of an enclosing part."""
    data = part.get("data", data or {})
    if part.get("name") == LEGEND:
        return
    if "mark" in part:
        yield part, document.get("datasets", {}).get(data.get("name"), data.get("values", []))
    for together in TOGETHER:
        for inner in part.get(together, ()):
            yield from _parts(inner, document, data)
