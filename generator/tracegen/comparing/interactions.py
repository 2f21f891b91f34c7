"""Whether two factors of a matrix interact: whether one changes speed more or less where the other is set otherwise."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from tracegen.analysis.significance import MARGIN, Difference, holm
from tracegen.comparing.comparison import evenly, of_ratios
from tracegen.comparing.effects import factors_of
from tracegen.comparing.side import Machine, Side, machines_of

PHASES = ("generate", "prompt")
_Place = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Interaction:
    """What changing `factor` from a to b multiplies the speed by, where `other` is c, and where it is d.

    `difference` holds the ratios at d against those at c, in pairs of one round: its `shift` relative to the median at
    c says how much more the factor does there.
    """

    phase: str
    factor: str
    a: str
    b: str
    other: str
    c: str
    d: str
    difference: Difference


def interactions(cells: Sequence[Side], margin: float = MARGIN) -> list[Interaction]:
    """Every pair of factors, each value against the first of its factor; p adjusted for all of a phase (Holm).

    A round counts if it has the four runs, on one machine, with equal values of all other factors.
    """
    found = []
    factors = factors_of(cells)
    for phase in PHASES:
        of_phase = list(_of_phase(cells, factors, phase, margin))
        adjusted = holm([row.difference for row in of_phase])
        found += [replace(row, difference=difference) for row, difference in zip(of_phase, adjusted, strict=True)]
    return found


def _of_phase(
    cells: Sequence[Side], factors: Mapping[str, list[str]], phase: str, margin: float
) -> Iterator[Interaction]:
    speeds = _speeds(cells, phase)
    for factor, other in combinations(factors, 2):
        for b in factors[factor][1:]:
            for d in factors[other][1:]:
                a, c = factors[factor][0], factors[other][0]
                ratios = list(_ratios(speeds, (factor, a, b), (other, c, d)))
                if ratios:
                    at_c, at_d = [evenly(column) for column in zip(*ratios, strict=True)]
                    found = of_ratios(at_c, at_d, margin=margin)
                    yield Interaction(phase, factor, a, b, other, c, d, found)


_Key = tuple[str, int, Machine]  # matrix, round, machine


def _speeds(cells: Sequence[Side], phase: str) -> dict[_Key, dict[_Place, float]]:
    """The speed of each run by its round and the values of its factors."""
    runs = [run for cell in cells for run in cell.runs]
    (machines,) = machines_of(runs)
    of: dict[_Key, dict[_Place, float]] = {}
    for run, machine in zip(runs, machines, strict=True):
        speed = run.value(phase, "speed")
        if speed is not None and speed > 0 and run.matrix:
            place = tuple(sorted(run.factors.items()))
            of.setdefault((run.matrix, run.round, machine), {})[place] = speed
    return of


def _ratios(
    speeds: Mapping[_Key, Mapping[_Place, float]], factor: tuple[str, str, str], other: tuple[str, str, str]
) -> Iterator[tuple[float, float]]:
    """For each four runs: what changing the factor multiplies the speed by, before and after the other changes."""
    (name, a, b), (other_name, c, d) = factor, other
    for of_round in speeds.values():
        for place in of_round:
            values = dict(place)
            if (values.get(name), values.get(other_name)) != (a, c):
                continue
            four = [
                of_round.get(tuple(sorted({**values, name: x, other_name: y}.items())))
                for x, y in ((a, c), (b, c), (a, d), (b, d))
            ]
            known = [speed for speed in four if speed is not None]
            if len(known) == 4:
                yield known[1] / known[0], known[3] / known[2]
