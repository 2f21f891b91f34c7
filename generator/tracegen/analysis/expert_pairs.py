"""Which experts of a layer do tokens choose together, more often than their own use explains?

A token chooses exactly k of E experts, so two of them are together less often than n_a n_b / n: one that is chosen
takes a place from the others. The expected number is that of quasi-independence (Goodman 1968), a table of pairs
without its diagonal whose margins are fixed: each of the n_a rows of expert a has k - 1 others beside it,

    expected(a, b) = w_a w_b,  with  Σ_{b ≠ a} w_a w_b = (k - 1) n_a  for each a

For k = 2 that is exact, and so it is for equal use: n k (k - 1) / (E (E - 1)). Lift is together / expected.

Neighbouring rows resemble each other, so neither interval nor p takes them as independent. With a the rarer of the two,
the share r of its n_a rows that chose b too has as variance the largest of

    N_BLOCKS / (N_BLOCKS - 1) Σ (y - r x)² / n_a²      a ratio over blocks of consecutive rows, y with both of x with a
                                                       in each (Cochran, Sampling Techniques, 6.4)
    r0 (1 - r0) / n_a · (1 + 2 Σ ρ_a(h) ρ_b(h))        r0 = expected / n_a, with the autocorrelations ρ of both experts
                                                       up to lag LAGS: two series that last, and are not tied, meet by
                                                       chance for long (Bartlett 1935); at least r0 (1 - r0) / n_a

The interval is Wilson's for r with as many rows as that variance leaves, divided by r0. p, that a pair is together so
often by chance, is the larger of Student's t of r - r0 and Chernoff's bound of the binomial tail, exp(-n KL(r, r0))
with as many rows as the autocorrelations leave, adjusted for all tested pairs of all layers by Holm's method; r0 counts
as known. A pair is called one only if p_adjusted < chance.LEVEL and its lift is at least `LEAST_LIFT`: a smaller one,
and one below 1, can be the router's way to choose k of scores that differ much, for which quasi-independence is not
exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.analysis import chance
from tracegen.analysis.expert_rows import Layer, groups

N_BLOCKS = 20
# What each expert of a tested pair needs. It says nothing of the two together, so that it selects no result.
LEAST_ROWS = 20  # rows that chose it
LEAST_SPREAD = 8  # blocks over which they spread: (Σ x)² / Σ x²; in fewer, blocks say little of the variance
LEAST_LIFT = 1.5
LAGS = 32
SHOWN = 200
_STEPS, _CLOSE = 2_000, 1e-6
COLUMNS = [
    "layer",
    "a",
    "b",
    "n_rows",
    "n_a",
    "n_b",
    "together",
    "expected",
    "lift",
    "low",
    "high",
    "p",
    "p_adjusted",
    "unusual",
]
_COUNTS = ("layer", "a", "b", "n_rows", "n_a", "n_b", "together")
TYPES = {name: "Int64" if name in _COUNTS else "boolean" if name == "unusual" else "Float64" for name in COLUMNS}


@dataclass(frozen=True)
class Pairs:
    """`strongest`: tested pairs with p < LEVEL, COLUMNS; of `n_tested` of `n_pairs` pairs, `n_unusual` are unusual."""

    strongest: pd.DataFrame
    n_tested: int
    n_pairs: int
    n_unusual: int


def pairs(chosen: pd.DataFrame, sizes: Mapping[int, int]) -> Pairs:
    """Test every pair of experts of a layer that at least LEAST_ROWS token rows each chose, in enough parts of the run.

    `chosen` is the result of `experts.generated`, `sizes` of `experts.sizes`. At most SHOWN pairs are listed, of those
    whose p is below LEVEL before it is adjusted: unusual ones, then of least p, then by layer and experts. Columns:
    layer, a < b (experts), n_rows, n_a and n_b (rows that chose each), together, expected, lift, low and high (95 %),
    p, p_adjusted (by Holm's method), unusual (called one). Layers in which rows choose one expert or all are left out,
    and those with fewer than 2 N_BLOCKS rows.
    """
    layers = [layer for group in groups(chosen, sizes) for layer in group.layers if layer.n_chosen > 1]
    layers = sorted((one for one in layers if one.n_rows >= 2 * N_BLOCKS), key=lambda one: one.layer)
    n_pairs = sum(one.n_experts * (one.n_experts - 1) // 2 for one in layers)
    tables = [table for table in map(_of_layer, layers) if len(table)]
    if not tables:
        none = pd.DataFrame({name: pd.Series(dtype=of) for name, of in TYPES.items()})
        return Pairs(chance.with_older_name(none), 0, n_pairs, 0)
    table = pd.concat(tables, ignore_index=True)
    table["p_adjusted"] = chance.adjusted(table["p"].to_numpy())
    table["unusual"] = (table["p_adjusted"] < chance.LEVEL) & (table["lift"] >= LEAST_LIFT)
    order = ["unusual", "p", "layer", "a", "b"]
    least = table[table["p"] < chance.LEVEL].sort_values(order, ascending=[False, *[True] * 4], ignore_index=True)
    strongest = chance.with_older_name(least.head(SHOWN)[COLUMNS].astype(TYPES))
    return Pairs(strongest, len(table), n_pairs, int(table["unusual"].sum()))


def _of_layer(layer: Layer) -> pd.DataFrame:
    """The tested pairs of a layer, without what many of them change.

    Chernoff's bound is a lower bound of p. Where it is not below LEVEL, it is taken for p, without an interval: no
    method that holds many tests makes p smaller, and blocks are only counted where they can matter.
    """
    x = layer.chose.astype(np.float32)
    n, counts = layer.n_rows, layer.chose.sum(axis=0)
    known = expected_together(counts, layer.n_chosen)
    starts = np.array([rows[0] for rows in np.array_split(np.arange(n), N_BLOCKS)])
    of_block = np.add.reduceat(x, starts, axis=0)
    spread = counts**2 / np.maximum((of_block**2).sum(axis=0), 1)
    often = np.flatnonzero((counts >= LEAST_ROWS) & (spread >= LEAST_SPREAD))
    if known is None or len(often) < 2:
        return pd.DataFrame(columns=COLUMNS)
    mine = x[:, often]
    upper = np.triu_indices(len(often), 1)
    a, b = often[upper[0]], often[upper[1]]
    together, expected = (mine.T @ mine)[upper].astype(np.float64), known[a, b]
    lasting, rarer = _lasting(mine)[upper], np.where(counts[a] <= counts[b], a, b)
    p = chernoff(together, counts[rarer], expected, lasting)
    low, high = np.full(len(p), np.nan), np.full(len(p), np.nan)
    near = np.flatnonzero(p < chance.LEVEL)
    if len(near):
        both = np.add.reduceat(x[:, a[near]] * x[:, b[near]], starts, axis=0).astype(np.float64)
        rare = of_block[:, rarer[near]].astype(np.float64)
        low[near], high[near], by_blocks = interval_and_p(both, rare, expected[near], lasting[near])
        p[near] = np.maximum(p[near], by_blocks)
    return pd.DataFrame(
        {
            "layer": layer.layer,
            "a": a,
            "b": b,
            "n_rows": n,
            "n_a": counts[a],
            "n_b": counts[b],
            "together": together.astype("int64"),
            "expected": expected,
            "lift": together / expected,
            "low": low,
            "high": high,
            "p": p,
        }
    )


def expected_together(counts: np.ndarray, n_chosen: int) -> np.ndarray | None:
    """Expected rows that choose both experts, experts by experts, 0 on the diagonal: see the module.

    None where no weights have these margins, or nearly none: an expert that nearly every row chose.
    """
    margin = (n_chosen - 1) * np.asarray(counts, dtype=np.float64)
    weight = margin / np.sqrt(max(margin.sum(), 1.0))
    for _ in range(_STEPS):
        others = weight.sum() - weight
        sums = weight * others
        if np.abs(sums - margin).max() <= _CLOSE * margin.max():
            together = np.outer(weight, weight)
            np.fill_diagonal(together, 0.0)
            return together
        weight = np.sqrt(weight * np.divide(margin, others, out=np.zeros_like(margin), where=others > 0))
    return None


def _lasting(x: np.ndarray) -> np.ndarray:
    """1 + 2 Σ ρ_a(h) ρ_b(h) for each two columns of rows by experts, at least 1: rows that count as one."""
    centred = x - x.mean(axis=0)
    power = np.maximum((centred**2).sum(axis=0), 1e-12)
    lags = range(1, min(LAGS, len(x) // 4) + 1)
    rho = np.array([(centred[lag:] * centred[:-lag]).sum(axis=0) / power for lag in lags])
    lasting: np.ndarray = np.maximum(1.0, 1 + 2 * (rho.T @ rho).astype(np.float64))
    return lasting


def chernoff(together: np.ndarray, rarer: np.ndarray, expected: np.ndarray, lasting: np.ndarray) -> np.ndarray:
    """A bound of p by pair: rows with both, with the rarer expert, and expected; `lasting` rows count as one."""
    share, by_chance = together / rarer, np.clip(expected / rarer, 1e-12, 1 - 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(share > 0, share * np.log(share / by_chance), 0.0)
        far += np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - by_chance)), 0.0)
    bound: np.ndarray = np.where(share > by_chance, np.exp(-rarer / lasting * np.maximum(far, 0.0)), 1.0)
    return bound


def interval_and_p(
    both: np.ndarray, rarer: np.ndarray, expected: np.ndarray, lasting: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ends of the interval of lift, and Student's p, by pair.

    `both` and `rarer`: rows with both experts and with the rarer one, blocks by pairs; `expected` rows with both;
    `lasting`: so many rows count as one, see `_lasting`.
    """
    n = rarer.sum(axis=0)
    share, by_chance = both.sum(axis=0) / n, np.clip(expected / n, 1e-12, 1 - 1e-12)
    between = N_BLOCKS / (N_BLOCKS - 1) * ((both - share * rarer) ** 2).sum(axis=0) / n**2
    t = (share - by_chance) / np.sqrt(np.maximum(between, by_chance * (1 - by_chance) / n * lasting))
    p = np.where(t > 0, chance.t_tail(t, N_BLOCKS) / 2, 1.0)
    left = np.minimum(n / lasting, share * (1 - share) / np.maximum(between, 1e-12))
    left = np.clip(np.where(between > 0, left, n / lasting), 1.0, n)
    z = chance.t_95(N_BLOCKS)
    middle = (share + z**2 / (2 * left)) / (1 + z**2 / left)
    around = z * np.sqrt(share * (1 - share) / left + (z / (2 * left)) ** 2) / (1 + z**2 / left)
    return np.maximum(middle - around, 0) / by_chance, (middle + around) / by_chance, p
