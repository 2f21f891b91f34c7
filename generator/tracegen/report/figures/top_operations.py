"""The nodes of the graph that took most time."""

from tracegen.analysis import timing
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.cells import Cell
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_times
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words.sentences import OUTSIDE

SHOWN = 10  # rows; the CSV has those of `top_ops`
PHASES = {"generate": "generation", "prompt": "the prompt"}
LATE = "One late thread lengthens it; work and waiting are sums over threads instead. "


def _mean_us(label: str, name: str) -> col.Column:
    """The mean of an execution in µs; a dash where nothing was recorded."""

    def text(r: col.Row) -> str:
        return q.decimal(float(r[name]) / r["n_ops"] / 1e3, 2) if q.known(r[name]) else "–"

    return col.number(label, text, "µs")


def _content(context: Context) -> Rows:
    phase = context.phase
    rows = timing.top_ops(context.timed, phase)
    longest = float(rows["share"].max()) if len(rows) else 1.0
    return Rows(
        title=f"Which operations take most time in {PHASES[phase]}?",
        caption=f"The {min(len(rows), SHOWN)} results with the largest wall time, summed over {phase} passes and over "
        f"nodes of equal name. {shared_times.wall(context)} "
        f"{'' if context.gap_times else LATE}"
        f"Numbers in µs are means of the n executions; the link leads to the longest one. {OUTSIDE}",
        data=rows,
        empty=shared_times.NO_TIMES,
        numbers={"phase": phase},
    ).of(
        rows.head(SHOWN),
        col.node("Result"),
        col.name("Operation", "op"),
        col.layer(),
        col.component(),
        col.number(
            "Share",
            lambda r: Cell(q.percent(r["share"]), True, float(r["share"]) / longest if longest else 0),
            "of operations’ time",
        ),
        _mean_us("Wall time", "duration_ns"),
        _mean_us("Work", "work_ns"),
        _mean_us("Waiting inside", "barrier_ns"),
        _mean_us("Barrier wait", "wait_ns"),
        col.count("n", "n_ops"),
    )


TOP_OPERATIONS = Table(
    key="top-operations",
    page="operations",
    section="time",
    title="Which operations take most time?",
    needs=(*needs.TIMES, needs.NAMES),
    content=_content,
    code=shared_times.TIMED + 'data = timing.top_ops(timed, "$phase")',
)
