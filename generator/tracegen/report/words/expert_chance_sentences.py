"""The sentences of tests against chance on the experts page and the overview: values in, text out."""

from collections.abc import Collection

from tracegen.contract import quantities as q
from tracegen.report.words.expert_sentences import LEFT_OUT, counted_rows

UNTESTED = (
    "Not applicable: in no layer do token rows choose one number of experts that is less than all of them, so that "
    "there is no chance to test against."
)


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


TOO_FEW = "Too few tokens to tell"


def sticky_title(*, share: float, low: float, high: float, effect: float, p: float, level: float, few: bool) -> str:
    """Whether tokens choose the experts of the token before, more or less than in shuffled order; over all layers.

    `few`: so few tokens that no order of them can have a p below `level`.
    """
    if few:
        return f"{TOO_FEW} whether they choose the experts of the token before more often than chance"
    differ = "no difference shown from" if p >= level else "more than" if effect > 0 else "fewer than"
    return (
        f"A token chooses {q.percent(share)} of its experts as the token before did, {differ} shuffled tokens: "
        f"{q.percent(low)} to {q.percent(high)}"
    )


def sticky_caption(*, n_pairs: Collection[int], draws: int, overall: str, cut: str) -> str:
    """The caption of stickiness; `n_pairs`: the tokens with one before them, by layer; `overall`: its numbers."""
    them = "it" if max(n_pairs, default=0) == 1 else "them"
    counted = counted_rows(n_pairs, f"per layer with a token before {them}")
    return (
        "Points: share of a token’s experts that the token before it in its sequence chose too, in the same layer. "
        f"Grey: the middle 95 % of {draws} shuffles of the tokens, each with its experts of all layers; it rises where "
        "a layer prefers some experts. Ticks: k/E, a random choice of k of E experts."
        f"{counted}{overall}{cut} {LEFT_OUT}"
    )


def sticky_overall(
    *, effect: float, low: float | None, high: float | None, shuffled: float, p: float, n_layers: int, n_held: int
) -> str:
    """The numbers over all layers: effect with the interval of the share, p, and how many layers differ by Holm."""
    ends = ""
    if low is not None and high is not None:
        ends = f" (95 %: {points(low - shuffled)} to {points(high - shuffled)})"
    layers = f"; of {q.counted(n_layers, 'layer')}, {q.count(n_held)} differ by Holm’s method" if n_layers > 1 else ""
    return f" Effect over all layers: {points(effect)} percentage points{ends}, {q.p_words(p)}{layers}."


def points(value: float) -> str:
    """`+3.1`: a difference of shares in percentage points."""
    return f"{100 * value:+.1f}".replace("-", "−")


def pairs_title(n_unusual: int) -> str:
    """How many pairs of experts are chosen together more often than chance."""
    if not n_unusual:
        return "Which experts are chosen together?"
    are = "pair of experts of a layer is" if n_unusual == 1 else "pairs of experts of a layer are"
    return f"{q.count(n_unusual)} {are} chosen together more often than their own use explains"


def pairs_caption(*, n_tested: int, n_shown: int, n_unusual: int, least_rows: int, least_lift: float) -> str:
    """The caption of the pairs; `n_shown` of `n_unusual` are in the table."""
    cut = f" The {q.count(n_shown)} of least p; the CSV has more." if n_shown < n_unusual else ""
    tested = q.counted(n_tested, "tested pair")
    return (
        "Together: token rows of generate passes that chose both experts. Expected: from how often each is chosen, "
        "where a row chooses exactly k (quasi-independence). Lift: together divided by expected, with an interval that "
        f"allows for tokens that resemble their neighbours. p is adjusted by Holm’s method for all {tested}, those of "
        f"experts that at least {least_rows} rows each chose, spread over the run; listed from p < 0.05 and a lift of "
        f"{least_lift} on.{cut} {LEFT_OUT}"
    )


def no_pairs(*, n_rows: int, n_chosen: int | None, n_tested: int, n_pairs: int, least: int) -> str:
    """Why no pair is listed."""
    if n_chosen == 1:
        return "Not applicable: a token chooses one expert of a layer, so that none are chosen together."
    if not n_pairs:
        are = "is" if n_rows == 1 else "are"
        return f"{q.counted(n_rows, 'token row')} {are} too few to test pairs: it takes {least}."
    if not n_tested:
        return "No two experts of a layer were each chosen often enough to test whether they are chosen together."
    return f"No pair exceeds chance clearly, of {q.counted(n_tested, 'tested pair')}."


