"""The answer of a comparison in one line: which model or setting was another, and what that changed."""

from collections.abc import Sequence

from tracegen.analysis.measures import ASKED
from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import TELLING, Compared, Comparison
from tracegen.comparing.conditions import Differs, differing
from tracegen.comparing.effects import Effect
from tracegen.contract import quantities as q
from tracegen.contract.experiment import SETTINGS
from tracegen.publishing.side import Side

WAITING = "disk_wait_ns_per_token"
MOST_SETTINGS, MOST_MEASURES = 3, 3
SURE = 10  # times: fewer, of a coarse clock, may agree by chance
TOUCHED = ("mapped_bytes_per_token", "copied_bytes_per_token")


def answer(comparison: Comparison, factor: str = "") -> str:
    """`memory_limit_gb none → 0.12 GiB: generation speed, 159 tokens/s → 18.1 tokens/s …`.

    The model comes first if it is another, then settings that both sides hold, then what was timed (speed, bytes read,
    waiting) and how certain it is, then what was counted, last what settings were there to change and did not.
    `factor` names what differs if the runs do not.
    """
    found = differing(comparison.a, comparison.b)
    other = _is_other_model(comparison, found)
    changed = [d for d in found if d.group == "Setting" and d.known and (d.key != "model" or other is None)]
    if not changed and _are_one_run(comparison):
        return "Both sides are one run: all times are equal to the nanosecond."
    parts = say.findings([*_timed(comparison), *_touched(comparison)], comparison.margin)
    counted = [row for row in comparison.rows if row.kind == "counted"]
    if counted and not any(row.state in TELLING for row in counted):
        unchanged = say.findings(_unchanged(comparison, changed), comparison.margin)
        parts += ["all counters are identical", *unchanged]
    change = "; ".join(parts) or say.in_brief(comparison)
    named = ", ".join([*([_models(comparison)] if other else []), *_settings(changed)]) or factor
    return q.ended(f"{named}: {change}" if named else f"{change[:1].upper()}{change[1:]}")


def matrix_answer(effects: Sequence[Effect]) -> str:
    """The answer of the factor that changed a speed most, by the rule; of the first one if none did. Empty without any.

    `effects` are those of a matrix, each value of a factor with its first one.
    """

    def change(effect: Effect) -> float:
        rows = [effect.comparison.named(key) for key in ASKED[:2]]
        ratios = [1 + row.relative for row in rows if row and row.state == "different" and row.relative is not None]
        return max((max(ratio, 1 / ratio) for ratio in ratios if ratio > 0), default=1.0)

    if not effects:
        return ""
    most = max(effects, key=change)  # the first of several
    others = len({effect.factor for effect in effects}) - 1
    rest = f" {q.counted(others, 'other factor')} varied, too." if others else ""
    return f"{answer(most.comparison, most.name)}{rest}"


def _are_one_run(comparison: Comparison) -> bool:
    """Whether both sides have a single run and all is equal, so many times too that chance would not do it."""
    same = all(len(row.values_a) <= 1 and row.values_a == row.values_b for row in comparison.rows)
    return same and sum(row.unit == "ns" for row in comparison.rows) >= SURE


def _is_other_model(comparison: Comparison, found: Sequence[Differs]) -> bool | None:
    """Whether the sides have different models: by hash, else by what is known of the files; None if nothing tells."""
    keys = {one.key for one in found if one.group == "Model" and one.known}
    if all(run.facts.model.sha256 for side in (comparison.a, comparison.b) for run in side.runs):
        return "sha256" in keys
    size = comparison.named("file_bytes")
    return bool(keys & {"name", "size_bytes"}) or (size is not None and size.state == "different") or None


def _models(comparison: Comparison) -> str:
    """`Model moe, 26.3 MiB → SmolLM2, 93.8 MiB`."""
    a, b = _model(comparison.a), _model(comparison.b)
    return f"Model {a} → {b}" if a != b else f"Another file of the model {a}"


def _model(side: Side) -> str:
    names = {run.facts.model.name or run.facts.model.file for run in side.runs}
    if len(names) > 1:
        return q.counted(len(names), "model")
    size = side.typical.facts.model.size_bytes or side.typical.value("file_bytes")
    return f"{q.printable(str(names.pop() or 'of unknown name'))}, {q.size(size)}"


def _settings(changed: Sequence[Differs]) -> list[str]:
    """The settings that differ, the first with their values."""
    named = []
    for one in changed[:MOST_SETTINGS]:
        other = SETTINGS[one.key].as_other if one.key in SETTINGS else ""
        plain = not other and len(one.a) == len(one.b) == 1
        change = " → ".join(_value(one.key, *side) for side in (one.a, one.b)) if plain else ""
        named.append(f"{one.key} {change}" if plain else other or f"other {one.key}")
    left = len(changed) - MOST_SETTINGS
    return [*named, q.counted(left, "other setting")] if left > 0 else named


def _value(key: str, value: str) -> str:
    if not key.endswith("_gb"):
        return value
    return "none" if value in ("none", "as is") else f"{value} GiB"


def _timed(comparison: Comparison) -> list[Compared]:
    """The measures asked about that differ; without one, the first, and where runs are too few bytes and waiting."""
    rows = comparison.not_zero(*ASKED, WAITING)
    different = [row for row in rows if row.state == "different"][:MOST_MEASURES]
    few = [row for row in rows if row.difference is not None and row.difference.low is None]
    also = [row for row in few if row.key in ("disk_read_bytes", WAITING)] if rows[:1] == few[:1] else []
    return different or list(dict.fromkeys([*rows[:1], *also]))


def _touched(comparison: Comparison) -> list[Compared]:
    """The bytes of weights that a token touches, if they differ: these are counted."""
    return [row for key in TOUCHED if (row := comparison.known(key)) and row.state == "different"]


def _unchanged(comparison: Comparison, changed: Sequence[Differs]) -> list[Compared]:
    """The measures that settings are there to change, and did not."""
    keys = dict.fromkeys(SETTINGS[one.key].changes for one in changed if one.key in SETTINGS)
    return [row for key in keys if key and (row := comparison.known(key)) and row.state == "equal"]
