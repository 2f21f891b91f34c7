"""An experiment in short, as the front page and the index of experiments show it: its newest version or draft.

What is not in the bundle of that version or draft is `not recorded`; nothing is measured or counted again.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tracegen.contract.address import CARD
from tracegen.contract.quantities import size as size_text
from tracegen.contract.text import UNKNOWN
from tracegen.site.about import NOTHING, RATE, SHARE, About, cut
from tracegen.site.comparisons import Compared
from tracegen.site.entry import Entry

_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
LONG = 240  # characters of a question or a finding


@dataclass(frozen=True)
class Card:
    """An experiment with its newest version, else its newest draft; `about` knows nothing without either.

    `folder` is that of the version or draft below the experiment (`v3`, `run-004`; empty without one), `name` how it is
    called. `matrix` is the comparison of the cells, if it has several: that answers, not a run.
    """

    experiment: str
    question: str
    tags: tuple[str, ...]
    n_versions: int
    n_drafts: int
    about: About = NOTHING
    folder: str = ""
    name: str = ""
    matrix: Compared | None = None
    withdrawn: tuple[str, ...] = ()  # the citations of withdrawn versions, newest first

    @property
    def is_published(self) -> bool:
        """Whether it shows a version, not a draft."""
        return "@" in self.name

    @property
    def created(self) -> str:
        """When it was published or recorded, in UTC; empty without a version or draft."""
        return str(self.about.bundle.document.get("created", ""))

    @property
    def verdict(self) -> str:
        """The verdict on it; empty without a version or draft."""
        return str(self.about.bundle.document.get("verdict", ""))

    @property
    def finding(self) -> str:
        """The answer of the comparison of its cells, else the first sentence of its first finding."""
        if self.matrix:
            return _fitting(self.matrix.answer)
        return cut(_SENTENCE.split(self.about.finding, 1)[0], LONG)

    @property
    def picture(self) -> str:
        """The address of its picture below the folder of experiments; empty without one."""
        has = CARD in self.about.bundle.document["manifest"]
        return f"{self.experiment}/{self.folder}/{CARD}" if has else ""

    @property
    def model(self) -> str:
        """The name of its model."""
        return cut(self.about.model or f"model {UNKNOWN}")

    @property
    def make(self) -> str:
        """Architecture, type of most bytes and size of the model: `llama, Q4_K, 4.37 GiB`."""
        architecture = cut(self.about.architecture) or f"architecture {UNKNOWN}"
        dtype = cut(self.about.dtype) or f"type {UNKNOWN}"
        size = self.about.facts.model.size_bytes
        return f"{architecture}, {dtype}, {f'size {UNKNOWN}' if size is None else size_text(size)}"

    @property
    def speed(self) -> str:
        """The tokens it generated in a second; of several runs the median, with their range."""
        text = self.about.text(RATE)
        if self.about.number(RATE) is None:
            return f"tokens/s {text}"
        if over_runs := self.about.range(RATE):
            return f"median {over_runs.text} ({over_runs.words})"
        n = len(self.about.runs)
        return f"{text}, {n} run{'s' * (n != 1)}"

    @property
    def share(self) -> str:
        """How much of the model's files it touched."""
        text, known = self.about.text(SHARE), self.about.number(SHARE) is not None
        return f"{text} of the file touched" if known else f"touched share {text}"

    @property
    def counts(self) -> str:
        """`2 versions, 1 draft`."""
        known = ((self.n_versions, "version"), (self.n_drafts, "draft"))
        return ", ".join(f"{n} {noun}{'s' * (n != 1)}" for n, noun in known if n) or "no version yet"


def _fitting(answer: str) -> str:
    """The sentences of an answer that fit, the first in any case."""
    first, *others = _SENTENCE.split(answer)
    said = cut(first, LONG)
    for sentence in others:
        if len(said) + 1 + len(sentence) > LONG:
            break
        said += f" {sentence}"
    return said


def card(entry: Entry) -> Card:
    """The experiment in short; waits until its drafts are drawn."""
    current = next((p for p in entry.published if p.version.status == "current"), None)
    folder, name = "", ""
    if current is not None:
        folder, name = current.version.name, current.version.citation
    elif entry.drafts:
        folder = entry.drafts[0].run.name
        name = f"{entry.name}/{folder}, a draft"
    about = entry.abouts.get(folder, NOTHING)
    tags = entry.tags if entry.tags is not None else about.tags
    counts = len(entry.published), len(entry.drafts) + entry.older
    return Card(
        entry.name,
        cut(entry.question, LONG),
        tuple(cut(tag) for tag in tags),
        *counts,
        about,
        folder,
        name,
        next((of for of in entry.comparisons if of.planned.matrix and of.answer), None),
        tuple(p.version.citation for p in entry.published if p.version.status == "withdrawn"),
    )


def newest_first(cards: Sequence[Card]) -> list[Card]:
    """The cards by date, newest first; those without a version or draft last, by name."""
    by_name = sorted(cards, key=lambda c: c.experiment)
    return sorted(by_name, key=lambda c: c.created, reverse=True)
