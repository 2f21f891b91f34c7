"""What became better, worse or counted differently at a step between versions, read from the site's comparisons."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracegen.analysis.significance import MARGIN
from tracegen.contract.text import printable
from tracegen.site.about import cut
from tracegen.site.comparisons import Compared

_STEP = re.compile(r"(v[0-9]+)-from-(v[0-9]+)")
_TIMED = {
    "same within the margin": f"same within {100 * MARGIN:.3g} %",
    "equal": "equal in every run",
    "not enough runs": "not enough runs to tell",
    "not comparable": "not comparable, because the machines are not known to be the same",
}


@dataclass(frozen=True)
class Outcome:
    """What the comparison of a version with an earlier one, `against`, says of the key figures.

    `slug`: the folder of the comparison below the experiment; empty if there is none to read. `worse`, `better` and
    `counted` name figures with their changes; `timed` says why no timed figure is among them.
    """

    against: str
    slug: str = ""
    worse: tuple[str, ...] = ()
    better: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    timed: str = ""

    @property
    def kinds(self) -> str:
        """`worse`, `better`, both or nothing: what the page's filter goes by."""
        return " ".join(kind for kind, rows in (("worse", self.worse), ("better", self.better)) if rows)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """What is different, by lines: a label and its text."""
        labelled = (("Worse", self.worse), ("Better", self.better), ("Counted differently", self.counted))
        return [(label, "; ".join(rows)) for label, rows in labelled if rows]

    @property
    def rest(self) -> str:
        """What is not known to be different: `timed: same within 5 %; counted key figures: equal; `."""
        timed = "" if self.kinds or not self.timed else f"timed: {self.timed}; "
        return timed if self.counted else f"{timed}counted key figures: equal; "


def outcome(comparisons: Sequence[Compared], name: str) -> Outcome | None:
    """What the comparison of the version `name` with an earlier one says; None if the site has none."""
    for compared in comparisons:
        step = _STEP.fullmatch(compared.asked.slug)
        if step and step[1] == name:
            return _read(compared, step[2])
    return None


def _read(compared: Compared, against: str) -> Outcome:
    document = compared.bundle.document if compared.bundle else {}
    rows = document.get("findings")
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        return Outcome(against)
    timed = [row for row in rows if row.get("kind") == "timed"]
    return Outcome(
        against,
        compared.asked.slug,
        tuple(_words(row) for row in timed if row.get("better") is False),
        tuple(_words(row) for row in timed if row.get("better") is True),
        tuple(_words(row) for row in rows if row.get("kind") == "counted"),
        _TIMED.get(str(document.get("timed")), ""),
    )


def _words(row: Mapping[str, Any]) -> str:
    return cut(printable(f"{row.get('measure', '')} {row.get('change', '')}".strip()), 160)
