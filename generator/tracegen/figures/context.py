"""What all figures of a run share: its tables, its facts, and the analyses made once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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
from tracegen.figures.needs import NOTED_ABOVE_TIMES, NOTED_IN_CAPTIONS, Need
from tracegen.model import Run
from tracegen.words import sentences
from tracegen.words.quantities import printable

OUTSIDE = "Load and warm-up are left out of every statistic."


@dataclass
class Context:
    """A run under report, and the analyses of it that several figures need: each is made once, when it is asked for.

    `tables` are the contract's.
    """

    run: Run
    tables: Mapping[str, pd.DataFrame]

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
        """File ranges touched, warm-up included."""
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
        """File ranges that measured passes touched."""
        return self.used[self.used["pass_id"].isin(self.measured["pass_id"])]

    @property
    def unseen(self) -> pd.DataFrame:
        """Tensors that measured passes touched in rows or experts that the trace does not hold."""
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

    @cached_property
    def typical_pass(self) -> int | None:
        """The generate pass of median length, else the prompt pass of median length; None when no pass has spans."""
        m = self.measured.dropna(subset=["duration_ns", "graph"])
        m = m[m["pass_id"].isin(self.tables["spans"]["pass_id"])]
        part = m[(m["kind"] == "generate").to_numpy(bool)] if (m["kind"] == "generate").any() else m
        if part.empty:
            return None
        ordered = part.sort_values(["duration_ns", "pass_id"])
        return int(ordered["pass_id"].iloc[(len(ordered) - 1) // 2])

    @property
    def phase(self) -> str:
        """The passes that stand for a token: generate, or prompt where the run generated nothing more."""
        return "generate" if self.summary.n_generate_passes else "prompt"

    @cached_property
    def tensor_use(self) -> pd.DataFrame:
        """Every tensor with the bytes of it that measured passes touched."""
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
        choice = self.choice
        if choice.n_experts is None or choice.n_chosen is None:
            return None
        return routing.most_chosen_by_chance(choice.n_rows, choice.n_chosen, choice.n_experts)

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
        return sentences.times_with_care([warned[key] for key in NOTED_ABOVE_TIMES if key in warned])

    @property
    def gaps(self) -> str:
        """What must stand beside every figure of touched bytes when some of them are unknown; else empty."""
        names = [printable(name) for name in self.unseen["source_name"].drop_duplicates()]
        if not names:
            return ""
        why = "withheld, because the experiment is private" if self.private else "not recorded"
        which = ", ".join(names[:4]) + (f" and {len(names) - 4} more tensors" if len(names) > 4 else "")
        return f"Which rows or experts of {which} were touched is {why}."

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
        return "Which rows of the KV cache the attention masks let through was not recorded: all reserved rows count."

    @cached_property
    def untimed(self) -> str:
        """Names of the backends whose operations have no times of their own; empty: there are none."""
        splits = self.tables["splits"]
        return ", ".join(printable(name) for name in sorted(splits.loc[~splits["by_op"], "backend"].unique()))

    def refusal(self, needed: Sequence[Need]) -> str:
        """Why a figure that needs these checks is not shown: the checks that failed; empty if none did."""
        of = {key.value: need.why for need in needed for key in need.checks}
        failed = [c for c in self.run.checks if c.state == "failed" and c.key in of]
        refused = [f"Not drawn: the check “{c.title}” failed ({c.found}; limit {c.limit})." for c in failed]
        reasons = dict.fromkeys(of[c.key] for c in failed)
        return " ".join([*refused, *(f"{why[:1].upper()}{why[1:]}." for why in reasons)])

    def noted(self, needed: Sequence[Need]) -> str:
        """What a caption says of checks that only warned; empty when none concerns its figure."""
        of = {key for key, concerned in NOTED_IN_CAPTIONS.items() if any(need in needed for need in concerned)}
        warned = [c for c in self.run.checks if c.state == "warning" and c.key in of]
        return "".join(f" {c.title}: {c.found} (limit: {c.limit})." for c in warned)
