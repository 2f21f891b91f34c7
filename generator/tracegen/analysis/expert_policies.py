"""Which experts to keep in memory: what each rule would hold of the experts that tokens choose, at equal memory.

A rule keeps `n_held` experts of each layer. The first `LEARNED` of the generated tokens teach and fill, the later ones
are scored: the share of the experts they chose that the rule held.

- `recent`: in each layer those chosen last, as a cache of a number of slots for each layer keeps them;
- `everywhere`: those chosen last in any layer, with as many slots together;
- `fixed`: in each layer the most chosen ones of the learned tokens;
- `ahead`: as `recent`, but as many slots as a token chooses hold what the experts of the layer before let expect
  (`expert_next`), read while that layer computes; the first layer has nothing before it;
- `best`: what no rule can exceed that reads nothing ahead: it drops what will not be chosen for longest.

Within a token all experts of a layer are looked up before any makes room; `everywhere` takes one after another.
"""

import numpy as np
import pandas as pd

from tracegen.analysis.expert_next import LEARNED, LEAST_ROWS, guess
from tracegen.analysis.expert_rows import SameRows, groups, in_order
from tracegen.analysis.stack_distance import stack_distances

RULES = ("recent", "everywhere", "fixed", "ahead", "best")
COLUMNS = ("n_held", *RULES, "ahead_unused")


def policies(chosen: pd.DataFrame, sizes: dict[int, int]) -> pd.DataFrame:
    """A row for each number of experts kept in a layer: as many as a token chooses, times powers of two, up to half.

    `chosen` is the result of `experts.generated`, `sizes` of `experts.sizes`. Columns: n_held, RULES (shares of the
    scored choices), ahead_unused (experts that were read ahead, were not held and were not chosen, for each that was
    chosen). Without rows where fewer than `LEAST_ROWS` tokens chose, or layers have different numbers of experts.
    """
    found = groups(chosen, sizes)
    of = in_order(found[0]) if found else None
    alike = of is not None and len({(layer.n_experts, layer.n_chosen) for layer in of.layers}) == 1
    if of is None or not alike or len(of.rows) < LEAST_ROWS:
        return pd.DataFrame({name: pd.Series(dtype="float64") for name in COLUMNS}).astype({"n_held": "int64"})
    chose = np.stack([layer.chose for layer in of.layers], axis=1)
    n_learned = int(LEARNED * len(chose))
    scored = chose[n_learned:]
    expected = _expected(of, n_learned)
    distance = _distances(chose)
    n_experts, n_chosen = of.layers[0].n_experts, of.layers[0].n_chosen
    use = chose[:n_learned].sum(axis=0)
    since, until = _since(chose), _until(chose)
    rows, n_held = [], n_chosen
    while n_held <= n_experts // 2:
        recent = _held(chose, n_held, since)[n_learned:]
        fewer = _held(chose, n_held - n_chosen, since)[n_learned:] if n_held > n_chosen else np.zeros_like(recent)
        ahead = np.concatenate([recent[:, :1], fewer[:, 1:] | expected], axis=1)
        unused = expected & ~fewer[:, 1:] & ~scored[:, 1:]
        shares = {
            "recent": _share(recent, scored),
            "everywhere": float((distance[n_learned:] < n_held * chose.shape[1])[scored].mean()),
            "fixed": _share(_first(-use, n_held)[None], scored),
            "ahead": _share(ahead, scored),
            "best": _share(_held(chose, n_held, until)[n_learned:], scored),
            "ahead_unused": float(unused.sum() / scored.sum()),
        }
        rows.append({"n_held": n_held, **shares})
        n_held *= 2
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _share(held: np.ndarray, chose: np.ndarray) -> float:
    return float((held & chose).sum() / chose.sum())


def _first(keys: np.ndarray, n: int) -> np.ndarray:
    """True for the `n` smallest keys of the last axis, of equals those of the lower number."""
    found = np.zeros(keys.shape, dtype=bool)
    np.put_along_axis(found, np.argsort(keys, axis=-1, kind="stable")[..., :n], True, axis=-1)
    return found


def _since(chose: np.ndarray) -> np.ndarray:
    """For each token, layer and expert how many tokens ago it was chosen last, this one included; far: never."""
    far = len(chose) + 1
    at = np.where(chose, np.arange(len(chose))[:, None, None], -far)
    return np.arange(len(chose))[:, None, None] - np.maximum.accumulate(at, axis=0)


def _until(chose: np.ndarray) -> np.ndarray:
    """For each token, layer and expert in how many tokens it will be chosen next, this one left out; far: never."""
    far = 2 * len(chose) + 1
    at = np.where(chose, np.arange(len(chose))[:, None, None], far)
    later = np.minimum.accumulate(at[::-1], axis=0)[::-1]
    after = np.concatenate([later[1:], np.full_like(later[:1], far)])
    return after - np.arange(len(chose))[:, None, None]


def _held(chose: np.ndarray, n_held: int, rank: np.ndarray) -> np.ndarray:
    """What a cache of `n_held` slots a layer holds before each token; after it, of what it held and what was chosen,
    the smallest ranks stay."""
    held = np.zeros(chose.shape[1:], dtype=bool)
    before = np.empty_like(chose)
    never = int(rank.max()) + 1
    for token in range(len(chose)):
        before[token] = held
        there = held | chose[token]
        held = _first(np.where(there, rank[token], never), n_held) & there
    return before


def _distances(chose: np.ndarray) -> np.ndarray:
    """For each choice the number of other experts, of any layer, that were used since its last use; huge at the first.

    Where nothing was chosen the number says nothing."""
    n_experts = chose.shape[2]
    token, layer, expert = np.nonzero(chose)
    far = np.iinfo("int64").max
    distance = np.full(chose.shape, far)
    found = stack_distances(layer * n_experts + expert)
    distance[token, layer, expert] = np.where(found < 0, far, found)
    return distance


def _expected(of: SameRows, n_learned: int) -> np.ndarray:
    """For each scored token and each layer but the first, the experts that the layer before lets expect."""
    pairs = zip(of.layers, of.layers[1:], strict=False)
    none = np.zeros((len(of.rows) - n_learned, 0, of.layers[0].n_experts), dtype=bool)
    return np.concatenate([none, *((guess(a, b, n_learned) > 0)[:, None] for a, b in pairs)], axis=1)
