"""The data of the operation table: every op of every pass, in chunks that are classic scripts.

Passes that run one graph at one placement have most data in common: these form a static, which is written once
(`data/ops/pN.js`). A chunk (`data/ops/NNN.js`) has for each of its passes the times of every op, and the values that
differ from the static. The page loads a chunk when a reader chooses one of its passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import SELECTING, placed
from tracegen.contract import quantities as q
from tracegen.report.document.assets import Assets
from tracegen.report.document.packing import codes, packed, script_json, texts, whole
from tracegen.report.figures.context import Context
from tracegen.report.pages.explorers.pass_disk import packed_disk

PASSES_PER_CHUNK, BYTES_PER_CHUNK = 100, 400_000
COLUMNS = ("begin_ns", "duration_ns", "work_ns", "barrier_ns", "wait_ns", "disk_bytes", "copied_bytes", "buffer_bytes")
TIMES, STEADY = COLUMNS[1:5], (*COLUMNS[5:], "n_threads")  # steady: usually equal in all passes of a static
CHUNKS, CHUNK_CALL, STATIC_CALL = "data/ops", "tracegenChunk", "tracegenStatic"


@dataclass(frozen=True)
class Written:
    """By pass: its chunk and its static in `data/ops`, and its nodes."""

    chunk: dict[int, str]
    static: dict[int, int]
    nodes: dict[int, np.ndarray]


def unit_text(unit: str, runs: Iterable[tuple[int, int]]) -> str:
    """Which rows or experts an operand touched, from runs of (first, how many): `experts 0–1, 3`."""
    texts = [str(first) if n == 1 else f"{first}–{first + n - 1}" for first, n in runs]
    return f"{unit}s {', '.join(texts[:24])}{', …' if len(texts) > 24 else ''}"


def note(row: Mapping[Any, Any]) -> str:
    """The state of an op in words; empty for an executed one."""
    if row["state"] == "fused":
        return "fused" if pd.isna(row["fused_into"]) else f"fused into {row['fused_into']}"
    return "" if row["state"] == "executed" else "state not recorded" if pd.isna(row["state"]) else str(row["state"])


def written_ops(context: Context, assets: Assets) -> Written:
    """The chunks of all passes with a graph; the first call writes them."""
    return context.once("operations", lambda: _write_chunks(context, assets))


def _write_chunks(context: Context, assets: Assets) -> Written:
    passes = context.tables["passes"].dropna(subset=["graph"]).sort_values("pass_id", kind="stable")
    ops = context.ops[context.ops["pass_id"].isin(passes["pass_id"])].reset_index(drop=True)
    keys = passes[["pass_id", "graph", "placement"]]
    static = keys.groupby(["graph", "placement"], dropna=False, sort=False).ngroup()
    of_pass = dict(zip(keys["pass_id"].astype(int), static.astype(int), strict=True))
    ops = ops.assign(static=ops["pass_id"].map(of_pass).astype("int64"), note=_notes(ops))
    typical = _typical(ops)
    statics = _statics(context, of_pass, typical)
    for number, data in statics.items():
        assets.script(f"{CHUNKS}/p{number}.js", STATIC_CALL, script_json(data))
    selects = {k: {(n, s): i for i, (n, s, *_) in enumerate(data["selects"])} for k, data in statics.items()}
    ids, pass_of = keys["pass_id"].to_numpy("int64"), ops["pass_id"].to_numpy("int64")
    begins, ends = np.searchsorted(pass_of, ids, "left"), np.searchsorted(pass_of, ids, "right")
    columns = {"begin": packed(_gaps(ops), ends)} | {c.removesuffix("_ns"): packed(ops[c], ends) for c in TIMES}
    differing, notes = _differing(ops, typical, begins, ends)
    units = _units(context.tables["touches"], ids, of_pass, selects)
    experts, disk = _chosen_experts(context.tables["routing"], ids), packed_disk(context, ids)
    nodes, written, before = ops["node"].to_numpy(), [], None
    for i, pass_id in enumerate(ids.tolist()):
        entry: dict[str, Any] = {"id": pass_id} | {name: column[i] for name, column in columns.items()}
        entry |= {"units": units[i]}
        entry |= {name: column[i] for name, column in differing.items() if column[i]}
        if experts[i]:
            entry["experts"] = experts[i]
        if disk[i] is not None:
            entry["from_disk"] = disk[i]
        if i in notes:
            entry["note"] = notes[i]
        numbers = nodes[begins[i] : ends[i]]
        written.append((pass_id, entry, numbers, before is not None and np.array_equal(numbers, before)))
        before = numbers
    nodes_of = {pass_id: numbers for pass_id, _, numbers, _ in written}
    return Written(_write_passes(assets, written), of_pass, nodes_of)


def _write_passes(assets: Assets, passes: list[tuple[int, dict[str, Any], np.ndarray, bool]]) -> dict[int, str]:
    """Write the chunks, and return pass -> chunk.

    A pass is (pass_id, data, nodes, whether the pass before has the same nodes); within a chunk equal nodes are not
    repeated.
    """
    where: dict[int, str] = {}
    pending: list[str] = []
    size = number = 0
    for pass_id, entry, nodes, same in passes:
        if pending and (len(pending) >= PASSES_PER_CHUNK or size > BYTES_PER_CHUNK):
            assets.script(f"{CHUNKS}/{number:03d}.js", CHUNK_CALL, f"[{','.join(pending)}]")
            pending, size, number = [], 0, number + 1
        if not (pending and same):
            entry = entry | {"node": nodes.tolist()}
        pending.append(script_json(entry))
        size += len(pending[-1])
        where[pass_id] = f"{number:03d}"
    if pending:
        assets.script(f"{CHUNKS}/{number:03d}.js", CHUNK_CALL, f"[{','.join(pending)}]")
    return where


def _notes(ops: pd.DataFrame) -> np.ndarray:
    """The note of every row, text."""
    kinds = ops.groupby(["state", "fused_into"], dropna=False, observed=True, sort=False).ngroup()
    first = ops.loc[~kinds.duplicated(), ["state", "fused_into"]].to_dict("records")
    texts = np.array([note(row) for row in first], dtype=object)
    return texts[kinds.to_numpy()] if len(ops) else np.zeros(0, object)


def _typical(ops: pd.DataFrame) -> pd.DataFrame:
    """The row of each node in the first pass of its static; other passes store only where they differ from it."""
    return ops.drop_duplicates(["static", "node"]).sort_values(["static", "node"], ignore_index=True)


def _gaps(ops: pd.DataFrame) -> pd.Series[Any]:
    """Each begin as the time since the previous known start of the pass, the first since the pass began, ns."""
    known = ops.loc[ops["begin_ns"].notna(), ["pass_id", "begin_ns"]].astype("int64")
    before = known["begin_ns"].shift(fill_value=0).where(known["pass_id"] == known["pass_id"].shift(), 0)
    return (known["begin_ns"] - before).reindex(ops.index).astype("Int64")


def _differing(
    ops: pd.DataFrame, typical: pd.DataFrame, begins: np.ndarray, ends: np.ndarray
) -> tuple[dict[str, list[str]], dict[int, dict[int, str]]]:
    """The values of steady columns and the notes that differ from `typical`.

    Values: column -> per pass, packed pairs of (rows since the previous pair, value). Notes: index of the pass in
    `begins` -> row in the pass -> note.
    """
    keys = typical["static"].to_numpy() * (1 << 32) + typical["node"].to_numpy()
    order = np.argsort(keys, kind="stable")
    wanted = ops["static"].to_numpy() * (1 << 32) + ops["node"].to_numpy()
    at = np.minimum(np.searchsorted(keys[order], wanted), max(len(keys) - 1, 0))
    known = keys[order][at] == wanted if len(keys) else np.zeros(len(ops), bool)
    usual = typical.iloc[order[at]] if len(keys) else typical
    columns = {}
    for column in STEADY:
        value, expected = codes(ops[column]), codes(usual[column])
        rows = np.flatnonzero(value != np.where(known, expected, 0))
        edges = np.searchsorted(rows, ends)
        start = np.repeat(begins, np.diff(edges, prepend=0))
        gap = np.diff(rows, prepend=0)
        first = np.isin(np.arange(len(rows)), np.concatenate([[0], edges[:-1]]) if len(edges) else [])
        gap[first] = (rows - start)[first]
        pairs = np.column_stack([codes(gap), value[rows]]).ravel()
        columns[column.removesuffix("_bytes").removeprefix("n_")] = texts(pairs, 2 * edges)
    notes: dict[int, dict[int, str]] = {}
    strange = np.flatnonzero(ops["note"].to_numpy() != np.where(known, usual["note"].to_numpy(), ""))
    for row in strange.tolist():
        position = int(np.searchsorted(begins, row, "right")) - 1
        notes.setdefault(position, {})[row - int(begins[position])] = str(ops["note"].iloc[row])
    return columns, notes


def _units(
    touches: pd.DataFrame,
    ids: np.ndarray,
    of_pass: Mapping[int, int],
    selects: Mapping[int, dict[tuple[int, str], int]],
) -> list[str]:
    """Per pass, for each operand of its static's `selects`: the number of runs, then (gap, length - 1) of each run."""
    sizes = np.array([len(selects[of_pass[i]]) for i in ids.tolist()], np.int64)
    group_end = np.cumsum(sizes)
    position = {i: n for n, i in enumerate(ids.tolist())}
    rows = touches[touches["pass_id"].isin(ids)]
    which = rows.groupby(["pass_id", "node", "slot"], observed=True, sort=False).ngroup().to_numpy()
    keys = rows.loc[~pd.Series(which).duplicated().to_numpy(), ["pass_id", "node", "slot"]]
    group_of = np.array(
        [
            group_end[position[p]] - sizes[position[p]] + selects[of_pass[p]][n, s]
            for p, n, s in zip(keys["pass_id"].tolist(), keys["node"].tolist(), keys["slot"].astype(str), strict=True)
        ],
        np.int64,
    )
    group = group_of[which] if len(rows) else np.zeros(0, np.int64)
    order = np.lexsort((rows["first_unit"].to_numpy(), group))
    group, first = group[order], rows["first_unit"].to_numpy("int64")[order]
    n = rows["n_units"].to_numpy("int64")[order]
    count = np.bincount(group, minlength=int(sizes.sum()))
    begin = np.arange(len(count)) + 2 * (np.cumsum(count) - count)
    tokens = np.zeros(len(count) + 2 * len(first), np.int64)
    tokens[begin] = count
    rank = np.arange(len(group)) - (np.cumsum(count) - count)[group]
    before = np.where(rank > 0, np.concatenate([[0], (first + n)[:-1]])[: len(first)], 0)
    tokens[begin[group] + 1 + 2 * rank] = first - before
    tokens[begin[group] + 2 + 2 * rank] = n - 1
    after = np.concatenate([[0], np.cumsum(count)])[group_end]
    return packed(tokens, group_end + 2 * after)


