"""What the figures of experts share: which runs have them, and sentences of several captions."""

from collections.abc import Collection
from functools import partial

from tracegen.analysis import expert_rows, held
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Figure, Table, When

COUNTS = "counts = experts.choice(run.tables).counts\n"
CHOSEN = "chosen = experts.generated(run.tables)\n"
LEFT_OUT = "Prompt and warm-up are left out."
NAMED_BY = (
    "Each line is named by the output token of its pass; the experts are those of the input token, the one before it."
)


def _has_experts(context: Context) -> bool:
    return context.run.has_experts or bool(context.tables["tensors"]["n_experts"].notna().any())


WITH_EXPERTS = When("a model with experts", _has_experts)
figure = partial(Figure, section="experts", needs=needs.CHOICES, when=WITH_EXPERTS)
table = partial(Table, section="experts", needs=needs.CHOICES, when=WITH_EXPERTS)


def no_choice(context: Context) -> str:
    """Why no generated token chose an expert; empty when some did."""
    if len(context.chosen):
        return ""
    if context.tables["routing"].empty:
        return "The trace holds no routing: it does not record which experts the tokens chose."
    if (context.tables["passes"]["kind"] == "generate").any():
        return "The trace holds no routing of a generate pass."
    return "The run has no generate pass: only tokens of other passes chose experts."


def untested(context: Context) -> str:
    """Why no layer can be tested against chance; empty if one can."""
    nothing = (
        "Not applicable: in no layer do all tokens choose the same number of experts, fewer than there are, so that "
        "there is no chance to test against."
    )
    return no_choice(context) or ("" if expert_rows.groups(context.chosen, context.expert_sizes) else nothing)


def generated(context: Context) -> str:
    """How many tokens are counted, and what is left out."""
    return f"n = {q.counted(context.choice.n_rows, 'generated token')}. {LEFT_OUT}"


def first_tokens(context: Context) -> str:
    """That only the first tokens are tested; empty if all are."""
    n, most = context.choice.n_rows, expert_rows.MOST_ROWS
    return f" Of {q.counted(n, 'token')} the first {q.count(most)} are counted." if n > most else ""


def n_from_to(numbers: Collection[int], what: str) -> str:
    """` n = 3 to 5 (what).`, the least to the largest of the numbers; empty without any."""
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    return f" n = {q.count(low)}{f' to {q.count(high)}' if low < high else ''} ({what})."


def by_chance(low: float, high: float, how: str = "by chance") -> Amount:
    """The middle 95 % of the shares that chance gives."""
    return Amount(low, "share", f"to {q.percent(high)} {how} (95 %)")


def last_token(context: Context) -> str:
    """That no pass has the last generated token as its input; empty if one may have it."""
    last = held.last_given(context.tables)
    if last is None:
        return ""
    if context.facts.trace.skipped_passes or context.facts.stopped:
        return f"The last generated token, {last}, is the input of no recorded pass."
    return f"The last generated token, {last}, is the input of no pass: it chose no expert."


def layers(context: Context) -> list[int]:
    """The layers in which experts were chosen."""
    return [int(layer) for layer in context.expert_layers["layer"]]


def given(context: Context) -> dict[int, int]:
    """Pass -> its output token, where that is known."""
    known = context.tables["passes"].dropna(subset=["produced_token"])
    return {int(p): int(k) for p, k in zip(known["pass_id"], known["produced_token"], strict=True)}
