"""Key figures of an experiment over its versions, and what was different at each step; all of it from the bundles."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from tracegen.contract.model import cell_name
from tracegen.contract.text import text_of, three
from tracegen.publishing.cells import same_cell, version_before
from tracegen.site.about import PROMPT_RATE, RATE, SHARE, About, cut, one_line
from tracegen.site.entry import Entry
from tracegen.site.outcomes import Outcome, outcome
from tracegen.site.ranges import Range

FIGURES = (  # key of the value, head of its column
    (RATE, "Generation"),
    (PROMPT_RATE, "Prompt"),
    (SHARE, "Touched of the file"),
    ("bytes_touched_per_token", "Touched per token, buffers too"),
    ("peak_buffer_bytes", "Buffers at their peak"),
)
SCRIPT = "trend.js"
WIDTH, HEIGHT, EDGE = 96, 40, 3  # px of a line
_HOOKED = "build.hooked"
_HOOKS = re.compile(r"hooks = ([0-9a-f]{6,})")
_SHORT = 40  # characters of a value
_FACTS = (  # group, fact, how a step names it
    ("model", "name", "model"),
    ("model", "file", "model file"),
    ("model", "sha256", "sha256 of the model"),
    ("model", "architecture", "architecture"),
    ("model", "size_bytes", "size of the model"),
    ("llama_cpp", "version", "llama.cpp"),
    ("versions", "tracegen", "tracegen"),
    ("trace", "reader", "form of the trace"),
    ("trace", "attached", "attached"),
    ("host", "cpu", "CPU"),
    ("host", "cores", "cores"),
    ("host", "memory_bytes", "memory"),
    ("host", "kernel", "kernel"),
)
_NO_CONDITIONS = ("question", "tags", "prompt", "private")  # settings that say nothing of how a run is measured


@dataclass(frozen=True)
class Cell:
    """A figure of a version as text, its range over the runs of the version, and its change against the version before.

    Empty where one is not known; a version of a single run has no range.
    """

    text: str
    range: str = ""
    change: str = ""


@dataclass(frozen=True)
class Row:
    """The figures of a version, in the order of FIGURES; `factors`: those of its cell of a matrix."""

    name: str
    cells: tuple[Cell, ...]
    factors: str


@dataclass(frozen=True)
class Step:
    """What is different in the version `name` from the one `before`, and what its comparison says, if the site has one.

    That may be a comparison with another version than `before`: `outcome.against` names it.
    """

    name: str
    before: str
    words: str
    outcome: Outcome | None


@dataclass(frozen=True)
class Trend:
    """Rows and steps, newest first, and a line for each figure, oldest version at the left.

    `single` and `several`: some version has a single run, or the range of several.
    """

    rows: tuple[Row, ...]
    steps: tuple[Step, ...]
    lines: tuple[Markup, ...]
    single: bool
    several: bool

    @property
    def compared(self) -> bool:
        """Whether the site has the comparison of a step."""
        return any(step.outcome and step.outcome.slug for step in self.steps)

    @property
    def not_compared(self) -> Step | None:
        """The newest step whose version the site compares with no other."""
        return next((step for step in self.steps if step.outcome is None), None)

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads of the columns."""
        return tuple(head for _, head in FIGURES)


def trend(entry: Entry) -> Trend | None:
    """The versions of an experiment that are not withdrawn; None if there are fewer than two."""
    published = [p for p in reversed(entry.published) if p.version.status != "withdrawn"]
    if len(published) < 2:
        return None
    bundles = [p.bundle for p in published]
    names = {p.bundle.folder: p.version.name for p in published}
    rows, steps = [], []
    for i, bundle in enumerate(bundles):
        name, last = names[bundle.folder], version_before(bundle, bundles[:i][::-1])
        old, new = entry.abouts[names[last.folder]] if last else None, entry.abouts[name]
        factors = cell_name(bundle.cell.get("factors", {}))
        rows.append(Row(name, tuple(_cell(key, old, new) for key, _ in FIGURES), factors))
        if old is not None and last is not None:
            words = "; ".join(differences(old, new))
            steps.append(Step(name, names[last.folder], words, outcome(entry.comparisons, name)))
    abouts = [entry.abouts[name] for name in names.values()]
    lines = tuple(line([(a.typical(key), a.range(key)) for a in abouts]) for key, _ in FIGURES)
    if len(set(map(same_cell, bundles))) > 1:
        lines = ()  # a line from one cell to another would be no trend
    several = [any(cell.range for cell in row.cells) for row in rows]
    return Trend(tuple(reversed(rows)), tuple(reversed(steps)), lines, not all(several), any(several))


def _cell(key: str, old: About | None, new: About) -> Cell:
    before, after = None if old is None else old.typical(key), new.typical(key)
    over_runs = new.range(key)
    changed = "" if before is None or after is None else change(before, after, points=key == SHARE)
    return Cell(new.typical_text(key), over_runs.words if over_runs else "", changed)


