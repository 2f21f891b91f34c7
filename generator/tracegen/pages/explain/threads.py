"""Explanations of the timeline page: threads during one pass, and where they wait in all."""

from __future__ import annotations

from tracegen.figures.explanation import Explanation

WAITED = (
    "All executed operations of measured passes with times of their threads, summed over threads. Load and warm-up are "
    "left out."
)
OPS = """
from tracegen.analysis import operations, passes, waiting
ops = operations.op_rows(run.tables)
"""

THREADS = (
    Explanation(
        "timeline",
        "What each thread does at each moment of one pass: work in an operation, waiting at a barrier inside it, or "
        "waiting after it for the other threads.",
        "One pass: the generate pass of median length, or a prompt’s. Load and warm-up are never chosen.",
        "Each lane is a thread. Colour is work, by component group; the pale stretches are waiting: wide ones in all "
        "lanes but one show a thread that all others wait for.",
        """
from tracegen.analysis import timeline
data, bin_ns = timeline.segments(run.tables, $pass_id)
""",
    ),
    Explanation(
        "threads",
        "The same for any pass, down to a single operation: work by component or by kind of operation, and waiting.",
        "The pass that is chosen above it, warm-up included; loading runs no operation.",
        "Each column of pixels shows what took most of it: zoom in until an operation is wider than one. The strip "
        "above has all passes by their duration. The same is in the table spans of the downloads.",
    ),
    Explanation(
        "waiting-kinds",
        "How long threads worked and waited, by kind of operation and component.",
        WAITED,
        "Waiting inside an operation is for the other threads at its own barriers, waiting after it for the last of "
        "them to finish: parts of unequal size, a thread that waits for a page of the file, or one without a "
        "processor. Each share is of the duration of the passes times their threads; together they are all the "
        "waiting. A thread that computes alone waits for nobody: what follows its operations is the way to the next.",
        OPS
        + """
made = waiting.by(ops, passes.measured(run.tables), waiting.KIND)
data = made.drop(columns=["pass_id", "at_node"])
""",
    ),
    Explanation(
        "waiting-nodes",
        "How long threads worked and waited, by node of the graph.",
        f"{WAITED} One row for all executions of a node.",
        "A node with far more waiting than its like has uneven parts, or something disturbed one of its executions: "
        "the link opens the one that waited longest.",
        OPS + "data = waiting.by(ops, passes.measured(run.tables), waiting.NODE)",
    ),
)
