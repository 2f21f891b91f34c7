"""What all figures of a run share: tables, facts, and analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from tracegen.analysis import (
    accesses,
    backends,
    buffers,
    caches,
    coverage,
    disk_waits,
    embeddings,
    expert_balance,
    expert_next,
    expert_transitions,
    experts,
    granules,
    heatmap,
    held,
    hot_set,
    operations,
    order,
    pass_parts,
    passes,
    pieces,
    read_time,
    requests,
    reused_prefix,
    routing,
    summary,
    timing,
    what_if,
    working_set,
)
from tracegen.contract.model import Check, Run
from tracegen.contract.quantities import printable
from tracegen.report.figures.needs import NOTED_ABOVE_TIMES, NOTED_IN_CAPTIONS, Need
from tracegen.report.words import sentences

OUTSIDE = "Load and warm-up are left out of every statistic."


@dataclass
class Context:
    """A run and the analyses that several figures need; each analysis is computed once, on first use.

    `tables` has every table of `tracegen.contract.tables`, by name.
    """

    run: Run
    tables: Mapping[str, pd.DataFrame]

    @cached_property
    def measured(self) -> pd.DataFrame:
        """The passes that statistics count, with their durations."""
        return passes.measured(self.tables)

    @cached_property
    def labels(self) -> dict[int, str]:
        """The name of each pass."""
        return passes.labels(self.tables)

    @cached_property
    def kinds(self) -> pd.Series:
        """The kind of each measured pass, by pass_id."""
        return self.measured.set_index("pass_id")["kind"].astype("object")

    @cached_property
    def held(self) -> dict[int, int]:
        """Pass -> the generated token that a row of it holds, where that is known."""
        rows = held.held(self.tables).dropna(subset=["generated_token"])
        return {int(p): int(k) for p, k in zip(rows["pass_id"], rows["generated_token"], strict=True)}

    @cached_property
    def ops(self) -> pd.DataFrame:
        """All op rows of all passes, warm-up included."""
        return operations.op_rows(self.tables, accessed=self.accessed)

    @cached_property
    def _accesses(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """The results of `accesses`, `ranges` and `unseen` for all passes; the large table of operands is not kept."""
        rows, tables = accesses.placed(self.tables), self.tables
        ranges, unseen = accesses.ranges(tables, rows=rows), accesses.unseen(tables, rows=rows)
        return accesses.accesses(tables, rows=rows), ranges, unseen

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
        """The row of the heatmap for each pass."""
        return heatmap.display_rows(self.tables)

    @cached_property
    def heatmap_rows(self) -> pd.DataFrame:
        """The row of the memory heatmap for each pass; finer than `display_rows`, for it may be taller."""
        return heatmap.display_rows(self.tables, self.heatmap_height)

    @cached_property
    def heatmap_height(self) -> int:
        """At most how many rows the memory heatmap has."""
        return heatmap.rows_that_fit(self.used)

    @cached_property
    def pieces(self) -> pd.DataFrame:
        """The pieces of the model files: tensors, and experts of tensors."""
        return pieces.pieces(self.tables)

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
        """Operands of measured passes whose touched rows or experts the trace does not hold."""
        rows = self._accesses[2]
        return rows[rows["pass_id"].isin(self.measured["pass_id"])]

    @cached_property
    def disk_accesses(self) -> pd.DataFrame:
        """The accesses of measured passes to mapped files, in their order."""
        return order.disk_accesses(self.tables, self.used)

    @cached_property
    def access_passes(self) -> pd.DataFrame:
        """How each measured pass went through the mapped files."""
        return order.by_pass(self.tables, self.disk_accesses)

    @cached_property
    def granule_bytes(self) -> int:
        """The size of granule in which caches are simulated."""
        return granules.granule_bytes(int(self.tables["files"]["size_bytes"].sum()))

    @cached_property
    def granule_uses(self) -> pd.DataFrame:
        """The granules that operations touched of the mapped files, in order."""
        return granules.granule_uses(self.disk_accesses, self.granule_bytes)

    @cached_property
    def hit_rates(self) -> caches.HitRates:
        """What caches of several sizes and policies would serve."""
        return caches.hit_rates(self.granule_uses["granule"].to_numpy())

    @cached_property
    def token_cycle(self) -> float | None:
        """The bytes of different granules that a generate pass touches, median; None without a generate pass."""
        touched = granules.per_pass(self.granule_uses)
        of = touched[touched.index.isin(self.kinds.index[self.kinds == "generate"])]
        return float(of.median()) * self.granule_bytes if len(of) else None

    @cached_property
    def embeddings(self) -> embeddings.Embeddings | None:
        """The bytes of a run whose passes give embeddings; None for any other run."""
        return embeddings.embeddings(self.tables, self.ops)

    @cached_property
    def reused_tokens(self) -> int | None:
        """How many tokens of prompts the KV cache held from before; None where that is unknown."""
        return reused_prefix.reused_tokens(self.tables, whole=self.fact("trace", "skipped_passes") == 0)

    @cached_property
    def windows(self) -> working_set.Windows:
        """What passes in a row touch together: generate passes, or prompt passes in a run without any."""
        rows = self.access_passes[self.access_passes["n_accesses"] > 0]
        for kind in ("generate", "prompt"):
            passes = [int(n) for n in rows.loc[(rows["kind"] == kind).fillna(False).to_numpy(bool), "pass_id"]]
            if passes:
                break
        return working_set.windows(self.granule_uses, passes, self.granule_bytes, kind)

    @cached_property
    def read_time(self) -> read_time.ReadTime:
        """How long the run's device takes for a read; stated values where it was not measured."""
        return read_time.fitted(self.fact("device", "measurements") or ())

    @cached_property
    def scored(self) -> what_if.Scored:
        """The passes that other orders of the file are learned on and scored on."""
        return what_if.scored(self.tables)

    @cached_property
    def what_if_parts(self) -> pd.DataFrame:
        """The accesses to mapped files, cut into parts that are touched whole or not at all."""
        return what_if.parts(self.tables, self.disk_accesses)

    @cached_property
    def what_if(self) -> pd.DataFrame:
        """What tokens would read if the file stood in another order, by size of memory."""
        used = self.what_if_parts
        found = what_if.shifts(self.tables, used, self.disk_accesses, self.scored.learned)
        return what_if.simulated(used, found, self.scored.passes, self.read_time)

    @cached_property
    def hot_set(self) -> hot_set.HotSet | None:
        """A hot set of experts, learned and scored on generated tokens; None where that is not possible."""
        n = self.choice.n_experts
        return None if n is None else hot_set.hot_set(self.chosen, n)

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
        """The time of each pass in operations, and before, between and after them."""
        return pass_parts.pass_parts(self.tables)

    @cached_property
    def disk_split(self) -> pd.DataFrame:
        """The time of each measured pass in parts: computing, waiting for the disk, other waiting, the rest."""
        return disk_waits.pass_split(self.tables)

    @cached_property
    def disk_requests(self) -> pd.DataFrame:
        """What the device was asked to read in each measured pass, and what became of it."""
        page = self.fact("host", "page_bytes") or 4096
        use = requests.use_by_pass(self.tables, page)
        return requests.by_pass(self.tables).merge(use, on="pass_id", how="left")

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
        """The phase that figures of one token show: generate, or prompt if there is no generate pass."""
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
    def expert_sizes(self) -> dict[int, int]:
        """How many experts each layer has in which rows of generate passes chose."""
        return experts.sizes(self.tables, self.chosen)

    @cached_property
    def expert_balance(self) -> pd.DataFrame:
        """How even the choices of experts are, beside what random choice would give."""
        return expert_balance.balance(self.tables)

    @cached_property
    def stickiness(self) -> pd.DataFrame:
        """How many experts of the token before are chosen again, beside what shuffled tokens give."""
        return expert_transitions.stickiness(self.chosen, self.expert_sizes)

    @cached_property
    def experts_next(self) -> pd.DataFrame:
        """How many of a layer's experts those of the layer before tell."""
        return expert_next.told(self.chosen, self.expert_sizes)

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
        """The fact at a path of keys, or None when a key is absent."""
        value: Any = self.run.facts
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        return value

    def flag(self, *path: str) -> bool:
        """Whether the fact at a path of keys is true; False when it is absent."""
        return self.fact(*path) is True

    @property
    def private(self) -> bool:
        """Whether prompt and text are withheld."""
        return self.flag("text", "private") or self.flag("settings", "private")

    @property
    def care(self) -> list[Check]:
        """The checks of times that did not pass, and are noted above figures of times."""
        warned = {c.key: c for c in self.run.checks if c.state in ("warning", "failed")}
        return [warned[key] for key in NOTED_ABOVE_TIMES if key in warned]

    @property
    def time_note(self) -> str:
        """The note above figures of times if a check of times did not pass; else empty."""
        return sentences.times_with_care(self.care)

    @property
    def gaps(self) -> str:
        """The note in captions of touched bytes if the rows or experts of some tensors are not known; else empty."""
        names = [printable(name) for name in self.unseen["source_name"].drop_duplicates()]
        if not names:
            return ""
        why = "withheld, because the experiment is private" if self.private else "not recorded"
        which = ", ".join(names[:4]) + (f" and {len(names) - 4} more tensors" if len(names) > 4 else "")
        return f"Which rows or experts of {which} were touched is {why}."

    @cached_property
    def padded(self) -> str:
        """The note beside bytes of the KV cache if the rows that masks let through were not recorded; else empty.

        They are missing in runs of tracegen before 0.2.0, and for attention on another backend.
        """
        rows = self.accessed
        masked = rows[(rows["op"] == "FLASH_ATTN_EXT").to_numpy(bool) & (rows["slot"] == "src3").to_numpy(bool)]
        recorded = self.tables["touches"]
        recorded = recorded[(recorded["slot"] == "src1").to_numpy(bool)][["pass_id", "node"]].drop_duplicates()
        if len(masked) == 0 or len(masked[["pass_id", "node"]].merge(recorded)) == len(masked):
            return ""
        return "Which rows of the KV cache the attention masks let through was not recorded: all reserved rows count."

    @cached_property
    def untimed(self) -> str:
        """Names of the backends whose operations have no times of their own; empty without any."""
        splits = self.tables["splits"]
        return ", ".join(printable(name) for name in sorted(splits.loc[~splits["by_op"], "backend"].unique()))

    @cached_property
    def submitted(self) -> str:
        """Names of the backends of which only the hand-over of splits has times; empty without any."""
        splits = self.tables["splits"]
        return ", ".join(printable(name) for name in sorted(splits.loc[backends.submitted(splits), "backend"].unique()))

    @property
    def gap_times(self) -> bool:
        """Whether the times of operations are gaps between the begins that an imported trace holds."""
        return bool((self.tables["ops"]["time_basis"] == "gap to next").any())

    def refusal(self, needed: Sequence[Need]) -> str:
        """Why a figure that needs these checks is not shown: the checks that failed; empty if none did."""
        of = {("failed", key.value): need.why for need in needed for key in (*need.checks, *need.warned)}
        of |= {("warning", key.value): need.why for need in needed for key in need.warned}
        broken = [c for c in self.run.checks if (c.state, c.key) in of]
        how = {"failed": "failed", "warning": "warned"}
        refused = [f"Not drawn: the check “{c.title}” {how[c.state]} ({c.found}; limit {c.limit})." for c in broken]
        reasons = dict.fromkeys(of[c.state, c.key] for c in broken)
        return " ".join([*refused, *(f"{why[:1].upper()}{why[1:]}." for why in reasons)])

    def noted(self, needed: Sequence[Need]) -> str:
        """The sentences of a caption about checks that warned; empty when none concerns the figure."""
        of = {key for key, concerned in NOTED_IN_CAPTIONS.items() if any(need in needed for need in concerned)}
        warned = [c for c in self.run.checks if c.state == "warning" and c.key in of]
        return "".join(f" {c.title}: {c.found} (limit: {c.limit})." for c in warned)