def change(before: float, after: float, *, points: bool = False) -> str:
    """`+12.3 %`, `same`, `nearly the same` below 0.05; of shares with `points`, `+1.2 points`: they are per cent."""
    if before == after:
        return "same"
    if points:
        amount, unit = abs(after - before) * 100, "points"
    elif before <= 0:
        return ""
    else:
        amount, unit = abs(after / before - 1) * 100, "%"
    if amount < 0.05:
        return "nearly the same"
    shown = three(amount) if amount >= 100 else f"{amount:.1f}"
    return f"{'+' if after > before else '−'}{shown}\u202f{unit}"


def differences(old: About, new: About) -> Iterator[str]:
    """What differs between the settings, models, programs and hosts of two versions, in words."""
    if not old.facts or not new.facts:
        yield "the settings of one of them are not recorded"
        return
    settings = [_settings(about) for about in (old, new)]
    parts = [*_both(*settings), *_named_facts(old, new)]
    if _build(old) != _build(new):
        parts.append("build of llama.cpp")
    if (hooks := [_hooks(about) for about in (old, new)])[0] != hooks[1]:
        parts.append("hooks " + _step(*(name or "not recorded" for name in hooks)))
    if (prompts := [_prompt(about) for about in (old, new)])[0] != prompts[1] and all(prompts):
        parts.append("prompt")
    yield from parts or ["no difference in settings, model, llama.cpp, tracegen or host that both record"]
    for n, words in (
        (len(settings[1].keys() - settings[0].keys()), "recorded for the first time"),
        (len(settings[0].keys() - settings[1].keys()), "no longer recorded"),
    ):
        if n:
            yield f"{n} setting{'s' * (n > 1)} {'is' if n == 1 else 'are'} {words}"


def _settings(about: About) -> dict[str, str]:
    known = about.facts.get("settings", {}).items()
    return {name: one_line(text_of(value)) for name, value in known if name not in _NO_CONDITIONS}


def _both(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    return [f"{name} {_step(old[name], text)}" for name, text in new.items() if name in old and old[name] != text]


def _named_facts(old: About, new: About) -> Iterator[str]:
    for group, name, words in _FACTS:
        before, after = old.fact(group, name), new.fact(group, name)
        if before and after and before != after:
            yield f"{words} {_step(*(text[:8] if name == 'sha256' else text for text in (before, after)))}"


def _step(before: str, after: str) -> str:
    return f"{cut(before, _SHORT)} → {cut(after, _SHORT)}"


def _build(about: About) -> dict[str, object]:
    """How llama.cpp was built, without the hooks in it."""
    return {name: text for name, text in (about.value("llama_cpp", "build") or {}).items() if name != _HOOKED}


def _hooks(about: About) -> str:
    found = _HOOKS.search(str((about.value("llama_cpp", "build") or {}).get(_HOOKED)))
    return found[1] if found else ""


def _prompt(about: About) -> str:
    """The prompt on the command line; empty if it is not there, or private."""
    words = about.facts.get("command") or ()
    return next((word for option, word in pairwise(words) if option in ("-p", "--prompt")), "")


def line(values: Sequence[tuple[float | None, Range | None]]) -> Markup:
    """The figure of each version as a small drawing, from 0 to the largest, with a bar for each range.

    Empty if fewer than two figures are known.
    """
    known = [(i, value, over_runs) for i, (value, over_runs) in enumerate(values) if value is not None and value >= 0]
    if len(known) < 2:
        return Markup()
    top = max(over_runs.most if over_runs else value for _, value, over_runs in known) or 1.0

    def x(i: int) -> str:
        return f"{round(EDGE + (WIDTH - 2 * EDGE) * i / (len(values) - 1), 1):g}"

    def y(value: float) -> str:
        return f"{round(EDGE + (HEIGHT - 2 * EDGE) * (1 - value / top), 1):g}"

    bars = "".join(f"M{x(i)} {y(r.least)}V{y(r.most)}" for i, _, r in known if r and r.most > r.least)
    last, value, _ = known[-1]
    return Markup(
        '<svg class="tracegen-line" width="{w}" height="{h}" viewBox="0 0 {w} {h}" aria-hidden="true">'
        '<path d="M0 {base}H{w}"/>{bars}<polyline points="{path}"/><circle cx="{x}" cy="{y}" r="2.5"/></svg>'
    ).format(
        w=WIDTH,
        h=HEIGHT,
        base=HEIGHT - EDGE,
        path=" ".join(f"{x(i)},{y(value)}" for i, value, _ in known),
        bars=Markup('<path class="tracegen-bars" d="{}"/>').format(bars) if bars else "",
        x=x(last),
        y=y(value),
    )
