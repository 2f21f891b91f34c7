"""What the terminal says about a matrix: its plan, each run, and the range of each cell at the end."""

from collections.abc import Sequence

from tracegen.analysis.speed import spread_of
from tracegen.contract import quantities as q
from tracegen.contract.matrix import Matrix
from tracegen.contract.model import Run
from tracegen.measure.runs.matrix_runs import Outcome, Todo
from tracegen.measure.runs.matrix_stored import cell_name
from tracegen.measure.runs.series import speed_of_run

MOST_LISTED = 40  # cells


def plan_text(matrix: Matrix, plan: Todo) -> str:
    """The cells, how many runs are stored and missing, and how long these take and how much room they need."""
    cells, n = matrix.cells, len(matrix.cells) * matrix.repeat
    stored = {cell.name: 0 for cell in cells}
    for run in plan.stored:
        stored[cell_name(run.facts["slot"])] += 1
    width = max(len(cell.name) for cell in cells)
    lines = [f"{q.counted(len(cells), 'cell')}, {q.counted(matrix.repeat, 'run')} each: {q.counted(n, 'run')}"]
    lines += [f"  {c.name:{width}}  {_stored(stored[c.name], matrix.repeat)}" for c in cells[:MOST_LISTED]]
    lines += [f"  … and {len(cells) - MOST_LISTED} more"] if len(cells) > MOST_LISTED else []
    if not plan.missing:
        return "\n".join([*lines, "every run is stored; --anew makes them all again"])
    if plan.seconds is None or plan.size_bytes is None:
        needs = "how long they take is known after the first"
    else:
        needs = f"about {q.duration(plan.seconds * 1e9)} and {q.size(plan.size_bytes)}, as long and as large as those"
        needs += " stored"
    lines.append(f"{q.counted(len(plan.missing), 'run')} to make: {needs}")
    whose = "every cell that lacks a run" if plan.joined else "every cell"
    lines.append(f"Each round has {whose} once, in an order drawn with the seed {matrix.order}.")
    lines += [_joined(len(plan.joined))] if plan.joined else []
    return "\n".join(lines)


def _joined(n: int) -> str:
    whose = f"{n} cells joined later and have" if n > 1 else "1 cell joined later and has"
    return f"{whose} no runs in the first rounds: comparisons with the other cells are not in pairs."


def outcome_text(outcome: Outcome) -> str:
    """One line about a run that was made: its cell, its verdict and its speed; else why it failed."""
    lines = [f"failed: {problem}" for problem in outcome.problems]
    if outcome.run is not None and outcome.usable:
        rate = q.rate(speed_of_run(outcome.run).generate_rate)
        lines.append(f"{outcome.run.name}  {outcome.cell.name}: {outcome.run.verdict}; generation {rate}")
    return "\n".join(lines)


def matrix_text(matrix: Matrix, runs: Sequence[Run], failed: Sequence[Outcome]) -> str:
    """For each cell, the median and the range of the speed of generation; and what failed."""
    of: dict[str, list[float | None]] = {cell.name: [] for cell in matrix.cells}
    for run in runs:
        of[cell_name(run.facts["slot"])].append(speed_of_run(run).generate_rate)
    width = max(map(len, of))
    many = f"{_stored(len(runs), len(matrix.cells) * matrix.repeat, 'runs ')} and usable"
    lines = [f"{many}; generation in tokens/s, median (least to most):"]
    for name, rates in of.items():
        spread = spread_of(rates)
        text = "no run" if not rates else "not recorded" if spread is None else _range(spread.median, rates)
        lines.append(f"  {name:{width}}  {text}, n = {len(rates)}")
    lines += [f"failed: {outcome.cell.name}, run {outcome.slot.number}: {outcome.problems[-1]}" for outcome in failed]
    return "\n".join(lines)


def _range(median: float, rates: Sequence[float | None]) -> str:
    known = [rate for rate in rates if rate is not None]
    return f"{q.three(median)} ({q.three(min(known))} to {q.three(max(known))})"


def _stored(n: int, asked: int, what: str = "") -> str:
    """How many runs are stored of those that are asked for: more, if `repeat` was larger before."""
    return f"{n} of {asked} {what}stored" if n <= asked else f"{n} {what}stored, {asked} asked for"
