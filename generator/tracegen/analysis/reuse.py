"""After how long is something used again: passes and other bytes between two uses of the same item.

An item is a tensor, an expert of a tensor, or a granule of a size. An operation uses an item once, whichever bytes of
it it touched. The size of a tensor or an expert is the bytes of it that the run touched, each once: of an embedding of
which rows are looked up, these rows. Between two uses of an item lie

- passes: the number of the pass of the second use less that of the first, counted over the measured passes that used
  the mapped files (0: the same pass);
- other bytes: the sizes of all different items that were used in between (the LRU stack distance, Mattson et al. 1970).
  A cache with LRU replacement that holds items of these sizes serves the second use exactly if it has room for these
  and for the item itself; this sum is `lru_bytes`.

Up to `MOST_USES` uses are counted exactly. Beyond, only granules whose hash lies below a limit are, and their distances
are scaled up by as much (SHARDS, Waldspurger et al. 2015): the share of granules in the sample is stated, and the
`error`, by how much at most one of `N_PARTS` parts of the sample alone would give another result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from tracegen.analysis.coverage import union
from tracegen.analysis.granules import granule_uses, n_uses
from tracegen.analysis.pieces import overlaps
from tracegen.analysis.stack_distance import previous_use, smallest, stack_distances
from tracegen.contract.arrays import hashed

GRANULES = (2097152, 4096)  # bytes
KINDS = ("expert", "tensor", "whole tensor", *(f"{size} bytes" for size in GRANULES))
MOST_USES = 1_000_000
N_PARTS = 4
TARGETS = (0.5, 0.9, 0.99)  # shares of repeated uses that pages ask for
AT_ONCE = 16_000_000  # numbers of granules that are hashed at once


@dataclass(frozen=True)
class Reuse:
    """The repeated uses of one kind of item, and how they were counted.

    `again`: a row for each use that is not the first of its item: item, n_passes, lru_bytes. `items` are the numbers of
    all items that were used. `sampled` is the share of granules that were counted, 1 if all; `error` is 0 then.
    """

    again: pd.DataFrame
    items: np.ndarray
    sampled: float = 1.0
    error: float = 0.0

    @property
    def n_uses(self) -> int:
        """All uses that were counted."""
        return len(self.again) + len(self.items)

    def of(self, items: np.ndarray) -> Reuse:
        """The reuse of some of the items, by their numbers; what was used in between is still of all."""
        again = self.again[self.again["item"].isin(items)]
        return Reuse(again, np.intersect1d(self.items, items), self.sampled, self.error)

    def passes(self, target: float) -> int | None:
        """The smallest number of passes within which `target` of the repeated uses come; None without any."""
        return smallest(self._passes, target)

    def lru_bytes(self, target: float) -> int | None:
        """The smallest LRU cache that serves `target` of the repeated uses, bytes; None without any."""
        return smallest(self._lru_bytes, target)

    @cached_property
    def _passes(self) -> np.ndarray:
        return np.sort(self.again["n_passes"].to_numpy())

    @cached_property
    def _lru_bytes(self) -> np.ndarray:
        return np.sort(self.again["lru_bytes"].to_numpy())


def of_pieces(accesses: pd.DataFrame, cut: pd.DataFrame) -> Reuse:
    """The reuse of pieces; an item is the number of a row of `cut`, and has the size of what was touched of it.

    `accesses` is the result of `order.disk_accesses`; `cut` has begin and end on the disk axis, in order, and does not
    overlap: the result of `pieces.pieces`, or whole tensors.
    """
    begin, end = cut["begin"].to_numpy("int64"), cut["end"].to_numpy("int64")
    low, high = accesses["begin"].to_numpy("int64"), accesses["end"].to_numpy("int64")
    row, item, _ = overlaps(accesses, cut)
    met = pd.DataFrame(
        {"item": item, "begin": np.maximum(low[row], begin[item]), "end": np.minimum(high[row], end[item])}
    )
    touched = union(met, "item")
    size = np.zeros(len(begin), dtype=np.int64)
    np.add.at(size, touched["item"].to_numpy("int64"), (touched["end"] - touched["begin"]).to_numpy("int64"))
    uses = accesses[["pass_id", "node"]].iloc[row].assign(item=item)
    uses = uses.drop_duplicates(ignore_index=True)
    return _reuse(uses["pass_id"].to_numpy("int64"), uses["item"].to_numpy("int64"), size)


def by_kind(accesses: pd.DataFrame, cut: pd.DataFrame) -> dict[str, Reuse]:
    """The reuse of each kind of item that the run used, in this order: those of `KINDS`.

    `cut` is the result of `pieces.pieces`. Items of `expert` and `tensor` are numbers of its rows; `tensor` has those
    that are no expert, `whole tensor` all tensors, if some have experts.
    """
    of_each = of_pieces(accesses, cut)
    is_expert = cut["expert"].notna().to_numpy()
    found = {"tensor": of_each.of(np.flatnonzero(~is_expert))}
    if is_expert.any():
        whole = cut.groupby("tensor", as_index=False).agg(begin=("begin", "min"), end=("end", "max"))
        found = {"expert": of_each.of(np.flatnonzero(is_expert)), **found}
        found["whole tensor"] = of_pieces(accesses, whole.sort_values("begin", kind="stable"))
    return found | {f"{size} bytes": of_granules(accesses, size) for size in GRANULES}


def table(of: dict[str, Reuse]) -> pd.DataFrame:
    """A row for each kind of item; `of` is the result of `by_kind`.

    Columns: kind, n_items, n_again (repeated uses), passes_50 and passes_90 (within so many passes 50 and 90 % of the
    repeated uses come), lru_bytes_50, lru_bytes_90, lru_bytes_99 (the LRU cache that serves so many of them), sampled,
    error.
    """
    rows = [
        {
            "kind": kind,
            "n_items": len(found.items),
            "n_again": len(found.again),
            **{f"passes_{round(100 * target)}": found.passes(target) for target in TARGETS[:2]},
            **{f"lru_bytes_{round(100 * target)}": found.lru_bytes(target) for target in TARGETS},
            "sampled": found.sampled,
            "error": found.error,
        }
        for kind, found in of.items()
    ]
    counts = [name for name in rows[0] if name not in ("kind", "sampled", "error")]
    return pd.DataFrame(rows).astype(dict.fromkeys(counts, "Int64"))


def by_item(reuse: Reuse) -> pd.DataFrame:
    """The reuse of each item, by its number: n_again, passes_median, passes_most, lru_bytes_median, lru_bytes_most."""
    grouped = reuse.again.groupby("item")
    return pd.DataFrame(
        {
            "n_again": grouped.size(),
            "passes_median": grouped["n_passes"].median(),
            "passes_most": grouped["n_passes"].max(),
            "lru_bytes_median": grouped["lru_bytes"].median(),
            "lru_bytes_most": grouped["lru_bytes"].max(),
        }
    )


def of_granules(accesses: pd.DataFrame, size_bytes: int, most: int = MOST_USES) -> Reuse:
    """The reuse of granules of `size_bytes`; an item is a granule's number. With more than `most` uses, of a sample."""
    n = n_uses(accesses, size_bytes)
    share = min(1.0, most / max(n, 1))
    n_granules = int(accesses["end"].max()) // size_bytes + 1 if len(accesses) else 0
    chosen = None if share == 1 else _sample(n_granules, share)
    uses = granule_uses(accesses, size_bytes, chosen)
    pass_id, granule = uses["pass_id"].to_numpy("int64"), uses["granule"].to_numpy("int64")
    if chosen is None:
        return _reuse(pass_id, granule, size_bytes)
    whole = _reuse(pass_id, granule, size_bytes, len(chosen) / n_granules)
    part = (hashed(granule) >> np.uint64(3)) % np.uint64(N_PARTS)
    error = 0.0
    for number in range(N_PARTS):
        of = _reuse(pass_id[part == number], granule[part == number], size_bytes, whole.sampled / N_PARTS)
        for target in TARGETS:
            one, every = of.lru_bytes(target), whole.lru_bytes(target)
            error = max(error, abs(one / every - 1) if one is not None and every else 1.0)
    return Reuse(whole.again, whole.items, whole.sampled, error)


