"""A comparison in words: what differs, by how much, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tracegen.comparing.comparison import TELLING, Compared, Comparison
from tracegen.comparing.measures import AFTER_LOADING, UNTIL_FIRST_TOKEN, WHILE_LOADING
from tracegen.words import quantities as q

PHASES = {"prompt": "prompt", "generate": "generation", "": ""}
SPEED_OF = {"prompt": "the prompt", "generate": "generation"}
LEADING = (  # timed key figures said first
    ("generate", "speed"),
    ("prompt", "speed"),
    ("", UNTIL_FIRST_TOKEN),
    ("", AFTER_LOADING),
    ("", WHILE_LOADING),
)


def value(number: float | None, unit: str) -> str:
    """A value with its unit: `4.32 tokens/s`, `12.3 ms`, `8.00 MiB`, `109`."""
    if number is None:
        return q.NONE
    if unit == "ns":
        return q.duration(number)
    if unit == "bytes":
        return q.size(number)
    if unit == "tokens/s":
        return q.rate(number)
    return q.count(number) if float(number).is_integer() else q.three(number)


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
    if part is None:
        return ""
    if part >= 1:
        return f"× {q.three(1 + part)}"
    return f"{'+' if part > 0 else '−' if part < 0 else '±'}{q.percent(abs(part))}"


def name(row: Compared) -> str:
    """What a measure is, as the subject of a sentence: `generation, time for a token, experts`."""
    words = row.what if row.by == "run" else f"{row.what}, {row.item}"
    return f"{PHASES[row.phase]}, {words}" if row.phase else words


def how_sure(row: Compared) -> str:
    """Shift, interval, p, n and threshold of a timed measure; or why there are none."""
    found = row.difference
    if found is None:
        return "not known to be of the same machine" if row.state == "not comparable" else ""
    n = f"n = {found.n_a} and {found.n_b}"
    if (found.n_a, found.n_b) != (len(row.values_a), len(row.values_b)):
        n += f", spread evenly over {q.count(len(row.values_a))} and {q.count(len(row.values_b))} runs"
    if row.state == "too few repeats to tell":
        return n
    shift = share(found.relative) or signed(found.shift, row.unit)
    ends = ""
    if found.low is not None and found.high is not None:
        if row.several and found.relative is not None and found.median_a:
            ends = f" (99 % interval {share(found.low / found.median_a)} to {share(found.high / found.median_a)})"
        else:
            ends = f" (99 % interval {interval(found.low, found.high, row.unit)})"
    parts = [f"shift {shift}{ends}", p_words(found.p_held), n]
    parts += [f"noise up to {threshold(found.threshold)}"] if found.threshold is not None else []
    return ", ".join(parts)


def threshold(part: float | None) -> str:
    """The relative change below which runs of one side differ anyway."""
    if part is None:
        return ""
    return q.percent(part) if part < 1 else f"a factor of {q.three(1 + part)}"


def p_words(p: float) -> str:
    """`p = 0.0079`, `p < 0.0001`."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def short_cell(name: str) -> str:
    """The name of a cell without those of its factors, for a narrow figure: `moe, false, true (v4)`."""
    return ", ".join(part.partition("=")[2] or part for part in name.split(", "))


def times(factor: float) -> str:
    """What something is multiplied by: `× 1.31`."""
    return f"× {q.three(factor)}"


def p_value(p: float) -> str:
    """`0.0079`, `< 0.0001`."""
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def answers(comparison: Comparison) -> list[str]:
    """The findings of a comparison, the counted ones first."""
    return [_counted(comparison), *_timed(comparison)]


def in_brief(comparison: Comparison) -> str:
    """One line: `no counted difference; timed: 2 of 52 measures differ`."""
    n = sum(row.kind == "counted" and row.state in TELLING for row in comparison.rows)
    counted = f"{q.counted(n, 'counted difference')}" if n else "no counted difference"
    return f"{counted}; timed: {timed_in_brief(comparison.rows)}"


def timed_in_brief(rows: Sequence[Compared]) -> str:
    """How many timed measures differ, show no difference, or cannot be told."""
    states: Counter[str] = Counter(row.state for row in rows if row.kind == "timed")
    n = sum(states.values())
    parts = [
        f"{states['different']} of {q.counted(n, 'measure')} {'differs' if states['different'] == 1 else 'differ'}"
    ]
    parts += [f"{states[s]} {words}" for s, words in _STATES.items() if states[s]]
    return ", ".join(parts)


_STATES = {
    "only A": "only in A", "only B": "only in B", "equal": "equal in every run",
    "no difference shown": "show no difference", "too few repeats to tell": "have too few repeats to tell",
    "not comparable": "are not comparable",
}  # fmt: skip


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
        return f"{a} → {b} in the median, but not in every run"
    return f"{a} → {b}" if a != b else f"{a}, {signed(row.change, row.unit)}"


def _size_of(part: float) -> str:
    return (
        q.percent(-part) if part < 0 else share(part).lstrip("+× ") if part < 1 else f"a factor of {q.three(1 + part)}"
    )


def _timed(comparison: Comparison) -> list[str]:
    said = []
    for phase, what in LEADING:
        row = comparison.named(phase, "run", "", what)
        if row is None or not (row.values_a and row.values_b) or not (any(row.values_a) or any(row.values_b)):
            continue
        subject = name(row)
        parts = ["" if row.several else f"{value(row.a, row.unit)} → {value(row.b, row.unit)}", how_sure(row)]
        said.append(f"{subject[0].upper()}{subject[1:]}: {_verdict(row)}. {_begun('; '.join(filter(None, parts)))}.")
    return said


def _begun(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _verdict(row: Compared) -> str:
    if row.state == "different":
        return f"{'better' if row.better else 'worse'}{f' by {_size_of(row.relative)}' if row.relative else ''}"
    return "equal in every run" if row.state == "equal" else row.state
