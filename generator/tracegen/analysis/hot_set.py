"""Is there a hot set of experts: a set learned on the first tokens, and scored on the later ones.

A set that is chosen and scored on the same tokens looks hot even where tokens choose at random. So the first `LEARNED`
of the generated tokens say which experts of each layer to keep, and only the later tokens are scored. Beside this
static set stands a cache of the same size that keeps, in each layer, the experts chosen most recently. What each serves
by chance is the share of experts that it keeps; the gain is how much of the rest it serves:

    gain = (share of choices served − share kept) / (1 − share kept)

0 is chance, 1 is every choice. Tokens in a row resemble each other, so that the interval of a gain comes from the means
of `N_PARTS` parts of the scored tokens that follow each other, not from single tokens (batch means; Student's t).
"""

from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import pandas as pd

LEARNED = 0.8  # of the tokens
N_PARTS = 10
T_95 = 2.262  # two-sided 95 % of Student's t with N_PARTS − 1 degrees of freedom
LEAST_TOKENS = 200
MARGIN = 0.1  # a smaller gain is not worth a cache

Reaches = Literal["yes", "no", "open"]
Verdict = Literal["static", "recency only", "flat", "open"]


@dataclass(frozen=True)
class Gain:
    """Share of the scored choices that a set served, its gain over chance, and the 95 % interval of the gain."""

    served: float
    gain: float
    low: float
    high: float

    @property
    def reaches(self) -> Reaches:
        """Whether the gain is worth a cache: the whole interval is, or none of it; else neither is shown."""
        return "yes" if self.low >= MARGIN else "no" if self.high < MARGIN else "open"


@dataclass(frozen=True)
class HotSet:
    """What a static set and the experts chosen most recently would serve of the scored tokens.

    `n_held` of `n_experts` experts are kept in each layer. `kept`: layer, expert, n_learned (tokens of the learned part
    that chose it), the most chosen first: the static set.
    """

    n_learned: int
    n_scored: int
    n_held: int
    n_experts: int
    static: Gain
    recent: Gain
    kept: pd.DataFrame

    @property
    def verdict(self) -> Verdict:
        """What is worth a cache: `static`, the set that never changes; `recency only`, what was chosen lately; `flat`,
        neither of the two; `open`: not shown and not excluded. Of other sets it says nothing.
        """
        if self.static.reaches == "yes":
            return "static"
        if self.static.reaches == "open" or self.recent.reaches == "open":
            return "open"
        return "recency only" if self.recent.reaches == "yes" else "flat"


def n_held(n_experts: int, n_chosen: int) -> int:
    """How many experts of a layer to keep: twice what a token chooses, at most half of all, at least one token's."""
    return max(n_chosen, min(2 * n_chosen, n_experts // 2))


def hot_set(chosen: pd.DataFrame, n_experts: int, *, held: int | None = None) -> HotSet | None:
    """Learn a hot set on the first `LEARNED` of the tokens and score it on the others.

    `chosen` is the result of `experts.generated`; its layers have `n_experts` each. `held`: how many of them to keep.
    None where there are fewer than `LEAST_TOKENS` tokens, where rows choose different numbers of experts, or where
    all of a layer would be kept.
    """
    table = _by_token(chosen)
    if table is None or len(table) < LEAST_TOKENS:
        return None
    hold = n_held(n_experts, table.shape[2]) if held is None else held
    if not table.shape[2] <= hold < n_experts:
        return None
    n_learned = int(len(table) * LEARNED)
    learned, scored = table[:n_learned], table[n_learned:]
    counts = _counts(learned, n_experts)
    kept = np.argsort(-counts, axis=1, kind="stable")[:, :hold]
    layers = np.sort(chosen["layer"].unique())
    static = np.zeros((len(layers), n_experts), dtype=bool)
    np.put_along_axis(static, kept, True, axis=1)
    of_layer = np.arange(len(layers))[:, None]
    share = hold / n_experts
    return HotSet(
        n_learned=n_learned,
        n_scored=len(scored),
        n_held=hold,
        n_experts=n_experts,
        static=_gain(static[of_layer, scored].mean(axis=(1, 2)), share),
        recent=_gain(_recently_chosen(table, n_learned, hold, n_experts), share),
        kept=pd.DataFrame(
            {
                "layer": np.repeat(layers, hold),
                "expert": kept.ravel(),
                "n_learned": np.take_along_axis(counts, kept, axis=1).ravel(),
            }
        ),
    )


def _by_token(chosen: pd.DataFrame) -> np.ndarray | None:
    """The chosen experts as an array: tokens in order, layers, choices. None where rows differ in their number."""
    rows = chosen.sort_values(["pass_id", "row", "layer", "rank"])
    tokens = rows.groupby(["pass_id", "row"], sort=False).ngroup().to_numpy()
    n_tokens = int(tokens.max()) + 1 if len(tokens) else 0
    n_layers = rows["layer"].nunique()
    n = len(rows) // max(n_tokens * n_layers, 1)
    sizes = rows.groupby(["pass_id", "row", "layer"]).size()
    if n == 0 or len(sizes) != n_tokens * n_layers or (sizes != n).any():
        return None
    return rows["expert"].to_numpy("int64").reshape(n_tokens, n_layers, n)


def _counts(table: np.ndarray, n_experts: int) -> np.ndarray:
    """How many tokens chose each expert: layers by experts."""
    n_layers = table.shape[1]
    flat = table + n_experts * np.arange(n_layers)[:, None]
    return np.bincount(flat.ravel(), minlength=n_layers * n_experts).reshape(n_layers, n_experts)


def _recently_chosen(table: np.ndarray, first: int, hold: int, n_experts: int) -> np.ndarray:
    """The share of each token's choices, from token `first` on, among the `hold` experts chosen last in their layer.

    The experts of one token are equally recent; of those only as many count, in order of number, as there is room for.
    """
    n_layers = table.shape[1]
    last = np.full((n_layers, n_experts), -1, dtype=np.int64)
    of_layer = np.arange(n_layers)[:, None]
    served = np.empty(len(table) - first)
    for token, experts in enumerate(table):
        if token >= first:
            order = np.argsort(-last, axis=1, kind="stable")[:, :hold]
            recent = np.zeros_like(last, dtype=bool)
            np.put_along_axis(recent, order, True, axis=1)
            recent &= last >= 0
            served[token - first] = recent[of_layer, experts].mean()
        last[of_layer, experts] = token
    return served


def _gain(served: np.ndarray, share: float) -> Gain:
    """The gain over chance of the share served of each token, in their order."""
    gains = (served - share) / (1 - share)
    parts = np.array([part.mean() for part in np.array_split(gains, N_PARTS)])
    around = float(T_95 * parts.std(ddof=1) / np.sqrt(N_PARTS))
    mean = float(gains.mean())
    return Gain(float(served.mean()), mean, mean - around, mean + around)


def table(hot: HotSet) -> pd.DataFrame:
    """The two sets as rows: set (static, recent), n_held, n_experts, n_learned, n_scored, served, gain, low, high."""
    sizes = {"n_held": hot.n_held, "n_experts": hot.n_experts, "n_learned": hot.n_learned, "n_scored": hot.n_scored}
    gains = {"static": hot.static, "recent": hot.recent}
    return pd.DataFrame([{"set": name} | sizes | asdict(gain) for name, gain in gains.items()])
