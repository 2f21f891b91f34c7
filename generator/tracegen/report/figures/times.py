"""Where the time of a token goes: by component, by layer, by kind of operation, and how long each token takes."""

from collections.abc import Sequence
from statistics import median

from tracegen.analysis import timing
from tracegen.charts import by_layer, theme, tokens
from tracegen.charts import components as components_chart
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures import shared_times
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.words.sentences import OUTSIDE


def _by(context: Context, column: str, what: str, summed: str) -> Content:
    """Time per token by a column of operations, prompt and generation side by side."""
    rows = timing.by(context.timed, column, context.tokens, context.outside_ops)
    return Content(
        caption=f"{shared_times.wall(context)} {summed} and divided by tokens; {shared_times.phases(context)}. "
        f"{shared_times.whole(context)}{'' if context.gap_times else f' {OUTSIDE}'}",
        alt=shared_times.alt(f"Operation time per token by {what}", rows, column),
        chart=lambda width: components_chart.chart(rows, column, width=width),
        data=rows,
        empty="" if len(rows) else shared_times.NO_TIMES,
    )


def _components(context: Context) -> Content:
    return _by(context, "component", "component", "Summed by component")


def _op_kinds(context: Context) -> Content:
    inside = "Waiting inside an operation counts; findings count computing alone."
    return _by(context, "op", "kind", f"{inside} Summed by ggml operation")


COMPONENTS = Figure(
    key="components",
    page="operations",
    section="time",
    title="Where does a token's time go, waiting included?",
    needs=needs.RATES,
    content=_components,
    code=shared_times.TIMED
    + 'data = timing.by(timed, "component", timing.tokens_by_phase(run.tables), timing.outside(run.tables))',
)


def _layers(context: Context) -> Content:
    phase = context.phase
    rows = timing.by_layer(context.timed, phase, context.tokens, theme.GROUP_OF)
    return Content(
        caption=f"{shared_times.wall(context)} Summed by layer and component group and divided by tokens; {phase} "
        f"passes only, {shared_times.phases(context, phase)}. Operations outside all layers stand last, as “no layer”; "
        f"the bars leave out time outside operations. {OUTSIDE}",
        alt=f"Stacked bars of operation time per token for {rows['layer'].nunique()} layers; the data table has the "
        f"numbers.",
        chart=lambda width: by_layer.stacked(rows, "ns_per_token", "of operation wall time per token", width=width),
        data=rows,
        empty="" if len(rows) else shared_times.NO_TIMES,
        numbers={"phase": phase},
    )


LAYERS = Figure(
    key="layers",
    section="time",
    title="Do all layers take the same time?",
    needs=(*needs.TIMES, needs.LAYERS, needs.ROWS),
    content=_layers,
    code=shared_times.TIMED
    + 'data = timing.by_layer(timed, "$phase", timing.tokens_by_phase(run.tables), theme.GROUP_OF)',
)


OP_KINDS = Figure(
    key="op-kinds",
    section="time",
    title="Which kinds of operation take the time?",
    needs=(*needs.TIMES, needs.NAMES, needs.ROWS),
    content=_op_kinds,
    code=shared_times.TIMED
    + 'data = timing.by(timed, "op", timing.tokens_by_phase(run.tables), timing.outside(run.tables))',
)


TOKEN_COLUMNS = (
    "produced_token",
    "pass_id",
    "duration_ns",
    "n_tokens",
    "major_faults",
    "minor_faults",
    "read_bytes",
    "run_delay_ns",
    "involuntary_switches",
)


def _token_times(context: Context) -> Content:
    generate = context.of_kind(context.measured, "generate").dropna(subset=["produced_token", "duration_ns"])
    rows = generate[list(TOKEN_COLUMNS)]
    known = q.known(context.summary.prompt_ns)
    took = f", which took {q.duration(context.summary.prompt_ns)}" if known else ""
    return Content(
        answer=_spread(rows["duration_ns"].astype(float).tolist()),
        caption=f"Wall time of each generate pass, from start to end, waiting included. Token 0 comes from the "
        f"prompt{took}, and is not drawn. n = {len(rows)}. Sampling between passes is left out.",
        alt=f"Pass duration per generated token, {q.counted(len(rows), 'token')}.",
        chart=lambda width: tokens.chart(rows, width=width),
        data=rows,
        empty=""
        if len(rows)
        else "When the generate passes ended was not recorded, so they have no duration."
        if context.summary.n_generate_passes
        else "This run has no generate pass: one token was asked for, and the prompt gave it."
        if context.summary.n_prompt_passes
        else "This run has no generate pass.",
    )


def _spread(times_ns: Sequence[float]) -> tuple[Amount, ...]:
    """The median of the token times, and how far the fastest and the slowest token lie from it."""
    if not times_ns:
        return ()
    if len(times_ns) == 1:
        return (Amount(times_ns[0], "ns", "for the one token that has a pass of its own"),)
    return (
        Amount(median(times_ns), "ns", f"at the median of {q.counted(len(times_ns), 'token')}"),
        Amount(min(times_ns), "ns", "for the fastest"),
        Amount(max(times_ns), "ns", "for the slowest"),
    )


TOKENS = Figure(
    key="tokens",
    section="time",
    title="How long does each token take?",
    needs=needs.TIMES,
    content=_token_times,
    code="""
rows = run.passes[run.passes["kind"] == "generate"].sort_values("pass_id")
rows = rows.assign(duration_ns=rows["end_ns"] - rows["begin_ns"]).dropna(subset=["produced_token", "duration_ns"])
data = rows[["produced_token", "pass_id", "duration_ns", "n_tokens", "major_faults", "minor_faults", "read_bytes",
             "run_delay_ns", "involuntary_switches"]]
""",
)
