"""An explanation, as it is written and as a page prints it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template


@dataclass(frozen=True)
class Explanation:
    """What a figure or table shows, what it counts and leaves out, and how to read it.

    `code` makes its data again: it stands below `run = tracegen.load(…)`, ends with `data = …`, and names as
    `$NAME` what the page chose (`Content.numbers`). Where no few lines do, `made_by` names the function
    that made the data.
    """

    shows: str
    counts: str
    read: str
    code: str = ""
    made_by: str = ""


@dataclass(frozen=True)
class Explained:
    """An explanation beside its figure or table: `code` is whole and runs as it stands; `csv` is what it makes."""

    shows: str
    counts: str
    read: str
    code: str
    made_by: str
    csv: str


def explained(found: Explanation, address: str, csv: str, numbers: Mapping[str, object]) -> Explained:
    """`found` for a page of the run or version at `address`; without `csv` there is no data to make again."""
    code = _whole(found.code, address, numbers) if found.code and csv else ""
    made_by = found.made_by if csv else ""
    return Explained(found.shows, found.counts, found.read, code, made_by, csv)


def _whole(code: str, address: str, numbers: Mapping[str, object]) -> str:
    """The lines as a program: imports, the run, the rest."""
    lines = Template(code).substitute(numbers).strip().splitlines()
    imports = sorted(line for line in lines if line.startswith("from "))
    rest = [line for line in lines if line not in imports and line]
    return "\n".join(["import tracegen", *imports, "", f"run = tracegen.load({address!a})", *rest])
