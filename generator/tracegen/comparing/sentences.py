"""Values, changes and verdicts of a comparison in words, as tables, rules and quotations have them."""

from collections import Counter

from tracegen.analysis.significance import (
    ASKED_LEVEL,
    LEAST_SHIFT,
    LEVEL,
    MOST_VALUES,
    OTHERS_LEVEL,
    Difference,
    reverse,
)
from tracegen.comparing.comparison import TELLING, Compared, Comparison
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount, in_words

ALONE = "differs if tested alone"
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


def share(part: float | None) -> str:
    """A relative change: `+12.3 %`, `−0.4 %`; from twice the value on as a factor: `× 3.1`."""
    return "" if part is None else _factor(part) if part >= 1 else signed(part, "share")


def _factor(part: float) -> str:
    return f"× {q.three(1 + part)}"


def name(row: Compared) -> str:
    """What a measure is, as the subject of a sentence: `generation, time for a token, experts`."""
    if row.by == "run":
        return row.label
    return ", ".join(filter(None, (PHASES[row.phase], row.label, row.item)))


def medians(row: Compared) -> str:
    """Both medians: `12 ms → 14 ms`."""
    return f"{value(row.a, row.unit)} → {value(row.b, row.unit)}"


def runs(row: Compared) -> str:
    """How many runs of each side have a measure, and how many of them were tested: `n = 3 and 4`."""
    n, found = (len(row.values_a), len(row.values_b)), row.difference
    if found is None or (found.n_a, found.n_b) == n:
        return f"n = {n[0]} and {n[1]}"
    return f"n = {found.n_a} and {found.n_b}, spread evenly over {q.count(n[0])} and {q.count(n[1])} runs"


def effect(row: Compared) -> tuple[str, str]:
    """The shift, and both ends of its interval, in one unit: per cent of A, or factors where one is the double of A.

    In the unit of the measure where A is 0, and where an end would be a fall by more than all of A. Empty is what is
    not known: both of a measure that is not tested, and of cells of different size without pairs.
    """
    found = row.difference
    if found is None or (row.several and row.relative is None):
        return "", ""
    parts = () if found.relative is None else (found.relative, *(found.ends or ()))
    if not parts or min(parts) < -1:
        known = found.low is not None and found.high is not None
        return signed(found.shift, row.unit), interval(found.low or 0.0, found.high or 0.0, row.unit) if known else ""
    shift, *ends = [_factor(part) for part in parts] if max(parts) >= 1 else [share(part) for part in parts]
    return shift, " to ".join(ends)


def state(row: Compared, margin: float) -> str:
    """What is shown of a measure: `better`, `same within 5 %`, `one run each`, `needs about 9 runs per side`."""
    found = row.difference
    if row.better is not None and row.state == "different":
        return "better" if row.better else "worse"
    if row.state == "same within the margin":
        return f"same within {margin_of(margin)}"
    if found is None or row.state not in ("not enough runs", "interval without zero"):
        return str(row.state)
    if row.once:
        return "counted in one run each" if row.counts else "one run each"
    if row.state == "interval without zero":
        return f"{ALONE} ({needed(found)})" if found.runs_needed else ALONE
    return needed(found) or str(row.state)


def needed(found: Difference) -> str:
    """`needs about 9 runs per side`; empty where nothing is known of it."""
    if found.runs_needed is None:
        return ""
    of = "pairs" if found.paired else "runs per side"
    if found.runs_needed > MOST_VALUES:
        return f"needs more than {MOST_VALUES} {of}"
    return f"needs {'at least' if found.low is None else 'about'} {found.runs_needed} {of}"


def certainty(row: Compared, margin: float, *, ends: bool = False) -> str:
    """`better, +56.4 %, p = 0.0022, n = 6 and 6`; `ends`: with the interval of the shift."""
    parts, (shift, between) = [state(row, margin)], effect(row)
    if row.kind == "counted" and row.change:
        parts.append(share(row.relative) or signed(row.change, row.unit))
    if between:
        parts += [shift, *([f"99 % interval {between}"] if ends else [])]
    if row.difference is not None and (between or row.state == "different"):
        parts.append(q.p_words(row.difference.p_adjusted))
    return ", ".join([*parts, runs(row)])


def finding(row: Compared, margin: float, *, ends: bool = False) -> str:
    """`generation speed, 20.1 tokens/s → 31.5 tokens/s (better, …)`."""
    return f"{name(row)}, {medians(row)} ({certainty(row, margin, ends=ends)})"


def margin_of(margin: float) -> str:
    """`5 %`."""
    return f"{100 * margin:.3g} %"


def rule(comparison: Comparison) -> list[str]:
    """By which rule timed measures were judged, and what the order of the runs means for it; nothing without any."""
    if not any(row.difference for row in comparison.rows):
        return []
    m = comparison.margin
    n = sum(row.asked and row.difference is not None for row in comparison.rows)
    lines = [
        f"Better or worse: p of an exact rank test is below {LEVEL:g}, and the shift is at least "
        f"{margin_of(LEAST_SHIFT)}. p adjusted for all that is tested with it (Holm; shown) also is below "
        f"{ASKED_LEVEL:g} for the {q.counted(n, 'measure')} asked about, below {OTHERS_LEVEL:g} for all others. "
        f"Differs if tested alone: only the first holds. Same within {margin_of(m)}: the whole 99 % interval lies from "
        f"−{margin_of(reverse(m))} to +{margin_of(m)}, as a fall counts as the rise that undoes it. Else more runs are "
        "needed."
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


def in_brief(comparison: Comparison) -> str:
    """`0 of 278 counted measures different, 2 of 52 timed measures different, 50 with too few runs`."""
    amounts = (*counted_amounts(comparison), *timed_amounts(comparison))
    return in_words(amounts) or "no measure is known of either side"


def counted_amounts(comparison: Comparison) -> tuple[Amount, ...]:
    """How many counted measures differ; nothing without any."""
    states = [row.state for row in comparison.rows if row.kind == "counted"]
    n = sum(state in TELLING for state in states)
    return (Amount(n, "", f"of {q.counted(len(states), 'counted measure')} different"),) if states else ()


def timed_amounts(comparison: Comparison) -> tuple[Amount, ...]:
    """How many timed measures differ, are the same, or have too few runs; nothing without any."""
    rows = [row for row in comparison.rows if row.kind == "timed"]
    states, once = Counter(row.state for row in rows), all(row.once for row in rows if row.state == "not enough runs")
    words = {
        "only A": "only in A",
        "only B": "only in B",
        "equal": "equal in every run",
        "same within the margin": f"the same within {margin_of(comparison.margin)}",
        "interval without zero": "different if tested alone",
        "not enough runs": "with one run each" if once else "with too few runs",
        "not comparable": "not comparable",
    }
    if not states:
        return ()
    first = Amount(states["different"], "", f"of {q.counted(states.total(), 'timed measure')} different")
    return first, *(Amount(states[of], "", text) for of, text in words.items() if states[of])  # type: ignore[index]
