"""What differs between two sides: each measure beside that of the other side, and how sure a difference is.

Counted measures: any difference is real. Timed ones: see `analysis.significance`. The two are never mixed.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from tracegen.analysis.measure_families import BY
from tracegen.analysis.measures import ASKED
from tracegen.analysis.significance import (
    ASKED_LEVEL,
    LEAST_PAIRS,
    MARGIN,
    MOST_VALUES,
    OTHERS_LEVEL,
    Difference,
    difference,
    holm,
    least_runs,
    with_verdict,
)
from tracegen.publishing.side import Machine, Measured, Side, by_row, machines_of

State = Literal[
    "different",
    "varies",
    "only A",
    "only B",
    "equal",
    "same within the margin",
    "interval without zero",
    "not enough runs",
    "not comparable",
]
TELLING: tuple[State, ...] = ("different", "varies", "only A", "only B")  # what a page shows first
ROUNDING = 1e-9  # relative; means of equal counts differ by less
_IDENTITY = ("key", "phase", "by", "item", "label", "kind", "unit")  # what tells a measure, the same in every run
_Key = tuple[str, str, str, str, str, str, str]


@dataclass(frozen=True)
class Compared:
    """A measure on both sides: the values of their runs in the order of time, empty where no run has it.

    `difference` says how sure it is: timed measures with values on both sides only. `several`: a side has runs of
    several cells, whose medians say less than the shift of their pairs. Its state is `interval without zero` where it
    would be different if it were tested alone.
    """

    key: str
    phase: str
    by: str
    item: str
    label: str
    kind: Literal["counted", "timed"]
    unit: str
    values_a: tuple[float, ...]
    values_b: tuple[float, ...]
    state: State
    difference: Difference | None = None
    several: bool = False

    @property
    def a(self) -> float | None:
        """The median over the runs of A."""
        return median(self.values_a) if self.values_a else None

    @property
    def b(self) -> float | None:
        """The median over the runs of B."""
        return median(self.values_b) if self.values_b else None

    @property
    def change(self) -> float | None:
        """B less A: the Hodges-Lehmann shift of timed measures, the difference of medians of counted ones."""
        if self.difference is not None:
            return self.difference.shift
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def relative(self) -> float | None:
        """The change as a share of A; None where A is 0 or unknown, and where several cells have no ratio."""
        if self.difference is not None:
            return self.difference.relative
        return None if self.change is None or not self.a else self.change / abs(self.a)

    @property
    def better(self) -> bool | None:
        """Whether B is what a user wants more; None for counted measures, and where nothing changed."""
        if self.kind == "counted" or not self.change:
            return None
        return (self.change > 0) == (self.unit == "tokens/s")

    @property
    def once(self) -> bool:
        """Whether one run of each side has it, so that nothing tells how far runs lie apart."""
        return len(self.values_a) == len(self.values_b) == 1

    @property
    def counts(self) -> bool:
        """Whether it is a count, also one that may be another in the next run: bytes read, page faults."""
        return self.kind == "counted" or self.unit in ("bytes", "")

    @property
    def asked(self) -> bool:
        """Whether it is one of the timed measures that a comparison is made for."""
        return self.key in ASKED


@dataclass(frozen=True)
class Comparison:
    """Two sides and all their measures; `paired`: times were tested in pairs of runs of one round.

    `margin`: the share of A within which a timed measure is the same. `in_rounds`: runs were made in rounds of both.
    """

    a: Side
    b: Side
    rows: tuple[Compared, ...]
    paired: bool
    margin: float = MARGIN
    in_rounds: bool = False

    @property
    def names(self) -> str:
        """Which side is which, as captions say it."""
        return f"A: {self.a.name}; B: {self.b.name}."

    @property
    def one_after_the_other(self) -> bool:
        """Whether all runs of one side were made before those of the other, so that a drift looks like a difference."""
        times = [[run.created for run in side.runs] for side in (self.a, self.b)]
        return not self.in_rounds and (max(times[0]) < min(times[1]) or max(times[1]) < min(times[0]))

    def of(self, kind: str, by: str) -> list[Compared]:
        """The measures of a kind by one key of BY."""
        return [row for row in self.rows if (row.kind, row.by) == (kind, by)]

    def named(self, key: str) -> Compared | None:
        """The measure with this key, None if no side has it."""
        return next((row for row in self.rows if row.key == key), None)

    def known(self, key: str) -> Compared | None:
        """The measure with this key, None unless runs of both sides have it."""
        row = self.named(key)
        return row if row and row.values_a and row.values_b else None

    def not_zero(self, *keys: str) -> list[Compared]:
        """Those of these measures that both sides have and that are not 0 in all runs."""
        rows = [self.known(key) for key in keys]
        return [row for row in rows if row and any((*row.values_a, *row.values_b))]


def compare(a: Side, b: Side, *, margin: float = MARGIN) -> Comparison:
    """Hold every measure of A beside that of B.

    The timed measures of ASKED share one risk of a false finding (Holm, ASKED_LEVEL), all other timed measures another
    (OTHERS_LEVEL).
    """
    pairs = _paired(a, b)
    left, right = pairs or (list(a.runs), list(b.runs))
    of_a, of_b = _by_key(left), _by_key(right)
    machines_a, machines_b = machines_of(left, right)
    comparable = same_machines(machines_a, machines_b)
    varying = [key for key in of_a.keys() & of_b.keys() if len({*of_a[key].values(), *of_b[key].values()}) > 1]
    n_timed = Counter(key[0] in ASKED for key in varying if key[5] == "timed")
    rows = []
    for key in {**of_a, **of_b}:
        values = _Values(left, machines_a, of_a.get(key, {})), _Values(right, machines_b, of_b.get(key, {}))
        asked = key[0] in ASKED
        level = ASKED_LEVEL if asked else OTHERS_LEVEL
        enough = pairs is not None and len(left) >= least_runs(max(n_timed[asked], 1), level, paired=True)
        rows.append(
            _compared(key, *values, paired=pairs is not None, comparable=comparable, enough=enough, margin=margin)
        )
    rows.sort(key=lambda row: list(BY).index(row.by))
    paired = pairs is not None and len(left) >= LEAST_PAIRS
    in_rounds = pairs is not None
    return Comparison(a, b, tuple(_adjusted(rows, in_rounds=in_rounds)), paired, margin, in_rounds)


def same_machines(a: Sequence[Machine], b: Sequence[Machine]) -> bool:
    """Whether times of the two sides may be compared: the same machine, or several with equal shares.

    Otherwise a difference between machines would look like one between the sides.
    """
    if any(None in machine for machine in (*a, *b)) or set(a) != set(b):
        return False
    return len(set(a)) == 1 or Counter(a) == Counter(b)


Turn = tuple[object, ...]


def _turns(a: Side, b: Side) -> list[list[Turn]]:
    """What a run shares with its pair on the other side: matrix, round, machine, and the factors that both sides have
    alike. Empty lists outside of a matrix.
    """
    runs = [*a.runs, *b.runs]
    if not all(run.matrix for run in runs):
        return [[], []]
    vary = [
        {name for name in runs[0].factors if len({run.factors.get(name) for run in side.runs}) > 1} for side in (a, b)
    ]
    shared = sorted(vary[0] & vary[1])
    return [
        [
            (run.matrix, run.round, machine, *(run.factors.get(name) for name in shared))
            for run, machine in zip(side.runs, machines, strict=True)
        ]
        for side, machines in zip((a, b), machines_of(a.runs, b.runs), strict=True)
    ]


def _paired(a: Side, b: Side) -> tuple[list[Measured], list[Measured]] | None:
    """The runs of both sides in pairs; None unless each has exactly one partner."""
    of_a, of_b = (dict(zip(turns, side.runs, strict=False)) for turns, side in zip(_turns(a, b), (a, b), strict=True))
    if not of_a or len(of_a) < len(a.runs) or len(of_b) < len(b.runs) or set(of_a) != set(of_b):
        return None
    order = sorted(of_a, key=str)
    return [of_a[turn] for turn in order], [of_b[turn] for turn in order]


@dataclass(frozen=True)
class _Values:
    """The values of a measure by the place of the run among those of a side; a run may lack it."""

    runs: Sequence[Measured]
    machines: Sequence[Machine]
    of: dict[int, float]

    @property
    def all(self) -> tuple[float, ...]:
        return tuple(self.of[place] for place in sorted(self.of))

    @property
    def series(self) -> Iterator[list[float]]:
        """The values of each cell on each machine in the order of time: neighbours differ by noise alone."""
        places = sorted(self.of, key=lambda i: self.runs[i].created)
        of_cell: dict[str, list[int]] = {}
        for i in places:
            of_cell.setdefault(repr((self.machines[i], sorted(self.runs[i].factors.items()))), []).append(i)
        for places in of_cell.values():
            yield [self.of[place] for place in places]


def _by_key(runs: Sequence[Measured]) -> dict[_Key, dict[int, float]]:
    """The values of each measure, by the place of the run."""
    values: dict[_Key, dict[int, float]] = {}
    for place, run in enumerate(runs):
        for *key, value in by_row(run.measures, *_IDENTITY, "value"):
            values.setdefault(tuple(key), {})[place] = value
    return values


def _compared(
    key: _Key, a: _Values, b: _Values, *, paired: bool, comparable: bool, enough: bool, margin: float
) -> Compared:
    """`enough`: pairs could tell this row among those tested with it; if not, its runs are tested as independent ones,
    which only makes the test more careful: more repeats never tell less. Of several cells only pairs can tell anything.
    """
    row = Compared(*key, a.all, b.all, "equal")  # type: ignore[arg-type]
    if not row.values_a or not row.values_b:
        return replace(row, state="only B" if row.values_b else "only A")
    if row.kind == "counted":
        return replace(row, state=_counted_state(row.values_a, row.values_b, paired=_in_pairs(a, b) and paired))
    if len({*row.values_a, *row.values_b}) == 1:
        return row
    if not comparable:
        return replace(row, state="not comparable")
    several = any(len(list(side.series)) > 1 for side in (a, b))
    tested = paired and _in_pairs(a, b) and len(a.of) >= LEAST_PAIRS and (enough or several)
    values_a, values_b = evenly(row.values_a), evenly(row.values_b)
    if tested and several and min(*values_a, *values_b) > 0:
        found = of_ratios(values_a, values_b, margin=margin)
    else:
        found = difference(values_a, values_b, paired=tested, margin=margin)
        found = replace(found, relative=None) if several else found
    return replace(row, difference=found, state=found.verdict, several=several)


def evenly(values: Sequence[float]) -> Sequence[float]:
    """The values, or MOST_VALUES of them that lie evenly between the first and the last: exact tests of more take long.

    Of two sides with as many values, the same places.
    """
    if len(values) <= MOST_VALUES:
        return values
    return [values[round(i * (len(values) - 1) / (MOST_VALUES - 1))] for i in range(MOST_VALUES)]


def of_ratios(a: Sequence[float], b: Sequence[float], *, paired: bool = True, margin: float = MARGIN) -> Difference:
    """The difference of pairs from several cells, by their ratios: a cell of large values counts no more than others.

    Shift and interval are those of the ratio b / a, as a change of the median of A; without `paired` of each value
    of B and each of A. All values are above 0.
    """
    base = min(math.log(value) for value in (*a, *b))
    logs = [[math.log(value) - base for value in values] for values in (a, b)]
    found, middle = difference(*logs, paired=paired, margin=margin), median(a)
    ends = {
        name: None if end is None else math.expm1(end) * middle
        for name, end in (("shift", found.shift), ("low", found.low), ("high", found.high))
    }
    ends["relative"] = math.expm1(found.shift)
    return with_verdict(replace(found, median_a=middle, median_b=median(b), **ends))  # type: ignore[arg-type]


def _in_pairs(a: _Values, b: _Values) -> bool:
    """Whether both or neither run of each pair has the measure."""
    return a.of.keys() == b.of.keys()


def _counted_state(a: Sequence[float], b: Sequence[float], *, paired: bool) -> State:
    """Whether a counted measure is equal, different, or varies: runs of one side, or some of the pairs, differ."""
    if (paired and all(map(_same, a, b))) or _same(min(*a, *b), max(*a, *b)):
        return "equal"
    if paired:
        return "varies" if any(map(_same, a, b)) else "different"
    return "different" if _same(min(a), max(a)) and _same(min(b), max(b)) else "varies"


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= ROUNDING * max(abs(a), abs(b))


def _adjusted(rows: Sequence[Compared], *, in_rounds: bool) -> list[Compared]:
    """The rows, each difference adjusted for all others that were asked, or for all that were not."""
    adjusted = list(rows)
    for asked, level in ((True, ASKED_LEVEL), (False, OTHERS_LEVEL)):
        places = [i for i, row in enumerate(rows) if row.difference is not None and row.asked == asked]
        differences = [found for i in places if (found := rows[i].difference) is not None]
        pairs = least_runs(max(len(places), 1), level, paired=True)
        for i, found in zip(places, holm(differences, level), strict=True):
            if rows[i].several and not found.paired and found.verdict == "not enough runs":  # only pairs can tell
                found = replace(found, runs_needed=pairs if in_rounds and found.n_a < pairs else None)
            adjusted[i] = replace(rows[i], difference=found, state=_state(found, several=rows[i].several))
    return adjusted


def _state(found: Difference, *, several: bool) -> State:
    """The verdict; an interval that leaves out 0 is said, but for cells of different size without pairs."""
    only_pairs = several and not found.paired
    if found.verdict != "not enough runs" or only_pairs or found.low is None or found.high is None:
        return found.verdict
    return found.verdict if found.low <= 0 <= found.high else "interval without zero"
