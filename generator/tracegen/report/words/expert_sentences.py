"""The sentences about experts on the experts page and the overview: values in, text out.

A row is named by the token that its pass gives, as passes are on all pages; it chooses the experts of the one before. A
number of experts is always of one layer; over several layers, pairs of layer and expert are counted. `r` is what a test
against chance found over all layers, by the names of its columns.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tracegen.analysis.chance import LEVEL
from tracegen.contract import quantities as q

Row = Mapping[Any, Any]

LEFT_OUT = "Prompt and warm-up are left out."
NAMED_BY = (
    "Each row is named by the token that its pass gives; the experts are those of the token before, which it takes in."
)


# Names of rows and lines.


def line_name(given: tuple[int | None, int | None], passes: tuple[int, int]) -> str:
    """The name of a line: the tokens that its first and last pass give, or the passes if a token is not known."""
    known = None not in given
    first, last = given if known else passes
    noun = "token" if known else "pass"
    return f"{noun} {first}" if first == last else f"{'tokens' if known else 'passes'} {first}–{last}"


# Why there is nothing to show.


def no_choice(*, has_routing: bool, has_generate: bool, kinds: Sequence[str]) -> str:
    """Why no row of a generate pass chose an expert; `kinds` are the kinds of pass whose rows did."""
    if not has_routing:
        return "The trace holds no routing: it does not say which experts the tokens chose."
    if has_generate:
        return "The trace holds no routing of a generate pass."
    named = [{"warmup": "warm-up"}.get(kind, kind) for kind in kinds] or ["other"]
    return f"The run has no generate pass: only rows of {_listed(named)} passes chose experts."


UNTESTED = (
    "Not applicable: in no layer do token rows choose one number of experts that is less than all of them, so that "
    "there is no chance to test against."
)
NO_PAIR = "No generated token that chose experts has another one before it in its sequence."


def no_weight(*, private: bool) -> str:
    """Why no weight is shown."""
    if private:
        return "How strongly the tokens chose is withheld: the experiment is private."
    return "The trace holds no routing weight: it does not say how strongly the tokens chose."


# Which experts the tokens choose.


def choice_title(
    *, n_never: int, n_pairs: int, layers: Sequence[int], best: tuple[int, int], most: int, n_best: int, n_rows: int
) -> str:
    """The title of the grid of layers by experts.

    `best` is the (layer, expert) that most rows chose, `most` the number of these rows, `n_best` the number of pairs
    chosen by as many.
    """
    if n_never:
        noun, what = ("expert", f"layer {layers[0]}") if len(layers) == 1 else ("pair", "layer and expert")
        return f"Generated tokens never choose {q.count(n_never)} of {q.counted(n_pairs, noun)} of {what}"
    every = f"Every expert of layer {layers[0]}" if len(layers) == 1 else "Every expert of every layer"
    if n_rows == 1:
        return f"{every} is chosen, by one token"
    share = f"all {q.count(n_rows)} tokens" if most == n_rows else f"{q.count(most)} of {q.count(n_rows)} tokens"
    if n_best == n_pairs:
        return f"{every} is chosen, each by {share}"
    if n_best > 1:
        return f"{every} is chosen, {q.count(n_best)} of them most often, by {share} each"
    where = "" if len(layers) == 1 else f" of layer {best[0]}"
    return f"{every} is chosen; expert {best[1]}{where} most often, by {share}"


def choice_caption(*, n_rows: int, n_experts: int | None, n_chosen: int | None, even: float | None) -> str:
    """The caption of the grid; `n_experts` and `n_chosen` are None where layers or rows differ in them."""
    caption = (
        "Each cell: how many token rows of generate passes chose the expert in that layer; one row of cells per layer."
    )
    if n_rows:
        caption += f" n = {q.counted(n_rows, 'token row')}"
        if n_experts is None:
            caption += "; layers differ in their number of experts, so that they have no common baseline."
        elif n_chosen is None or even is None:
            caption += "; rows differ in how many experts they choose, so that they have no common baseline."
        else:
            who = "it" if n_rows == 1 else "each"
            caption += (
                f"; {who} chooses {n_chosen} of {q.counted(n_experts, 'expert')} in a layer, so that "
                f"an even choice would give every cell {q.three(even)}."
            )
    return f"{caption} {LEFT_OUT}"


def generate_rows(n_rows: int) -> str:
    """The number of counted rows, if any, and what is left out."""
    if not n_rows:
        return LEFT_OUT
    return f"n = {q.counted(n_rows, 'token row')} of generate passes; prompt and warm-up are left out."


# Which experts each token chooses in one layer.


def tokens_title(*, layer: int | None, n_tokens: int, most_uneven: bool) -> str:
    """The title of the tokens of one layer; `most_uneven`: no other layer is as uneven, and there are others."""
    if layer is None:
        return "Which experts does each token choose?"
    who = "the one token" if n_tokens == 1 else "each token"
    return (
        f"Which experts does {who} choose in layer {layer}{', where the choice is most uneven' if most_uneven else ''}?"
    )


def tokens_caption(*, n_tokens: int, several: int, n_layers: int, most_uneven: bool, last: str) -> str:
    """The caption of the tokens of one layer; `several` tokens share a line, `last` is the result of `last_token`."""
    parts = ["Each mark: an expert that a generated token chose in the layer.", _joined(n_tokens, several)]
    if n_layers > 1:
        parts.append(
            "In this layer the choice is most uneven: the standard deviation of its experts’ counts, divided by their "
            "mean, is the largest."
            if most_uneven
            else "In no layer is the choice more uneven; this is the first of several that are as uneven."
        )
    parts += [NAMED_BY, last, generate_rows(n_tokens)]
    return " ".join(filter(None, parts))


def _joined(n_tokens: int, several: int) -> str:
    if n_tokens == 0:
        return ""
    if several == 1:
        return "One line per token."
    rest = n_tokens % several
    odd = f" (the last line: {rest})" if rest else ""
    return f"Each line joins {several} tokens{odd}; the stronger a mark, the more of them chose the expert."


def last_token(last: int | None, *, windowed: bool) -> str:
    """That no row holds the last generated token; empty for None: not known, or a row may hold it."""
    if last is None:
        return ""
    if windowed:
        return f"No recorded pass takes in token {last}, the last one generated."
    return f"No pass takes in token {last}, the last one generated: it chose no expert."


def of_tokens_caption(*, n_ordered: int, n_tokens: int, n_shown: int, last: str) -> str:
    """The caption of the table of tokens; the weights of `n_ordered` tokens are all known and order their experts.

    `last` is the result of `last_token`.
    """
    if n_tokens and n_ordered == n_tokens:
        order = ", the strongest first, and their routing weights."
    elif n_ordered:
        order = " and their routing weights: the strongest first, or in llama.cpp’s order where a weight is missing."
    elif n_tokens == 0:
        order = "."
    else:
        order = ", in llama.cpp’s order."
    cut = f" The first {n_shown} of {q.count(n_tokens)}; the CSV has all." if n_tokens > n_shown else ""
    return " ".join(filter(None, (f"The experts that each generated token chose{order} {NAMED_BY}", last))) + cut


# How evenly.


def load_title(*, share: float, even: float | None, layers: Sequence[int], chance: float | None = None) -> str:
    """The title of the shares of choices.

    `share` is that of the most chosen expert of a layer (median over layers), `even` the share of an even choice
    (None: layers differ), `chance` the share of the most chosen expert if rows choose at random (None: many rows).
    """
    alone = len(layers) == 1
    whose, over = (f"layer {layers[0]}", "") if alone else ("a layer", f" (median over {len(layers)} layers)")
    beside = "" if even is None else f"; an even choice would give it {q.percent(even)}"
    by_chance = "" if chance is None else f", a random choice by so few rows about {q.percent(chance)}"
    return f"The most chosen expert of {whose} gets {q.percent(share)} of its choices{over}{beside}{by_chance}"


def load_caption(*, n_layers: int, n_rows: int, sizes_differ: bool) -> str:
    """The caption of the shares of choices."""
    if n_layers == 1:
        marks = "tick: the share of each"
    else:
        whose = f"{q.count(n_layers)} layers" if n_layers else "the layers"
        whose += " (of those that have so many experts)" if sizes_differ else ""
        marks = f"bar: from the lowest to the highest of {whose}, tick: their median"
    each = "Experts of the layer" if n_layers == 1 else "Experts of each layer"
    return (
        f"{each} sorted by how often they were chosen; {marks}, dashed: every expert chosen equally often. "
        f"{generate_rows(n_rows)}"
    )


def cover_title(*, needed: Sequence[int], sizes: Sequence[int], layers: Sequence[int]) -> str:
    """How few experts make up 80 % of the choices.

    One entry per layer: `needed` experts, all experts (`sizes`), number of the layer. The title names the lower median
    of `needed`: at least half of the layers need no more.
    """
    half = sorted(needed)[(len(needed) - 1) // 2]
    size = sizes[0] if len(set(sizes)) == 1 else None
    alike = len(set(needed)) == 1
    where = f"layer {layers[0]}" if len(layers) == 1 else "every layer with experts"
    if half == size and size > 1:  # more than half of the layers stand at the lower median or above
        where = where if alike else "more than half of the layers with experts"
        return f"In {where}, 80 % of the choices take all {size} experts"
    enough = q.counted(half, "expert") if size is None else f"{half} of {q.counted(size, 'expert')}"
    if not alike:
        where, enough = "at least half of the layers with experts", enough + (" or fewer" if half > 1 else "")
    return f"In {where}, {enough} {'is' if half == 1 else 'are'} enough for 80 % of the choices"


def balance_title(entropy: float | None, low: float | None, high: float | None) -> str:
    """How even the choices of generated tokens are over all layers, and what random choice by as many rows gives."""
    if entropy is None:
        return "How evenly are the experts chosen?"
    said = f"The choices have {q.percent(entropy)} of the largest possible entropy"
    if low is None or high is None:
        return said
    ends = f"{q.percent(low)} to {q.percent(high)}"
    if low <= entropy <= high:
        return f"{said}, as random choice by as many rows has: {ends}"
    than = "less than" if entropy < low else "more than"
    return f"{said}, {than} random choice by as many rows: {ends}"


def counted_rows(numbers: Collection[int], what: str) -> str:
    """` n = 3 to 5 token rows …` from the number of rows of each layer; empty without layers."""
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    return f" n = {'' if low == high else f'{q.count(low)} to '}{q.counted(high, 'token row')} {what}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


# Whether the token before, or the layer before, tells which experts are chosen.


def sticky_title(r: Row, *, few: bool) -> str:
    """Whether tokens choose the experts of the token before, more or less than in shuffled order; over all layers.

    `few`: so few tokens that no order of them can have a p below LEVEL.
    """
    if few:
        return "Too few tokens to tell whether they choose the experts of the token before more often than chance"
    differ = "no difference shown from" if r["p"] >= LEVEL else "more than" if r["effect"] > 0 else "fewer than"
    return (
        f"A token chooses {q.percent(r['share'])} of its experts as the token before did, {differ} shuffled tokens: "
        f"{_ends(r)}"
    )


def _ends(r: Row) -> str:
    """The ends of what chance gives."""
    return f"{q.percent(r['low'])} to {q.percent(r['high'])}"


def _effect(r: Row, by_chance: str) -> str:
    """The effect over all layers with the interval of the share, where that is known, and p."""
    ends = ""
    if q.known(r["share_low"]) and q.known(r["share_high"]):
        low, high = (_points(r[end] - r[by_chance]) for end in ("share_low", "share_high"))
        ends = f" (95 %: {low} to {high})"
    return f" Effect over all layers: {_points(r['effect'])} percentage points{ends}, {q.p_words(r['p'])}"


def _points(value: float) -> str:
    """`+3.1`: a difference of shares in percentage points."""
    return f"{100 * value:+.1f}".replace("-", "−")


def sticky_overall(r: Row, *, n_layers: int, n_sure: int) -> str:
    """The numbers over all layers, and how many of them differ by Holm’s method."""
    layers = f"; of {q.counted(n_layers, 'layer')}, {q.count(n_sure)} differ by Holm’s method" if n_layers > 1 else ""
    return f"{_effect(r, 'shuffled')}{layers}."


def next_title(r: Row) -> str:
    """Whether the experts of a layer tell those of the next; over all layers."""
    differ = "no more" if r["p"] >= LEVEL else "more" if r["effect"] > 0 else "fewer"
    return f"The layer before predicts {q.percent(r['share'])} of a token’s experts, {differ} than chance: {_ends(r)}"


def next_overall(r: Row) -> str:
    """The numbers over all layers, and what other guesses find."""
    most, before, even = (q.percent(r[name]) for name in ("most", "before", "even"))
    return (
        f"{_effect(r, 'shifted')}. The most chosen experts find {most}, those of the token before {before}, any k of E "
        f"{even}."
    )


def no_next(*, n_rows: int, n_layers: int, least: int) -> str:
    """Why no guess from the layer before is learned."""
    if n_layers < 2:
        return "Not applicable: fewer than two layers have experts that can be tested, so that none has a next one."
    return (
        f"{q.counted(n_rows, 'token row')} {'is' if n_rows == 1 else 'are'} too few to learn a guess: it takes {least}."
    )


# How strongly.


def weights_title(*, mean: float, places: int, layers: Sequence[int]) -> str:
    """The title of the weights: the `mean` weight of the strongest of the `places` experts that a row chooses."""
    where = f"in layer {layers[0]}" if len(layers) == 1 else "in a layer"
    what = "The one expert that a token chooses" if places == 1 else "A token’s strongest expert"
    return f"{what} {where} gets a weight of {q.three(mean)} on average"


# How many.


def used_title(*, prompt: tuple[int, int] | None, generate: tuple[int, int] | None, n_experts: int | None) -> str:
    """How many experts of a layer are used: least and most over layers, of prompt passes and of generation."""
    if n_experts is None or (prompt is None and generate is None):
        return "How many experts of each tensor does a pass use?"
    said = []
    if prompt is not None:
        said.append(f"a pass of the prompt uses {_from_to(prompt)} of {q.counted(n_experts, 'expert')} of a layer")
    if generate is not None:
        of = "" if prompt is not None else f" of {q.counted(n_experts, 'expert')} of a layer"
        said.append(f"all generated tokens {'together ' if prompt else 'use '}{_from_to(generate)}{of}")
    text = ", ".join(said)
    return text[:1].upper() + text[1:]


def _from_to(ends: tuple[int, int]) -> str:
    return q.count(ends[0]) if ends[0] == ends[1] else f"{q.count(ends[0])} to {q.count(ends[1])}"
