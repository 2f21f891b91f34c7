"""The explanation of a figure or table: as the figure holds it, and as a page prints it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template


@dataclass(frozen=True)
class Explanation:
    """What a figure or table shows, what it counts and leaves out, and how to read it.

    `code` computes the data of the CSV: it follows `run = tracegen.load(…)`, ends with `data = …`, and contains
    `$NAME` for a value that depends on the run (`Content.numbers`). Where a few lines do not suffice, `made_by` names
    the function that computes the data.
    """

    shows: str
    counts: str
    read: str
    code: str = ""
    made_by: str = ""


@dataclass(frozen=True)
class Explained:
    """The explanation on a page: `code` is a complete program that computes the data of the file `csv`."""

    shows: str
    counts: str
    read: str
    code: str
    made_by: str
    csv: str


def explained(explanation: Explanation, address: str, csv: str, numbers: Mapping[str, object]) -> Explained:
    """`explanation` for a page of the run or version at `address`; without `csv` it has no code."""
    code = _whole(explanation.code, address, numbers) if explanation.code and csv else ""
    made_by = explanation.made_by if csv else ""
    return Explained(explanation.shows, explanation.counts, explanation.read, code, made_by, csv)


def _whole(code: str, address: str, numbers: Mapping[str, object]) -> str:
    """The program: imports, the line that loads the run, the other lines of `code`."""
    lines = Template(code).substitute(numbers).strip().splitlines()
    imports = sorted(line for line in lines if line.startswith("from "))
    rest = [line for line in lines if line not in imports and line]
    return "\n".join(["import tracegen", *imports, "", f"run = tracegen.load({address!a})", *rest])
