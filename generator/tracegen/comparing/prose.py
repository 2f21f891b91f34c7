"""What a comparison found, in sentences; each number of a sentence is one of its amounts.

Counts (bytes, page faults) are exact and stand with one run each; times have no error bar then, which is said. `Better`
and `worse` are words of the rule alone.
"""

from collections.abc import Mapping, Sequence

from tracegen.analysis.measures import ASKED
from tracegen.analysis.significance import MOST_VALUES
from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import TELLING, Compared, Comparison
from tracegen.contract import quantities as q
from tracegen.contract.check_keys import Key
from tracegen.report.document.amount import Amount, Said

# A measure -> a sentence with the values of both sides, and what a factor is of.
BOTH: Mapping[str, tuple[str, str]] = {
    "tokens_per_second_generate": ("Generation speed is {a} in A and {b} in B", "fast"),
    "tokens_per_second_prompt": ("Prompt speed is {a} in A and {b} in B", "fast"),
    "ttft_ns": ("The time to the first token is {a} in A and {b} in B", "long"),
    "disk_read_bytes": ("After loading, A read {a} from the disk and B {b}", "much"),
    "disk_read_bytes_load": ("While loading, A read {a} from the disk and B {b}", "much"),
    "mapped_bytes_per_token": ("A token touches {a} of mapped weights in A and {b} in B", "much"),
    "copied_bytes_per_token": ("A token touches {a} of copied weights in A and {b} in B", "much"),
}
NO_ERROR_BAR = Said("There is one run each, so the size of the effect has no error bar.")


def both(row: Compared, margin: float, tail: str = "") -> Said:
    """`Generation speed is 20.1 tokens/s in A and 31.5 tokens/s in B, 1.57 × as fast: better.`; `tail`: last words.

    The factor is that of the medians; of cells of different size, that of the pairs of their runs.
    """
    name = q.printable(say.name(row))
    of_name = (
        f"A has {{a}} {name} and B {{b}}" if row.by == "run" and not row.unit else f"A has {{a}} and B {{b}} ({name})"
    )
    words, of = BOTH.get(row.key, (of_name, "much"))
    values = [Amount(value or 0.0, row.unit) for value in (row.a, row.b)]
    text = words.replace("{a}", values[0].number).replace("{b}", values[1].number)
    alike = values[0].number == values[1].number  # as they are written
    times = () if alike else _factor(row)
    if times:
        text += f", {times[0].number} as {of}"
    if alike and row.kind == "counted" and row.change:
        times = (Amount(abs(row.change), row.unit),)
        text += f", {times[0].number} {'more' if row.change > 0 else 'less'} in B"
    verdict = say.state(row, margin) if row.state in ("different", "same within the margin") else ""
    if verdict in ("better", "worse"):
        text += f": {verdict}"
    elif verdict.startswith("same"):
        text += f", the {verdict}"
    return Said(f"{text}{tail}.", (*values, *times))


def _factor(row: Compared) -> tuple[Amount, ...]:
    """How many times that of A the value of B is; nothing where one is 0, or where it would be written as 1.00."""
    if not row.a or not row.b:
        return ()
    times = row.b / row.a if not row.several or row.relative is None else 1 + row.relative
    return () if q.three(times) == "1.00" else (Amount(times, "times"),)


