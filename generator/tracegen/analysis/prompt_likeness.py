"""Do prompts of one field choose experts more alike than prompts of different fields?

The distance of two prompts is the total variation between the shares of choices that the experts of a layer get, ½ Σ_e
|p_a(e) - p_b(e)|, in the mean over layers: the share of choices that would have to go to another expert. Short texts
lie apart by chance too, so it is the difference that counts: the mean distance of pairs of different fields less that
of pairs of one field. p is one-sided, of a permutation of fields over prompts, as in `specialists`; each pair counts
once.
"""

from dataclasses import dataclass
from math import factorial, prod

import numpy as np
import pandas as pd

from tracegen.analysis.field_labels import countable, labelings, ways
from tracegen.analysis.prompt_choices import Counts, counted

_TIE = 1e-9


@dataclass(frozen=True)
class Likeness:
    """Mean distances of pairs of prompts of one field (`same`) and of different fields, how many pairs, and p.

    `effect` is `different` less `same`; `least_p` the least that p can be with so many prompts.
    """

    same: float
    different: float
    n_same: int
    n_different: int
    effect: float
    p: float
    least_p: float


def likeness(choices: pd.DataFrame) -> Likeness | None:
    """How alike prompts choose; `choices` as in `prompt_choices`. None unless there are pairs of both kinds."""
    counts = counted(choices)
    n_same = sum(size * (size - 1) // 2 for size in counts.sizes)
    n_different = len(counts.prompts) * (len(counts.prompts) - 1) // 2 - n_same
    if not (n_same and n_different and counts.chosen.shape[1]):
        return None
    a, b = np.triu_indices(len(counts.prompts), 1)
    between = _distances(counts)[a, b]
    places, by = counts.places, labelings(counts.sizes)
    field = np.empty_like(places)
    means = np.empty((len(by.orders), 2))
    for way, order in enumerate(by.orders):
        field[order] = places
        same = field[a] == field[b]
        means[way] = between[same].mean(), between[~same].mean()
    effects = means[:, 1] - means[:, 0]
    p = float((effects >= effects[0] - _TIE).mean())
    same_mean, different_mean = means[0].tolist()
    # fields of one size may swap all their prompts: then the same pairs are of one field
    alike = prod(factorial(counts.sizes.count(size)) for size in set(counts.sizes))
    least = countable(alike / ways(counts.sizes), counts.sizes)
    return Likeness(same_mean, different_mean, n_same, n_different, float(effects[0]), p, least)


def _distances(counts: Counts) -> np.ndarray:
    """Prompts x prompts: total variation, in the mean over layers."""
    layers, column = np.unique(counts.layers, return_inverse=True)
    totals = np.zeros((len(counts.prompts), len(layers)), dtype=np.int64)
    np.add.at(totals.T, column, counts.chosen.T)
    shares = counts.chosen / totals[:, column]
    found = [np.abs(shares - of).sum(axis=1) / 2 / len(layers) for of in shares]
    return np.array(found)
