"""The findings of a run: only what its trace supports, and what no failed check makes false.

Which one answers, and which follow, is decided by effect on the run, not by the words of its question.
"""

from collections.abc import Callable, Iterable, Sequence

from tracegen.report.figures.context import Context
from tracegen.report.findings import computing, experts, memory, waiting, weights
from tracegen.report.findings.finding import Finding

Kind = Callable[[Context], Iterable[Finding]]
KINDS: tuple[Kind, ...] = (waiting.findings, computing.findings, weights.findings, memory.findings, experts.findings)
WAITS = 0.02  # waiting for the disk leads where it takes at least this share of the time of a phase
MOST = 4  # findings that follow the answer
RULE = (
    "What answers: what the experiment asks about, if it says so; else waiting for the disk, where that takes 2 % of "
    "the time of tokens or of the prompt; else what takes most time. Below it: the largest finding of each kind."
)


def findings(context: Context) -> list[Finding]:
    """All findings whose figures stand, in the order of `ordered`: the first one is the answer."""
    return ordered(_of_kinds(context, KINDS), _asked(context))


def answer(context: Context) -> Finding | None:
    """The first of `findings`, or None without any; fast where times were recorded, as no cache is simulated then."""
    asked, of_time = _asked(context), _of_kinds(context, KINDS[:2])
    leads = any(finding.kind == "time" or finding.effect >= WAITS for finding in of_time)
    enough = leads and asked in ("", "time", "waiting")
    return next(iter(ordered(of_time if enough else _of_kinds(context, KINDS), asked)), None)


def _asked(context: Context) -> str:
    return str(context.fact("settings", "asks") or "")


def _of_kinds(context: Context, kinds: Sequence[Kind]) -> list[Finding]:
    every = (finding for kind in kinds for finding in kind(context))
    return [finding for finding in every if not context.refusal(finding.part.needs)]


def ordered(findings: Sequence[Finding], asked: str = "") -> list[Finding]:
    """All findings, the answer first, then the largest of each kind in turn by effect.

    `asked`: the kind of finding that the experiment asks for; empty: what explains most answers.
    """
    waits = [f for f in findings if f.kind == "waiting" and f.effect >= WAITS]
    waits.sort(key=lambda f: f.scope != "generation")
    largest = sorted(findings, key=lambda f: -f.effect)
    wanted, of_time = ([f for f in largest if f.kind == kind] for kind in (asked, "time"))
    answer = [*wanted, *waits, *of_time, *largest]
    left = [f for f in largest if f is not answer[0]] if answer else []
    rank: dict[int, int] = {}
    seen: dict[str, int] = {answer[0].kind: 1} if answer else {}
    for finding in left:
        rank[id(finding)] = seen.get(finding.kind, 0)
        seen[finding.kind] = rank[id(finding)] + 1
    return [*answer[:1], *sorted(left, key=lambda f: (rank[id(f)], -f.effect))]
