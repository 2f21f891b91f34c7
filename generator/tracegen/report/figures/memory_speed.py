"""How much memory is needed for how many tokens per second: predicted, with the run itself as a measured point."""

from collections.abc import Hashable, Mapping, Sequence

from tracegen.analysis.remedies.memory_speed import memory_speed
from tracegen.charts import lines
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.figures.shared_disk import REQUESTED

WHY_NOT = (
    "The page cache of this run cannot be simulated: that takes a cold page cache, a model that is not read at load, "
    "recorded page faults and requests, and a simulation that reads what the run read within a factor of two."
)


def _content(context: Context) -> Content:
    rows = context.once("memory speed", lambda: memory_speed(context))
    rate, cache = context.summary.generate_rate, context.facts.conditions.page_cache
    measured = (float(cache.after_bytes or 0), rate) if len(rows) and cache and rate else None
    return Content(
        answer=_answer(rows.to_dict("records"), measured),
        caption="Predicted: pages of the model that memory holds, and generation speed, as an interval. Measured: this "
        "run. The page cache is simulated with the read-ahead of the device; the interval has how far the simulation "
        f"of the run itself is off. n = {q.counted(context.summary.n_generate_passes, 'token')}.",
        alt="A band of speed by memory, with the run as a point.",
        chart=lambda width: lines.memory_speed(rows, measured, width=width),
        data=rows,
        empty="" if len(rows) else WHY_NOT,
    )


def _answer(rows: Sequence[Mapping[Hashable, float]], measured: tuple[float, float] | None) -> tuple[Amount, ...]:
    if not rows or measured is None:
        return ()
    last = rows[-1]
    low, high = (last[f"{end}_tokens_per_second"] for end in ("low", "high"))
    return (
        Amount(measured[1], "tokens/s", f"with {q.size(measured[0])} for pages of the model, measured"),
        Amount(low, "tokens/s", f"to {q.rate(high)} with {q.size(last['memory_bytes'])}, predicted"),
    )


MEMORY_SPEED = Figure(
    key="memory-speed",
    page="file",
    section="waiting",
    title="How much memory for how many tokens per second?",
    needs=(*needs.TIMES, needs.FAULTS, needs.REQUESTS),
    when=REQUESTED,
    content=_content,
    code="""
from tracegen.analysis.remedies import memory_speed
data = memory_speed.memory_speed(analyses.Analyses(run.measured, run.tables))
""",
)
