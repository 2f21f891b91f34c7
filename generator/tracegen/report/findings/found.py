"""The findings of a run: only what its trace supports, and what no failed check makes false.

Which one answers, and which follow, is decided by effect on the run, not by the words of its question.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from tracegen.report.figures.context import Context
from tracegen.report.figures.tensors import TENSOR_GROUPS
from tracegen.report.findings import (
    computing,
    experts,
    failed,
    growth,
    memory,
    numa,
    served,
    speculation,
    waiting,
    weights,
)
from tracegen.report.findings.finding import Finding
from tracegen.report.words import sentences

Find = Callable[[Context], Iterable[Finding]]
# What finds findings, and of which kinds.
KINDS: Mapping[Find, Collection[str]] = {
    waiting.findings: ("waiting", "time", "bytes", "memory"),
    computing.findings: ("time",),
    speculation.findings: ("time",),
    weights.findings: ("bytes",),
    memory.findings: ("memory",),
    failed.findings: ("memory",),
    growth.findings: ("memory",),
    numa.findings: ("memory",),
    served.findings: ("memory",),
    experts.findings: ("experts",),
}
WAITS = 0.02  # waiting for the disk leads where it takes at least this share of the time of a phase
MOST = 4  # findings that follow the answer
MUCH = 0.1  # of the time: what takes less is not listed
RULE = (
    "What answers: what the experiment asks about, if it says so; else waiting for the disk, where that takes 2 % of "
    "the time of tokens or of the prompt; else what takes most time. Below it: the largest finding of each kind; "
    "of times, what takes 10 % or more."
)


def findings(context: Context) -> list[Finding]:
    """All findings whose figures stand, in the order of `ordered`: the first one is the answer."""
    return context.once("findings", lambda: ordered(_of_kinds(context, KINDS), _asked(context)))


def answer(context: Context) -> Finding | None:
    """The first of `findings`, or None without any; what cannot come first is not looked for, as that takes longest."""
    asked = _asked(context)
    found = _of_kinds(context, [find for find, kinds in KINDS.items() if asked in kinds])
    if not any(f.kind == asked for f in found):
        found = _of_kinds(context, [find for find, kinds in KINDS.items() if "time" in kinds])
        if not any(f.kind == "time" or (f.kind == "waiting" and f.effect >= WAITS) for f in found):
            found = _of_kinds(context, KINDS)
    return next(iter(ordered(found, asked)), None)


def of_kind(context: Context, kind: str) -> list[Finding]:
    """All findings of a kind, the largest first."""
    found = _of_kinds(context, [find for find, kinds in KINDS.items() if kind in kinds])
    return sorted((f for f in found if f.kind == kind), key=lambda f: -f.effect)


def following(findings: Sequence[Finding], said: str) -> list[Finding]:
    """Those of all findings that the first page lists below its answer, but for what it says elsewhere.

    That is the answer, and what a token touches: a key figure. What takes less than `MUCH` of the time is left out.
    """
    left = [of for of in findings if (of.part, of.scope) != (TENSOR_GROUPS, "generation") and of.text not in said]
    return [of for of in left if of.effect >= MUCH or (of.kind != "time" and of.effect > 0)][:MOST]


def care(context: Context, answer: Finding, *, delayed: bool = False) -> str:
    """What an answer about time is read with, where threads did not run when they could; else empty.

    `delayed`: that they waited for a processor is said in the answer itself.
    """
    if answer.kind not in ("waiting", "time"):
        return ""
    said = ("interference",) if delayed else ()
    return sentences.with_care([c for c in context.care if c.key in sentences.DISTURBED and c.key not in said])


def _asked(context: Context) -> str:
    return str(context.facts.settings.asks or "")


def _of_kinds(context: Context, kinds: Iterable[Find]) -> list[Finding]:
    every = (finding for find in kinds for finding in find(context))
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
