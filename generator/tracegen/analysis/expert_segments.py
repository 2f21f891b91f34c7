"""How far one set of experts, or a cache of them, serves several tokens in a row: SRP and SCH.

The two measures of "Not All Models Suit Expert Offloading" (Liang and others, arXiv 2505.16056), so that a run can be
compared with the 20 models there. A segment is `m` token rows in a row of a sequence; segments overlap, as there.

**SRP**, segment routing best performance: a router that chooses once for a whole segment. It takes the experts that at
least t of the segment's rows chose, and uses them for all m rows. With c the rows of a segment that chose an expert,

    F1(t) = 2 Σ_{c >= t} c / (m · |{c >= t}| + Σ c)        sums over segments, layers and experts

SRP is the largest F1 of all t from 0 to m; `srp_size` is the number of experts that this t takes, divided by k. 1:
all rows of a segment choose the same experts.

**SCH**, segment cache best hit rate, as in versions 3 and 4 of the paper: a cache of ρ·k experts of the layer that
knows the next m rows. It evicts the expert that these rows choose least often, of several the one used longest ago. It
is no bound: a cache that drops what is chosen again last can hit more often. An expert that comes into free room is no
miss. Here each layer has its cache, and SCH is the mean over layers; the paper also shares one cache between the
layers. (Versions 1 and 2 had another measure of this name: the share of choices that the ρ·k most chosen experts of
each segment get.)

Both depend on E, k and on how unequally experts are used; beside each stands what the same rows give in shuffled order
(`DRAWS` shuffles, each with all its layers, within its sequence): mean, lowest and highest.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tracegen.analysis.expert_rows import SameRows, groups

LENGTHS = (4, 16, 64, 256)  # token rows of a segment, those of the paper
SIZES = (1, 2)  # ρ: experts in the cache, divided by those that a row chooses
DRAWS = 19
MOST_ROWS = 512  # of more token rows the first are used: the length of the paper's samples
COLUMNS = [
    "length",
    "n_rows",
    "n_segments",
    "n_layers",
    "srp",
    "srp_shuffled",
    "srp_low",
    "srp_high",
    "srp_size",
    *(f"sch_{size}{end}" for size in SIZES for end in ("", "_shuffled", "_low", "_high")),
]
_TYPES = {name: "Int64" if name == "length" or name.startswith("n_") else "Float64" for name in COLUMNS}

Chosen = np.ndarray  # bool
Rows = np.ndarray  # int64


def segments(chosen: pd.DataFrame, sizes: Mapping[int, int]) -> pd.DataFrame:
    """SRP and SCH over all layers, for each length of segment that the run has.

    `chosen` is the result of `experts.generated`, `sizes` of `experts.sizes`. Columns: length (m), n_rows, n_segments
    (each in every layer), n_layers, srp, srp_shuffled (mean), srp_low, srp_high (of shuffled rows), srp_size, and the
    same of SCH for each ρ of `SIZES`: sch_1, sch_1_shuffled, sch_1_low, sch_1_high, sch_2 and so on. Of the layers,
    those with the same number of experts and choices as most. No row for a length that no sequence has.
    """
    group = _alike(groups(chosen, sizes, MOST_ROWS))
    if group is None:
        return pd.DataFrame({name: pd.Series(dtype=_TYPES[name]) for name in COLUMNS})
    who = group.rows["who"].to_numpy()
    k = group.layers[0].n_chosen
    chose = np.stack([layer.chose for layer in group.layers], axis=1)
    ordered = chose[np.array([np.arange(len(who)), *_shuffles(who)])]
    records: list[dict[str, float]] = []
    for m in LENGTHS:
        starts = _starts(who, m)
        if not len(starts):
            continue
        srp = [best_routing(of, starts, m) for of in ordered]
        record = _beside("srp", [one for one, _ in srp]) | {"srp_size": srp[0][1] / k}
        for size in SIZES:
            record |= _beside(f"sch_{size}", cache_hits(ordered, who, m, size * k).mean(axis=1).tolist())
        records.append({"length": m, "n_segments": len(starts), **record})
    table = pd.DataFrame(records, columns=COLUMNS).assign(n_rows=len(who), n_layers=len(group.layers))
    return table.astype(_TYPES)


def _beside(name: str, values: Sequence[float]) -> dict[str, float]:
    """The value of the rows as they are, the first, and those of the shuffled rows."""
    own, *others = values
    return {
        name: own,
        f"{name}_shuffled": float(np.mean(others)),
        f"{name}_low": min(others),
        f"{name}_high": max(others),
    }


def _alike(found: list[SameRows]) -> SameRows | None:
    """The largest group, of its layers those with the commonest number of experts and choices; None without any."""
    if not found:
        return None
    shapes = [(layer.n_experts, layer.n_chosen) for layer in found[0].layers]
    commonest = max(shapes, key=shapes.count)
    layers = tuple(layer for layer, shape in zip(found[0].layers, shapes, strict=True) if shape == commonest)
    return SameRows(found[0].rows, layers)


def _shuffles(who: Rows) -> list[Rows]:
    """`DRAWS` orders of the rows, each row within its sequence; `who` is in order of sequence."""
    random = np.random.default_rng(0)
    return [np.lexsort([random.random(len(who)), who]) for _ in range(DRAWS)]


def _starts(who: Rows, m: int) -> Rows:
    """The first rows of all segments of m rows within a sequence; `who` is in order of sequence."""
    last = np.arange(len(who) - m + 1)
    return last[who[last] == who[last + m - 1]] if len(last) else last


def best_routing(chose: Chosen, starts: Rows, m: int) -> tuple[float, float]:
    """SRP, and how many experts of a layer its router takes on average; `chose`: token rows by layers by experts."""
    sums = _sums(chose, 0)
    counts = np.bincount((sums[starts + m] - sums[starts]).ravel(), minlength=m + 1)
    taken = counts[::-1].cumsum()[::-1]  # experts that at least t rows chose, for each t from 0
    served = (counts * np.arange(m + 1))[::-1].cumsum()[::-1]
    f1 = 2 * served / (m * taken + served[0])
    best = int(f1.argmax())
    return float(f1[best]), float(taken[best]) / (len(starts) * chose.shape[1])


def cache_hits(chose: Chosen, who: Rows, m: int, size: int) -> np.ndarray:
    """SCH of each order of the rows and each layer; `chose`: orders by token rows by layers by experts.

    The share of a layer's choices that its cache of `size` experts holds, or has room for. A row's experts are looked
    for before any of them is brought in, the lowest number first. A sequence begins with the cache that the one before
    it left; the rows to come are those of its own.
    """
    n_orders, n_rows, n_layers, n_experts = chose.shape
    flat = chose.transpose(0, 2, 1, 3).reshape(-1, n_rows, n_experts)  # each order of each layer has a cache
    each = np.arange(len(flat))
    sums, ends = _sums(flat, 1), np.searchsorted(who, who, side="right")
    cached = np.zeros((len(flat), n_experts), dtype=bool)
    used = np.zeros((len(flat), n_experts), dtype=np.int32)  # when each was used last
    n_cached, hits = np.zeros(len(flat), dtype=np.int64), np.zeros(len(flat), dtype=np.int64)
    n_chosen = int(flat[0, 0].sum())
    scale = np.int32(n_rows * n_chosen + 1)  # more than any time
    clock, absent = 0, np.iinfo(np.int32).max
    for row in range(n_rows):
        wanted = np.nonzero(flat[:, row])[1].reshape(-1, n_chosen)
        found = cached[each[:, None], wanted].sum(axis=1)
        hits += found + np.minimum(size - n_cached, n_chosen - found)
        ahead = (sums[:, min(row + m, ends[row])] - sums[:, row]).astype(np.int32)
        worth = np.where(cached, ahead * scale + used, absent)
        for expert in wanted.T:
            comes = ~cached[each, expert]
            evicts = np.flatnonzero(comes & (n_cached >= size))
            out = worth.argmin(axis=1)[evicts]
            cached[evicts, out], worth[evicts, out] = False, absent
            n_cached += comes
            n_cached[evicts] -= 1
            clock += 1
            cached[each, expert], used[each, expert] = True, clock
            worth[each, expert] = (ahead[each, expert] - 1) * scale + clock
    shares: np.ndarray = hits.reshape(n_orders, n_layers) / (n_rows * n_chosen)
    return shares


def _sums(chose: Chosen, axis: int) -> np.ndarray:
    """How often each expert was chosen before each row, and in all: one more than `chose` along `axis`."""
    none = np.zeros_like(np.take(chose, [0], axis=axis), dtype=np.int16)
    return np.concatenate([none, np.cumsum(chose, axis=axis, dtype=np.int16)], axis=axis)
