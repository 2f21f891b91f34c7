"""The findings of a run: only what its trace supports, and what no failed check makes false."""

from collections.abc import Callable, Iterable, Sequence

from tracegen.report.figures.context import Context
from tracegen.report.findings import computing, experts, memory, waiting, weights
from tracegen.report.findings.finding import Finding
from tracegen.report.findings.leading import WAITS, ordered

Kind = Callable[[Context], Iterable[Finding]]
KINDS: tuple[Kind, ...] = (waiting.findings, computing.findings, weights.findings, memory.findings, experts.findings)


def findings(context: Context) -> list[Finding]:
    """All findings whose figures stand, in the order of `leading.ordered`: the first one is the answer."""
    return ordered(_made(context, KINDS))


def answer(context: Context) -> Finding | None:
    """The first of `findings`, or None without any; fast where times were recorded, as no cache is simulated then."""
    of_time = _made(context, KINDS[:2])
    leads = any(finding.kind == "time" or finding.effect >= WAITS for finding in of_time)
    return next(iter(ordered(of_time if leads else _made(context, KINDS))), None)


def _made(context: Context, kinds: Sequence[Kind]) -> list[Finding]:
    made = (finding for kind in kinds for finding in kind(context))
    return [finding for finding in made if not context.refusal(finding.part.needs)]
