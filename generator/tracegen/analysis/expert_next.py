"""Do the experts that a token chooses in a layer predict those that it will choose in the next one?

If they do, a program can read the next layer's experts while the layer computes. The first `LEARNED` of the tokens
teach the guess, the later ones score it. With P(b | a) the share of the learned rows with expert a that chose expert b
in the next layer, a row that chose the experts A is guessed to choose the k experts of largest

    score(b) = mean over a in A of P(b | a)          equal scores: the one chosen more often, then the lower number

    share = Σ |guessed ∩ chosen| / Σ k               over the scored rows

Three other guesses of k experts stand beside it: the most chosen ones of the learned rows (`most`), those of the token
before in the next layer itself (`before`; the first of a sequence: the most chosen), and any (`even`, k/E).

Chance: a guess also scores because some experts are chosen often, and because tokens in a row resemble each other.
So the experts guessed for each row are compared with those that the row `s` rows later chose, in a circle, for every
shift s: both keep their order. `low` to `high` is the middle 95 % of these shares, `shifted` their mean, and
p = (shifts with a share as far from their mean as observed, 0 among them) / rows. The interval of the share rests on
the means of `chance.N_PARTS` parts of the scored rows (batch means; Student's t).
"""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from tracegen.analysis import chance
from tracegen.analysis.expert_rows import Layer, groups, in_order
from tracegen.analysis.stack_distance import previous_use

LEARNED = 0.8  # of the tokens
LEAST_SCORED = 2 * chance.N_PARTS  # rows, for an interval: fewer have none
LEAST_ROWS = LEAST_SCORED * 5
_COUNTS = ["layer", "after", "n_layers", "n_learned", "n_rows", "n_choices", "n_told"]
_SHARES = ["share", "share_low", "share_high", "most", "before", "even", "shifted", "low", "high", "effect", "p"]
_TYPES = dict.fromkeys(_COUNTS, "Int64") | dict.fromkeys(_SHARES, "Float64")
COLUMNS = list(_TYPES)
_TIE = 1e-9


def predicted(chosen: pd.DataFrame, sizes: Mapping[int, int]) -> pd.DataFrame:
    """How many of a layer's experts those of the layer before predict: over all layers (layer null) and for each.

    `chosen` is the result of `experts.generated`, `sizes` of `experts.sizes`. Columns: layer, after (the layer with
    experts before it), n_layers (pairs of layers), n_learned and n_rows (rows that teach and that are scored),
    n_choices (of the scored rows), n_told (of these, guessed), share with its 95 % interval share_low to share_high,
    most, before, even (shares of the other guesses), shifted, low, high, effect (share - shifted), p. Without rows
    where fewer than two layers can be tested or fewer than `LEAST_ROWS` tokens chose in them.
    """
    found = groups(chosen, sizes)
    if not found or len(found[0].layers) < 2 or len(found[0].rows) < LEAST_ROWS:
        return pd.DataFrame({name: pd.Series(dtype=_TYPES[name]) for name in COLUMNS})
    group = in_order(found[0])
    n_learned = int(LEARNED * len(group.rows))
    pairs = [_pair(a, b, group.rows["who"].to_numpy(), n_learned) for a, b in pairwise(group.layers)]
    every = np.sum([shared for shared, _ in pairs], axis=0)
    records = [_record(shared, others, n_learned) for shared, others in pairs]
    for record, (a, b) in zip(records, pairwise(group.layers), strict=True):
        record |= {"layer": b.layer, "after": a.layer, "n_layers": 1}
    choices = np.array([others["k"] for _, others in pairs], dtype=float)
    means = {name: float(np.average([of[name] for _, of in pairs], weights=choices)) for name in _OTHERS}
    overall = _record(every, means | {"k": float(choices.sum())}, n_learned)
    overall |= {"layer": None, "after": None, "n_layers": len(pairs)}
    return pd.DataFrame([overall, *records], columns=COLUMNS).astype(_TYPES)


_OTHERS = ("most", "before", "even")


def _pair(a: Layer, b: Layer, who: np.ndarray, n_learned: int) -> tuple[np.ndarray, dict[str, float]]:
    """What layer `a` predicts of layer `b`: shared[i, j] experts of row i's guess and row j's choice."""
    y = b.chose.astype(np.float64)
    use = y[:n_learned].mean(axis=0)
    guessed = guess(a, b, n_learned)
    chose = y[n_learned:]
    most = _first(use[None], use, b.n_chosen)
    earlier = previous_use(who)[n_learned:]  # the row before each in its sequence
    before = np.where(earlier[:, None] >= 0, y[earlier], most)
    n_choices = chose.sum()
    others = {
        "most": float((most * chose).sum() / n_choices),
        "before": float((before * chose).sum() / n_choices),
        "even": b.n_chosen / b.n_experts,
        "k": float(b.n_chosen),
    }
    return guessed @ chose.T, others


def guess(a: Layer, b: Layer, n_learned: int) -> np.ndarray:
    """The experts of layer `b` that those of `a` let expect, for each token behind the learned ones: 1.0 or 0.0."""
    x, y = a.chose.astype(np.float64), b.chose[:n_learned].astype(np.float64)
    use = y.mean(axis=0)
    n = x[:n_learned].sum(axis=0)[:, None]
    given = np.where(n > 0, x[:n_learned].T @ y / np.maximum(n, 1), use)  # an expert never learned: the use
    return _first(x[n_learned:] @ given / a.n_chosen, use, b.n_chosen)


def _first(scores: np.ndarray, use: np.ndarray, k: int) -> np.ndarray:
    """1.0 for the k experts of largest score in each row, else 0.0; equal scores by use, then by number."""
    ranks = np.lexsort([np.broadcast_to(-use, scores.shape), -np.round(scores / _TIE)], axis=1)
    chosen = np.zeros(scores.shape)
    np.put_along_axis(chosen, ranks[:, :k], 1.0, axis=1)
    return chosen


def _record(shared: np.ndarray, others: Mapping[str, float], n_learned: int) -> dict[str, object]:
    """The numbers of one row of the table from the experts shared by each guess with each row's choice."""
    n = len(shared)
    n_choices = n * others["k"]
    of_row = shared.diagonal() / others["k"]
    shifted = np.array([np.take_along_axis(shared, (np.arange(n)[:, None] + s) % n, 1).sum() for s in range(n)])
    shares = shifted / n_choices
    low, high = chance.range_95(shares)
    share, mean = float(of_row.mean()), float(shares.mean())
    around = chance.around_mean(of_row)
    as_far = np.abs(shares - mean) >= abs(share - mean) - _TIE
    return {
        "n_learned": n_learned,
        "n_rows": n,
        "n_choices": round(n_choices),
        "n_told": round(float(shared.trace())),
        "share": share,
        "share_low": max(0.0, share - around),
        "share_high": min(1.0, share + around),
        "most": others["most"],
        "before": others["before"],
        "even": others["even"],
        "shifted": mean,
        "low": low,
        "high": high,
        "effect": share - mean,
        "p": float(as_far.mean()),
    }
