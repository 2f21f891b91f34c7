"""A comparison in words: what differs, by how much, and how sure that is."""

from collections import Counter
from collections.abc import Sequence

from tracegen.analysis.measures import ASKED
from tracegen.analysis.significance import ASKED_LEVEL, LEAST_SHIFT, MOST_VALUES, OTHERS_LEVEL, Difference, reverse
from tracegen.comparing.comparison import TELLING, Compared, Comparison
from tracegen.contract import quantities as q
from tracegen.contract.check_keys import Key

PHASES = {"prompt": "prompt", "generate": "generation", "": ""}


def value(number: float | None, unit: str) -> str:
    """A value with its unit: `4.32 tokens/s`, `12.3 ms`, `8.00 MiB`, `109`."""
    return q.NONE if number is None else q.amount(number, unit)


def signed(number: float | None, unit: str) -> str:
    """A change with its sign: `+4.32 tokens/s`, `−12 ms`, `0`."""
    if number is None:
        return ""
    text = value(abs(number), unit)
    nothing = not any(digit in text for digit in "123456789")
    return f"{'±' if nothing else '+' if number > 0 else '−'}{text}"


def interval(low: float, high: float, unit: str) -> str:
    """`−0.2 to +4.1 ms`: both ends, the unit once if it is the same."""
    first, last = signed(low, unit), signed(high, unit)
    of_first, of_last = first.partition(" ")[2], last.partition(" ")[2]
    return f"{first.partition(' ')[0] if of_first == of_last else first} to {last}"


def disturbed(comparison: Comparison) -> list[str]:
    """The sides whose threads waited for processors, a sentence each."""
    lines = []
    for side in (comparison.a, comparison.b):
        n = sum(check.key == Key.INTERFERENCE and check.state == "warning" for run in side.runs for check in run.checks)
        if n:
            lines.append(
                f"{side.name}: {f'in {n} of {len(side.runs)} runs ' if len(side.runs) > 1 else ''}threads waited for "
                "processors that other programs or the kernel had. What differs in time may be due to that: if other "
                "programs ran, repeat the runs without them."
            )
    return lines


def share(part: float | None) -> str:
    """A relative change: `+12.3 %`, `−0.4 %`; from twice the value on as a factor: `× 3.1`."""
    if part is None:
        return ""
    if part >= 1:
        return f"× {q.three(1 + part)}"
    return f"{'+' if part > 0 else '−' if part < 0 else '±'}{q.percent(abs(part))}"


def name(row: Compared) -> str:
    """What a measure is, as the subject of a sentence: `generation, time for a token, experts`."""
    if row.by == "run":
        return row.label
    return ", ".join(filter(None, (PHASES[row.phase], row.label, row.item)))


def medians(row: Compared) -> str:
    """Both medians: `12 ms → 14 ms`."""
    return f"{value(row.a, row.unit)} → {value(row.b, row.unit)}"


def runs(row: Compared) -> str:
    """How many runs of each side have a measure: `n = 3 and 4`."""
    return f"n = {len(row.values_a)} and {len(row.values_b)}"


def how_sure(row: Compared) -> str:
    """Shift and interval, both in per cent of A where that is known, p and n of a timed measure; or why not."""
    found = row.difference
    if found is None:
        return ""
    n = f"n = {found.n_a} and {found.n_b}"
    if (found.n_a, found.n_b) != (len(row.values_a), len(row.values_b)):
        n += f", spread evenly over {q.count(len(row.values_a))} and {q.count(len(row.values_b))} runs"
    shift, ends = effect(found, row.unit)
    if not ends or (row.several and found.relative is None):
        return n
    return f"shift {shift} (99 % interval {ends}), {q.p_words(found.p_adjusted)}, {n}"


def effect(found: Difference, unit: str) -> tuple[str, str]:
    """The shift, and both ends of its interval, in one unit: per cent of A, or factors where one is the double of A.

    In the unit of the measure where A is 0, and where an end would be a fall by more than all of A; without ends the
    second is empty.
    """
    parts = () if found.relative is None else (found.relative, *(found.ends or ()))
    if not parts or min(parts) < -1:
        known = found.low is not None and found.high is not None
        return signed(found.shift, unit), interval(found.low or 0.0, found.high or 0.0, unit) if known else ""
    shift, *ends = [times(1 + part) for part in parts] if max(parts) >= 1 else [share(part) for part in parts]
    return shift, " to ".join(ends)


def state(row: Compared, margin: float) -> str:
    """The state of a measure in words: `same within 5 %`, `not enough runs: about 9 a side would do`."""
    found = row.difference
    if found is None:
        return str(row.state)
    if found.verdict == "same within the margin":
        return f"same within {margin_of(margin)}"
    if found.verdict == "not enough runs" and found.runs_needed is not None:
        of = "pairs" if found.paired else "a side"
        if found.runs_needed > MOST_VALUES:
            return f"not enough runs: it would take more than {MOST_VALUES} {of}"
        how = "at least" if found.low is None else "about"
        return f"not enough runs: {how} {found.runs_needed} {of} would do"
    return found.verdict


