"""The operations page: all ops of all passes in chunks; those of one pass that took longest are in the page."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tracegen.charts import theme
from tracegen.contract import quantities as q
from tracegen.report.document.assets import Assets
from tracegen.report.figures.context import Context
from tracegen.report.figures.explorers import GRAPH, OPERATIONS
from tracegen.report.figures.heatmap import HEATMAP
from tracegen.report.figures.timeline import TIMELINE, shown_pass
from tracegen.report.pages.explorers.op_chunks import COLUMNS, note, unit_text, written_ops
from tracegen.report.pages.explorers.op_index import write_index
from tracegen.report.pages.explorers.pass_disk import recorded
from tracegen.report.pages.token_panel import layer_means_csv, token_panel
from tracegen.report.pages.token_words import pass_name
from tracegen.report.words.terms import memory_name

# The columns of the table in order: their names in scripts/op_rows.js, and their widths in pixels.
TABLE = (
    ("node", 52),
    ("name", 190),
    ("op", 150),
    ("layer", 52),
    ("component", 132),
    ("begin", 70),
    ("duration", 72),
    ("work", 72),
    ("barrier", 72),
    ("wait", 72),
    ("disk", 78),
    ("copied", 72),
    ("buffer", 72),
    ("threads", 68),
    ("reads", 300),
    ("used", 180),
)
LISTED = 24  # operations that a page without scripts lists
_TOUCHED = ("node", "slot", "unit", "first_unit", "n_units")


NO_GRAPH = "This run evaluated no graph, so there is no operation to list."
NO_OPS = "The trace holds no operation of the graphs that this run evaluated."


def operations(context: Context, assets: Assets) -> dict[str, Any]:
    """Everything the template of the operations page prints; writes the chunks."""
    evaluated = context.tables["passes"].dropna(subset=["graph"]).sort_values("pass_id", kind="stable")
    refused = context.refusal(OPERATIONS.needs)
    passes = evaluated[evaluated["pass_id"].isin(context.ops["pass_id"]) & (not refused)]
    shown = _opened(context, passes)
    written = written_ops(context, assets)
    ops = context.tables["ops"]
    left_out = ops[(ops["state"] == "noop").fillna(False)].groupby("pass_id").size()
    listed = [
        {
            "id": int(p["pass_id"]),
            "label": context.labels[int(p["pass_id"])],
            "name": pass_name(int(p["pass_id"]), context.labels[int(p["pass_id"])]),
            "chunk": written.chunk.get(int(p["pass_id"])),
            "static": written.static[int(p["pass_id"])],
            "graph": int(p["graph"]),
            "about": _about(context, p),
            "left_out": q.counted(left_out.get(int(p["pass_id"]), 0), "node"),
        }
        for p in passes.to_dict("records")
    ]
    of_shown: dict[str, Any] = next((p for p in listed if p["id"] == shown), {})
    write_index(context, assets)
    files = {str(r["file"]): q.printable(r["path"]) for r in context.tables["files"].to_dict("records")}
    return {
        "shown": shown,
        "reason": refused or (NO_GRAPH if evaluated.empty else NO_OPS),
        "label": of_shown.get("label", ""),
        "name": of_shown.get("name", ""),
        "means": q.counted(len(context.phase_passes), f"{context.phase} pass", f"{context.phase} passes"),
        "means_csv": "" if shown is None else layer_means_csv(context, assets),
        "phase": context.phase,
        "recorded": recorded(context),
        "about": of_shown.get("about", ""),
        "graph": of_shown.get("graph"),
        "rows": [] if shown is None else _rows(context, shown),
        "n_rows": 0 if shown is None else int((context.ops["pass_id"] == shown).sum()),
        "others": context.others,
        "submitted": context.submitted,
        "left_out": of_shown.get("left_out", ""),
        "csv": "" if shown is None else assets.csv("operations", context.ops[context.ops["pass_id"] == shown]),
        "numbers": {"pass_id": shown},
        "passes": listed,
        "columns": TABLE,
        "state": {
            "shown": shown,
            "passes": listed,
            "files": files,
            "groups": dict(theme.GROUP_OF),
            "ways": [part.page for part in (GRAPH, TIMELINE) if not context.refusal(part.needs)],
            "memory": not context.refusal(HEATMAP.needs),
            "data": "../data/ops/",
            "panel": {} if shown is None else token_panel(context),
        },
    }


def _opened(context: Context, passes: pd.DataFrame) -> int | None:
    """The pass that the timeline opens with, else the first measured one, else the first."""
    typical = passes[passes["pass_id"] == shown_pass(context)]
    measured = passes[passes["pass_id"].isin(context.measured["pass_id"])]
    for frame in (typical, measured, passes):
        if len(frame):
            return int(frame["pass_id"].iloc[0])
    return None


def _about(context: Context, row: Any) -> str:
    """One line on a pass: kind, tokens that it holds and gives, duration, faults."""
    ended = not pd.isna(row["end_ns"])
    took = q.duration(int(row["end_ns"]) - int(row["begin_ns"])) if ended else f"duration {q.UNKNOWN}"
    tokens = q.UNKNOWN if pd.isna(row["n_tokens"]) else q.counted(row["n_tokens"], "token")
    holds, gives = context.input_tokens.get(int(row["pass_id"])), row["produced_token"]
    tokens += ("" if holds is None else f", input token {holds}") + (
        f", output token {gives}" if q.known(gives) else ""
    )
    outside = ", left out of every statistic" if row["kind"] in ("load", "warmup") else ""
    faults = q.count(row["major_faults"] if q.known(row["major_faults"]) else None)
    return (
        f"Pass {row['pass_id']}: {row['kind'] if q.known(row['kind']) else 'kind not recorded'}{outside}, "
        f"{tokens}, "
        f"{took}, graph {row['graph']}, major page faults: {faults}, "
        f"read from the disk for the whole process: {q.size(row['read_bytes'])}."
    )


def _rows(context: Context, pass_id: int) -> list[dict[str, Any]]:
    """The rows of the table without scripts: the LISTED operations that took longest, in order of execution.

    Numbers are texts in the units of the table's head, `operands` are in the opened row.
    """
    of_pass = context.ops[context.ops["pass_id"] == pass_id]
    ops = of_pass.sort_values("duration_ns", ascending=False, kind="stable").head(LISTED).sort_index()
    accessed = context.accessed[context.accessed["pass_id"] == pass_id]
    units = _units_used(context.tables["touches"], pass_id)
    by_node: dict[int, list[dict[str, str]]] = {}
    for a in accessed.to_dict("records"):
        key = (int(a["node"]), str(a["slot"]))
        by_node.setdefault(int(a["node"]), []).append(_operand(context, a, units.get(key, "")))
    longest = float(ops["duration_ns"].max()) if ops["duration_ns"].notna().any() else 1.0
    return [
        dict(
            node=int(o["node"]),
            op=q.printable(o["op"]),
            name=q.printable(o["name"]),
            layer="" if pd.isna(o["layer"]) else str(o["layer"]),
            component=str(o["component"]),
            group=theme.group(o["component"]),
            note=note(o),
            into=int(o["fused_into"]) if o["state"] == "fused" and q.known(o["fused_into"]) else None,
            numbers=tuple(_number(c, o[c]) for c in COLUMNS),
            bar=0.0 if pd.isna(o["duration_ns"]) else float(o["duration_ns"]) / max(longest, 1),
            threads="—" if pd.isna(o["n_threads"]) else str(o["n_threads"]),
            operands=tuple(by_node.get(int(o["node"]), ())),
        )
        for o in ops.to_dict("records")
    ]


def _units_used(touches: pd.DataFrame, pass_id: int) -> dict[tuple[int, str], str]:
    """Which rows or experts the operands of a pass touched, by node and slot."""
    rows = touches[touches["pass_id"] == pass_id].sort_values(["node", "slot", "first_unit"])
    runs: dict[tuple[int, str, str], list[tuple[int, int]]] = {}
    for node, slot, unit, first, n in zip(*(rows[c] for c in _TOUCHED), strict=True):
        runs.setdefault((int(node), str(slot), str(unit)), []).append((int(first), int(n)))
    return {(node, slot): unit_text(unit, used) for (node, slot, unit), used in runs.items()}


def _number(column: str, value: Any) -> str:
    if pd.isna(value):
        return "—"
    return (
        q.decimal(value / 1024, 1)
        if column.endswith("bytes")
        else q.decimal(value / 1e3, 1 if column == "begin_ns" else 2)
    )


def _operand(context: Context, row: Mapping[Any, Any], units: str) -> dict[str, str]:
    place = "—"
    if q.known(row["file"]):
        files = context.tables["files"].set_index("file")["path"]
        place = q.printable(files.get(int(row["file"]), f"file {row['file']}"))
    elif q.known(row["buffer_id"]):
        place = f"buffer {row['buffer_id']}"
    memory = memory_name(row["memory"], context.copied) if q.known(row["memory"]) else q.UNKNOWN
    offset, size, touched = (
        q.count(row[c]) if q.known(row[c]) else "—" for c in ("offset", "size_bytes", "touched_bytes")
    )
    return dict(
        slot=str(row["slot"]),
        name=q.printable(row["source_name"]),
        memory=memory,
        place=place,
        offset=offset,
        size=size,
        touched=touched,
        units=units,
    )
