"""The answer of a run: what it shows first, why, and what would help."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracegen.analysis.causes.cause import Cause, Phase, phase_of
from tracegen.analysis.causes.found import causes as causes_of
from tracegen.analysis.remedies.found import remedies
from tracegen.contract import needs
from tracegen.report.figures.caches import CACHE_RATES
from tracegen.report.figures.context import Context
from tracegen.report.figures.tensors import TENSOR_GROUPS
from tracegen.report.findings import causes, failed, found, growth, served
from tracegen.report.findings.finding import Finding
from tracegen.report.findings.remedies import Advice, advices, caution, floor, stop

MOST = 3  # remedies


@dataclass(frozen=True)
class Conclusion:
    """Why a phase takes its time, and what would help; `stop`: what is said where nothing would, or is known to.

    `floor`: what memory bandwidth allows.
    """

    phase: Phase | None = None
    causes: tuple[Cause, ...] = ()
    advice: tuple[Advice, ...] = ()
    stop: str = ""
    floor: str = ""


@dataclass(frozen=True)
class Answer:
    """What answers the question of a run: a finding, what belongs to it, why, and what would help.

    `brief` is what was found, `text` with why. `care`: what times are read with; `caution`: what predictions are;
    `floor`: what memory bandwidth allows.
    """

    lead: Finding
    brief: str
    why: tuple[str, ...]
    advice: tuple[Advice, ...]
    stop: str
    care: str
    caution: str
    floor: str

    @property
    def text(self) -> str:
        """The answer as a paragraph."""
        return " ".join((self.brief, *self.why))


def answer(context: Context, findings: Sequence[Finding]) -> Answer | None:
    """The answer to the question of a run; None without any finding. `findings`: the result of `found.findings`."""
    if not findings:
        return None
    lead, *rest = findings
    said = [lead.text]
    said += [other.text for other in rest if (other.part.key, other.scope) == AFTER.get(lead.kind)]
    said = [*(text for text in _first(context) if text not in said), *said]
    of_no_phase = lead.kind == "time" and lead.scope == "measured passes"  # then no causes are known of it
    of = Conclusion() if of_no_phase else conclusion(context, "prompt" if lead.scope == "prompt" else context.phase)
    reasons, disturbed = [lead.otherwise] if lead.otherwise and not of.advice else [], False
    if of.phase is not None and lead.kind in ("waiting", "time"):
        reasons += [why for why in causes.sentences(context, of.phase, of.causes) if why not in said]
        disturbed = causes.delayed(of.phase)
    care = found.care(context, lead, delayed=disturbed)
    warned = caution(of.phase) if of.phase is not None and of.advice else ""
    return Answer(lead, " ".join(said), tuple(reasons), of.advice[:MOST], of.stop, care, warned, of.floor)


def _first(context: Context) -> Iterator[str]:
    """What is said before the answer: a failure, memory that grows, and prompts that much time was spent on again."""
    yield from (one.text for one in failed.findings(context))
    yield from (one.text for one in growth.findings(context))
    yield from (one.text for one in served.findings(context) if one.effect >= found.MUCH)


# What is said after a finding of a kind: what a token touches, after what takes its time; how much memory is enough,
# after how tokens choose experts. By the figure and the scope of the other finding.
AFTER = {"time": (TENSOR_GROUPS.key, "generation"), "experts": (CACHE_RATES.key, "measured passes")}
_ALSO = {"time": "bytes", "experts": "memory"}  # the kind of that finding


def conclusion(context: Context, phase: str) -> Conclusion:
    """The conclusion of a phase; nothing that a check makes false."""
    if context.measured.empty or context.refusal(needs.TIMES) or context.gap_times or context.submitted:
        return Conclusion()

    def concluded() -> Conclusion:
        of, words = causes_of(context, phase), advices(remedies(context, phase))
        time = phase_of(context, phase)
        why = "" if words else stop(context, time, of)
        return Conclusion(time, tuple(of), words, why, floor(context, time) if time is not None else "")

    return context.once(f"conclusion of {phase}", concluded)


def quick(context: Context) -> Answer | None:
    """The answer without looking for findings that cannot be part of it."""
    lead = found.answer(context)
    return None if lead is None else answer(context, [lead, *found.of_kind(context, _ALSO.get(lead.kind, ""))])
