"""The effects of the factors of a matrix: what changes with one setting, whatever the others are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tracegen.analysis.significance import MARGIN
from tracegen.comparing.comparison import Comparison, compare
from tracegen.contract.model import cell_name
from tracegen.publishing.side import Side


@dataclass(frozen=True)
class Effect:
    """What changes from one value of a factor to another; `comparison` has all runs with each value as a side.

    `within`: the same comparison for each value of every other factor, by `FACTOR=VALUE`. If they differ much from each
    other, the factors interact.
    """

    factor: str
    a: str
    b: str
    comparison: Comparison
    within: tuple[tuple[str, Comparison], ...]

    @property
    def name(self) -> str:
        """`threads, 1 → 2`."""
        return f"{self.factor}, {self.a} → {self.b}"


def effects(cells: Sequence[Side], margin: float = MARGIN) -> list[Effect]:
    """Every value of every factor compared with its first one; only cells that have both are used."""
    found = (
        _effect(cells, factor, values[0], value, margin)
        for factor, values in factors_of(cells).items()
        for value in values[1:]
    )
    return [effect for effect in found if effect is not None]


def factors_of(cells: Sequence[Side]) -> dict[str, list[str]]:
    """The factors that vary, each with its values in the order of `experiment.toml`.

    Runs of before this was recorded: numbers by size, false before true, else as text.
    """
    names = list(dict.fromkeys(name for cell in cells for run in cell.runs for name in run.factors))
    places = _places(cells)
    values = {
        name: sorted({run.factors.get(name, "") for cell in cells for run in cell.runs}, key=partial(places, name))
        for name in names
    }
    return {name: of for name, of in values.items() if len(of) > 1}


def _effect(cells: Sequence[Side], factor: str, a: str, b: str, margin: float) -> Effect | None:
    """The comparison of the cells that differ in this factor alone; None if there are none."""
    of: dict[str, dict[tuple[tuple[str, str], ...], Side]] = {a: {}, b: {}}
    for cell in cells:
        factors = dict(cell.runs[0].factors)
        if (value := factors.pop(factor, "")) in of:
            of[value][tuple(factors.items())] = cell
    both = sorted(set(of[a]) & set(of[b]))
    if not both:
        return None
    sides = [_joined(f"{factor}={value}", [of[value][others] for others in both]) for value in (a, b)]
    alone = len(both) == 1  # the effect itself is all there is
    each = () if alone else ((others, compare(of[a][others], of[b][others], margin=margin)) for others in both)
    within = tuple((cell_name(dict(others)), found) for others, found in each)
    return Effect(factor, a, b, compare(*sides, margin=margin), within)


def _joined(name: str, cells: Sequence[Side]) -> Side:
    runs = sorted((run for cell in cells for run in cell.runs), key=lambda run: run.created)
    return Side(name, tuple(runs), tuple(line for cell in cells for line in cell.left_out))


def by_size(text: str) -> tuple[int, float, str]:
    """A key that sorts numbers by size, before all other texts."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _places(cells: Sequence[Side]) -> Callable[[str, str], tuple[int, tuple[int, float, str]]]:
    """A key that sorts the values of a factor; where the matrix grew, a value is where its newest run says."""
    runs = sorted((run for cell in cells for run in cell.runs), key=lambda run: run.created)
    slots = [run.facts.slot for run in runs if run.facts.slot]
    known = {(name, slot.factors.get(name)): place for slot in slots for name, place in (slot.places or {}).items()}
    return lambda name, value: (known.get((name, value), 0), by_size(value))


def in_order(cells: Sequence[Side]) -> list[Side]:
    """The cells of a matrix in the order of their factors, the values of each as `factors_of` has them."""
    key = _places(cells)
    return sorted(cells, key=lambda cell: [key(*of) for of in cell.runs[0].factors.items()])
