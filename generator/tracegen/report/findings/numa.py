"""Memory that lies on one NUMA node while threads may run on several."""

from collections.abc import Iterator

from tracegen.analysis import nodes
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.numa import NUMA
from tracegen.report.findings.finding import Finding

MOSTLY = 0.8  # of the memory: so much lies on one node
SPREAD = (
    "`numactl --interleave=all` spreads it, once the file is dropped from the page cache; how much that helps is not "
    "predicted."
)


def findings(context: Context) -> Iterator[Finding]:
    """The node with most of the memory, where processors of another node may compute; nothing where it is spread."""
    there = context.facts.trace.numa_processors or ()
    if context.tables["nodes"].empty or context.refusal(NUMA.needs) or sum(n > 0 for n in there) < 2:
        return
    held = nodes.by_node(context.tables)
    node = max(held, key=lambda at: held[at])
    share, size = Amount(held[node] / sum(held.values()), "share"), Amount(held[node], "bytes")
    others = sum(n for at, n in enumerate(there) if at != node)
    if share.value < MOSTLY or not others:
        return
    yield Finding(
        kind="memory",
        text=f"NUMA node {node} holds {share.text} of the resident memory of model and buffers, {size.text}; the "
        f"program may also compute on other nodes ({others} of {q.counted(sum(there), 'processor')}), whose threads "
        f"read it from there. {SPREAD}",
        amounts=(share, size),
        scope="measured passes",
        population=q.counted(len(context.measured), "pass"),
        effect=share.value * others / sum(there),
        part=NUMA,
    )
