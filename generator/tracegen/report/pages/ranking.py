"""Which findings open the overview: first what the experiment's question names, then the largest share.

A question that names several subjects gets the largest share of each, then the second largest of each, and so on. The
rule looks at words of the question and at shares only, so it is the same for every run, and a page states it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tracegen.report.figures.figure import Figure, Part

N_FIRST = 3  # findings that open the overview
# Words of a question, and the subject of the findings that answer it.
WORDS = {
    "experts": r"experts?|router|routing",
    "waiting": r"wait(?:s|ed|ing)?",
    "the disk": r"disks?|storage|devices?|ssds?|page faults?|page cache|fits?|cold",
    "the size of memory": r"how much (?:memory|ram)|enough|caches?|pin(?:s|ned|ning)?",
    "time": r"time|times|fast|faster|slow|slower|long|longer|speed|latency|threads?|seconds?",
    "bytes": r"bytes?|reads?|touch(?:es|ed)?|files?|weights?|memory|tensors?|repack(?:s|ed|ing)?|cop(?:y|ies|ied)",
}
_KIND_OF_MODEL = re.compile(r"mixtures?[ -]of[ -]experts", re.IGNORECASE)  # names a model, and asks nothing


@dataclass(frozen=True)
class Finding:
    """A sentence with its number, the figure that shows it, its subject, and the share (0 to 1) that it states."""

    text: str
    part: Part
    subject: str
    share: float

    @property
    def href(self) -> str:
        """The address of the figure from the overview."""
        anchor = f"#{'fig' if isinstance(self.part, Figure) else 'tab'}-{self.part.key}"
        return anchor if self.part.page == "overview" else f"{self.part.page}/index.html{anchor}"


@dataclass(frozen=True)
class Ranked:
    """The findings that open the overview, the others, and the rule that chose them; empty without findings."""

    first: tuple[Finding, ...]
    others: tuple[Finding, ...]
    rule: str


def asked(question: str) -> tuple[str, ...]:
    """The subjects that a question names, in the order of their first words."""
    text = _KIND_OF_MODEL.sub(" ", question)
    places = {name: re.search(rf"\b(?:{words})\b", text, re.IGNORECASE) for name, words in WORDS.items()}
    return tuple(sorted((name for name, at in places.items() if at), key=lambda name: places[name].start()))  # type: ignore[union-attr]


def ranked(findings: Sequence[Finding], question: str) -> Ranked:
    """The findings in the order of the rule; findings of equal rank keep their order."""
    subjects = asked(question)
    by_share = sorted(findings, key=lambda f: -f.share)
    turns = {name: [f for f in by_share if f.subject == name] for name in subjects}
    named = [f for turn in zip_longest(*turns.values()) for f in turn if f is not None]
    ordered = [*named, *(f for f in by_share if f.subject not in turns)]
    return Ranked(tuple(ordered[:N_FIRST]), tuple(ordered[N_FIRST:]), _rule(findings, subjects))


def _rule(findings: Sequence[Finding], subjects: Sequence[str]) -> str:
    if not findings:
        return ""
    if not subjects:
        return "The findings that state the largest shares come first."
    known = {f.subject for f in findings}
    missing = [name for name in subjects if name not in known]
    lacking = f" No finding about {' or '.join(missing)} was counted." if missing else ""
    if len(missing) == len(subjects):
        return f"{lacking.strip()} The findings that state the largest shares come first."
    named = [name for name in subjects if name in known]
    turn = ", in turn" if len(named) > 1 else ""
    return (
        f"First the findings about {' and '.join(named)}, which the question names{turn}; then those that state the "
        f"largest shares.{lacking}"
    )
