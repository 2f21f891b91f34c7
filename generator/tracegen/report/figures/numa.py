"""On which NUMA node the memory of a run lies."""

from tracegen.analysis import nodes
from tracegen.contract import needs
from tracegen.report.document import cells
from tracegen.report.document.amount import Amount
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table, When

MOST_COLUMNS = 8  # nodes with a column of their own: those with most


def _share_on(node: int) -> col.Column:
    return col.number(f"Node {node}", lambda row: cells.share(row.get(node, 0), row["whole"]))


def _content(context: Context) -> Rows:
    of_node = nodes.by_node(context.tables)
    held = nodes.by_kind(context.tables).pivot(index="kind", columns="node", values="resident_bytes").fillna(0)
    rows = held.assign(whole=held.sum(axis=1)).sort_values("whole", ascending=False, kind="stable").reset_index()
    most = next(iter(of_node))
    return Rows(
        answer=(Amount(of_node[most] / sum(of_node.values()), "share", f"of it on node {most}"),),
        caption="Resident bytes of the mapped model file and of ggml’s buffers when it was last looked: after passes "
        "1, 2, 4, 8, …; of the file, what the program had touched. A page lies on the node whose processor touched it "
        "first, one of a file where it was read into the page cache, unless a policy (`numactl`, `--numa`) says "
        "otherwise. The CSV has each tensor.",
        data=nodes.by_tensor(context.tables),
    ).of(
        rows,
        col.text("Memory", lambda row: str(row["kind"])),
        col.size("Resident", "whole"),
        *map(_share_on, sorted(list(of_node)[:MOST_COLUMNS])),
    )


NUMA = Table(
    key="numa",
    section="file",
    title="On which NUMA node does the memory lie?",
    needs=(needs.EVIDENCE,),
    when=When("a run on a machine with several NUMA nodes", lambda context: not context.tables["nodes"].empty),
    content=_content,
    code="data = nodes.by_tensor(run.tables)",
)
