"""Which experts belong to a field: those that the texts of one field choose more than the texts of all others.

The effect of an expert in a field is the share of the field's tokens that chose it less the share of all other tokens.
Tokens of one prompt resemble each other, whatever its field: of two prompts of one field, either may be what drives an
effect. So an expert is a **specialist** of a field only if all of this holds:

1. it replicates: every prompt of the field chose it more than the tokens of every other field did in their mean;
2. no prompt drives it: with any one prompt left out, of this or another field, 1 holds and the effect is `MARGIN` or
   more;
3. it is no chance: p, adjusted for all experts and fields, is below `chance.LEVEL`.

p is that of a permutation of fields over prompts (`field_labels`), one-sided: the share of ways to deal prompts to
fields that give an effect at least as large. It is adjusted for the others by the largest effect of each way (Westfall
and Young's max-T): p_adjusted is the share of ways in which *any* expert of any layer has so large an effect in *any*
field that is tested. So on average at most one of 20 matrices without any specialist shows one. Holm's method and
that of Benjamini and Hochberg would multiply the least p by up to the number of tests: with three prompts in each of
five fields it is 1/455, and neither could ever tell one specialist among a hundred experts. The largest effect needs
no such factor, for all tests share their ways; it also respects that experts of a layer are chosen instead of each
other. Effects are compared in points, not divided by their spread: an expert that three tokens in all chose separates
fields perfectly, and means nothing.

A field of one prompt is not tested: nothing in it can replicate. Its tokens count among the others.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.analysis import chance
from tracegen.analysis.field_labels import Labelings, labelings, least_p, prompts_needed
from tracegen.analysis.prompt_choices import Counts, counted

MARGIN = 0.10  # the least effect with any one prompt left out
LEAST_PROMPTS = 2  # of a field, and outside of it
COLUMNS = [
    "layer",
    "expert",
    "field",
    "n_prompts",
    "n_other_prompts",
    "n_tokens",
    "n_other_tokens",
    "share",
    "other_share",
    "effect",
    "least",
    "least_prompt",
    "most_other",
    "other_field",
    "left_out",
    "left_out_prompt",
    "replicates",
    "stays",
    "p",
    "p_adjusted",
    "specialist",
]
_TIE = 1e-9


@dataclass(frozen=True)
class Specialists:
    """The effects of all experts in all fields that can be tested, and what the design can tell.

    table: COLUMNS, specialists first, then by falling effect. n_tokens and n_other_tokens are the token rows that chose
    in the layer; `least` is the least share in a prompt of the field, that of least_prompt; `most_other` the largest
    share in another field, other_field; left_out the least effect with any one prompt left out, left_out_prompt. Shares
    and effects are parts of 1. `replicates` and `stays` are conditions 1 and 2.

    fields: field, n_prompts, n_tokens, least_p (null: not tested). needed: prompts of each field with which something
    could be shown (null with one field). n_experts: experts chosen in any layer. n_ways, exact: of the test.
    """

    table: pd.DataFrame
    fields: pd.DataFrame
    needed: int | None
    n_experts: int
    n_ways: int
    exact: bool
    n_left_out: int

    @property
    def found(self) -> pd.DataFrame:
        """The rows of specialists."""
        return self.table[self.table["specialist"].to_numpy(bool)]

    @property
    def can_tell(self) -> bool:
        """Whether p of some field could be below chance.LEVEL."""
        return bool((self.fields["least_p"] < chance.LEVEL).fillna(False).any())


def specialists(choices: pd.DataFrame) -> Specialists:
    """The specialists among the experts; `choices` as in `prompt_choices`. Raises ValueError if a prompt has two
    fields."""
    counts = counted(choices)
    sizes = counts.sizes
    tested = [n for n, size in enumerate(sizes) if size >= LEAST_PROMPTS and sum(sizes) - size >= LEAST_PROMPTS]
    leasts = [
        least_p(sizes, size, n_tested=sum(sizes[n] == size for n in tested)) if n in tested else None
        for n, size in enumerate(sizes)
    ]
    last = np.cumsum(sizes)
    fields = pd.DataFrame(
        {
            "field": [field for field, _ in counts.fields],
            "n_prompts": sizes,
            "n_tokens": [int(counts.tokens[at - n : at].sum()) for at, n in zip(last, sizes, strict=True)],
            "least_p": pd.array(leasts, dtype="Float64"),
        }
    )
    n_experts, needed = counts.chosen.shape[1], prompts_needed(len(sizes))
    if not tested or not n_experts:
        return Specialists(
            chance.with_older_name(pd.DataFrame(columns=COLUMNS)), fields, needed, n_experts, 0, True, counts.n_left_out
        )
    by = labelings(sizes)
    table = _table(counts, np.array(tested), by)
    return Specialists(table, fields, needed, n_experts, by.n, by.exact, counts.n_left_out)


@dataclass(frozen=True)
class _Effects:
    """By tested field and column: share, other_share, effect, least share, its prompt, most_other and its field."""

    share: np.ndarray
    other: np.ndarray
    effect: np.ndarray
    least: np.ndarray
    least_prompt: np.ndarray
    most_other: np.ndarray
    other_field: np.ndarray

    @property
    def replicates(self) -> np.ndarray:
        above: np.ndarray = self.least > self.most_other + _TIE
        return above


def _table(counts: Counts, tested: np.ndarray, by: Labelings) -> pd.DataFrame:
    whole = _effects(counts.chosen, counts.rows, counts.places, tested)
    left_out, left_out_prompt, stays = _left_out(counts, tested, whole)
    p, p_adjusted = _p(counts, tested, by, whole.effect)
    replicates = whole.replicates
    n_tokens = np.add.reduceat(counts.rows, by.starts, axis=0)[tested]
    of = pd.DataFrame(
        {
            "layer": np.tile(counts.layers, len(tested)),
            "expert": np.tile(counts.experts, len(tested)),
            "field": np.repeat([counts.fields[n][0] for n in tested], len(counts.layers)),
            "n_prompts": np.repeat([counts.fields[n][1] for n in tested], len(counts.layers)),
            "n_tokens": n_tokens.ravel(),
            "n_other_tokens": (counts.rows.sum(axis=0) - n_tokens).ravel(),
            "share": whole.share.ravel(),
            "other_share": whole.other.ravel(),
            "effect": whole.effect.ravel(),
            "least": whole.least.ravel(),
            "least_prompt": np.array(counts.prompts)[whole.least_prompt].ravel(),
            "most_other": whole.most_other.ravel(),
            "other_field": np.array([field for field, _ in counts.fields])[whole.other_field].ravel(),
            "left_out": left_out.ravel(),
            "left_out_prompt": np.array(counts.prompts)[left_out_prompt].ravel(),
            "replicates": replicates.ravel(),
            "stays": stays.ravel(),
            "p": p.ravel(),
            "p_adjusted": p_adjusted.ravel(),
        }
    )
    of["n_other_prompts"] = len(counts.prompts) - of["n_prompts"]
    of["specialist"] = of["replicates"] & of["stays"] & (of["p_adjusted"] < chance.LEVEL)
    order = ["specialist", "effect", "layer", "expert", "field"]
    table = of.sort_values(order, ascending=[False, False, True, True, True], ignore_index=True)[COLUMNS]
    return chance.with_older_name(table)


def _effects(chosen: np.ndarray, rows: np.ndarray, places: np.ndarray, tested: np.ndarray) -> _Effects:
    """The effects of the fields `tested`; `places`: the field of each prompt, which rise but may leave one out."""
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    present = places[starts]
    of, n = np.add.reduceat(chosen, starts, axis=0), np.add.reduceat(rows, starts, axis=0)
    shares, at = of / n, np.searchsorted(present, tested)
    share = shares[at]
    other = (of.sum(axis=0) - of[at]) / (n.sum(axis=0) - n[at])
    alone = chosen / rows
    prompts = [np.flatnonzero(places == field) for field in tested]
    least_prompt = np.array([mine[alone[mine].argmin(axis=0)] for mine in prompts])
    least = np.take_along_axis(alone, least_prompt, axis=0)
    second, first = np.argsort(shares, axis=0, kind="stable")[-2:]
    highest = np.where(first == at[:, None], second, first)  # of the other fields
    most_other = np.take_along_axis(shares, highest, axis=0)
    return _Effects(share, other, share - other, least, least_prompt, most_other, present[highest])


def _left_out(counts: Counts, tested: np.ndarray, whole: _Effects) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By tested field and column: the least effect with any one prompt left out, which one, and whether it stays."""
    least = np.full(whole.effect.shape, np.inf)
    which = np.zeros(whole.effect.shape, dtype=np.int64)
    stays = whole.effect >= MARGIN - _TIE
    for prompt in range(len(counts.prompts)):
        kept = np.arange(len(counts.prompts)) != prompt
        of = _effects(counts.chosen[kept], counts.rows[kept], counts.places[kept], tested)
        which = np.where(of.effect < least - _TIE, prompt, which)
        least = np.minimum(least, of.effect)
        stays &= of.replicates & (of.effect >= MARGIN - _TIE)
    return least, which, stays


def _p(counts: Counts, tested: np.ndarray, by: Labelings, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p of each effect, and p adjusted by the largest effect of each way; the observed way is among them."""
    alone, of_largest = np.zeros(observed.shape, dtype=np.int64), np.zeros(observed.shape, dtype=np.int64)
    total, n_total = counts.chosen.sum(axis=0), counts.rows.sum(axis=0)
    for order in by.orders:
        of = np.add.reduceat(counts.chosen[order], by.starts, axis=0)[tested]
        n = np.add.reduceat(counts.rows[order], by.starts, axis=0)[tested]
        effect = of / n - (total - of) / (n_total - n)
        alone += effect >= observed - _TIE
        of_largest += effect.max() >= observed - _TIE
    return alone / len(by.orders), of_largest / len(by.orders)
