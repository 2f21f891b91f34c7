"""What if the model file stood in another order, or more of it stayed in memory: the same accesses, simulated.

A simulation, not a prediction of speed: a program that asks for just the bytes that operations touch, one read after
the other, keeps what it read in a memory that evicts what was least recently used (LRU), and reads what is not there.
The kernel, which serves a mapped file, reads ahead, in whole pages, and does not profit from an order by itself.

An order is learned on the first `LEARNED` of the generate passes (and all prompts), and scored on the others, so that
it cannot know what it is scored on. The memory has seen all passes before; it is not emptied.

Orders are those of `file_order`, and two more:
- `today`: as the file is;
- `co-activated`: tensors where they are, but the experts inside of each tensor stand in another order: the most chosen
  first, each followed by the one that was chosen most often together with it, of those that have no place yet.

The file is cut at each byte where an access, a tensor or an expert begins or ends. A part between two cuts is touched
whole or not at all, so that the simulation is exact to the byte.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.analysis import axis, file_order
from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured, of_kind
from tracegen.analysis.read_time import ReadTime
from tracegen.analysis.stack_distance import stack_distances
from tracegen.contract.arrays import repeated

LEARNED = 0.8  # of the generate passes
LEAST = 5  # generate passes: with fewer nothing can be learned on some and scored on others
SHARES = tuple(n / 20 for n in range(21))  # of all bytes that the run touched: the sizes of memory
TOLERANCE = 131072  # bytes that one read may pass over
ORDERS = ("today", *file_order.ORDERS, "co-activated")
MOST_PARTS = 4_000_000  # uses of parts; beyond, cuts inside of tensors and experts stand at multiples of COARSE
COARSE = 2 << 20


@dataclass(frozen=True)
class Scored:
    """The passes that orders are learned on, and those that they are scored on. `is_apart`: they are not the same."""

    learned: frozenset[int]
    passes: frozenset[int]
    is_apart: bool


def scored(tables: Tables) -> Scored:
    """The first `LEARNED` of the generate passes and all prompts to learn from, the other generate passes to score.

    With fewer than `LEAST` generate passes all measured passes are learned on, and the generate passes scored; without
    any, all are scored.
    """
    passes = measured(tables)
    generate = of_kind(passes, "generate")["pass_id"].tolist()
    every = passes["pass_id"].tolist()
    if len(generate) < LEAST:
        return Scored(frozenset(every), frozenset(generate or every), False)
    later = frozenset(generate[round(LEARNED * len(generate)) :])
    return Scored(frozenset(every) - later, later, True)


def parts(tables: Tables, accesses: pd.DataFrame, most: int = MOST_PARTS) -> pd.DataFrame:
    """Each access cut into the parts of the file that it touched, in order: a row for each use of a part.

    `accesses` is the result of `order.disk_accesses`. Columns: operand (number by order), pass_id, tensor, layer, part
    (number by place), begin, end (bytes on the disk axis), distance_bytes (of other parts used since the last use of
    this one; -1 at the first use). With more than `most` uses, parts are coarser, and count as touched whole: see
    `COARSE`.
    """
    begin, end = accesses["begin"].to_numpy("int64"), accesses["end"].to_numpy("int64")
    fixed = _edges(tables)
    for step in (1, COARSE):
        edges = np.unique(np.concatenate([fixed, begin // step * step, -(-end // step) * step]))
        first = np.searchsorted(edges, begin, "right") - 1
        n = np.searchsorted(edges, end, "left") - first
        if n.sum() <= most:
            break
    row, number = repeated(n)
    part = first[row] + number
    found = accesses[["pass_id", "tensor", "layer"]].iloc[row].reset_index(drop=True)
    of = accesses[["pass_id", "node", "slot"]].astype({"slot": "object"})
    operand = (of != of.shift()).any(axis=1).to_numpy(bool).cumsum()
    found = found.assign(operand=operand[row], part=part, begin=edges[part], end=edges[part + 1] if len(part) else part)
    return found.assign(distance_bytes=stack_distances(part, (found["end"] - found["begin"]).to_numpy("int64")))


def _edges(tables: Tables) -> np.ndarray:
    """Where tensors and experts begin and end on the disk axis, bytes."""
    tensors = tables["tensors"]
    start, size = axis.tensor_begins(tables), tensors["size_bytes"].to_numpy("int64")
    n = _stacked(tensors)
    row, number = repeated(n)
    return np.concatenate([start[row] + number * (size // n)[row], start + size])


def _stacked(tensors: pd.DataFrame) -> np.ndarray:
    """Into how many equal experts each tensor can be cut: 1 where it stacks none."""
    n = tensors["n_experts"].fillna(1).to_numpy("int64").clip(min=1)
    return np.where(tensors["size_bytes"].to_numpy("int64") % n == 0, n, 1)


def shifts(
    tables: Tables, used: pd.DataFrame, accesses: pd.DataFrame, learned: frozenset[int]
) -> dict[str, np.ndarray]:
    """Order -> by how many bytes each row of `used`, the result of `parts`, lies further behind in it than today.

    `co-activated` is there only if the model has experts that tokens of the learned passes chose.
    """
    tensors, before = tables["tensors"], accesses[accesses["pass_id"].isin(learned)]
    today = tensors.set_index("tensor")["offset"]
    found = {"today": np.zeros(len(used), dtype=np.int64)}
    for name in file_order.ORDERS:
        offsets = file_order.places(file_order.arranged(tensors, name, before))
        found[name] = used["tensor"].map(offsets.sub(today)).to_numpy("int64")
    slots = expert_slots(tables["routing"], learned)
    if slots:
        found["co-activated"] = _of_experts(tables, used, slots)
    return found


def expert_slots(routing: pd.DataFrame, learned: frozenset[int]) -> dict[int, np.ndarray]:
    """Layer -> for each expert (by number) its place among the experts of a tensor in the order `co-activated`.

    Experts beyond the highest number that was chosen keep their place.
    """
    rows = routing[routing["pass_id"].isin(learned)].dropna(subset=["layer", "expert"])
    slots = {}
    for layer in rows["layer"].astype("int64").unique():
        of = rows[(rows["layer"] == layer).to_numpy(bool)]
        expert = of["expert"].to_numpy("int64")
        n = int(expert.max()) + 1
        row = pd.factorize(pd.MultiIndex.from_frame(of[["pass_id", "row"]]))[0]
        chosen = np.zeros((int(row.max()) + 1, n), dtype=np.int32)
        chosen[row, expert] = 1
        slots[int(layer)] = _chain(chosen.T @ chosen)
    return slots


def _chain(together: np.ndarray) -> np.ndarray:
    """The place of each item in a chain; `together`: how often each two occur together, and each at all (diagonal)."""
    n = len(together)
    left, at = np.ones(n, dtype=bool), -1
    slots = np.empty(n, dtype=np.int64)
    for place in range(n):
        own = together.diagonal()
        # by how often with the last one, then by how often at all, then by number
        rank = np.lexsort((np.arange(n), -own, -(together[at] if at >= 0 else own)))
        at = int(rank[left[rank]][0])
        left[at] = False
        slots[at] = place
    return slots


def _of_experts(tables: Tables, used: pd.DataFrame, slots: dict[int, np.ndarray]) -> np.ndarray:
    """The shift of each part if the experts of each tensor stood at other places: bytes."""
    tensors = tables["tensors"].set_index("tensor", drop=False)
    many = pd.Series(_stacked(tensors), index=tensors.index).reindex(used["tensor"]).to_numpy("int64")
    one = tensors["size_bytes"].reindex(used["tensor"]).to_numpy("int64") // many
    start = pd.Series(axis.tensor_begins(tables), index=tensors.index)
    inside = used["begin"].to_numpy("int64") - start.reindex(used["tensor"]).to_numpy("int64")
    expert = inside // np.maximum(one, 1)
    layer = used["layer"].fillna(-1).to_numpy("int64")
    place = expert.copy()
    for number, of in slots.items():
        chosen = (many > 1) & (layer == number) & (expert < len(of))
        place[chosen] = of[expert[chosen]]
    shift: np.ndarray = (place - expert) * one
    return shift


def simulated(used: pd.DataFrame, found: dict[str, np.ndarray], passes: frozenset[int], time: ReadTime) -> pd.DataFrame:
    """What the scored `passes` would read in each order and size of memory; a row for each.

    `used` is the result of `parts`, `found` that of `shifts`. Columns: order, memory_share (of all bytes that the run
    touched), memory_bytes, reads, read_bytes, time_ns (means of a scored pass), sequential_share. What is not in memory
    is read; a read goes on as long as the next bytes that are missing lie at most `TOLERANCE` bytes further on.
    sequential_share: steps between accesses that go on so, over all steps of a pass, whatever is in memory; null
    without a step.
    """
    size = (used["end"] - used["begin"]).to_numpy("int64")
    all_bytes = int(size[~used["part"].duplicated().to_numpy()].sum())
    counted = np.flatnonzero(used["pass_id"].isin(passes).to_numpy())
    pass_id, operand = (used[name].to_numpy("int64")[counted] for name in ("pass_id", "operand"))
    room = (used["distance_bytes"].to_numpy("int64") + size)[counted]  # the least memory in which the use hits
    first = (used["distance_bytes"] < 0).to_numpy()[counted]
    size = size[counted]
    rows = []
    for name, shift in found.items():
        begin = (used["begin"].to_numpy("int64") + shift)[counted]
        order = np.lexsort((begin, operand))
        begin, end = begin[order], begin[order] + size[order]
        for share in SHARES:
            memory = round(share * all_bytes)
            missed = np.flatnonzero((first | (room > memory))[order])
            gap = begin[missed[1:]] - end[missed[:-1]]
            within = pass_id[order][missed[1:]] == pass_id[order][missed[:-1]]
            goes_on = within & (gap >= 0) & (gap <= TOLERANCE)
            if share == 0:
                step = within & ((gap != 0) | (np.diff(operand[order][missed]) > 0))  # inside of an access is none
                sequential = float(goes_on[step].mean()) if step.any() else None
            n, n_bytes = len(missed) - int(goes_on.sum()), int(size[order][missed].sum())
            each = max(len(passes), 1)
            rows.append((name, share, memory, n / each, n_bytes / each, time.ns(n, n_bytes) / each, sequential))
    columns = ["order", "memory_share", "memory_bytes", "reads", "read_bytes", "time_ns", "sequential_share"]
    return pd.DataFrame(rows, columns=columns).astype({"sequential_share": "Float64"})
