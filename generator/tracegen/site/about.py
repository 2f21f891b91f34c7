"""What a bundle says of its run in short: facts, key figures, a finding. Nothing is counted anew.

The facts are those of the provenance page, which every bundle has had since the first: they are text, as printed there.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import unescape

from tracegen.contract.text import printable
from tracegen.publishing.bundle import Bundle
from tracegen.site.ranges import Measure, Range, figures_of_runs, range_of

UNKNOWN = "not recorded"
RATE, PROMPT_RATE, SHARE = "tokens_per_second_generate", "tokens_per_second_prompt", "touched_share"
LONGEST = 80  # characters of a fact in a list
_FINDING = re.compile(r'<[ou]l class="tg-(?:answers|findings)">\s*<li>(.*?)</li>', re.DOTALL)
_LINK = re.compile(r'<a class="tg-figure-of".*?</a>', re.DOTALL)
_GROUP = re.compile(r'<section id="([^"]+)" class="tg-group">(.*?)</section>', re.DOTALL)
_FACT = re.compile(r"<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", re.DOTALL)
_COMMAND = re.compile(r'<section id="command">.*?<pre[^>]*>(.*?)</pre>', re.DOTALL)
_BYTES = re.compile(r" \(([\d\u202f]+) bytes\)$")  # an exact size behind a rounded one


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
    def _figures(self) -> list[Mapping[Measure, float]]:
        return figures_of_runs(self.bundle)

    def range(self, key: str) -> Range | None:
        """A published value over the runs of its series; None if it is not known, or of a single run."""
        return range_of(key, self._figures) if self.number(key) is not None else None

    def typical(self, key: str) -> float | None:
        """The median of a published value over the runs of its series; the value itself of a single run."""
        over_runs = self.range(key)
        return over_runs.median if over_runs else self.number(key)

    def typical_text(self, key: str) -> str:
        """That median as text; else what `text` says."""
        over_runs = self.range(key)
        return over_runs.text if over_runs else self.text(key)

    def _value(self, key: str) -> Mapping[str, object]:
        value = self.bundle.document["values"].get(key)
        return value if isinstance(value, Mapping) else {}

    @cached_property
    def _provenance(self) -> str:
        """The provenance page up to the metadata of the model."""
        path = next((page["path"] for page in self.bundle.pages if page["key"] == "provenance"), None)
        return self.bundle.body(path).decode().partition('<section id="metadata"')[0] if path else ""

    @cached_property
    def facts(self) -> dict[str, dict[str, str]]:
        """The facts of the provenance page by group (settings, model, host, llama-cpp, …): name -> text."""
        return {
            group: {plain(name): plain(text) for name, text in _FACT.findall(body)}
            for group, body in _GROUP.findall(self._provenance)
        }

    @property
    def command(self) -> str:
        """The command line of the run, quoted for a shell; empty if it is not on the page."""
        found = _COMMAND.search(self._provenance)
        return unescape(found[1]) if found else ""

    def fact(self, group: str, name: str) -> str:
        """One fact, without the exact size behind a rounded one; empty if it was not recorded."""
        text = self.facts.get(group, {}).get(name, "")
        return "" if text == UNKNOWN else rounded(text)

    @property
    def model(self) -> str:
        """The name of the model, else of its file."""
        return self.fact("model", "name") or self.fact("model", "file")

    @property
    def size_bytes(self) -> int | None:
        """The size of the model's files."""
        exact = _BYTES.search(self.facts.get("model", {}).get("size_bytes", ""))
        return int(exact[1].replace("\u202f", "")) if exact else None

    @cached_property
    def dtype(self) -> str:
        """The type that holds most bytes of the model's tensors; the first by name of several."""
        path = self.bundle.folder / "data" / "tensors-use.csv"
        sums: Counter[str] = Counter()
        try:
            with path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    sums[row["dtype"]] += int(row["size_bytes"])
        except (OSError, KeyError, TypeError, ValueError):  # an older version has other data
            return ""
        return printable(min(sums, key=lambda dtype: (-sums[dtype], dtype))) if sums else ""

    @property
    def recorded(self) -> tuple[str, ...]:
        """Which of page faults, disk requests and experts the run recorded."""
        known = {
            "page faults": self.fact("trace", "faults_recorded") == "yes",
            "disk requests": self.fact("trace", "requests_recorded") == "yes",
            "experts": any(page["key"] == "experts" for page in self.bundle.pages)
            or self.fact("model", "n_experts").isdigit(),
        }
        return tuple(name for name, holds in known.items() if holds)

    @property
    def tags(self) -> list[str]:
        """The tags that the experiment had when this was run."""
        return self.fact("settings", "tags").split(", ") if self.fact("settings", "tags") else []

    @cached_property
    def finding(self) -> str:
        """The first finding of the overview."""
        found = _FINDING.search(self.bundle.body("index.html").decode())
        return plain(_LINK.sub("", found[1])) if found else ""

    @property
    def series(self) -> tuple[str, ...]:
        """What names the runs with the same settings that were made together; empty for a run by itself."""
        slot = self.fact("slot", "matrix"), self.fact("slot", "factors")
        first = self.fact("repetition", "first_run")
        return ("slot", *slot) if all(slot) else ("repetition", first) if first else ()


def plain(html: str) -> str:
    """The text of a piece of HTML on one line."""
    return printable(re.sub(r"[ \t\r\n\f]+", " ", unescape(re.sub(r"<[^>]+>", "", html))).strip())


def rounded(text: str) -> str:
    """A fact without the exact size behind a rounded one: `26.3 MiB`."""
    return _BYTES.sub("", text)


def cut(text: str, longest: int = LONGEST) -> str:
    """A text of at most so many characters, cut between words where it has any."""
    return text if len(text) <= longest else f"{text[:longest].rsplit(' ', 1)[0]} …"
