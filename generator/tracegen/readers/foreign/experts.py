"""Which experts the passes of a foreign trace chose, as far as it says.

Such a trace holds the numbers of the first token row only, and at most 16 of them. So the choice of a pass is known if
the pass evaluated one token, or if the router chose all experts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tracegen import tables as contract
from tracegen.model import Check
from tracegen.naming import layer_of
from tracegen.readers.foreign.faults import found
from tracegen.readers.foreign.graphs import Graph
from tracegen.readers.foreign.ops import Described, OpTrace
from tracegen.readers.foreign.passes import Restored

ID_BYTES = 4  # the number of an expert is an int32
SLOT = {"MUL_MAT_ID": "src0", "ADD_ID": "src1"}  # the operand of which an operation reads the chosen experts only


def expert_tables(
    trace: OpTrace, passes: Restored, graph: Sequence[int], graphs: Sequence[Graph], ops: Sequence[Sequence[Described]]
) -> tuple[pd.DataFrame, pd.DataFrame, Check | None]:
    """The tables `touches` and `routing`, and the check of what they lack; None for a model without experts."""
    touches: list[dict[str, object]] = []
    routing: list[dict[str, object]] = []
    wanted = [[i for i, each in enumerate(of) if each.op in SLOT] for of in ops]
    n_choosing = n_known = n_whole = n_all = 0
    reused = set()
    named = dict(zip(trace.expert_at.tolist(), range(len(trace.expert_at)), strict=True))
    for pass_id, number in enumerate(graph):
        begin, met = int(passes.begin[pass_id]), set()
        chosen: dict[
            str, list[int]
        ] = {}  # by name of the operand that holds the choice: one for all weights of a layer
        stacks = _all_chosen(ops[number], wanted[number])
        for i in wanted[number]:
            n_choosing += 1
            each, node = ops[number][i], graphs[number].at[i]
            row = named.get(begin + i)
            ids = trace.experts[row][: int(trace.n_experts[row])].tolist() if row is not None else []
            choice = each.operands[2].name if len(each.operands) > 2 else ""
            ids = ids or chosen.get(choice, [])
            n_known += bool(ids)
            if i in stacks:
                n_all += 1
                reused |= {pass_id} if passes.kinds[pass_id] != "warmup" else set()
                touches.append(_touch(pass_id, node, each.op, 0, stacks[i], "estimated"))
                continue
            if passes.n_tokens[pass_id] != 1 or not ids or not _complete(each, ids):
                continue
            n_whole += 1
            chosen[choice] = ids
            touches += [_touch(pass_id, node, each.op, first, n, "measured") for first, n in _runs(ids)]
            layer = layer_of(each.name)
            if layer is not None and layer not in met:
                met.add(layer)
                routing += [
                    dict(pass_id=pass_id, layer=layer, row=0, rank=rank, expert=expert)
                    for rank, expert in enumerate(ids)
                ]
    if not n_choosing:
        return contract.frame("touches"), contract.frame("routing"), None
    routing.sort(key=lambda r: (r["pass_id"], r["layer"], r["rank"]))
    lacking = n_choosing - n_whole - n_all
    detail = (
        "only the experts of the first token row are in the trace, and at most 16 of them: what a pass of several "
        "tokens read is not known, except where the router chose all experts"
        if n_known
        else "the trace has no numbers of experts; only where the router chose all of them is known what was read"
    )
    told = f"{lacking:,} of {n_choosing:,} operations without"
    told += f"; {n_all:,} chose all experts, as a warm-up does" if n_all else ""
    detail = detail if lacking else ""
    if reused:
        why = f"{len(reused)} passes after the warm-up chose all experts too: its graph was used again"
        detail = f"{detail}; {why}" if detail else why
    check = found("experts_whole", "warning" if lacking or reused else "passed", told, detail)
    return contract.frame("touches", touches), contract.frame("routing", routing), check


def _complete(each: Described, ids: Sequence[int]) -> bool:
    """Whether the ids are as many as the operation reads for a row, and different."""
    size = each.operands[2].size_bytes if len(each.operands) > 2 else 0
    return len(ids) == len(set(ids)) == size // ID_BYTES and min(ids) >= 0


def _all_chosen(ops: Sequence[Described], places: Sequence[int]) -> dict[int, int]:
    """The operations whose router chose all experts, and how many these are: the choice is as long as what was sorted.

    Of each row ggml sorts a number for each expert, and of several rows keeps them at the distance of all experts. So
    the choice of k of E in n rows has the extent of ((n − 1)·E + k) numbers; that of all experts n·E.
    """
    sorted_bytes: dict[int | None, tuple[int, int]] = {}
    for each in ops:
        if each.op == "ARGSORT" and each.operands:
            sorted_bytes[layer_of(each.name)] = (each.operands[0].size_bytes, 0)
    chosen: dict[int, int] = {}
    for i in places:
        every = sorted_bytes.get(layer_of(ops[i].name))
        operands = ops[i].operands
        if every is None or len(operands) < 3 or operands[2].size_bytes != every[0]:
            continue
        rows = _rows(ops)
        if rows and every[0] % (rows * ID_BYTES) == 0:
            chosen[i] = every[0] // rows // ID_BYTES
    return chosen


def _rows(ops: Sequence[Described]) -> int | None:
    """Token rows of the pass; None where no lookup of its tokens tells."""
    first = ops[0]
    if first.op != "GET_ROWS" or len(first.operands) < 2:
        return None
    return first.operands[1].size_bytes // ID_BYTES or None


def _touch(pass_id: int, node: int, op: str, first: int, n: int, basis: str) -> dict[str, object]:
    return dict(pass_id=pass_id, node=node, slot=SLOT[op], unit="expert", first_unit=first, n_units=n, basis=basis)


def _runs(ids: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring experts joined: first and number."""
    ordered = np.unique(np.asarray(ids, np.int64))
    starts = np.flatnonzero(np.append(True, np.diff(ordered) > 1))
    lengths = np.diff(np.append(starts, len(ordered)))
    return list(zip(ordered[starts].tolist(), lengths.tolist(), strict=True))
