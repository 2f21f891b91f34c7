"""What the operation table loads when asked: every op of every pass, in chunks that are classic scripts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from tracegen.analysis.accesses import SELECTING
from tracegen.pages import quantities as q
from tracegen.pages.context import Context
from tracegen.pages.op_address import CHUNK_CALL, CHUNKS

PASSES_PER_CHUNK, BYTES_PER_CHUNK = 100, 1_000_000
COLUMNS = ("begin_ns", "duration_ns", "work_ns", "barrier_ns", "wait_ns", "disk_bytes", "copied_bytes", "buffer_bytes")


def units_used(context: Context) -> dict[tuple[int, int, str], str]:
    """Which rows or experts an operand used: `experts 0–1, 3`."""
    found: dict[tuple[int, int, str], list[str]] = {}
    touches = context.tables["touches"].sort_values(["pass_id", "node", "slot", "first_unit"])
    columns = (touches[c] for c in ("pass_id", "node", "slot", "unit", "first_unit", "n_units"))
    for pass_id, node, slot, unit, first, n in zip(*columns, strict=True):
        text = str(first) if n == 1 else f"{first}–{first + n - 1}"
        found.setdefault((int(pass_id), int(node), str(slot)), [f"{unit}s"]).append(text)
    return {key: f"{v[0]} {', '.join(v[1:25])}{', …' if len(v) > 25 else ''}" for key, v in found.items()}


def note(row: Mapping[Any, Any]) -> str:
    """What is special about an op: fused, or of another state than executed."""
    if row["state"] == "fused":
        return "fused" if pd.isna(row["fused_into"]) else f"fused into {row['fused_into']}"
    return "" if row["state"] == "executed" else "state not recorded" if pd.isna(row["state"]) else str(row["state"])


def write_chunks(context: Context, passes: pd.DataFrame) -> dict[int, str]:
    """Write `data/ops/NNN.js` (passes) and `data/ops/pN.js` (what is static); returns pass -> chunk."""
    units = units_used(context)
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
            _write(context, f"{number:03d}", CHUNK_CALL, f"[{','.join(pending)}]")
            pending, size, number = [], 0, number + 1
        pending.append(text)
        size += len(text)
        where[int(p["pass_id"])] = f"{number:03d}"
    if pending:
        _write(context, f"{number:03d}", CHUNK_CALL, f"[{','.join(pending)}]")
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
        "note": [note(o) for o in ops[["state", "fused_into"]].to_dict("records")],
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
    context.files.add(f"{CHUNKS}/{name}.js", f"{call}({text});\n")


def script_json(data: object) -> str:
    """JSON that may stand in a script: no tag can end it, no line separator can break it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
