"""The findings of a run: only what its trace supports, and what no failed check makes false."""

from tracegen.report.figures.context import Context
from tracegen.report.findings import computing, experts, memory, waiting, weights
from tracegen.report.findings.finding import Finding
from tracegen.report.findings.leading import ordered

KINDS = (waiting.findings, computing.findings, weights.findings, memory.findings, experts.findings)


def findings(context: Context) -> list[Finding]:
    """All findings whose figures stand, in the order of `leading.ordered`: the first one is the answer."""
    made = (finding for kind in KINDS for finding in kind(context))
    return ordered([finding for finding in made if not context.refusal(finding.part.needs)])