def _sample(n_granules: int, share: float) -> np.ndarray:
    """The numbers below `n_granules` whose hash lies in the first `share` of all hashes, ascending."""
    limit = np.uint64(share * 2**64)
    parts = []
    for begin in range(0, n_granules, AT_ONCE):
        numbers = np.arange(begin, min(begin + AT_ONCE, n_granules), dtype=np.int64)
        parts.append(numbers[hashed(numbers) < limit])
    return np.concatenate(parts)


def _reuse(pass_id: np.ndarray, items: np.ndarray, size: np.ndarray | int, sampled: float = 1.0) -> Reuse:
    """The reuse of `items` in their order; `size`: bytes of each item by its number, or of all."""
    previous = previous_use(items)
    again = np.flatnonzero(previous >= 0)
    before = previous[again]
    place = pd.factorize(pass_id, sort=True)[0]
    if isinstance(size, int):
        own = np.full(len(items), size, dtype=np.int64)
        distances = stack_distances(items)[again] * size
    else:
        own = size[items]
        distances = stack_distances(items, own)[again]
    table = pd.DataFrame(
        {
            "item": items[again],
            "n_passes": place[again] - place[before],
            "lru_bytes": (distances / sampled).astype("int64") + own[again],
        }
    )
    return Reuse(table, np.sort(items[previous < 0]), sampled)
