"""Which experts the passes of a foreign trace chose, as far as it says.

Such a trace holds the numbers of the first token only, and at most 16 of them. So the choice of a pass is known if
the pass evaluated one token, or if the router chose all experts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.model import Check
from tracegen.contract.naming import layer_of
from tracegen.foreign.distinct import RestoredRun
from tracegen.foreign.faults import checks_of
from tracegen.foreign.graphs import Graph
from tracegen.foreign.ops import Described, OpTrace

ID_BYTES = 4  # the number of an expert is an int32
# The operand of which an operation reads the chosen experts only, as its place in contract.SLOTS.
SLOT = {"MUL_MAT_ID": contract.SLOTS.index("src0"), "ADD_ID": contract.SLOTS.index("src1")}
MEASURED, ESTIMATED = 0, 1  # places among the values of touches.basis
EXPERT = contract.UNITS.index("expert")


@dataclass(frozen=True)
class _Choosing:
    """An operation of a graph that reads chosen experts: its place among the operations, its node, and its slot's code.

    `choice` names the operand that holds the choice, one for all weights of a layer; `n_ids`: how many experts a row
    has; `n_all`: how many experts there are if all were chosen, else 0.
    """

    at: int
    node: int
    slot: int
    choice: str
    layer: int | None
    n_ids: int
    n_all: int


def expert_tables(
    trace: OpTrace, run: RestoredRun, n_experts: int | None
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[Check, ...]]:
    """The tables `touches` and `routing`, and the check of what they lack; none for a model without experts.

    `n_experts`: how many experts a layer has, None: unknown.
    """
    passes, graph = run.passes, run.graph
    n_tokens = [passes.n_tokens[graph.index(number)] for number in range(len(run.graphs))]
    choosing = [_choosing(each, of, n, n_experts) for each, of, n in zip(run.graphs, run.ops, n_tokens, strict=True)]
    touches: list[tuple[int, int, int, int, int, int]] = []
    routing: list[tuple[int, int, int, int]] = []
    n_choosing = n_known = n_whole = n_all = n_lacking = 0  # n_lacking: in passes of one token
    reused = set()
    every = [  # of each graph what its routers that chose all experts read
        np.array([(0, op.node, op.slot, 0, op.n_all, ESTIMATED) for op in of if op.n_all], np.int64).reshape(-1, 6)
        for of in choosing
    ]
    some = [[op for op in of if not op.n_all] for of in choosing]
    blocks: list[np.ndarray] = []
    named = dict(zip(trace.expert_at.tolist(), range(len(trace.expert_at)), strict=True))
    for pass_id, number in enumerate(graph):
        begin = int(passes.begin[pass_id])
        n_choosing, n_all = n_choosing + len(choosing[number]), n_all + len(every[number])
        if len(every[number]):
            blocks.append(every[number] + (pass_id, 0, 0, 0, 0, 0))
            reused |= {pass_id} if passes.kinds[pass_id] != "warmup" else set()
        chosen: dict[str, list[int]] = {}
        met: set[int] = set()
        for op in some[number]:
            row = named.get(begin + op.at)
            ids = trace.experts[row][: int(trace.n_experts[row])].tolist() if row is not None else []
            ids = ids or chosen.get(op.choice, [])
            n_known += row is not None
            if passes.n_tokens[pass_id] != 1 or not _complete(ids, op.n_ids):
                n_lacking += passes.n_tokens[pass_id] == 1
                continue
            n_whole += 1
            chosen[op.choice] = ids
            touches += [(pass_id, op.node, op.slot, first, n, MEASURED) for first, n in _runs(ids)]
            if op.layer is not None and op.layer not in met:
                met.add(op.layer)
                routing += [(pass_id, op.layer, rank, expert) for rank, expert in enumerate(ids)]
    if not n_choosing:
        return contract.frame("touches"), contract.frame("routing"), ()
    lacking = n_choosing - n_whole - n_all
    measured = any(kind == "generate" for kind in passes.kinds)
    figures = {
        "lacking": lacking,
        "n_choosing": n_choosing,
        "n_all": n_all,
        "reused": len(reused),
        "unusual": lacking + len(reused),
        "one_row": bool(lacking and n_known),
        "unnumbered": bool(lacking and not n_known),
    }
    # Where all passes of one token are whole, only the prompt lacks some; where none do, it may be no usual prompt.
    of_prompt = not lacking or (measured and not n_lacking)
    check = checks_of("experts", figures, without="experts_whole" if of_prompt else "experts_prompt")
    blocks.append(np.array(touches, np.int64).reshape(-1, 6))
    return _touches(np.concatenate(blocks)), _routing(routing), check


def _touches(rows: np.ndarray) -> pd.DataFrame:
    """The table `touches` from rows of pass, node, slot, first unit, number of units and basis; slot, basis: codes."""
    if not len(rows):
        return contract.frame("touches")
    rows = rows[np.lexsort((rows[:, 3], rows[:, 1], rows[:, 0]))]
    pass_id, node, slot, first, n, basis = rows.T
    return contract.frame(
        "touches",
        {
            "pass_id": pass_id.astype(np.int32),
            "node": node.astype(np.int32),
            "slot": contract.coded("touches", "slot", slot),
            "unit": contract.coded("touches", "unit", np.full(len(rows), EXPERT)),
            "first_unit": first.copy(),
            "n_units": n.copy(),
            "basis": contract.coded("touches", "basis", basis),
        },
    )


def _routing(rows: list[tuple[int, int, int, int]]) -> pd.DataFrame:
    names = ("pass_id", "layer", "rank", "expert")
    return contract.frame("routing", [dict(zip(names, row, strict=True)) | {"row": 0} for row in sorted(rows)])


def _choosing(graph: Graph, ops: Sequence[Described], n_tokens: int | None, n_experts: int | None) -> list[_Choosing]:
    """The operations of a graph that read chosen experts."""
    places = [i for i, each in enumerate(ops) if each.op in SLOT]
    all_chosen = _all_chosen(ops, places, n_tokens, n_experts)
    choosing = []
    for i in places:
        name, n_ids = "", 0
        if len(ops[i].operands) > 2:
            name, n_ids = ops[i].operands[2].name, ops[i].operands[2].size_bytes // ID_BYTES
        layer = layer_of(ops[i].name)
        choosing.append(_Choosing(i, graph.at[i], SLOT[ops[i].op], name, layer, n_ids, all_chosen.get(i, 0)))
    return choosing


def _complete(ids: Sequence[int], n: int) -> bool:
    """Whether the numbers are as many as a row has, different, and such as experts can have."""
    return 0 < n == len(ids) == len(set(ids)) and min(ids) >= 0


def _all_chosen(
    ops: Sequence[Described], places: Sequence[int], n_tokens: int | None, n_experts: int | None
) -> dict[int, int]:
    """The operations whose router chose all experts, and how many these are: the choice is as long as what was sorted.

    Of each row ggml sorts a number for each expert, and keeps the rows of the choice at that distance. So the choice of
    k of E in n rows has the extent of ((n − 1)·E + k) numbers; that of all experts n·E. The last layer has only the
    rows with outputs: where the number of experts is not known, it is that of a layer with all rows.
    """
    routers = [each for each in ops if each.op == "ARGSORT" and each.operands]
    sorted_bytes = {layer_of(each.name): each.operands[0].size_bytes for each in routers}
    n = n_experts
    if n is None and n_tokens and (n_tokens == 1 or len(sorted_bytes) > 1):
        n = max(sorted_bytes.values(), default=0) // (n_tokens * ID_BYTES)
    chosen: dict[int, int] = {}
    for i in places:
        every, operands = sorted_bytes.get(layer_of(ops[i].name)), ops[i].operands
        if n and every and len(operands) > 2 and operands[2].size_bytes == every and every % (n * ID_BYTES) == 0:
            chosen[i] = n
    return chosen


def _runs(ids: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring experts joined: first and number."""
    ordered = np.unique(np.asarray(ids, np.int64))
    starts = np.flatnonzero(np.append(True, np.diff(ordered) > 1))
    lengths = np.diff(np.append(starts, len(ordered)))
    return list(zip(ordered[starts].tolist(), lengths.tolist(), strict=True))
