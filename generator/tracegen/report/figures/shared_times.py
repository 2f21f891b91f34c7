"""What the figures of times share: what a wall time is, which passes count, and the text when there are none."""

import pandas as pd

from tracegen.contract import quantities as q
from tracegen.report.figures.context import Context

# The meaning of an op's `duration_ns`, for every caption that shows it.
WALL = "Wall time of executed operations: from the start of an operation's first thread to the end of its last."
GAP = (
    "From the start of each operation to the next record, whatever lay between: the trace has no ends. The last "
    "operation of each pass, which is usually the output matrix, has no time."
)
WHOLE = (
    "Time outside operations has bars of its own: before the first operation (llama.cpp prepares the graph, threads "
    "wake), between operations (barriers), after the last. All bars together are the whole time of the passes; the "
    "percentages are shares of it."
)
NO_TIMES = "The trace holds no timed operation of a prompt or generate pass."
TIMED = "timed = timing.timed_ops(run.tables, operations.op_rows(run.tables))\n"


def wall(context: Context) -> str:
    """What a time of an operation is in this run."""
    return GAP if context.gap_times else WALL


def whole(context: Context) -> str:
    """What the bars of a figure of times add up to."""
    if context.gap_times:
        return "All bars together are these gaps; the percentages are shares of them."
    return WHOLE + (f" {submitted(context.submitted)}" if context.submitted else "")


def submitted(names: str) -> str:
    """What is known of the time of backends that may return before they have computed."""
    return (
        f"Splits of {names} were submitted: handing them over has a time, computing them has none. It goes on while "
        "the CPU waits between splits, between operations or after them, and is in no operation and no component."
    )


def phases(context: Context, only: str = "") -> str:
    """How many passes and prompt tokens a figure counts; `only`: of this phase alone."""
    s = context.summary
    tokens = q.counted(context.tokens["prompt"], "token")
    of = {
        "prompt": f"{q.counted(s.n_prompt_passes, 'prompt pass')} ({tokens})",
        "generate": q.counted(s.n_generate_passes, "generate pass"),
    }
    without = f"; operations on {context.others} have no times of threads and are left out" if context.others else ""
    return f"n = {', '.join(text for phase, text in of.items() if only in ('', phase))}{without}"


def alt(what: str, rows: pd.DataFrame, key: str) -> str:
    """The text alternative of a bar chart: the three largest values of its first phase."""
    best = [
        f"{row[key]} {q.percent(row['share'])}"
        for _, row in rows[rows["phase"] == (rows["phase"].iloc[0] if len(rows) else "")].head(3).iterrows()
    ]
    return f"{what}: {', '.join(best)}; the data has all." if best else what
