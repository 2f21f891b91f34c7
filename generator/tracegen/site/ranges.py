"""The runs behind a version: `data/repeats.csv` of its bundle, and the range of a figure over these runs.

Read with the csv module, because a site of versions loads no pandas. `tracegen.comparing.repeats` writes the file.
"""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

from tracegen.contract.text import percent_of, sized, three
from tracegen.publishing.bundle import Bundle

PATH = "data/repeats.csv"
COLUMNS = ("run", "created", "phase", "item", "what", "value")  # those that are read, beside `by`
LARGEST = 1e18  # no size, time or rate of a run comes near it
Measure = tuple[str, str]  # phase, what

# Key of a published value -> the measure with the same meaning; of two, the first is divided by the second. The bytes
# touched per token have none: the median of a sum is not the sum of the medians that the file holds.
MEASURES: Mapping[str, tuple[Measure, ...]] = {
    "tokens_per_second_generate": (("generate", "speed"),),
    "tokens_per_second_prompt": (("prompt", "speed"),),
    "touched_share": (("", "touched of the file at least once"), ("", "size of the model file")),
    "peak_buffer_bytes": (("", "most that buffers held"),),
}
_WORDS: Mapping[str, tuple[Callable[[float], str], str]] = {  # key -> how a number is written, and its unit
    "tokens_per_second_generate": (three, " tokens/s"),
    "tokens_per_second_prompt": (three, " tokens/s"),
    "touched_share": (percent_of, ""),
    "peak_buffer_bytes": (sized, ""),
}


@dataclass(frozen=True)
class Range:
    """A figure over `n` runs: their median, the least and the most."""

    key: str
    n: int
    median: float
    least: float
    most: float

    @property
    def text(self) -> str:
        """The median with its unit, as the pages write the figure of a run: `12.0 tokens/s`."""
        write, unit = _WORDS[self.key]
        return f"{write(self.median)}{unit}"

    @property
    def words(self) -> str:
        """`10.0 to 14.0 in 3 runs`; `the same in 3 runs`, or nearly so if both ends read alike.

        The unit of a rate is left out, because `text` has it.
        """
        write, _ = _WORDS[self.key]
        least, most = write(self.least), write(self.most)
        ends = "the same" if self.least == self.most else "nearly the same" if least == most else f"{least} to {most}"
        return f"{ends} in {self.n} runs"


def figures_of_runs(bundle: Bundle) -> list[Mapping[Measure, float]]:
    """The key figures of each run that the bundle lists, in the order of the file.

    Empty if it has no such file, or one that does not read as expected: then the version stands for its own run.
    """
    if PATH not in bundle.document["manifest"]:
        return []
    runs: dict[tuple[str, str], dict[Measure, float]] = {}
    try:
        with (bundle.folder / PATH).open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file, strict=True)
            head = next(rows)
            places = [head.index(name) for name in COLUMNS]
            by = head.index("by")
            for row in rows:
                if row[by] != "run":
                    continue  # most of the rows: a large model has tens of thousands
                run, created, phase, item, what, value = (row[place] for place in places)
                if item:
                    continue
                number, of_run = float(value), runs.setdefault((run, created), {})
                if not 0 <= number < LARGEST or (phase, what) in of_run:
                    return []
                of_run[phase, what] = number
    except (OSError, ValueError, IndexError, StopIteration, csv.Error):
        return []
    return list(runs.values())


def range_of(key: str, runs: list[Mapping[Measure, float]]) -> Range | None:
    """The range of a published value over the runs that state it; None if fewer than two do."""
    values = [value for run in runs if (value := _value(key, run)) is not None]
    if len(values) < 2:
        return None
    return Range(key, len(values), median(values), min(values), max(values))


def _value(key: str, run: Mapping[Measure, float]) -> float | None:
    parts = [run.get(measure) for measure in MEASURES.get(key, ())]
    known = [part for part in parts if part is not None]
    if not parts or len(known) < len(parts):
        return None
    if len(known) == 1:
        return known[0]
    return known[0] / known[1] if known[1] else None