def phases_title(*, distance: float, high: float, p: float, level: float, few: bool) -> str:
    """Whether prompt and generated tokens choose other experts; over all layers. `few`: no p can be below `level`."""
    if few:
        return f"{TOO_FEW} whether prompt and generation choose other experts"
    which = "other" if p < level else "no clearly different"
    return (
        f"Prompt and generated tokens choose {which} experts: their distance is {q.percent(distance)}, in 95 % of "
        f"random splits of the rows it is below {q.percent(high)}"
    )


def phases_caption(*, block: int, draws: int, cut: str) -> str:
    """The caption of the phases; rows were split in blocks of `block`."""
    rows = "single rows" if block == 1 else f"blocks of {block} rows in a row"
    return (
        "Distance: ½ Σ |share in the prompt − share in generation| over the experts of a layer: 0 % for the same "
        "shares, 100 % for no expert in common. Random splits: below this lie 95 % of the distances if the "
        f"same rows are prompt or generation by chance, {draws} permutations of {rows}, each with all layers. "
        f"Effect: distance less the mean of these. p by layer: adjusted by Holm’s method. Over all layers: means.{cut}"
    )


def no_phases(*, n_prompt: int, n_generate: int) -> str:
    """Why prompt and generation are not compared."""
    if not n_prompt:
        return "The trace holds no routing of a prompt pass, so that there is nothing to compare with."
    return UNTESTED if n_generate else "The trace holds no routing of a generate pass."


def next_title(*, share: float, low: float, high: float, effect: float, p: float, level: float) -> str:
    """Whether the experts of a layer tell those of the next; over all layers."""
    differ = "no more" if p >= level else "more" if effect > 0 else "fewer"
    return (
        f"The layer before predicts {q.percent(share)} of a token’s experts, {differ} than chance: {q.percent(low)} to "
        f"{q.percent(high)}"
    )


def next_caption(*, n_learned: int, n_rows: int, overall: str, cut: str) -> str:
    """The caption of the experts told by the layer before; `overall`: its numbers."""
    return (
        "Points: share of a token’s experts in the layer that a guess finds which knows its experts in the layer "
        f"before. The guess is learned on the first {q.count(n_learned)} token rows and scored on the other "
        f"{q.count(n_rows)}. Grey: the middle 95 % of the shares where each guess is compared with the choice of "
        "another token, all as many tokens later, in a circle. Ticks: always guessing the experts that the first rows "
        f"chose most often.{overall}{cut} {LEFT_OUT}"
    )


def next_overall(
    *, effect: float, low: float, high: float, shifted: float, p: float, most: float, before: float, even: float
) -> str:
    """The numbers over all layers: effect with the interval of the share, p, and what other guesses find."""
    ends = f"95 %: {points(low - shifted)} to {points(high - shifted)}"
    return (
        f" Effect over all layers: {points(effect)} percentage points ({ends}), {q.p_words(p)}. The most chosen "
        f"experts find {q.percent(most)}, those of the token before {q.percent(before)}, any k of E {q.percent(even)}."
    )


def no_next(*, n_rows: int, n_layers: int, least: int) -> str:
    """Why no guess from the layer before is learned."""
    if n_layers < 2:
        return "Not applicable: fewer than two layers have experts that can be tested, so that none has a next one."
    return (
        f"{q.counted(n_rows, 'token row')} {'is' if n_rows == 1 else 'are'} too few to learn a guess: it takes {least}."
    )


def segments_title(*, length: int, srp: float, low: float, high: float) -> str:
    """How well one set of experts serves so many tokens in a row, beside shuffled tokens."""
    than = "more than" if srp > high else "less than" if srp < low else "within"
    return (
        f"A fixed set of experts fits the choices of {length} tokens in a row with an F1 of {q.percent(srp)} (SRP), "
        f"{than} those of shuffled tokens: {q.percent(low)} to {q.percent(high)}"
    )


def segments_caption(*, n_rows: int, n_layers: int, draws: int, cut: str) -> str:
    """The caption of SRP and SCH."""
    return (
        "SRP: the largest F1 of a router that takes one set of experts for all tokens of a segment, scored on their "
        "own choices. Experts taken: by that router, divided by k. SCH: share of the choices that a cache of k, or 2k, "
        "experts in each layer holds if it knows the tokens of the segment in advance. Shuffled: mean of "
        f"{draws} shuffles of the tokens, each with its experts of all layers. n = {q.counted(n_rows, 'token row')} in "
        f"{q.counted(n_layers, 'layer')}. The cache is simulated: not a prediction of speed.{cut} {LEFT_OUT}"
    )