def _chosen_experts(routing: pd.DataFrame, pass_ids: np.ndarray) -> list[str]:
    """Per pass: packed triples (layer, expert, weight in thousandths or null), by layer and order of choice.

    Empty where a pass has several tokens: their choices do not belong to one token.
    """
    rows = routing[routing["pass_id"].isin(pass_ids)].sort_values(["pass_id", "layer", "row", "rank"])
    several = rows.groupby("pass_id")["row"].transform("nunique") > 1
    rows = rows[~several.to_numpy(bool)]
    weight = (rows["weight"].astype("Float64") * 1000).round().astype("Int64")
    triples = pd.concat([rows["layer"], rows["expert"], weight], axis=1).astype("Int64").to_numpy(object).ravel()
    ends = 3 * np.searchsorted(rows["pass_id"].to_numpy("int64"), pass_ids, "right")
    return packed(pd.Series(triples, dtype="Int64"), ends)


def _statics(context: Context, of_pass: Mapping[int, int], typical: pd.DataFrame) -> dict[int, dict[str, Any]]:
    """The data of each static by number: nodes, their steady columns and operands, and operands that select units."""
    first = {number: pass_id for pass_id, number in reversed(list(of_pass.items()))}
    listed = pd.DataFrame({"pass_id": typical["static"].map(first), "node": typical["node"], "state": "executed"})
    listed = listed.merge(context.tables["ops"][["pass_id", "node", "fused_into"]], on=["pass_id", "node"], how="left")
    # Every node counts as executed here: one that did not run in the first pass may have run in another.
    lying = placed({**context.tables, "ops": listed}, first.values())
    lying["selects"] = _selected_unit(lying)
    touched = context.tables["touches"][["pass_id", "node", "slot", "unit"]]
    touched = touched.drop_duplicates(["pass_id", "node", "slot"])
    units: dict[int, dict[tuple[int, str], str]] = {number: {} for number in first}
    for p, n, s, u in zip(*(touched[c].tolist() for c in touched), strict=True):
        if p in of_pass:
            units[of_pass[p]].setdefault((int(n), str(s)), str(u))
    statics = {}
    for number, pass_id in sorted(first.items()):
        rows = lying[lying["pass_id"] == pass_id].sort_values(["node", "slot"])
        selecting = rows[rows["selects"].notna()]
        operands = list(zip(selecting["node"].astype(int), selecting["slot"].astype(str), strict=True))
        known = dict(zip(operands, selecting["selects"].astype(str), strict=True))
        known |= units[number]
        order = sorted(known)
        size_of = dict(zip(operands, selecting["unit_bytes"], strict=True))
        part = typical[typical["static"] == number]
        described = ("node", "op", "name", "layer", "component")
        statics[number] = {
            "static": number,
            "nodes": [
                [int(n), q.printable(op), q.printable(name), whole(layer), str(component)]
                for n, op, name, layer, component in zip(*(part[c] for c in described), strict=True)
            ],
            **{c.removesuffix("_bytes").removeprefix("n_"): [whole(n) for n in part[c]] for c in STEADY},
            "note": part["note"].tolist(),
            "operands": _operands(rows),
            "selects": [[n, s, known[n, s], whole(size_of.get((n, s)))] for n, s in order],
        }
    return statics


def _selected_unit(rows: pd.DataFrame) -> np.ndarray:
    """The unit that each operand selects (row, expert) by op and slot, or None."""
    return np.array(
        [SELECTING.get((str(op), str(slot))) for op, slot in zip(rows["op"], rows["slot"], strict=True)], dtype=object
    )


def _operands(rows: pd.DataFrame) -> dict[str, list[list[Any]]]:
    """Per node its operands: slot, name, memory, file, buffer, offset, size, touched bytes (null: see its units)."""
    otherwise = rows["else_bytes"].where((rows["memory"] == "buffer").fillna(False))
    columns = ("node", "slot", "source_name", "memory", "file", "buffer_id", "offset", "size_bytes")
    by_node: dict[str, list[list[Any]]] = {}
    used = rows["used_bytes"].fillna(otherwise)
    for n, slot, name, memory, *numbers in zip(*(rows[c] for c in columns), used, strict=True):
        by_node.setdefault(str(n), []).append(
            [str(slot), q.printable(name), None if pd.isna(memory) else str(memory), *map(whole, numbers)]
        )
    return by_node
