"""The runs behind a version: `data/repeats.csv` of its bundle, and the range of a figure over these runs.

Read with the csv module, because a site of versions loads no pandas. `tracegen.publishing.repeats` writes the file.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from tracegen.contract.quantities import amount
from tracegen.publishing.bundle import Bundle

PATH = "data/repeats.csv"
COLUMNS = ("run", "created", "key", "unit", "value")  # those that are read, beside `by`
LARGEST = 1e18  # no size, time or rate of a run comes near it


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
        return amount(self.median, self.unit)

    @property
    def words(self) -> str:
        """`10.0 to 14.0 in 3 runs`; `the same in 3 runs`, or nearly so if both ends read alike.

        The unit of a rate is left out, because `text` has it.
        """
        least, most = (amount(end, self.unit).removesuffix(" tokens/s") for end in (self.least, self.most))
        ends = "the same" if self.least == self.most else "nearly the same" if least == most else f"{least} to {most}"
        return f"{ends} in {self.n} runs"


def values_of_runs(bundle: Bundle) -> list[Mapping[str, tuple[float, str]]]:
    """The value and unit of each key figure, by its key, in each run that the bundle lists, in the order of the file.

    Empty if it has no such file, or one that does not read as expected: then the version stands for its own run.
    """
    if PATH not in bundle.document["manifest"]:
        return []
    runs: dict[tuple[str, str], dict[str, tuple[float, str]]] = {}
    try:
        with (bundle.folder / PATH).open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file, strict=True)
            head = next(rows)
            places = [head.index(name) for name in COLUMNS]
            by = head.index("by")
            for row in rows:
                if row[by] != "run":
                    continue  # most of the rows: a large model has tens of thousands
                run, created, key, unit, value = (row[place] for place in places)
                number, of_run = float(value), runs.setdefault((run, created), {})
                if not 0 <= number < LARGEST or key in of_run:
                    return []
                of_run[key] = number, unit
    except (OSError, ValueError, IndexError, StopIteration, csv.Error):
        return []
    return list(runs.values())


def range_of(key: str, runs: list[Mapping[str, tuple[float, str]]]) -> Range | None:
    """The range of a published value over the runs that state it; None if fewer than two do."""
    known = [run[key] for run in runs if key in run]
    if len(known) < 2:
        return None
    values = [value for value, _ in known]
    return Range(key, known[0][1], len(values), median(values), min(values), max(values))
