"""What a bundle says of its run in short: facts, key figures, a finding. Nothing is counted again."""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from itertools import islice
from pathlib import Path
from statistics import median

from tracegen.contract import quantities as q
from tracegen.contract.facts import Facts
from tracegen.contract.text import UNKNOWN, printable
from tracegen.publishing.bundle import Bundle
from tracegen.publishing.repeats import values_of_runs
from tracegen.publishing.run_data import facts_of

RATE, SHARE = "tokens_per_second_generate", "touched_share"
MEASURES = (  # key of a published value, head of its column in the table of versions
    (RATE, "Generation"),
    ("tokens_per_second_prompt", "Prompt"),
    (SHARE, "Touched of the file"),
    ("bytes_touched_per_token", "Touched per token, buffers too"),
    ("peak_buffer_bytes", "Buffers at their peak"),
)
LONGEST = 80  # characters of a fact in a list
MOST_TOKENS = 100  # of a text that is shown in short


@dataclass(frozen=True)
class Range:
    """A figure over `n` runs: their median, the least and the most."""

    key: str
    unit: str
    n: int
    median: float
    least: float
    most: float

    @property
    def text(self) -> str:
        """The median with its unit, as the pages write the figure of a run: `12.0 tokens/s`."""
        return q.amount(self.median, self.unit)

    @property
    def words(self) -> str:
        """`10.0 to 14.0 in 3 runs`; `the same in 3 runs`, or nearly so if both ends read alike.

        The unit of a rate is left out, because `text` has it.
        """
        least, most = (q.amount(end, self.unit).removesuffix(" tokens/s") for end in (self.least, self.most))
        ends = "the same" if self.least == self.most else "nearly the same" if least == most else f"{least} to {most}"
        return f"{ends} in {self.n} runs"


@dataclass(frozen=True)
class About:
    """A version or a draft, read when a property is asked for; what the bundle does not hold is empty, or None."""

    bundle: Bundle

    @property
    def runs(self) -> tuple[int, ...]:
        """The numbers of its runs."""
        return tuple(n for n in self.bundle.document.get("runs") or () if isinstance(n, int))

    def number(self, key: str) -> float | None:
        """A published value; None if it is not known."""
        value = self._value(key).get("value")
        known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return float(value) if known else None  # type: ignore[arg-type]

    def text(self, key: str) -> str:
        """The text of a published value: also why there is none; `not recorded` if it says nothing."""
        text = self._value(key).get("text")
        return cut(printable(text)) if isinstance(text, str) and text else UNKNOWN

    @cached_property
    def _values(self) -> list[Mapping[str, tuple[float, str]]]:
        return values_of_runs(self.bundle)

    def range(self, key: str) -> Range | None:
        """A published value over the runs of its version; None if it is not known, or of a single run."""
        return range_of(key, self._values) if self.number(key) is not None else None

    def typical_text(self, key: str) -> str:
        """The median of a published value over the runs of its version; of a single run what `text` says."""
        over_runs = self.range(key)
        return over_runs.text if over_runs else self.text(key)

    def _value(self, key: str) -> Mapping[str, object]:
        value = self.bundle.document["values"].get(key)
        return value if isinstance(value, Mapping) else {}

    @cached_property
    def facts(self) -> Facts:
        """The facts of its run; none of no version or draft."""
        return facts_of(self.bundle) if self.bundle.document["manifest"] else Facts()

    @property
    def model(self) -> str:
        """The name of the model, else of its file; empty if neither was recorded."""
        return one_line(self.facts.model.name or self.facts.model.file or "")

    @property
    def architecture(self) -> str:
        """The architecture of the model; empty if it was not recorded."""
        return one_line(self.facts.model.architecture or "")

    @cached_property
    def dtype(self) -> str:
        """The type that holds most bytes of the model's tensors; the first by name of several."""
        sums: Counter[str] = Counter()
        for row in self._rows("data/tensors-use.csv"):
            sums[row["dtype"]] += int(row["size_bytes"])
        return printable(min(sums, key=lambda dtype: (-sums[dtype], dtype))) if sums else ""

    @property
    def tags(self) -> list[str]:
        """The tags that the experiment had when this was run."""
        return [one_line(tag) for tag in self.facts.settings.tags or ()]

    @property
    def finding(self) -> str:
        """The first finding of the overview."""
        return one_line(str(self.bundle.document.get("finding") or ""))

    @property
    def written(self) -> str:
        """The start of the text that the model wrote; empty where the bundle does not have it."""
        text = "".join(row["text"] for row in islice(self._rows("data/generated-tokens.csv"), MOST_TOKENS))
        return cut(one_line(text), 2 * LONGEST)

    def _rows(self, path: str) -> Iterator[dict[str, str]]:
        """The rows of a table; none if the bundle does not have it."""
        if path in self.bundle.document["manifest"]:
            with (self.bundle.folder / path).open(encoding="utf-8", newline="") as file:
                yield from csv.DictReader(file)


NOTHING = About(Bundle(Path(), {"pages": (), "figures": (), "values": {}, "manifest": {}}))  # of no version or draft


def range_of(key: str, runs: list[Mapping[str, tuple[float, str]]]) -> Range | None:
    """The range of a published value over the runs that state it; None if fewer than two do."""
    known = [run[key] for run in runs if key in run]
    if len(known) < 2:
        return None
    values = [value for value, _ in known]
    return Range(key, known[0][1], len(values), median(values), min(values), max(values))


def plain(html: str) -> str:
    """The text of a piece of HTML on one line."""
    return one_line(unescape(re.sub(r"<[^>]+>", "", html)))


def one_line(text: str) -> str:
    """The text as a line that can be shown."""
    return printable(re.sub(r"[ \t\r\n\f]+", " ", text).strip())


def cut(text: str, longest: int = LONGEST) -> str:
    """A text of at most so many characters, cut between words where it has any."""
    return text if len(text) <= longest else f"{text[:longest].rsplit(' ', 1)[0]} …"
