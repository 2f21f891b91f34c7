"""The answer of a run: what it shows first, why, and what would help."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracegen.analysis.causes.cause import Cause
from tracegen.analysis.causes.found import causes
from tracegen.analysis.remedies.found import remedies
from tracegen.contract import needs
from tracegen.report.figures.caches import CACHE_RATES
from tracegen.report.figures.context import Context
from tracegen.report.figures.tensors import TENSOR_GROUPS
from tracegen.report.findings import causes as why
from tracegen.report.findings import found
from tracegen.report.findings.finding import Finding
from tracegen.report.findings.remedies import Advice, advice, caution, stop

MOST = 3  # remedies


@dataclass(frozen=True)
class Answer:
    """What answers the question of a run: a finding, what belongs to it, why, and what would help.

    `text` is all of it but the remedies; `stop` is what is said where there is none. `care`: what times are read with.
    `caution`: what predictions are read with; empty where there are none.
    """

    lead: Finding
    sentences: tuple[str, ...]
    advice: tuple[Advice, ...]
    stop: str
    care: str = ""
    caution: str = ""

    @property
    def text(self) -> str:
        """The answer as a paragraph."""
        return " ".join(self.sentences)


def answer(context: Context, findings: Sequence[Finding]) -> Answer | None:
    """The answer to the question of a run; None without any finding. `findings`: the result of `found.findings`."""
    if not findings:
        return None
    lead, *rest = findings
    times = lead.kind in ("waiting", "time")
    beside = [f for f in rest if BESIDE.get(lead.kind) == (f.part.key, f.scope)][:1]
    phase = "prompt" if lead.scope == "prompt" else context.phase
    causes_, advice_, stopped = conclusion(context, phase)
    sentences = [lead.text] if lead.kind == "waiting" else [*(f.text for f in beside), lead.text][:: _order(lead)]
    sentences += [lead.otherwise] if lead.otherwise and not advice_ else []
    sentences += why.sentences(context, causes_) if times else []
    delayed = any(sentence.startswith(why.WAITED) for sentence in sentences)
    care = found.care(context, lead, delayed=delayed)
    return Answer(lead, tuple(sentences), advice_, stopped, care, caution(causes_) if advice_ else "")


# What a reader asks beside what takes time, and beside which experts tokens choose.
BESIDE = {"time": (TENSOR_GROUPS.key, "generation"), "experts": (CACHE_RATES.key, "measured passes")}
_KIND = {"time": "bytes", "experts": "memory"}  # the kind of findings that it is one of


def _order(lead: Finding) -> int:
    """What tokens read is said before what takes their time; how much memory is enough, after how they choose."""
    return 1 if lead.kind == "time" else -1


def conclusion(context: Context, phase: str) -> tuple[list[Cause], tuple[Advice, ...], str]:
    """The causes of a phase, the remedies in words, and what is said without one; nothing that a check makes false."""
    if context.refusal(needs.TIMES) or context.gap_times or context.submitted:
        return [], (), ""

    def concluded() -> tuple[list[Cause], tuple[Advice, ...], str]:
        of = causes(context, phase)
        words = tuple(advice(remedy) for remedy in remedies(context, phase)[:MOST])
        return of, words, "" if words else stop(context, of)

    return context.once(f"conclusion of {phase}", concluded)


def quick(context: Context) -> Answer | None:
    """The answer without looking for findings that cannot be part of it."""
    lead = found.answer(context)
    return None if lead is None else answer(context, [lead, *found.of_kind(context, _KIND.get(lead.kind, ""))])
