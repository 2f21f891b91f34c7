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
    return ordered(_made(context, KINDS), _asked(context))


def answer(context: Context) -> Finding | None:
    """The first of `findings`, or None without any; fast where times were recorded, as no cache is simulated then."""
    asked, of_time = _asked(context), _made(context, KINDS[:2])
    leads = any(finding.kind == "time" or finding.effect >= WAITS for finding in of_time)
    enough = leads and asked in ("", "time", "waiting")
    return next(iter(ordered(of_time if enough else _made(context, KINDS), asked)), None)


def _asked(context: Context) -> str:
    return str(context.fact("settings", "asks") or "")


def _made(context: Context, kinds: Sequence[Kind]) -> list[Finding]:
    made = (finding for kind in kinds for finding in kind(context))
    return [finding for finding in made if not context.refusal(finding.part.needs)]