def certain(row: Compared) -> list[Said]:
    """How certain the size of a difference is: its interval and p, or what it takes to have them.

    Nothing of a count that few runs have: it is exact.
    """
    found = row.difference
    if found is None or (row.counts and found.low is None):
        return []
    if row.once:
        return [NO_ERROR_BAR]
    n = Amount(len(row.values_a), ""), Amount(len(row.values_b), "")
    runs = f"{n[0].number} and {n[1].number} runs{' of several cells' if row.several else ''}"
    needed = (Amount(min(found.runs_needed or 0, MOST_VALUES), ""),)
    takes = say.needed(found).replace("needs", "; it takes")
    if found.low is None or found.high is None or (row.several and row.relative is None):
        return [Said(f"There are {runs}{takes}.", (*n, *needed))]
    unit, ends = ("share", found.ends) if found.ends and min(found.ends) >= -1 else (row.unit, (found.low, found.high))
    change = " to ".join(say.signed(end, unit) for end in ends)
    p, interval = Amount(found.p_adjusted, "p"), "The 99 % interval of the change"
    amounts = (*(Amount(abs(end), unit) for end in ends), p)
    said = [Said(f"These are medians of {runs}{', tested in pairs' if found.paired else ''}.", n)]
    if (found.n_a, found.n_b) != (n[0].value, n[1].value):
        tested = Amount(found.n_a, ""), Amount(found.n_b, "")
        said.append(Said(f"{tested[0].number} and {tested[1].number} of them, spread evenly, are tested.", tested))
    if row.state == "interval without zero":
        why = f"excludes zero, but {p.number} adjusted for all that is tested with it"
        return [*said, Said(f"{interval}, {change}, {why}.", amounts)]
    if row.state == "not enough runs":
        return [*said, Said(f"{interval}, {change}, includes zero{takes}.", (*amounts, *needed))]
    return [*said, Said(f"{interval} is {change} ({p.number}).", amounts)]


def counted(comparison: Comparison) -> list[Said]:
    """What was counted: how many measures differ, and the first of them; none where nothing was counted."""
    rows = [row for row in comparison.rows if row.kind == "counted"]
    telling = [row for row in rows if row.state in TELLING]
    whole, n = Amount(len(rows), ""), Amount(len(telling), "")
    if not rows:
        return []
    if not telling:
        return [Said(f"All counters are identical: {q.counted(len(rows), 'measure')}.", (whole,))]
    differ = "differs" if len(telling) == 1 else "differ"
    first = [both(row, comparison.margin) for row in telling[:2] if row.values_a and row.values_b]
    return [Said(f"{n.number} of {q.counted(len(rows), 'counted measure')} {differ}.", (n, whole)), *first]


def answers(comparison: Comparison) -> list[list[Said]]:
    """The findings of a comparison, the counted ones first, and last what makes the timed ones doubtful."""
    rows = comparison.not_zero(*ASKED)
    lines = [counted(comparison)]
    lines += [[both(row, comparison.margin), *([] if row.once else certain(row))] for row in rows]
    return [line for line in (*lines, _once(rows), *disturbed(comparison)) if line]


def _once(rows: Sequence[Compared]) -> list[Said]:
    """That times of one run each have no error bar, and what it takes to have one; nothing of other rows."""
    found = [row.difference for row in rows if certain(row) == [NO_ERROR_BAR]]
    needed = [of.runs_needed for of in found if of is not None and of.runs_needed is not None]
    if not needed:
        return [NO_ERROR_BAR] if found else []
    least = Amount(max(needed), "")
    return [NO_ERROR_BAR, Said(f"An interval takes at least {least.number} runs per side.", (least,))]


def disturbed(comparison: Comparison) -> list[list[Said]]:
    """The sides whose threads waited for processors."""
    lines = []
    for side in (comparison.a, comparison.b):
        n = sum(check.key == Key.INTERFERENCE and check.state == "warning" for run in side.runs for check in run.checks)
        if n:
            counts = (Amount(n, ""), Amount(len(side.runs), "")) if len(side.runs) > 1 else ()
            some = f"in {counts[0].number} of {counts[1].number} runs " if counts else ""
            who = f"{side.name}: {some}threads waited for processors that other programs or the kernel had."
            remedy = "What differs in time may be due to that: if other programs ran, repeat the runs without them."
            lines.append([Said(who, counts), Said(remedy)])
    return lines


def text_of(line: Sequence[Said]) -> str:
    """The sentences one after the other."""
    return " ".join(said.text for said in line)
