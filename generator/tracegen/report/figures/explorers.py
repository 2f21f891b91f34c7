"""The explorers, which templates and scripts draw: their words and the checks that they need."""

from tracegen.contract import needs
from tracegen.report.figures.figure import Explorer
from tracegen.report.figures.shared_experts import WITH_EXPERTS

NODES = """
nodes = run.graph_nodes[run.graph_nodes["graph"].isin($graphs)]
data = nodes[["graph", "node", "kind", "op", "name", "layer", "component", "dtype"]]
"""

OPERATIONS = Explorer(
    key="operations",
    page="operations",
    title="Which operations did a pass execute?",
    needs=(needs.EVIDENCE, needs.NODES, needs.CLOCK, needs.COST, needs.PLACES, needs.NAMES, needs.KINDS),
    code="data = operations.op_rows(run.tables, [$pass_id])",
)

TOKEN = Explorer(
    key="token",
    page="operations",
    title="Where does the time of one token go?",
    needs=OPERATIONS.needs,
    code="""
from tracegen.analysis.layer_means import layer_means
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
    code=NODES,
)

GRAPH_BLOCK = Explorer(
    key="graph-block",
    page="graph",
    title="What is in a block?",
    code=NODES,
)

THREADS = Explorer(
    key="threads",
    page="timeline",
    title="What does each thread do during a pass?",
)

LAYER = Explorer(
    key="layer",
    page="experts",
    title="Which experts of a layer did each token choose?",
    when=WITH_EXPERTS,
)

CHECKS = Explorer(
    key="checks",
    page="method",
    title="What did the checks find?",
    code="data = run.checks",
)
