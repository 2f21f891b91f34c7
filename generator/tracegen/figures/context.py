"""What all pages of a report share: the run, its tables, the analyses made once, and the files made so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import pandas as pd

from tracegen.analysis import (
    accesses,
    buffers,
    coverage,
    experts,
    heatmap,
    held,
    operations,
    pass_parts,
    passes,
    routing,
    summary,
    timing,
)
from tracegen.charts import svg
from tracegen.charts.svg import Drawing
from tracegen.figures import needs
from tracegen.model import Run, Version
from tracegen.pages.explorers.packing import script_json
from tracegen.pages.figure_data import figure_data
from tracegen.pages.page import Figure
from tracegen.pages.views import Fact, FigureView, Files, Group
from tracegen.words import sentences
from tracegen.words.quantities import UNKNOWN, printable

Made = TypeVar("Made")
OUTSIDE = "Load and warm-up are outside every statistic."


@dataclass
class Context:
    """A run under report. `tables` are the contract's; `files` and `figures` grow while pages are made.

    `executor` draws charts meanwhile; `finish` waits for the drawings.
    """

    run: Run
    tables: Mapping[str, pd.DataFrame]
    address: str
    citable: Version | None
    executor: Executor | None = None
    files: Files = field(default_factory=Files)
    figures: list[Figure] = field(default_factory=list)
    drawings: dict[str, Drawing] = field(default_factory=dict)
    values: dict[str, dict[str, object]] = field(default_factory=dict)
    _once: dict[str, Any] = field(default_factory=dict)

    def once(self, key: str, make: Callable[[], Made]) -> Made:
        """What `make` gives, made when it is asked for first: several pages need it."""
        if key not in self._once:
            self._once[key] = make()
        made: Made = self._once[key]
        return made

    @cached_property
    def measured(self) -> pd.DataFrame:
        """The passes that statistics count, with their durations."""
        return passes.measured(self.tables)

    @cached_property
    def labels(self) -> dict[int, str]:
        """What each pass is called."""
        return passes.labels(self.tables)

    @cached_property
    def held(self) -> dict[int, int]:
        """The generated token that the row of a pass holds, by pass; those of which it is known."""
        rows = held.held(self.tables).dropna(subset=["generated_token"])
        return {int(p): int(k) for p, k in zip(rows["pass_id"], rows["generated_token"], strict=True)}

    @cached_property
    def ops(self) -> pd.DataFrame:
        """All op rows of all passes, warm-up included."""
        return operations.op_rows(self.tables, accessed=self.accessed)

    @cached_property
    def _accesses(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Accesses, ranges and what is unseen of all passes; the operands they are made from are large and not kept."""
        rows, given = accesses.placed(self.tables), self.tables
        ranges, unseen = accesses.ranges(given, rows=rows), accesses.unseen(given, rows=rows)
        return accesses.accesses(given, rows=rows), ranges, unseen

    @property
    def accessed(self) -> pd.DataFrame:
        """All accesses of all passes, warm-up included."""
        return self._accesses[0]

    @property
    def used(self) -> pd.DataFrame:
        """File ranges used, warm-up included."""
        return self._accesses[1]

    @cached_property
    def display_rows(self) -> pd.DataFrame:
        """Which row of a picture of all passes each of them belongs to."""
        return heatmap.display_rows(self.tables)

    @cached_property
    def buffer_use(self) -> pd.DataFrame:
        """Bytes that each pass touched in each group of buffers."""
        return buffers.touched_by_group(self.tables, self.accessed)

    @cached_property
    def measured_used(self) -> pd.DataFrame:
        """File ranges used by measured passes."""
        return self.used[self.used["pass_id"].isin(self.measured["pass_id"])]

    @property
    def unseen(self) -> pd.DataFrame:
        """What measured passes used of the files while the trace does not hold which rows or experts."""
        rows = self._accesses[2]
        return rows[rows["pass_id"].isin(self.measured["pass_id"])]

    @cached_property
    def summary(self) -> summary.Summary:
        """The key figures."""
        return summary.summarise(self.tables, self.ops, self.measured_used, self.unseen)

    @cached_property
    def timed(self) -> pd.DataFrame:
        """Executed ops of prompt and generate passes."""
        return timing.timed_ops(self.tables, self.ops)

    @cached_property
    def pass_parts(self) -> pd.DataFrame:
        """What each pass consists of: operations, and what lies before, between and after them."""
        return pass_parts.pass_parts(self.tables)

    @cached_property
    def outside_ops(self) -> pd.DataFrame:
        """Time of prompt and generate passes that lies in no operation."""
        return timing.outside(self.tables, self.pass_parts)

    @cached_property
    def tokens(self) -> dict[str, int]:
        """Token rows per phase."""
        return timing.tokens_by_phase(self.tables)

    @property
    def phase(self) -> str:
        """The passes that stand for a token: generate, or prompt where the run generated nothing more."""
        return "generate" if self.summary.n_generate_passes else "prompt"

    @cached_property
    def tensor_use(self) -> pd.DataFrame:
        """Every tensor with what measured passes used of it."""
        return coverage.tensor_use(self.tables, self.measured_used, self.unseen)

    @cached_property
    def choice(self) -> experts.Choice:
        """How often each expert was chosen in generate passes."""
        return experts.choice(self.tables)

    @cached_property
    def chosen(self) -> pd.DataFrame:
        """The experts that each token row of generate passes chose."""
        return experts.generated(self.tables)

    @cached_property
    def choice_by_chance(self) -> float | None:
        """The share that the most chosen expert of a layer would get if tokens chose at random; None: not known."""
        made = self.choice
        if made.n_experts is None or made.n_chosen is None:
            return None
        return routing.most_chosen_by_chance(made.n_rows, made.n_chosen, made.n_experts)

    @cached_property
    def expert_layers(self) -> pd.DataFrame:
        """How uneven the choice of experts is in each layer."""
        return routing.layers(self.choice.counts)

    def fact(self, *path: str) -> Any:
        """A fact by its path, or None when any step is absent."""
        found: Any = self.run.facts
        for step in path:
            found = found.get(step) if isinstance(found, Mapping) else None
        return found

    def flag(self, *path: str) -> bool:
        """Whether a fact is true; absent is not."""
        return self.fact(*path) is True

    @property
    def private(self) -> bool:
        """Whether prompt and text are withheld."""
        return self.flag("text", "private") or self.flag("settings", "private")

    @property
    def time_note(self) -> str:
        """What must stand above every figure of times when a check of times did not pass; else empty."""
        warned = {c.key: c for c in self.run.checks if c.state in ("warning", "failed")}
        return sentences.times_with_care([warned[key] for key in needs.NOTED_ABOVE_TIMES if key in warned])

    @property
    def gaps(self) -> str:
        """What must stand beside every figure of bytes used when some of them are unknown; else empty."""
        names = [printable(name) for name in self.unseen["source_name"].drop_duplicates()]
        if not names:
            return ""
        why = "withheld, because the experiment is private" if self.private else "not recorded"
        which = ", ".join(names[:4]) + (f" and {len(names) - 4} more tensors" if len(names) > 4 else "")
        return f"Which rows or experts of {which} were used is {why}."

    @cached_property
    def padded(self) -> str:
        """What must stand beside bytes of the KV cache when nobody recorded which rows masks let through; or empty.

        Runs of before tracegen 0.2.0 are so, and attention that another backend ran.
        """
        rows = self.accessed
        masked = rows[(rows["op"] == "FLASH_ATTN_EXT").to_numpy(bool) & (rows["slot"] == "src3").to_numpy(bool)]
        seen = self.tables["touches"]
        seen = seen[(seen["slot"] == "src1").to_numpy(bool)][["pass_id", "node"]].drop_duplicates()
        if len(masked) == 0 or len(masked[["pass_id", "node"]].merge(seen)) == len(masked):
            return ""
        return (
            "Which rows of the KV cache the masks of attention let through was not recorded: all rows that are "
            "reserved count."
        )

    @cached_property
    def untimed(self) -> str:
        """Names of the backends whose operations have no times of their own; empty: there are none."""
        splits = self.tables["splits"]
        return ", ".join(printable(name) for name in sorted(splits.loc[~splits["by_op"], "backend"].unique()))

    def refusal(self, key: str) -> str:
        """Why a figure is not shown: failed checks that make it meaningless; empty when it is sound."""
        needed = needs.checks_of(key)
        failed = [c for c in self.run.checks if c.state == "failed" and c.key in needed]
        told = [f"Not drawn: the check “{c.title}” failed ({c.found}; limit {c.limit})." for c in failed]
        reasons = dict.fromkeys(needs.why(c.key) for c in failed)
        return " ".join([*told, *(f"{why[:1].upper()}{why[1:]}." for why in reasons)])

    def noted(self, key: str) -> str:
        """What the caption of a figure says of checks that warned; empty when none concerns it."""
        warned = [c for c in self.run.checks if c.state == "warning" and key in needs.noted_in(c.key)]
        return "".join(f" {c.title}: {c.found} (limit: {c.limit})." for c in warned)

    def value(self, key: str, value: object, unit: str, text: str) -> str:
        """Publish a named value and return its text; an unknown one is published as null."""
        exact = None if value is None else value
        self.values[key] = {"value": exact, "unit": unit, "text": text}
        return text

    def figure(
        self,
        key: str,
        page: str,
        title: str,
        caption: str,
        alt: str,
        chart: Callable[[], Any],
        *,
        data: pd.DataFrame,
        empty: str = "",
        numbers: Mapping[str, object] | None = None,
    ) -> FigureView:
        """Draw a chart with all its downloads, or say why there is none.

        `numbers` are what the lines that explain its data name as `$NAME`: see `explain`.
        """
        reason = self.refusal(key) or empty
        if reason:
            return FigureView(key, title, caption, alt, None, reason)
        caption += self.noted(key)
        return self.drawn(key, page, title, caption, alt, svg.draw(chart(), key, alt, self.executor), data, numbers)

    def drawn(
        self,
        key: str,
        page: str,
        title: str,
        caption: str,
        alt: str,
        drawing: Drawing,
        data: pd.DataFrame,
        numbers: Mapping[str, object] | None = None,
    ) -> FigureView:
        """Keep a drawing and describe it; a draft is drawn at every change and goes without PDF and PNG."""
        self.drawings[key] = drawing
        path = f"figures/{key}.svg"
        links = [("SVG", path)]
        if self.citable is not None:
            links += [("PDF", f"figures/{key}.pdf"), ("PNG", f"figures/{key}.png")]
        if drawing.spec is not None:
            links.append(("Vega-Lite", self.files.add(f"figures/{key}.vl.json", drawing.spec)))
        links.insert(
            0, ("data (CSV)", self.files.add(f"data/{key}.csv", data.to_csv(index=False, lineterminator="\n")))
        )
        self.figures.append(Figure(key, title, caption, alt, page, path))
        targets = f"figures/{key}.js" if drawing.targets else ""
        rows = figure_data(data)
        return FigureView(key, title, caption, alt, drawing, "", tuple(links), numbers or {}, targets, rows)

    def finish(self) -> None:
        """Keep the files of all drawings."""
        for key, drawing in self.drawings.items():
            self.files.add(f"figures/{key}.svg", drawing.svg)
            if drawing.targets:
                script = f"window.tracegenFigure({script_json(key)},{script_json(drawing.targets())});\n"
                self.files.add(f"figures/{key}.js", script)
            if self.citable is not None:
                self.files.add(f"figures/{key}.pdf", drawing.pdf)
                self.files.add(f"figures/{key}.png", drawing.png)

    def csv(self, name: str, data: pd.DataFrame) -> str:
        """Keep a table as CSV and return its path."""
        return self.files.add(f"data/{name}.csv", data.to_csv(index=False, lineterminator="\n"))


def text_of(value: object, longest: int = 400) -> str:
    """A fact as text: units are the name's business, lists are joined, long ones cut and said so."""
    if value is None or value == "":
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{k} = {text_of(v)}" for k, v in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        shown = ", ".join(text_of(v, 60) for v in value[:12])
        return f"{shown}, … ({len(value)} in all)" if len(value) > 12 else shown or "none"
    text = printable(value)
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters in all)"


def group_of(key: str, title: str, facts: object, note: str = "") -> Group:
    """A mapping of facts as a titled group; an absent one is said to be so."""
    if not isinstance(facts, Mapping) or not facts:
        return Group(key, title, (), note or "Not recorded.")
    return Group(key, title, tuple(Fact(printable(k), text_of(v)) for k, v in facts.items()), note)