def margin_of(margin: float) -> str:
    """`5 %`."""
    return f"{100 * margin:.3g} %"


def rule(comparison: Comparison) -> list[str]:
    """By which rule timed measures were judged, and what the order of the runs means for it; nothing without any."""
    if not any(row.difference for row in comparison.rows):
        return []
    m = comparison.margin
    n = sum(row.asked and row.difference is not None for row in comparison.rows)
    of = "measure that is" if n == 1 else "measures that are"
    lines = [
        f"Different: the exact p of a rank test is below 0.01, the shift is at least {margin_of(LEAST_SHIFT)}, and p "
        f"adjusted for all that is tested with it (Holm; shown) is below {ASKED_LEVEL:g} for the {n} {of} asked, below "
        f"{OTHERS_LEVEL:g} for all others. Same within {margin_of(m)}: the whole 99 % interval lies from "
        f"−{margin_of(reverse(m))} to +{margin_of(m)}; a fall counts as the rise that undoes it, so that it does not "
        "matter which side is A. Else: not enough runs."
    ]
    if comparison.one_after_the_other:
        lines.append(
            "All runs of one side were made before those of the other: what drifted on the machine in the meantime "
            "looks like a difference. Runs in turn, as a matrix makes them, do not err so."
        )
    return lines


def short_cell(name: str) -> str:
    """The name of a cell without those of its factors, for a narrow figure: `moe, false, true (v4)`."""
    return ", ".join(part.partition("=")[2] or part for part in name.split(", "))


def times(factor: float) -> str:
    """What something is multiplied by: `× 1.31`."""
    return f"× {q.three(factor)}"


def answers(comparison: Comparison) -> list[str]:
    """The findings of a comparison, the counted ones first, and last what makes the timed ones doubtful."""
    return [_counted(comparison), *_timed(comparison), *disturbed(comparison)]


def in_brief(comparison: Comparison) -> str:
    """One line: `no counted difference; timed: 2 of 52 measures differ`."""
    n = sum(row.kind == "counted" and row.state in TELLING for row in comparison.rows)
    counted = f"{q.counted(n, 'counted difference')}" if n else "no counted difference"
    return f"{counted}; timed: {timed_in_brief(comparison.rows, comparison.margin)}"


def timed_in_brief(rows: Sequence[Compared], margin: float) -> str:
    """How many timed measures differ, are the same, or have not enough runs."""
    states: Counter[str] = Counter(row.state for row in rows if row.kind == "timed")
    n = sum(states.values())
    parts = [
        f"{states['different']} of {q.counted(n, 'measure')} {'differs' if states['different'] == 1 else 'differ'}"
    ]
    words = {
        "only A": "only in A",
        "only B": "only in B",
        "equal": "equal in every run",
        "same within the margin": f"the same within {margin_of(margin)}",
        "not enough runs": "with not enough runs",
        "not comparable": "not comparable",
    }
    parts += [f"{states[s]} {text}" for s, text in words.items() if states[s]]
    return ", ".join(parts)


def _counted(comparison: Comparison) -> str:
    rows = [row for row in comparison.rows if row.kind == "counted"]
    telling = [row for row in rows if row.state in TELLING]
    if not telling:
        all_of = f"all {q.count(len(rows))} counted measures"
        return f"No counted difference: {all_of} (operations, bytes touched, buffers, choices of experts) are equal."
    first = "; ".join(f"{name(row)}, {_values(row)}" for row in telling[:2])
    more = f"; and {q.count(len(telling) - 2)} more" if len(telling) > 2 else ""
    return f"{q.count(len(telling))} of {q.count(len(rows))} counted measures differ: {first}{more}."


def _values(row: Compared) -> str:
    a, b = (value(number, row.unit) for number in (row.a, row.b))
    if row.state == "varies":
        return f"{medians(row)} in the median, but not in every run"
    return medians(row) if a != b else f"{a}, {signed(row.change, row.unit)}"


def size_of(part: float) -> str:
    """A relative change without its sign: `12.3 %`, `a factor of 3.1`."""
    return (
        q.percent(-part) if part < 0 else share(part).lstrip("+× ") if part < 1 else f"a factor of {q.three(1 + part)}"
    )


def _timed(comparison: Comparison) -> list[str]:
    rows = comparison.not_zero(*ASKED)
    states = {state(row, comparison.margin) for row in rows}
    if len(comparison.a.runs) == len(comparison.b.runs) == len(states) == 1:
        return [f"One run a side, {states.pop()}: {'; '.join(f'{name(row)}, {medians(row)}' for row in rows)}."]
    said = []
    for row in rows:
        parts = ["" if row.several else medians(row), how_sure(row)]
        found = _verdict(row, comparison.margin)
        said.append(f"{_capital(name(row))}: {found}. {_capital('; '.join(filter(None, parts)))}.")
    return said


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _verdict(row: Compared, margin: float) -> str:
    if row.state == "different":
        return f"{'better' if row.better else 'worse'}{f' by {size_of(row.relative)}' if row.relative else ''}"
    return "equal in every run" if row.state == "equal" else state(row, margin)
