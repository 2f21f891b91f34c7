"""Does a token choose the experts of the token before it, more than tokens in any other order would?

The share of a token's k experts that the row before it, of the same sequence, chose in the same layer:

    share = Σ |now ∩ before| / Σ k

Two baselines. `even` = k/E is what rows give that choose k of E at random. But a router that prefers some experts
repeats them whatever the order of tokens, so the right one is `shuffled`: the mean over all orders of the same tokens,

    shuffled = Σ_e n_e (n_e - 1) / (n (n - 1) k)        n_e of the n rows chose expert e; summed over sequences

with range and p from `chance.DRAWS` shuffles (`chance.p_value`). A shuffle moves whole tokens with all their layers
within their sequence. The effect is share - shuffled. Rows that follow each other are not independent, so the interval
of the share rests on the means of `chance.N_PARTS` parts of the rows in order (batch means; Student's t).
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracegen.analysis import chance
from tracegen.analysis.expert_rows import SameRows, groups

LEAST_PAIRS = 2 * chance.N_PARTS  # of neighbours, for an interval
FEW_PAIRS = 3  # up to so many, no order of the tokens is rare: 4 tokens have 12 orders and their reverses
_COUNTS = ["layer", "n_layers", "n_pairs", "n_choices", "n_again"]
_SHARES = ["share", "share_low", "share_high", "even", "shuffled", "low", "high", "effect", "p", "p_adjusted"]
_TYPES = dict.fromkeys(_COUNTS, "Int64") | dict.fromkeys(_SHARES, "Float64")
COLUMNS = list(_TYPES)


def stickiness(chosen: pd.DataFrame, sizes: Mapping[int, int]) -> pd.DataFrame:
    """How many experts of the token before are chosen again, over all layers (layer null) and in each.

    `chosen` is the result of `experts.generated`, `sizes` of `experts.sizes`. Columns: layer, n_layers, n_pairs (rows
    with one before them in their sequence), n_choices (of those rows), n_again, share with its 95 % interval share_low
    to share_high (null: fewer than LEAST_PAIRS), even, shuffled with its 95 % range low to high, effect (share -
    shuffled), p, p_adjusted (for all layers by Holm's method; over all layers it is p). The row over all layers has
    those in which the same rows chose, if they are most. No rows where no layer can be tested: see
    `expert_rows.groups`.
    """
    by_group = [part for part in map(_group, groups(chosen, sizes)) if len(part)]
    if not by_group:
        return pd.DataFrame(columns=COLUMNS).astype(_TYPES)
    layers = pd.concat([part.iloc[1:] for part in by_group], ignore_index=True).sort_values("layer", kind="stable")
    layers["p_adjusted"] = chance.adjusted(layers["p"].to_numpy("float64"))
    overall = by_group[0].iloc[:1]
    return pd.concat([overall.assign(p_adjusted=overall["p"]), layers], ignore_index=True)[COLUMNS].astype(_TYPES)


def _group(group: SameRows) -> pd.DataFrame:
    """The rows of one group: over its layers (layer null), and each layer."""
    who = group.rows["who"].to_numpy()
    follows = who[1:] == who[:-1]
    n_pairs = int(follows.sum())
    if n_pairs == 0:
        return pd.DataFrame(columns=COLUMNS)
    same = [layer.chose.astype(np.float32) for layer in group.layers]
    again = np.array([(x[1:] * x[:-1]).sum(axis=1)[follows] for x in same])  # layers by pairs
    k = np.array([layer.n_chosen for layer in group.layers])
    even = k / np.array([layer.n_experts for layer in group.layers])
    drawn = _shuffled_sums(same, who)  # draws by layers
    expected = np.array([_expected(x, who) for x in same])
    choices = k * n_pairs
    records = [
        _record(int(layer.layer), 1, again[i : i + 1], k[i : i + 1], even[i], expected[i], drawn[:, i] / choices[i])
        for i, layer in enumerate(group.layers)
    ]
    total = choices.sum()
    overall = _record(
        None,
        len(group.layers),
        again,
        k,
        float((even * choices).sum() / total),
        float(expected.sum()),
        drawn.sum(axis=1) / total,
    )
    return pd.DataFrame([overall, *records], columns=COLUMNS)


def _record(
    layer: int | None, n_layers: int, again: np.ndarray, k: np.ndarray, even: float, expected: float, drawn: np.ndarray
) -> dict[str, object]:
    """One row: `again` (layers by pairs) of `k` choices each; `expected` sum and `drawn` shares of shuffled tokens."""
    n_pairs = again.shape[1]
    n_choices = int(k.sum()) * n_pairs
    of_pair = again.sum(axis=0) / k.sum()
    share = float(again.sum()) / n_choices
    low, high = chance.range_95(drawn)
    around = chance.around_mean(of_pair) if n_pairs >= LEAST_PAIRS else None
    shuffled = expected / n_choices
    return {
        "layer": layer,
        "n_layers": n_layers,
        "n_pairs": n_pairs,
        "n_choices": n_choices,
        "n_again": int(again.sum()),
        "share": share,
        "share_low": None if around is None else max(0.0, share - around),
        "share_high": None if around is None else min(1.0, share + around),
        "even": even,
        "shuffled": shuffled,
        "low": low,
        "high": high,
        "effect": share - shuffled,
        "p": chance.p_value(share, drawn, shuffled),
        "p_adjusted": None,
    }


def _expected(x: np.ndarray, who: np.ndarray) -> float:
    """The mean over all orders within sequences of the experts that neighbours share: exact."""
    total = 0.0
    for sequence in np.unique(who):
        mine = x[who == sequence]
        if len(mine) > 1:
            n = mine.sum(axis=0, dtype=np.float64)
            total += float((n * (n - 1)).sum()) / len(mine)  # (n - 1) pairs of neighbours of n (n - 1) ordered pairs
    return total


def _shuffled_sums(layers: list[np.ndarray], who: np.ndarray) -> np.ndarray:
    """How many experts neighbours share in shuffled orders: draws by layers. The same orders for all layers."""
    n = len(who)
    random = np.random.default_rng(0)
    place = np.unique(who, return_inverse=True)[1]
    orders = np.array(
        [np.argsort(place + random.random(n), kind="stable") for _ in range(chance.DRAWS)], dtype=np.int32
    )
    follows = place[1:] == place[:-1]
    pairs = orders[:, :-1][:, follows].astype(np.int64) * n + orders[:, 1:][:, follows]
    sums = np.empty((chance.DRAWS, len(layers)))
    for at, x in enumerate(layers):
        shared = (x @ x.T).astype(np.uint16).ravel()  # each row with each
        sums[:, at] = shared[pairs].sum(axis=1, dtype=np.int64)
    return sums
