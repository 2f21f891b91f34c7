"""The explorers, which templates and scripts draw: their words and the checks that they need."""

from __future__ import annotations

from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.figure import Explorer
from tracegen.report.figures.shared_experts import WITH_EXPERTS

NODES = """
nodes = run.graph_nodes[run.graph_nodes["graph"].isin($graphs)]
data = nodes[["graph", "node", "kind", "op", "name", "layer", "component", "dtype"]]
"""

OPERATIONS = Explorer(
    key="operations",
    page="operations",
    title="Operations",
    needs=(needs.EVIDENCE, needs.NODES, needs.CLOCK, needs.COST, needs.PLACES, needs.NAMES, needs.KINDS),
    shows="Every computing node of the graph in one pass: its begin since the pass began, its wall time, work and "
    "waiting as sums over threads, and the bytes it touched in each kind of memory.",
    counts="All nodes except those that only view or reshape, in the pass that is chosen above the table. The CSV has "
    "the pass that the page shows first.",
    read="Rows are in order of execution. A click on a node number opens its operands. “—” means not recorded: a fused "
    "operation has no time of its own.",
    code="""
from tracegen.analysis import operations
data = operations.op_rows(run.tables, [$pass_id])
""",
)

TOKEN = Explorer(
    key="token",
    page="operations",
    title="One token",
    needs=OPERATIONS.needs,
    shows="The pass that gave a token: the words around it, what each layer did by part of the model, the tensors with "
    "most bytes touched, and the experts of the token that it took in.",
    counts="One pass, which the list or a word chooses; beside it the mean over all passes of its phase (generate "
    "passes, where there are any). Sums over the operations of a layer and part: wall times, work and waiting of "
    "threads, bytes touched. Operations without a time of their own add nothing.",
    read="A cell that is far from its mean shows where this token differed. A click on a cell, an expert or a word "
    "chooses it: what is chosen stands in the bar at the top and in the address, goes along to other pages, and Back "
    "undoes it. White space in words has marks: a space is “·”, a line break “↵”.",
    code="""
from tracegen.analysis import operations, passes
from tracegen.analysis.layer_means import layer_means
from tracegen.charts import theme
kept = passes.measured(run.tables)
kept = kept.loc[(kept["kind"] == "$phase").to_numpy(bool), "pass_id"]
data = layer_means(operations.op_rows(run.tables), kept, theme.GROUP_OF)
""",
)

GRAPH = Explorer(
    key="graph",
    page="graph",
    title="What does the graph look like?",
    needs=(needs.EVIDENCE, needs.NAMES, needs.LAYERS, needs.ALL_OPS),
    shows="The computation graph as ggml evaluates it, folded: neighbouring layers with the same operations and "
    "connections are one block.",
    counts="Every node of the graphs that share this topology, however often passes ran it.",
    read="Blocks are in order of execution, from top to bottom. The strip in a block shows its operations by component "
    "group; a click on a block leads to its details. The data lists every node of the first of these graphs.",
    code=NODES,
)

GRAPH_BLOCK = Explorer(
    key="graph-block",
    page="graph",
    title="What is in a block?",
    shows="The operations of one block with their operands, drawn once for all layers of the same shape.",
    counts="Every node of the block. Sizes and names are those of its first layer.",
    read="Solid boxes compute, dashed boxes only view. Weights enter from the left, activations flow down, the KV "
    "cache leaves to the right. A solid box leads to its row in the operation table. The data lists every node of the "
    "graph, not only those of the block.",
    code=NODES,
)

THREADS = Explorer(
    key="threads",
    page="timeline",
    title="Threads during a pass",
    shows="What the threads do in any pass, down to a single operation: work by component or by kind of operation, and "
    "waiting.",
    counts="The pass that is chosen above the picture, warm-up included; loading runs no operation.",
    read="A column of pixels shows what took most of its time; zoom in until an operation is wider than a pixel. The "
    "strip above shows the duration of all passes. The data is the table spans of the downloads.",
)

LAYER = Explorer(
    key="layer",
    page="experts",
    title="Tokens by experts of a layer",
    when=WITH_EXPERTS,
    shows="The experts that each generated token chose in one layer, which the list above the grid selects.",
    counts=f"{shared_experts.GENERATED} {shared_experts.HOLDS} Up to 600 tokens have a line each; if there are more, "
    "equally many neighbours share one.",
    read="Read it like the figure of the most uneven layer. Point at a cell, or use the arrow keys, to see a token and "
    "its experts. The data is the table routing of the downloads.",
)

CHECKS = Explorer(
    key="checks",
    page="method",
    title="Checks",
    shows="What each check found, and its limit.",
    counts="The whole run with its evidence, load and warm-up included.",
    read="A failed check makes a run not usable; the reason replaces the figures that depend on the check. If a check "
    "only warns, its figures still hold and are shown with the warning.",
    code="data = run.checks",
)
