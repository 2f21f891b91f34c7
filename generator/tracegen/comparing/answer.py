"""The answer of a comparison: which model or settings were others, and what that changed, in sentences."""

from collections.abc import Iterator, Sequence

from tracegen.analysis.measures import ASKED
from tracegen.comparing import prose
from tracegen.comparing.comparison import TELLING, Compared, Comparison
from tracegen.comparing.conditions import Differs, differing
from tracegen.comparing.effects import Effect
from tracegen.comparing.token_time import parts, some_tokens
from tracegen.contract import quantities as q
from tracegen.contract.experiment import SETTINGS
from tracegen.publishing.side import Side
from tracegen.report.document.amount import Amount, Said

MOST_NAMED, MOST_MEASURES = 4, 3
SURE = 10  # times: fewer, of a coarse clock, may agree by chance
TOUCHED = ("mapped_bytes_per_token", "copied_bytes_per_token")
READ = "disk_read_bytes"
NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def answer(comparison: Comparison, factor: Effect | None = None) -> str:
    """`One setting differs: threads is 2 in A and 1 in B. Generation speed is 20.1 tokens/s in A and …`."""
    return prose.text_of(sentences(comparison, factor))


def sentences(comparison: Comparison, factor: Effect | None = None) -> list[Said]:
    """What was set differently, and what that changed: first how many settings differ, as of several none is the cause.

    Then what was timed (speed, where the time went, bytes read) and how certain it is, then what was counted, last what
    settings were there to change and did not. `factor` is what differs if the runs do not say it.
    """
    found = differing(comparison.a, comparison.b)
    other = _is_other_model(comparison, found)
    changed = [d for d in found if d.group == "Setting" and d.known and (d.key != "model" or other is None)]
    if not changed and _are_one_run(comparison):
        return [Said("Both sides are one run: all times are equal to the nanosecond.")]
    said = [*_causes(comparison, found, changed, other=bool(other), factor=factor), *_timed(comparison)]
    said += [prose.both(row, comparison.margin) for row in _touched(comparison)]
    rows = [row for row in comparison.rows if row.kind == "counted"]
    if not said or not any(row.state in TELLING for row in rows):
        said += [*prose.counted(comparison), *_unchanged(comparison, changed)]
    return said or [Said("No measure is known of either side.")]


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
    return f"{answer(most.comparison, most)}{rest}"


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


def _causes(
    comparison: Comparison, found: Sequence[Differs], changed: Sequence[Differs], *, other: bool, factor: Effect | None
) -> list[Said]:
    """What may have caused the difference: one setting with both values, or that there are several."""
    names = [*["model"] * other, *(one.key for one in changed)]
    build = (
        ["build of llama.cpp"]
        if any(d.known and d.group == "llama.cpp" and "hooked" not in d.key for d in found)
        else []
    )
    n = len(names) + len(build)
    models = [_models(comparison)] if other else []
    if n > 1:
        named, left = [*names, *build][:MOST_NAMED], n - MOST_NAMED
        listed = ", ".join(named) if left <= 0 else f"{', '.join(named)} and {left} more"
        many, things = NUMBERS[n] if n < len(NUMBERS) else q.count(n), "things" if build else "settings"
        cause = f"{many} {things} differ ({listed}), so the difference cannot be assigned to one of them."
        return [Said(cause, (Amount(n, ""), *[Amount(left, "")] * (left > 0))), *models]
    if changed:
        return [Said(f"One setting differs: {_setting(changed[0])}.")]
    if factor is not None and not n:
        return [Said(f"One factor differs: {factor.factor} is {factor.a} in A and {factor.b} in B.")]
    return models or [Said("The build of llama.cpp differs.")] * len(build)


def _models(comparison: Comparison) -> Said:
    """`The model of A is moe (26.3 MiB), that of B SmolLM2 (93.8 MiB).`"""
    sides = comparison.a, comparison.b
    sizes = [side.typical.facts.model.size_bytes or side.typical.value("file_bytes") for side in sides]
    named = [f"{_model(side)} ({q.size(size)})" for side, size in zip(sides, sizes, strict=True)]
    amounts = tuple(Amount(size, "bytes") for size in sizes if size is not None)
    if named[0] == named[1]:
        return Said(f"B has another file of the model {named[0]}.", amounts)
    return Said(f"The model of A is {named[0]}, that of B {named[1]}.", amounts)


def _model(side: Side) -> str:
    names = {run.facts.model.name or run.facts.model.file for run in side.runs}
    return q.counted(len(names), "model") if len(names) > 1 else q.printable(str(names.pop() or "of unknown name"))


def _setting(one: Differs) -> str:
    """A setting with both values, where each side has one that is short."""
    other = SETTINGS[one.key].as_other if one.key in SETTINGS else ""
    if other or len(one.a) > 1 or len(one.b) > 1:
        return f"B has {other}" if other else one.key
    return f"{one.key} is {_value(one.key, *one.a)} in A and {_value(one.key, *one.b)} in B"


def _value(key: str, value: str) -> str:
    if not key.endswith("_gb"):
        return value
    return "none" if value in ("none", "as is") else f"{value} GiB"


def _timed(comparison: Comparison) -> list[Said]:
    """The measures asked about that differ, by the rule, else the first, and where the time of a token went."""
    rows = comparison.not_zero(*ASKED)
    shown = [row for row in rows if row.state == "different"][:MOST_MEASURES] or rows[:1]
    if not shown:
        return []
    lead, *others = shown
    said = [prose.both(lead, comparison.margin), *prose.certain(lead), *some_tokens(comparison), *parts(comparison)]
    read = [row for row in rows if row.key == READ and row not in shown and row.difference and not row.several]
    return said + [prose.both(row, comparison.margin) for row in (*others, *read)]


def _touched(comparison: Comparison) -> list[Compared]:
    """The bytes of weights that a token touches, if they differ: these are counted."""
    return [row for key in TOUCHED if (row := comparison.known(key)) and row.state == "different"]


def _unchanged(comparison: Comparison, changed: Sequence[Differs]) -> Iterator[Said]:
    """The measures that settings are there to change, and did not."""
    keys: dict[str, str] = {}
    for one in changed:
        if one.key in SETTINGS and SETTINGS[one.key].changes:
            keys.setdefault(SETTINGS[one.key].changes, one.key)
    for key, setting in keys.items():
        row = comparison.known(key)
        if row is not None and row.state == "equal":
            yield prose.both(row, comparison.margin, f", which {setting} is there to change")
