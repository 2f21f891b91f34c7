"""llama.cpp's cache of experts on a device (--moe-cache-mib, #29887): how often a chosen expert would lie in it.

Layers whose experts have equal types and shapes form a group, which has a share of the memory by its bytes. Its slots,
of one expert of one layer each, are given to those used last, whatever their layer. A layer that computes more than 32
tokens of a ubatch goes past the cache, as does one of which more experts are chosen than the group has slots.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import of_kind

MOST_TOKENS = 32  # of a ubatch in a layer that uses the cache
SLOTS = r"^moe_cache\.(\d+)\."  # before the name of a tensor: the slots of a group of layers, by its number
_COMPONENTS = ("expert_gate", "expert_up", "expert_down")
_ALIGNMENT = 128  # bytes: of a bank of slots, as CUDA and most Vulkan devices have it
_STEPS = (1, 1.5)  # sizes of memory: these times powers of two
_LEAST = 2 << 20
COLUMNS = ("memory_bytes", "n_slots", "held_share", "n_hits", "n_misses", "hit_rate", "uploaded_bytes")


@dataclass(frozen=True)
class Group:
    """Layers whose experts have the same layout. `bank_bytes`: of one expert, for each of its tensors."""

    layers: tuple[int, ...]
    n_experts: int
    bank_bytes: tuple[int, ...]

    @property
    def expert_bytes(self) -> int:
        """The size of one expert of one layer."""
        return sum(self.bank_bytes)

    @property
    def whole_bytes(self) -> int:
        """The size of all its experts."""
        return self.expert_bytes * self.n_experts * len(self.layers)

    def slots(self, memory_bytes: int, n_chosen: int) -> int:
        """How many slots fit; 0: not even the experts of a token. One more is allocated, behind the last."""
        most = self.n_experts * len(self.layers)
        n = min(most, memory_bytes // max(self.expert_bytes, 1))
        while n and self.allocated(n) > memory_bytes:
            n -= 1
        return n if n >= n_chosen else 0

    def allocated(self, n_slots: int) -> int:
        """The memory that so many slots take, bytes."""
        return sum(-(-of * (n_slots + 1) // _ALIGNMENT) * _ALIGNMENT for of in self.bank_bytes)


def groups(tables: Tables) -> list[Group]:
    """The groups of those layers of a model whose choice is known, by their first layer."""
    tensors = tables["tensors"].dropna(subset=["n_experts", "layer"])
    tensors = tensors[tensors["layer"].isin(tables["routing"]["layer"].unique()).to_numpy(bool)]
    tensors = tensors[tensors["component"].isin(_COMPONENTS).to_numpy(bool)].sort_values(["layer", "component"])
    layouts: dict[tuple[object, ...], Group] = {}
    for layer, of in tensors.groupby("layer"):
        layout = tuple(of[["component", "dtype", "ne0", "ne1", "size_bytes"]].astype("object").itertuples(index=False))
        n_experts = int(of["n_experts"].iloc[0])
        banks = tuple((of["size_bytes"] // of["n_experts"].astype("int64")).tolist())
        before = layouts.get((n_experts, layout), Group((), n_experts, banks))
        layouts[n_experts, layout] = replace(before, layers=(*before.layers, cast(int, layer)))
    return list(layouts.values())


def table(tables: Tables, most: int = 8) -> pd.DataFrame:
    """A row for each size of the cache, the largest `most` of them, up to one that holds all experts.

    Columns: COLUMNS. n_slots of all groups, held_share (slots per expert of a layer), n_hits and n_misses (of experts
    that generate passes chose in a layer, one for each pass), hit_rate (null without any), and uploaded_bytes (of a
    generate pass, float64). No rows where no group can be cached, or no routing was recorded.
    """
    used = _used(tables)
    of = groups(tables)
    whole = sum(group.whole_bytes for group in of)
    n_chosen = int(tables["routing"]["rank"].max()) + 1 if len(tables["routing"]) else 0
    rows: list[dict[str, object]] = []
    for memory_bytes in reversed(_sizes(sum(group.allocated(group.n_experts * len(group.layers)) for group in of))):
        slots = [group.slots(memory_bytes * group.whole_bytes // max(whole, 1), n_chosen) for group in of]
        if not any(slots) or len(rows) == most:
            break
        rows.append(_row(memory_bytes, of, slots, used))
    return pd.DataFrame(rows[::-1], columns=list(COLUMNS))


def held_share(tables: Tables) -> float | None:
    """Of the experts that generate passes chose in a layer, the share that a cache on the device held in this run.

    All others were copied into its slots. None: the run had no such cache, or what tokens chose is not known.
    """
    generates = of_kind(tables["passes"], "generate")["pass_id"]
    copies = tables["copies"][tables["copies"]["pass_id"].isin(generates).to_numpy(bool)]
    number = copies["tensor"].astype("object").str.extract(SLOTS)[0].dropna().astype("int64")
    of = groups(tables)
    n_chosen = sum(len(experts) for _, generating, _, experts in _used(tables) if generating)
    if not len(number) or not n_chosen or number.max() >= len(of):
        return None
    n_bytes = copies.loc[number.index, "size_bytes"].groupby(number).sum()
    n_copied = sum(float(n_bytes.get(i, 0)) / group.expert_bytes for i, group in enumerate(of))
    return 1 - n_copied / n_chosen


def _sizes(needed: int) -> list[int]:
    """Sizes of memory up to the first that holds `needed`, bytes."""
    found, size = list[int](), _LEAST
    while True:
        for step in _STEPS:
            found.append(int(size * step))
            if found[-1] >= needed:
                return found
        size *= 2


Used = list[tuple[int, bool, bool, list[int]]]  # layer, generates, past the cache, and its experts, in order of choice


def _used(tables: Tables) -> Used:
    """The experts that each pass chose in a layer, once each, in the order in which they are computed."""
    generates = set(of_kind(tables["passes"], "generate")["pass_id"])
    routing = tables["routing"].sort_values(["pass_id", "layer", "row", "rank"]).astype({"expert": "int64"})
    found: Used = []
    for key, of in routing.groupby(["pass_id", "layer"], sort=True):
        pass_id, layer = cast(tuple[int, int], key)
        past = of["row"].nunique() > MOST_TOKENS  # in the last layer of a prompt there is only the row of its output
        found.append((int(layer), pass_id in generates, past, of["expert"].drop_duplicates().tolist()))
    return found


def _row(memory_bytes: int, of: Sequence[Group], slots: Sequence[int], used: Used) -> dict[str, object]:
    n_passes = hits = misses = uploaded = 0
    first = min((layer for layer, *_ in used), default=0)
    held: list[OrderedDict[tuple[int, int], None]] = [OrderedDict() for _ in of]
    group_of = {layer: i for i, group in enumerate(of) for layer in group.layers}
    for layer, generates, past, experts in used:
        n_passes += generates and layer == first
        i = group_of.get(layer)
        cached = i is not None and not past and len(experts) <= slots[i]
        n_hits = _looked_up(held[i], slots[i], layer, experts) if i is not None and cached else 0
        if generates and i is not None:
            hits, misses = hits + n_hits, misses + len(experts) - n_hits
            uploaded += (len(experts) - n_hits) * of[i].expert_bytes * cached
    n_experts = sum(group.n_experts * len(group.layers) for group in of)
    return {
        "memory_bytes": memory_bytes,
        "n_slots": sum(slots),
        "held_share": sum(slots) / n_experts,
        "n_hits": hits,
        "n_misses": misses,
        "hit_rate": hits / (hits + misses) if hits + misses else np.nan,
        "uploaded_bytes": uploaded / n_passes if n_passes else np.nan,
    }


def _looked_up(held: OrderedDict[tuple[int, int], None], n_slots: int, layer: int, experts: list[int]) -> int:
    """How many of these a group holds; all are in it afterwards."""
    missing = [expert for expert in experts if (layer, expert) not in held]
    for expert in experts:  # those that it holds first, so that none of them makes room for another
        if (layer, expert) in held:
            held.move_to_end((layer, expert))
    for expert in sorted(missing):
        if len(held) == n_slots:
            held.popitem(last=False)
        held[layer, expert] = None
    return len(experts) - len(missing)
