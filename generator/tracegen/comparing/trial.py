"""Tries a remedy: the experiment with and without it, and whether the measured gain is the predicted one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from tracegen.analysis.remedies.remedy import Remedy
from tracegen.comparing.comparison import Comparison, compare
from tracegen.contract.errors import SettingsError
from tracegen.contract.experiment import LIMITS, Experiment
from tracegen.contract.facts import Facts, Tried
from tracegen.contract.matrix import word_of
from tracegen.contract.toml_text import toml_text
from tracegen.publishing.side import Side

SPEED = {"generate": "tokens_per_second_generate", "prompt": "tokens_per_second_prompt"}
# Measures of the time of a token, or the prompt, that say what became of a prediction.
PARTS = {
    "generate": ("token_ns_median", "disk_wait_ns_per_token", "paging_ns_per_token", "processor_wait_ns_per_token"),
    "prompt": ("ttft_ns",),
}


@dataclass(frozen=True)
class Trial:
    """What is tried: a setting with the value that the run had, and those of the remedy."""

    of: str
    remedy: Remedy
    setting: str
    before: object
    values: tuple[object, ...]

    @property
    def name(self) -> str:
        """The name of the experiment that has the runs: `big-run-001-read-ahead`, `big-v1-memory`."""
        return f"{self.of.replace('/', '-').replace('@', '-')}-{self.remedy.key}"


def trial(of: str, remedy: Remedy, experiment: Experiment, facts: Facts) -> Trial:
    """The trial of a remedy of a run. Raises SettingsError where no setting tries it."""
    if not remedy.settings:
        raise SettingsError(f"{of}: no setting of an experiment tries this remedy; it takes another model or machine")
    (key,) = remedy.settings[0]
    return Trial(of, remedy, key, _before(key, experiment, facts), tuple(values[key] for values in remedy.settings))


def _before(key: str, experiment: Experiment, facts: Facts) -> object:
    """The value that the run had; of a read-ahead that was left as it was, that of the device."""
    value: object = getattr(experiment, key)
    if value is None and key == "read_ahead_kib":
        size = facts.conditions.read_ahead_bytes
        value = None if size is None else size // 1024
    if value is None:
        raise SettingsError(f"{key}: the run does not say what it was, so there is nothing to compare with")
    return value


def text_of(trial: Trial, experiment: Experiment, pairs: int) -> str:
    """The experiment.toml of a trial: the settings of the run, and a matrix of the setting's values.

    Its question has the prediction: what was predicted before the runs is what they are judged by.
    """
    defaults = {f.name: f.default for f in fields(experiment)}
    used = {name: getattr(experiment, name) for name in defaults if name not in ("name", "question", "asks", "repeat")}
    used = {name: value for name, value in used.items() if value != defaults[name]}
    limits = {name: used.pop(name) for name in LIMITS if name in used}
    used.pop(trial.setting, None)
    low, high = trial.remedy.gain
    predicted = f"{low:.3g} to {high:.3g} times as fast"
    question = f"Does {trial.setting} gain what the report of {trial.of} predicts: {predicted}?"
    matrix = {trial.setting: [trial.before, *trial.values], "repeat": pairs}
    settings: dict[str, object] = {"question": question, **used, "control": False}
    return toml_text({**settings, **({"limits": limits} if limits else {}), "matrix": matrix})


def judged(trial: Trial, cells: Sequence[Side]) -> list[tuple[Tried, Comparison]]:
    """What was measured of each value, in the order of the trial. Raises SettingsError without runs of both sides."""
    sides = {cell.runs[0].factors.get(trial.setting): cell for cell in cells}
    base, *others = (sides.get(_written(trial.setting, value)) for value in (trial.before, *trial.values))
    if base is None or not any(others):
        raise SettingsError(f"{trial.name}: has no usable runs with and without the remedy; run it again")
    found = []
    for value, side in zip(trial.values, others, strict=True):
        if side is not None:
            comparison = compare(base, side)
            found.append((_judged(trial, value, comparison), comparison))
    return found


def best(found: Sequence[tuple[Tried, Comparison]]) -> Tried:
    """Of a sweep, the value with which tokens were fastest."""
    return max((tried for tried, _ in found), key=lambda tried: tried.measured)


def _written(key: str, value: object) -> str:
    """A value as the cell of a matrix has it in its name."""
    return word_of(key, list(value) if isinstance(value, tuple) else value)


def _judged(trial: Trial, value: object, comparison: Comparison) -> Tried:
    row = comparison.known(SPEED[trial.remedy.phase])
    of = None if row is None else row.difference
    if row is None or of is None or of.relative is None:
        raise SettingsError(f"{trial.name}: no run has a speed to compare")
    low, high = trial.remedy.gain
    gain = 1 + of.relative
    inside = low <= gain <= high
    undecided = row.state in ("not enough runs", "interval without zero")
    outcome = "not decided" if undecided else "as predicted" if inside else "not as predicted"
    return Tried(
        of=trial.of,
        experiment=trial.name,
        remedy=trial.remedy.key,
        setting=trial.setting,
        before=_written(trial.setting, trial.before),
        after=_written(trial.setting, value),
        predicted_low=low,
        predicted_high=high,
        measured=gain,
        low=1 + of.ends[0] if of.ends else None,
        high=1 + of.ends[1] if of.ends else None,
        pairs=min(of.n_a, of.n_b),
        outcome=outcome,
        parts=_parts(comparison, trial.remedy.phase),
        phase=trial.remedy.phase,
    )


def _parts(comparison: Comparison, phase: str) -> Mapping[str, tuple[float, ...]]:
    rows = {key: comparison.known(key) for key in PARTS[phase]}
    return {row.label: (row.a, row.b) for row in rows.values() if row and row.a is not None and row.b is not None}
