"""The explanation of a figure, table or explorer as a page prints it."""

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template

from tracegen.report.figures.figure import Part


@dataclass(frozen=True)
class Explained:
    """The explanation on a page: `code` is a complete program that computes the data of the file `csv`."""

    shows: str
    counts: str
    read: str
    code: str
    made_by: str
    csv: str


def explained(part: Part, address: str, csv: str, numbers: Mapping[str, object]) -> Explained:
    """The explanation of `part` for a page of the run or version at `address`; without `csv` it has no code."""
    code = _whole(part.code, address, numbers) if part.code and csv else ""
    made_by = part.made_by if csv else ""
    return Explained(part.shows, part.counts, part.read, code, made_by, csv)


def _whole(code: str, address: str, numbers: Mapping[str, object]) -> str:
    """The program: imports, the line that loads the run, the other lines of `code`."""
    lines = Template(code).substitute(numbers).strip().splitlines()
    imports = sorted(line for line in lines if line.startswith("from "))
    rest = [line for line in lines if line not in imports and line]
    return "\n".join(["import tracegen", *imports, "", f"run = tracegen.load({address!a})", *rest])
