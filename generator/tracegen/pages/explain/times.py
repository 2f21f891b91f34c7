"""Explanations of times: of components, layers, operations and tokens."""

from __future__ import annotations

from tracegen.figures.explanation import Explanation

WALL = (
    "The wall time of an operation runs from the moment its first thread begins to the moment its last thread ends. "
    "Work and waiting are sums over threads and may exceed it."
)
MEASURED = "Executed operations of prompt and generate passes. Load and warm-up are left out."
PARTS = (
    "The passes’ time outside operations is divided too: before the first operation (llama.cpp prepares the graph, "
    "threads wake), between operations (the barrier after each, nodes without elements), between splits of the "
    "scheduler, after the last. All bars of a panel together are the whole time of its passes."
)
TIMED = """
from tracegen.analysis import operations, timing
timed = timing.timed_ops(run.tables, operations.op_rows(run.tables))
"""

TIMES = (
    Explanation(
        "components",
        f"Wall time of operations by component, per token row of the phase, and what lies in no operation. {WALL}",
        f"{MEASURED} {PARTS} A fused operation has no time of its own: it is in that of the one that computed it.",
        "Compare bars within a panel for where the time goes, and one component in both panels for what a batch saves: "
        "a prompt evaluates many rows at once, so that each row costs less computing. Where the prompt reads the file "
        "for the first time, its bars hold that waiting too.",
        TIMED + 'data = timing.by(timed, "component", timing.tokens_by_phase(run.tables), timing.outside(run.tables))',
    ),
    Explanation(
        "op-kinds",
        f"Wall time of operations by their kind in ggml, per token row of the phase, and what lies in none. {WALL}",
        f"{MEASURED} {PARTS}",
        "MUL_MAT multiplies by a weight, MUL_MAT_ID by the experts that were chosen, FLASH_ATTN_EXT or SOFT_MAX is "
        "attention, SET_ROWS and CPY write, GET_ROWS looks up. The same time as by component, in other parts.",
        TIMED + 'data = timing.by(timed, "op", timing.tokens_by_phase(run.tables), timing.outside(run.tables))',
    ),
    Explanation(
        "layers",
        f"Wall time of operations by layer and component group, per token row. {WALL}",
        f"{MEASURED} One phase only: generate where there is such a pass, else prompt.",
        "Equal layers do equal work: a longer bar tells of other work in that layer, or of waiting: for a page of the "
        "file or for a processor, if only in one pass. Operations before and after all layers stand last.",
        "from tracegen.charts import theme"
        + TIMED
        + """
timed = timed[timed["phase"] == "$phase"].dropna(subset=["duration_ns"])
group = timed["component"].astype(object).map(theme.GROUP_OF).rename("group")
data = timed.groupby(["layer", group], dropna=False)["duration_ns"].sum().reset_index()
data["ns_per_token"] = data["duration_ns"].astype(float) / timing.tokens_by_phase(run.tables)["$phase"]
""",
    ),
    Explanation(
        "tokens",
        "The duration of each generate pass, from its begin to its end, waiting included. The CSV has its page faults, "
        "bytes read from storage, time without a processor and forced context switches beside it.",
        "Generate passes of which the produced token is known. Token 0 comes from the prompt and is not drawn; "
        "sampling between passes is in none.",
        "The dashed line is the median. A single long bar is often the disk or another program: look at its bytes "
        "read, faults and run delay in the data. A slow rise may come from the growing KV cache; a step in the middle "
        "does not.",
        """
rows = run.passes[run.passes["kind"] == "generate"].sort_values("pass_id")
rows = rows.assign(duration_ns=rows["end_ns"] - rows["begin_ns"]).dropna(subset=["produced_token", "duration_ns"])
data = rows[["produced_token", "pass_id", "duration_ns", "n_tokens", "major_faults", "minor_faults", "read_bytes",
             "run_delay_ns", "involuntary_switches"]]
""",
    ),
    Explanation(
        "top-operations",
        f"Wall time of each node of the graph, summed over its executions. {WALL}",
        f"{MEASURED} The 15 nodes with the largest sum, of one phase: generate where there is such a pass.",
        "A share is of the wall time of all operations of the phase. A wall time far above work divided by threads is "
        "waiting. Work includes the waiting for a page of the file or for a processor. The link opens the longest "
        "execution.",
        TIMED + 'data = timing.top_ops(timed, "$phase")',
    ),
    Explanation(
        "operations",
        "Every computing node of the graph in one pass: its begin since the pass began, its wall time, work and "
        "waiting as sums over threads, and the bytes it touched in each kind of memory.",
        "All nodes but those that only view or reshape. The pass that is chosen above the table; the CSV has the one "
        "that the page shows first.",
        "From top to bottom in order of execution. A number opens the operands of its row. “—” is not recorded: a "
        "fused operation has no time of its own.",
        """
from tracegen.analysis import operations
data = operations.op_rows(run.tables, [$pass_id])
""",
    ),
)
