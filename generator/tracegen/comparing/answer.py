"""The answer of a comparison in one line: what was set differently, and what that changed."""

from collections.abc import Sequence

from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import TELLING, Compared, Comparison
from tracegen.comparing.conditions import Differs, differing
from tracegen.comparing.measures import AFTER_LOADING, ASKED, WHILE_LOADING
from tracegen.contract import quantities as q

# Setting -> the measure that it is there to change: phase, what.
MEANT = {
    "repack": ("generate", "weights touched by a token, copied"),
    "prefault": ("", WHILE_LOADING),
    "page_cache": ("", AFTER_LOADING),
    "memory_limit_gb": ("", AFTER_LOADING),
    "mlock_gb": ("", AFTER_LOADING),
}
LONG = {"prompt": "another prompt", "model": "another model", "flags": "other flags"}  # settings without their values
MOST_SETTINGS, MOST_MEASURES = 3, 2


def answer(comparison: Comparison) -> str:
    """`memory_limit_gb none → 0.12: generation, speed, 159 → 18.1 tokens/s …`."""
    changed = [d for d in differing(comparison.a, comparison.b) if d.group == "Setting"]
    told = _asked(comparison)
    counted = [row for row in comparison.rows if row.kind == "counted"]
    if counted and not any(row.state in TELLING for row in counted):
        told.append("nothing that was counted changed")
    told += _without_effect(comparison, changed)
    said = "; ".join(told) or say.in_brief(comparison)
    named = _settings(changed)
    return q.ended(f"{named}: {said}" if named else f"{said[:1].upper()}{said[1:]}")


def _settings(changed: Sequence[Differs]) -> str:
    """The settings that differ, the first with their values; empty if none does."""
    named = []
    for one in changed[:MOST_SETTINGS]:
        values = [", ".join(of) for of in (one.a, one.b)]
        plain = one.key not in LONG and len(one.a) == len(one.b) == 1
        named.append(f"{one.key} {values[0]} → {values[1]}" if plain else LONG.get(one.key, f"other {one.key}"))
    left = len(changed) - MOST_SETTINGS
    return ", ".join([*named, f"{q.counted(left, 'other setting')}"] if left > 0 else named)


def _asked(comparison: Comparison) -> list[str]:
    """The measures asked about that differ; without one, why the first of them shows no difference."""
    rows = [row for place in ASKED if (row := _both(comparison, *place)) is not None]
    different = [row for row in rows if row.state == "different"]
    if different:
        return [_difference(row) for row in different[:MOST_MEASURES]]
    return [_no_difference(row, comparison.margin) for row in rows[:1]]


def _both(comparison: Comparison, phase: str, what: str) -> Compared | None:
    """The measure of a run, if runs of both sides have it and it is not 0 in all."""
    row = comparison.named(phase, "run", "", what)
    if row is None or not (row.values_a and row.values_b) or not (any(row.values_a) or any(row.values_b)):
        return None
    return row


def _difference(row: Compared) -> str:
    found = row.difference
    assert found is not None
    how = "better" if row.better else "worse"
    by = f", {how} by {say.size_of(row.relative)}" if row.relative else f", {how}"
    return f"{_named(row)}{_medians(row)}{by} ({q.p_words(found.p_held)}, {_runs(row)})"


def _no_difference(row: Compared, margin: float) -> str:
    if row.state == "same within the margin":
        return f"{_named(row)}{_medians(row)}, {say.state(row, margin)} ({_runs(row)})"
    if len(row.values_a) == len(row.values_b) == 1:
        return f"{_named(row)}{_medians(row)} in one run a side, which is too few to show a difference"
    if row.state in ("equal", "not comparable"):
        return f"{_named(row)}{_medians(row)}, {'equal' if row.state == 'equal' else 'of machines that differ'}"
    return f"no difference in {_named(row)} was shown{_medians(row)} ({say.state(row, margin)}, {_runs(row)})"


def _named(row: Compared) -> str:
    """`generation speed`."""
    return " ".join(filter(None, (say.PHASES[row.phase], row.what)))


def _runs(row: Compared) -> str:
    return f"n = {len(row.values_a)} and {len(row.values_b)}"


def _medians(row: Compared) -> str:
    return "" if row.several else f", {say.value(row.a, row.unit)} → {say.value(row.b, row.unit)}"


def _without_effect(comparison: Comparison, changed: Sequence[Differs]) -> list[str]:
    """The settings that left the measure as it was that they are there to change."""
    told = []
    for setting in (one.key for one in changed if one.key in MEANT):
        phase, what = MEANT[setting]
        row = comparison.named(phase, "run", "", what)
        if row is not None and row.values_a and row.values_b and set(row.values_a) == set(row.values_b):
            told.append(f"{_named(row)}, {say.value(row.a, row.unit)} on both sides: {setting} changed nothing here")
    return told
