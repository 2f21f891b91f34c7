"""Which stored runs belong to a matrix, also after it grew by rounds or by values of a factor.

A stored matrix is the same if each of its runs is one of a cell that there still is, with the same settings and the
same seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tracegen.contract.errors import StoreError
from tracegen.contract.facts import Slot
from tracegen.contract.matrix import Drawn, Matrix
from tracegen.contract.model import Run, cell_name
from tracegen.storing import store


@dataclass(frozen=True)
class Stored:
    """The stored runs of a matrix, oldest first, under the name that all have; and how its rounds were drawn."""

    name: str
    runs: list[Run]
    drawn: list[Drawn]


def stored_matrix(matrix: Matrix, runs: Sequence[Run], *, again: bool = False) -> Stored:
    """The newest of the stored matrices that this one continues, of the runs of an experiment, oldest first.

    Without one, or if it is to be made `again`: none of them, and a name that no run has.
    """
    named: dict[str, list[Run]] = {}
    for run in runs:
        if run.facts.slot:
            named.setdefault(run.facts.slot.matrix, []).append(run)
    newest_first = sorted(named, key=lambda name: named[name][-1].number, reverse=True)
    for name in newest_first if not again else ():
        drawn = _drawn(matrix, [run.slot for run in named[name]])
        if drawn is not None:
            return Stored(name, named[name], drawn)
    numbers = [_attempt(named[name][0]) for name in named if name.partition("/")[0] == matrix.identity]
    return Stored(f"{matrix.identity}/{max(numbers, default=0) + 1}", [], [])


def _attempt(run: Run) -> int:
    """How often the run's matrix was started, which its name says: `d0a1/2`. Raises StoreError."""
    number = run.slot.matrix.partition("/")[2]
    if not store.is_number(number):
        raise StoreError(f"{run.folder}: facts.slot.matrix has no number after a /; restore run.json from a copy")
    return int(number)


def _drawn(matrix: Matrix, slots: Sequence[Slot]) -> list[Drawn] | None:
    """How the rounds of a stored matrix were drawn, first ones first; None if it is another matrix."""
    hashes = {cell.name: matrix.hash_of(cell) for cell in matrix.cells}
    if any(hashes.get(cell_name(slot.factors)) != slot.cell for slot in slots):
        return None
    drawn: list[Drawn] = []
    known: frozenset[str] = frozenset()
    for n_cells, repeat in dict.fromkeys((slot.cells, slot.repeat) for slot in slots):
        of = [slot for slot in slots if (slot.cells, slot.repeat) == (n_cells, repeat)]
        known = frozenset(hashes) if n_cells == len(hashes) else known | {cell_name(slot.factors) for slot in of}
        last = max(slot.round for slot in of)
        drawn.append(Drawn(known, repeat, max([last, *(past.rounds for past in drawn)])))
    return drawn
