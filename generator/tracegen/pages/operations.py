"""The operations page: every op of every pass; the first token's stand in the page, the rest in chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.analysis import timeline
from tracegen.analysis.accesses import SELECTING
from tracegen.charts import theme
from tracegen.charts import timeline as timeline_chart
from tracegen.pages import quantities as q
from tracegen.pages.context import Context
from tracegen.pages.views import FigureView

PASSES_PER_CHUNK, BYTES_PER_CHUNK = 100, 1_000_000
COLUMNS = ("begin_ns", "duration_ns", "work_ns", "barrier_ns", "wait_ns", "disk_bytes", "copied_bytes", "buffer_bytes")


@dataclass(frozen=True)
class Operand:
    """What an op reads or writes, as its row unfolds to show."""

    slot: str
    name: str
    memory: str
    place: str
    offset: str
    size: str
    touched: str
    units: str


@dataclass(frozen=True)
class OpRow:
    """A row of the operation table; numbers are formatted in the units of the head."""

    node: int
    op: str
    name: str
    layer: str
    component: str
    group: str
    note: str
    numbers: tuple[str, ...]
    bar: float
    threads: str
    experts: str
    operands: tuple[Operand, ...]


def operations(context: Context) -> dict[str, Any]:
    """Everything the template of the operations page prints; writes the chunks."""
    passes = context.tables["passes"].dropna(subset=["graph"]).sort_values("pass_id")
    shown = _first_pass(context, passes)
    where = _write_chunks(context, passes)
    listed = [
        {
            "id": int(p["pass_id"]),
            "label": context.labels[int(p["pass_id"])],
            "chunk": where.get(int(p["pass_id"])),
            "placement": None if pd.isna(p["placement"]) else int(p["placement"]),
            "about": _about(context, p),
        }
        for p in passes.to_dict("records")
    ]
    noops = 0
    if shown is not None:
        ops = context.tables["ops"]
        noops = int(((ops["pass_id"] == shown) & (ops["state"] == "noop").fillna(False)).sum())
    files = {str(r["file"]): q.printable(r["path"]) for r in context.tables["files"].to_dict("records")}
    return {
        "shown": shown,
        "label": "" if shown is None else context.labels[shown],
        "about": next((p["about"] for p in listed if p["id"] == shown), ""),
        "rows": [] if shown is None else _rows(context, shown),
        "noops": noops,
        "passes": listed,
        "state": {
            "shown": shown,
            "passes": listed,
            "files": files,
            "groups": dict(theme.GROUP_OF),
            "data": "../data/ops/",
        },
        "timeline": _timeline(context),
    }


def _first_pass(context: Context, passes: pd.DataFrame) -> int | None:
    """The pass that gave token 0, else the first measured one, else the first."""
    zero = passes[(passes["produced_token"] == 0).fillna(False).to_numpy(bool)]
    measured = passes[passes["pass_id"].isin(context.measured["pass_id"])]
    for frame in (zero, measured, passes):
        if len(frame):
            return int(frame["pass_id"].iloc[0])
    return None


def _about(context: Context, row: Any) -> str:
    """One line on a pass: kind, tokens, duration, faults."""
    length = None if pd.isna(row["end_ns"]) else int(row["end_ns"]) - int(row["begin_ns"])
    tokens = (
        q.UNKNOWN
        if pd.isna(row["n_tokens"])
        else f"{q.count(row['n_tokens'])} token row{'s' if row['n_tokens'] != 1 else ''}"
    )
    outside = ", outside every statistic" if row["kind"] in ("load", "warmup") else ""
    faults = q.count(row["major_faults"] if q.known(row["major_faults"]) else None)
    return (
        f"Pass {row['pass_id']}: {row['kind'] if q.known(row['kind']) else 'kind not recorded'}{outside}, "
        f"{tokens}, {q.duration(length)}, graph {row['graph']}, disk faults: {faults}."
    )


def _units(context: Context) -> dict[tuple[int, int, str], str]:
    """Which rows or experts an operand used: `experts 0–1, 3`."""
    found: dict[tuple[int, int, str], list[str]] = {}
    touches = context.tables["touches"].sort_values(["pass_id", "node", "slot", "first_unit"])
    columns = (touches[c] for c in ("pass_id", "node", "slot", "unit", "first_unit", "n_units"))
    for pass_id, node, slot, unit, first, n in zip(*columns, strict=True):
        text = str(first) if n == 1 else f"{first}–{first + n - 1}"
        found.setdefault((int(pass_id), int(node), str(slot)), [f"{unit}s"]).append(text)
    return {key: f"{v[0]} {', '.join(v[1:25])}{', …' if len(v) > 25 else ''}" for key, v in found.items()}


def _rows(context: Context, pass_id: int) -> list[OpRow]:
    ops = context.ops[context.ops["pass_id"] == pass_id]
    accessed = context.accessed[context.accessed["pass_id"] == pass_id]
    units = _units(context)
    by_node: dict[int, list[Operand]] = {}
    for a in accessed.to_dict("records"):
        key = (pass_id, int(a["node"]), str(a["slot"]))
        by_node.setdefault(int(a["node"]), []).append(_operand(context, a, units.get(key, "")))
    longest = float(ops["duration_ns"].max()) if ops["duration_ns"].notna().any() else 1.0
    return [
        OpRow(
            node=int(o["node"]),
            op=q.printable(o["op"]),
            name=q.printable(o["name"]),
            layer="" if pd.isna(o["layer"]) else str(o["layer"]),
            component=str(o["component"]),
            group=theme.group(o["component"]),
            note=_note(o),
            numbers=tuple(_number(c, o[c]) for c in COLUMNS),
            bar=0.0 if pd.isna(o["duration_ns"]) else float(o["duration_ns"]) / max(longest, 1),
            threads="—" if pd.isna(o["n_threads"]) else str(o["n_threads"]),
            experts=next(
                (u for (p, n, _), u in units.items() if p == pass_id and n == o["node"] and u.startswith("expert")), ""
            ),
            operands=tuple(by_node.get(int(o["node"]), ())),
        )
        for o in ops.to_dict("records")
    ]


def _note(row: Mapping[Any, Any]) -> str:
    if row["state"] == "fused":
        return "fused" if pd.isna(row["fused_into"]) else f"fused into {row['fused_into']}"
    return "" if row["state"] == "executed" else "state not recorded" if pd.isna(row["state"]) else str(row["state"])


def _number(column: str, value: Any) -> str:
    if pd.isna(value):
        return "—"
    return (
        q.decimal(value / 1024, 1)
        if column.endswith("bytes")
        else q.decimal(value / 1e3, 1 if column == "begin_ns" else 2)
    )


def _operand(context: Context, row: Mapping[Any, Any], units: str) -> Operand:
    place = "—"
    if q.known(row["file"]):
        files = context.tables["files"].set_index("file")["path"]
        place = q.printable(files.get(int(row["file"]), f"file {row['file']}"))
    elif q.known(row["buffer_id"]):
        place = f"buffer {row['buffer_id']}"
    memory = str(row["memory"]) if q.known(row["memory"]) else q.UNKNOWN
    offset, size, touched = (
        q.count(row[c]) if q.known(row[c]) else "—" for c in ("offset", "size_bytes", "touched_bytes")
    )
    return Operand(str(row["slot"]), q.printable(row["source_name"]), memory, place, offset, size, touched, units)


def _write_chunks(context: Context, passes: pd.DataFrame) -> dict[int, str]:
    """Write `data/ops/NNN.js` (passes) and `data/ops/pN.js` (what is static); returns pass -> chunk."""
    units = _units(context)
    chosen = _selecting(context.accessed)
    touched: dict[int, dict[str, list[Any]]] = {}
    for p, n, s, b in zip(*(chosen[c] for c in ("pass_id", "node", "slot", "touched_bytes")), strict=True):
        value = None if pd.isna(b) else int(b)
        touched.setdefault(int(p), {})[f"{n}.{s}"] = [value, units.get((int(p), int(n), str(s)), "")]
    _write_static(context, passes)
    where: dict[int, str] = {}
    pending: list[str] = []
    size, number = 0, 0
    groups = dict(iter(context.ops.groupby("pass_id")))
    for p in passes.to_dict("records"):
        rows = groups.get(p["pass_id"])
        text = script_json(_pass_data(p, rows, touched.get(int(p["pass_id"]), {}))) if rows is not None else ""
        if not text:
            continue
        if pending and (len(pending) >= PASSES_PER_CHUNK or size + len(text) > BYTES_PER_CHUNK):
            _write(context, f"{number:03d}", "tracegenChunk", f"[{','.join(pending)}]")
            pending, size, number = [], 0, number + 1
        pending.append(text)
        size += len(text)
        where[int(p["pass_id"])] = f"{number:03d}"
    if pending:
        _write(context, f"{number:03d}", "tracegenChunk", f"[{','.join(pending)}]")
    return where


def _selecting(accessed: pd.DataFrame) -> pd.DataFrame:
    keys = pd.MultiIndex.from_arrays([accessed["op"].astype(str), accessed["slot"].astype(str)])
    return accessed[keys.isin(list(SELECTING))]


def _pass_data(row: Any, ops: pd.DataFrame, touched: dict[str, list[Any]]) -> dict[str, Any]:
    """A pass as columns; times in ns since it began, sizes in bytes, null when not recorded."""
    made: dict[str, Any] = {"id": int(row["pass_id"]), "node": _numbers(ops["node"])}
    made |= {column.split("_")[0]: _numbers(ops[column]) for column in COLUMNS}
    made |= {
        "threads": _numbers(ops["n_threads"]),
        "note": [_note(o) for o in ops[["state", "fused_into"]].to_dict("records")],
        "touched": touched,
    }
    return made


def _numbers(values: Iterable[Any]) -> list[int | None]:
    return [None if pd.isna(v) else int(v) for v in values]


def _write_static(context: Context, passes: pd.DataFrame) -> None:
    """Per placement: what its nodes are, and where their operands lie."""
    keys = passes[["pass_id", "graph", "placement"]].dropna()
    rows = context.accessed.merge(keys[["pass_id", "placement"]], on="pass_id").drop_duplicates(
        ["placement", "node", "slot"]
    )
    nodes = context.tables["graph_nodes"]
    for pair in keys.drop_duplicates("placement").to_dict("records"):
        static = nodes[(nodes["graph"] == pair["graph"]) & (nodes["kind"] == "op")]
        columns = ("node", "op", "name", "layer", "component")
        described = {
            str(n): [q.printable(op), q.printable(name), None if pd.isna(layer) else int(layer), str(component)]
            for n, op, name, layer, component in zip(*(static[c] for c in columns), strict=True)
        }
        operands: dict[str, list[list[Any]]] = {}
        part = rows[rows["placement"] == pair["placement"]]
        wanted = (
            "node",
            "op",
            "slot",
            "source_name",
            "memory",
            "file",
            "buffer_id",
            "offset",
            "size_bytes",
            "touched_bytes",
        )
        for n, op, slot, name, memory, file, buffer, offset, size, used in zip(*(part[c] for c in wanted), strict=True):
            numbers = _numbers([file, buffer, offset, size, None if (str(op), str(slot)) in SELECTING else used])
            operands.setdefault(str(n), []).append(
                [str(slot), q.printable(name), None if pd.isna(memory) else str(memory), *numbers]
            )
        data = {"placement": int(pair["placement"]), "nodes": described, "operands": operands}
        _write(context, f"p{int(pair['placement'])}", "tracegenStatic", script_json(data))


def _write(context: Context, name: str, call: str, text: str) -> None:
    context.files.add(f"data/ops/{name}.js", f"{call}({text});\n")


def script_json(data: object) -> str:
    """JSON that may stand in a script: no tag can end it, no line separator can break it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _timeline(context: Context) -> FigureView:
    """The threads during one typical token: the generate pass of median length, else the last prompt pass."""
    m = context.measured.dropna(subset=["duration_ns", "graph"])
    m = m[m["pass_id"].isin(context.tables["spans"]["pass_id"])]
    part = m[(m["kind"] == "generate").to_numpy()] if (m["kind"] == "generate").any() else m
    if part.empty:
        return context.figure(
            "timeline",
            "operations",
            "What do the threads do during a token?",
            "",
            "",
            lambda: None,
            data=pd.DataFrame(),
            empty="The trace holds no thread's times for a measured pass.",
        )
    ordered = part.sort_values(["duration_ns", "pass_id"])
    pass_id = int(ordered["pass_id"].iloc[(len(ordered) - 1) // 2])
    rows, width = timeline.segments(context.tables, pass_id)
    spans = context.tables["spans"]
    sums = spans.loc[spans["pass_id"] == pass_id, ["work_ns", "barrier_ns", "wait_ns"]].sum()
    share = float(sums["work_ns"]) / max(float(sums.sum()), 1)
    label, n = context.labels[pass_id], int(rows["thread"].nunique())
    binned = f" Binned to {q.duration(width)}: each bin shows what took most of it." if width else ""
    return context.figure(
        "timeline",
        "operations",
        f"During {label}, threads work {q.percent(share)} of their time in operations",
        f"Pass {pass_id}, {n} threads; the generate pass of median length where there is one. Colour: work by "
        f"component group. "
        f"Within an operation the waiting is drawn after the work; where it lay is not recorded.{binned} Warm-up and "
        f"load are never chosen.",
        f"Timeline of {n} threads during {label}: {q.percent(share)} work, "
        f"{q.percent(float(sums['barrier_ns']) / max(float(sums.sum()), 1))} waiting inside operations, the rest "
        f"waiting after them.",
        lambda: timeline_chart.chart(rows),
        data=rows,
    )
