"""The data of the timeline: all spans of as many passes as fit, in classic scripts that are loaded on demand.

    tracegenSpans([{"id": 3, "threads": [{"thread": 0, "node": "…", "begin": "…", "work": "…",
                    "barrier": "…", "wait": "…", "disk": "…"}, ...]}, ...]);
    tracegenNodes({"graph": 1, "node": [...], "op": [...], "name": [...], "layer": [...], "component": [...]});

Columns are packed (packing.py), times in ns; `begin` counts from the start of the span before it on its thread, the
first from the pass's begin. Spans stand in the order in which their thread ran them. `disk` is the part of work in page
faults; it stands only in runs that recorded them. A device of which single operations were recorded stands below the
threads, with its name as `device` and a number that no thread has; its operations only work.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.analysis import device_ops
from tracegen.contract import quantities as q
from tracegen.report.document.assets import Assets
from tracegen.report.document.packing import packed, script_json, whole
from tracegen.report.figures.context import Context

MOST_SPANS = 400_000  # of all passes together: about 5 MB of script, loaded chunk by chunk
SPANS_PER_CHUNK = 30_000
SPANS = "data/spans"
FIRST_DEVICE = 1_000_000  # no pool has so many threads
_SPAN = ("node", "begin_ns", "work_ns", "barrier_ns", "wait_ns", "fault_ns")
COLUMNS = {"node": "node", "work": "work_ns", "barrier": "barrier_ns", "wait": "wait_ns"}


@dataclass(frozen=True)
class Carried:
    """The passes whose spans are written: pass -> chunk; and how many passes have spans at all."""

    chunk: dict[int, str]
    n_with_spans: int
    n_spans: int

    @property
    def left_out(self) -> int:
        """The number of passes whose spans were recorded but not written."""
        return self.n_with_spans - len(self.chunk)


def chosen(passes: pd.DataFrame, sizes: pd.Series, first: Iterable[int], most: int) -> list[int]:
    """The passes to write, sorted: all if they have at most `most` spans, else a selection that fits.

    The selection has `first`, then the first, slowest, fastest and median pass, then evenly spread ones; the first
    pass chosen is taken whatever its size. `passes`: pass_id and duration_ns of measured passes; `sizes`: spans of
    each pass that has some.
    """
    if int(sizes.sum()) <= most:
        return sorted(int(p) for p in sizes.index)
    ordered = passes[passes["pass_id"].isin(sizes.index)].dropna(subset=["duration_ns"])
    ordered = ordered.sort_values(["duration_ns", "pass_id"])
    ranked = [int(p) for p in ordered["pass_id"]]
    wanted = [int(p) for p in first]
    if ranked:
        wanted += [min(ranked), ranked[-1], ranked[0], ranked[(len(ranked) - 1) // 2]]
    every = sorted(int(p) for p in sizes.index)
    n_spread = max(1, int(most / float(sizes.mean())))
    wanted += [every[i] for i in np.unique(np.linspace(0, len(every) - 1, n_spread).round().astype(int))]
    carried: list[int] = []
    room = most
    for pass_id in dict.fromkeys(p for p in wanted if p in sizes.index):
        size = int(sizes[pass_id])
        if size <= room or not carried:
            carried.append(pass_id)
            room -= size
    return sorted(carried)


def write_spans(context: Context, assets: Assets, first: Iterable[int]) -> Carried:
    """Write `data/spans/NNN.js` (spans of passes) and `data/spans/gN.js` (nodes of graph N)."""
    devices = device_lanes(context)
    spans = pd.concat([context.tables["spans"], devices]) if len(devices) else context.tables["spans"]
    names = {int(number): str(name) for number, name in zip(devices["thread"], devices["device"], strict=True)}
    graphs = context.tables["passes"].dropna(subset=["graph"]).set_index("pass_id")
    spans = spans[spans["pass_id"].isin(graphs.index)]
    sizes = spans.groupby("pass_id").size()
    carried = chosen(context.measured, sizes, first, MOST_SPANS)
    rows = spans[spans["pass_id"].isin(carried)].sort_values(["pass_id", "thread", "begin_ns", "node"], kind="stable")
    begin = rows["begin_ns"].to_numpy("int64") - rows["pass_id"].map(graphs["begin_ns"]).to_numpy("int64")
    keys = rows[["pass_id", "thread"]].to_numpy("int64")
    edges = _edges(keys)
    gaps = np.diff(begin, prepend=0)
    gaps[edges[:-1]] = begin[edges[:-1]]
    columns = {name: packed(rows[column], np.array(edges[1:], int)) for name, column in COLUMNS.items()}
    columns["begin"] = packed(gaps, np.array(edges[1:], int))
    if context.run.has_faults:
        columns["disk"] = packed(rows["fault_ns"].fillna(0), np.array(edges[1:], int))
    where: dict[int, str] = {}
    texts: list[str] = []
    size, number = 0, 0
    for pass_id, lanes in _by_pass(keys, edges):
        if texts and size + int(sizes[pass_id]) > SPANS_PER_CHUNK:
            assets.script(f"{SPANS}/{number:03d}.js", "tracegenSpans", f"[{','.join(texts)}]")
            texts, size, number = [], 0, number + 1
        threads = [_lane(thread, names) | {name: column[i] for name, column in columns.items()} for thread, i in lanes]
        texts.append(script_json({"id": pass_id, "threads": threads}))
        size += int(sizes[pass_id])
        where[pass_id] = f"{number:03d}"
    if texts:
        assets.script(f"{SPANS}/{number:03d}.js", "tracegenSpans", f"[{','.join(texts)}]")
    _write_nodes(context, assets, sorted({int(graphs["graph"][p]) for p in carried}))
    return Carried(where, len(sizes), len(rows))


def device_lanes(context: Context) -> pd.DataFrame:
    """The operations of devices as spans, with the column `device`; its number comes after those of threads."""
    rows = device_ops.timed(context.tables["device_ops"]).dropna(subset=["device", "node"])
    numbers = {name: FIRST_DEVICE + i for i, name in enumerate(sorted(rows["device"].unique()))}
    return rows.assign(
        thread=rows["device"].map(numbers).astype("int32"),
        node=rows["node"].astype("int32"),
        begin_ns=rows["from_ns"],
        work_ns=rows["took_ns"],
        barrier_ns=0,
        wait_ns=0,
        fault_ns=0,
    )[["pass_id", "thread", "device", *_SPAN]]


def _lane(thread: int, devices: Mapping[int, str]) -> dict[str, object]:
    return {"thread": thread} | ({"device": q.printable(devices[thread])} if thread in devices else {})


def _edges(keys: np.ndarray) -> list[int]:
    """The rows at which a new (pass, thread) begins, and the number of rows."""
    change = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
    return [0, *change.tolist(), len(keys)] if len(keys) else []


def _by_pass(keys: np.ndarray, edges: list[int]) -> list[tuple[int, list[tuple[int, int]]]]:
    """Each pass with its threads as (thread, index of its lane among all lanes)."""
    lanes: dict[int, list[tuple[int, int]]] = {}
    for i, start in enumerate(edges[:-1]):
        lanes.setdefault(int(keys[start, 0]), []).append((int(keys[start, 1]), i))
    return list(lanes.items())


def _write_nodes(context: Context, assets: Assets, graphs: list[int]) -> None:
    nodes = context.tables["graph_nodes"]
    nodes = nodes[(nodes["kind"] == "op") & nodes["graph"].isin(graphs)].sort_values(["graph", "node"])
    groups = dict(iter(nodes.groupby("graph")))
    for graph in graphs:
        rows = groups.get(graph, nodes.head(0))
        described = {
            "graph": graph,
            "node": [int(n) for n in rows["node"]],
            "op": [q.printable(op) for op in rows["op"]],
            "name": [q.printable(name) for name in rows["name"]],
            "layer": [whole(layer) for layer in rows["layer"]],
            "component": [str(c) for c in rows["component"]],
        }
        assets.script(f"{SPANS}/g{graph}.js", "tracegenNodes", script_json(described))
