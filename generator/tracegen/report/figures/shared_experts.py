"""What the figures of experts share: which runs have them, and sentences of several captions."""

from functools import partial

from tracegen.analysis import expert_rows, held
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Figure, Table, When
from tracegen.report.words import expert_sentences as say

COUNTS = "counts = experts.choice(run.tables).counts\n"
CHOSEN = "chosen = experts.generated(run.tables)\n"


def _has_experts(context: Context) -> bool:
    return context.run.has_experts or bool(context.tables["tensors"]["n_experts"].notna().any())


WITH_EXPERTS = When("a model with experts", _has_experts)
figure = partial(Figure, section="experts", needs=needs.CHOICES, when=WITH_EXPERTS)
table = partial(Table, section="experts", needs=needs.CHOICES, when=WITH_EXPERTS)


def no_choice(context: Context) -> str:
    """Why no generated token chose an expert; empty when some did."""
    if len(context.chosen):
        return ""
    passes, routed = context.tables["passes"], context.tables["routing"]["pass_id"].unique()
    return say.no_choice(
        has_routing=len(routed) > 0,
        has_generate=bool((passes["kind"] == "generate").any()),
        kinds=[str(kind) for kind in passes.loc[passes["pass_id"].isin(routed), "kind"].dropna().unique()],
    )


def untested(context: Context) -> str:
    """Why no layer can be tested against chance; empty if one can."""
    return no_choice(context) or ("" if expert_rows.groups(context.chosen, context.expert_sizes) else say.UNTESTED)


def first_rows(context: Context) -> str:
    """That only the first token rows are tested; empty if all are."""
    n, most = context.choice.n_rows, expert_rows.MOST_ROWS
    return f" Of {q.counted(n, 'token row')} the first {q.count(most)} are counted." if n > most else ""


def last_token(context: Context) -> str:
    """That no row holds the last generated token; empty if one may hold it."""
    windowed = bool(context.fact("trace", "skipped_passes")) or context.flag("stopped")
    return say.last_token(held.last_given(context.tables), windowed=windowed)


def layers(context: Context) -> list[int]:
    """The layers in which experts were chosen."""
    return [int(layer) for layer in context.expert_layers["layer"]]


def given(context: Context) -> dict[int, int]:
    """Pass -> the generated token that it gives, where that is known."""
    known = context.tables["passes"].dropna(subset=["produced_token"])
    return {int(p): int(k) for p, k in zip(known["pass_id"], known["produced_token"], strict=True)}
