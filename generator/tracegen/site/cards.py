"""An experiment in short, as the front page and the index of experiments show it: its newest version or draft.

What is not in the bundle of that version or draft is `not recorded`; nothing is measured or counted anew.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tracegen.contract.text import UNKNOWN, three
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
    of_series: tuple[float, ...] = ()
    matrix: Compared | None = None
    withdrawn: tuple[str, ...] = ()  # the citations of withdrawn versions, newest first
    received: bool = False  # somebody else published the version that it shows

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
            return cut(self.matrix.answer, LONG)
        return cut(_SENTENCE.split(self.about.finding, 1)[0], LONG)

    @property
    def model(self) -> str:
        """The name of its model."""
        return cut(self.about.model or f"model {UNKNOWN}")

    @property
    def architecture(self) -> str:
        """The architecture of its model."""
        return cut(self.about.fact("model", "architecture") or f"architecture {UNKNOWN}")

    @property
    def make(self) -> str:
        """Architecture, type of most bytes and size of the model: `llama, Q4_K, 4.37 GiB`."""
        dtype = cut(self.about.dtype) or f"type {UNKNOWN}"
        return f"{self.architecture}, {dtype}, {self.about.fact('model', 'size_bytes') or f'size {UNKNOWN}'}"

    @property
    def speed(self) -> str:
        """The tokens it generated in a second; of a series the median, with the range of its runs.

        A series without its runs in the bundle has the range of those that the site shows.
        """
        text = self.about.text(RATE)
        if self.about.number(RATE) is None:
            return f"tokens/s {text}"
        if over_runs := self.about.range(RATE):
            return f"median {over_runs.text} ({over_runs.words})"
        if len(self.of_series) > 1:
            low, high = three(min(self.of_series)), three(max(self.of_series))
            return f"{text} ({low} to {high} in the {len(self.of_series)} runs that the site shows)"
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
        counts = ", ".join(f"{n} {noun}{'s' * (n != 1)}" for n, noun in known if n) or "no version yet"
        return f"{counts}, {self.whose}" if self.received else counts

    @property
    def whose(self) -> str:
        """`received from Ada`; empty for what was published here."""
        author = self.about.bundle.document.get("author")
        return f"received from {cut(author) if author else 'somebody else'}" if self.received else ""


def card(entry: Entry) -> Card:
    """The experiment in short; waits until its drafts are drawn."""
    abouts = entry.abouts
    current = next((p for p in entry.published if p.version.status == "current"), None)
    folder, name = "", ""
    if current is not None:
        folder, name = current.version.name, current.version.citation
    elif entry.drafts:
        folder = entry.drafts[0].run.name
        name = f"{entry.name}/{folder}, a draft"
    about = abouts.get(folder, NOTHING)
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
        _of_series(about, list(abouts.values())),
        next((of for of in entry.comparisons if of.asked.matrix and of.answer), None),
        tuple(p.version.citation for p in entry.published if p.version.status == "withdrawn"),
        current is not None and bool(current.received),
    )


def _of_series(about: About, known: Sequence[About]) -> tuple[float, ...]:
    """The speeds of the series' runs that the site shows, each run once; empty for a run by itself."""
    if not about.series:
        return ()
    rates = {other.runs: other.number(RATE) for other in known if other.series == about.series}
    return tuple(rate for rate in rates.values() if rate is not None)


def newest_first(cards: Sequence[Card]) -> list[Card]:
    """The cards by date, newest first; those without a version or draft last, by name."""
    by_name = sorted(cards, key=lambda c: c.experiment)
    return sorted(by_name, key=lambda c: c.created, reverse=True)
