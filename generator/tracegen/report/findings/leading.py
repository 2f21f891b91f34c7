"""Which finding answers, and which follow: decided by effect on the run, not by the words of its question."""

from collections.abc import Sequence

from tracegen.report.findings.finding import Finding

WAITS = 0.02  # waiting for the disk leads where it takes at least this share of the time of a phase
MOST = 4  # findings that follow the answer
RULE = (
    "What answers: what the experiment asks about, if it says so; else waiting for the disk, where that takes 2 % of "
    "the time of tokens or of the prompt; else what takes most time. Below it: the largest finding of each kind."
)


def ordered(findings: Sequence[Finding], asked: str = "") -> list[Finding]:
    """All findings, the answer first, then the largest of each kind in turn by effect.

    `asked`: the kind of finding that the experiment asks for; empty: what explains most answers.
    """
    waiting = [f for f in findings if f.kind == "waiting" and f.effect >= WAITS]
    waiting.sort(key=lambda f: f.scope != "generation")
    largest = sorted(findings, key=_effect)
    wanted, of_time = ([f for f in largest if f.kind == kind] for kind in (asked, "time"))
    answer = [*wanted, *waiting, *of_time, *largest]
    left = [f for f in largest if f is not answer[0]] if answer else []
    rank: dict[int, int] = {}
    seen: dict[str, int] = {answer[0].kind: 1} if answer else {}
    for finding in left:
        rank[id(finding)] = seen.get(finding.kind, 0)
        seen[finding.kind] = rank[id(finding)] + 1
    return [*answer[:1], *sorted(left, key=lambda f: (rank[id(f)], -f.effect))]


def _effect(finding: Finding) -> float:
    return -finding.effect
