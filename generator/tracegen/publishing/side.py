"""One side of a comparison: runs of the same settings, with their facts and measures."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median_low
from typing import Any, TypeVar

import pandas as pd

from tracegen.contract.facts import Facts
from tracegen.contract.model import Check

Machine = tuple[object, ...]
Result = TypeVar("Result")


def by_row(table: pd.DataFrame, *columns: str) -> Iterator[tuple[Any, ...]]:
    """The values of some columns, row by row."""
    return zip(*(table[column].tolist() for column in columns), strict=True)


@dataclass(frozen=True)
class Measured:
    """A usable run: its name (`demo/run-003`), when it was made, its public facts and its checks.

    `measure` gives what `measures.compared` does, `tables` reads all its tables.
    """

    name: str
    created: str
    facts: Facts
    checks: tuple[Check, ...]
    measure: Callable[[], pd.DataFrame]
    tables: Callable[[], Mapping[str, pd.DataFrame]]
    _once: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def measures(self) -> pd.DataFrame:
        """Its measures; of a run alone nobody asks for them."""
        return self.measure()

    def once(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """The result of `make`, called only the first time. It is small: it stays as long as the run."""
        if key not in self._once:
            self._once[key] = make()
        result: Result = self._once[key]
        return result

    def value(self, key: str) -> float | None:
        """The value of a measure; None if the run has none."""
        return self.once("values", lambda: dict(by_row(self.measures, "key", "value"))).get(key)

    @property
    def matrix(self) -> str:
        """The matrix that the run belongs to; empty outside of one."""
        return self.facts.slot.matrix if self.facts.slot else ""

    @property
    def round(self) -> int:
        """The round of the matrix in which the run was made; 0 outside of one."""
        return self.facts.slot.round if self.facts.slot else 0

    @property
    def factors(self) -> Mapping[str, str]:
        """The values of the factors of a matrix; empty outside of one."""
        return self.facts.slot.factors if self.facts.slot else {}

    @property
    def machine(self) -> Machine:
        """What tells its machine from others without its name: processor, cores, memory, and its id."""
        host = self.facts.host
        return (host.cpu, host.cores, host.memory_bytes, host.id)


@dataclass(frozen=True)
class Side:
    """Runs that are compared with those of another side, oldest first; at least one.

    `name`: how the page calls them (`demo@v2`, `prefault=true`). `left_out`: (name, why) of runs that cannot be used.
    """

    name: str
    runs: tuple[Measured, ...]
    left_out: tuple[tuple[str, str], ...] = ()

    @cached_property
    def typical(self) -> Measured:
        """The run of median speed of generation, the slower of two; the first if no run has one."""
        speeds = {
            run.name: speed for run in self.runs if (speed := run.value("tokens_per_second_generate")) is not None
        }
        if not speeds:
            return self.runs[0]
        middle = median_low(speeds.values())
        return next(run for run in self.runs if speeds.get(run.name) == middle)


def machines_of(*several: Sequence[Measured]) -> list[list[Machine]]:
    """The machine of each run; the id counts only if every run has one."""
    known = all(run.facts.host.id is not None for runs in several for run in runs)
    return [[run.machine if known else run.machine[:-1] for run in runs] for runs in several]
