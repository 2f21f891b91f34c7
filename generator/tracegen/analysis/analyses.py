"""The analyses of a run by name: each is made when it is first asked for, then kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import pandas as pd

from tracegen.analysis import (
    accesses,
    attribution,
    bandwidth,
    buffers,
    caches,
    context_growth,
    coverage,
    device_ops,
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
    pin_list,
    read_time,
    requests,
    routing,
    served,
    speculation,
    summary,
    timing,
    what_if,
    working_set,
)
from tracegen.contract.facts import Facts
from tracegen.contract.model import Run

Tables = Mapping[str, pd.DataFrame]
Result = TypeVar("Result")


def _kept(make: Callable[[Analyses], Result]) -> cached_property[Result]:
    """A value that is found by name: made on first use, then kept."""
    return cached_property(make)


def _of_tables(analysis: Callable[[Tables], Result]) -> cached_property[Result]:
    """The result of an analysis that takes all tables, and nothing else."""
    return cached_property(lambda of: analysis(of.tables))


@dataclass
class Analyses:
    """The analyses of a run that several measures and figures need.

    `tables` has every table of `tracegen.contract.tables`, by name.
    """

    run: Run
    tables: Tables

    # Passes: those that statistics count, with their durations; names by pass; kinds of the measured ones by pass.
    measured = _of_tables(passes.measured)
    labels = _of_tables(passes.labels)
    kinds = _kept(lambda c: c.measured.set_index("pass_id")["kind"].astype("object"))

    # Accesses of all passes, warm-up included, and the file ranges that they touched.
    accessed = _kept(lambda c: c._accesses[0])
    used = _kept(lambda c: c._accesses[1])
    # File ranges of measured passes, and their operands whose touched rows or experts the trace does not hold.
    measured_used = _kept(lambda c: c.used[c.used["pass_id"].isin(c.measured["pass_id"])])
    unseen = _kept(lambda c: c._accesses[2][c._accesses[2]["pass_id"].isin(c.measured["pass_id"])])

    # All op rows of all passes, warm-up included; executed ones of prompt and generate passes; the key figures.
    ops = _kept(lambda c: operations.op_rows(c.tables, accessed=c.accessed))
    timed = _kept(lambda c: timing.timed_ops(c.tables, c.ops))
    summary = _kept(lambda c: summary.summarise(c.tables, c.ops, c.measured_used, c.unseen))
    # The time of passes in no operation, and tokens by phase.
    outside_ops = _kept(lambda c: timing.outside(c.tables, pass_parts.pass_parts(c.tables)))
    tokens = _of_tables(timing.tokens_by_phase)
    # Ops of prompt and generate passes that touched memory; time by phase and kind of op, component, group of these.
    phase_ops = _kept(lambda c: timing.touching_ops(c.measured, c.ops))
    op_times = _kept(lambda c: timing.by(c.timed, "op", c.tokens, c.outside_ops))
    component_times = _kept(lambda c: timing.by(c.timed, "component", c.tokens, c.outside_ops))
    group_times = _kept(lambda c: timing.by(c.timed.assign(group=timing.groups_of(c.timed)), "group", c.tokens))

    # Places in the file: rows of heatmaps by pass (the memory page's may be taller), its pieces, and tensors with the
    # bytes of them that measured passes touched; bytes that each pass touched in each group of buffers,
    # and the most that all buffers had at once.
    display_rows = _of_tables(heatmap.display_rows)
    heatmap_height = _kept(lambda c: heatmap.rows_that_fit(c.used))
    heatmap_rows = _kept(lambda c: heatmap.display_rows(c.tables, c.heatmap_height))
    pieces = _kept(lambda c: pieces.pieces(c.tables))
    tensor_use = _kept(lambda c: coverage.tensor_use(c.tables, c.measured_used, c.unseen))
    buffer_use = _kept(lambda c: buffers.touched_by_group(c.tables, c.accessed))
    peak_buffer_bytes = _of_tables(buffers.total_peak)

    # Accesses of measured passes to mapped files in their order, and how each pass went through them; in granules.
    disk_accesses = _kept(lambda c: order.disk_accesses(c.tables, c.used))
    access_passes = _kept(lambda c: order.by_pass(c.tables, c.disk_accesses))
    granule_bytes = _kept(lambda c: granules.granule_bytes(int(c.tables["files"]["size_bytes"].sum())))
    granule_uses = _kept(lambda c: granules.granule_uses(c.disk_accesses, c.granule_bytes))
    used_granules = _kept(lambda c: c.granule_uses["granule"].to_numpy())
    repeat_distances = _kept(lambda c: caches.repeat_distances(c.used_granules))
    hit_rates = _kept(lambda c: caches.hit_rates(c.used_granules, c.repeat_distances))

    # Other orders of the file: how long the device takes for a read (stated values where it was not measured), passes
    # that are learned on and scored, parts that are touched whole or not at all, what would be read by size of memory.
    read_time = _kept(lambda c: read_time.fitted(c.facts.device.measurements if c.facts.device else ()))
    scored = _of_tables(what_if.scored)
    what_if_parts = _kept(lambda c: what_if.parts(c.tables, c.disk_accesses))
    what_if = _kept(
        lambda c: what_if.simulated(
            c.what_if_parts,
            what_if.shifts(c.tables, c.what_if_parts, c.disk_accesses, c.scored.learned),
            c.scored.passes,
            c.read_time,
        )
    )

    # The time of each measured pass in exclusive parts, with what each was for; summed by pass; the same, where page
    # faults that were not recorded count as computing; bytes and time of operations by kind, type of weight and layer.
    attribution = _of_tables(attribution.attribution)
    disk_split = _kept(lambda c: attribution.by_pass(c.tables, c.attribution))
    time_split = _kept(lambda c: attribution.by_pass(attribution.without_unknown(c.tables)))
    pin_list = _kept(
        lambda c: pin_list.pin_list(
            c.tables, c.of_kind(c.attribution, c.phase), c.facts.conditions.read_ahead_bytes or 0
        )
    )
    pin_list_by_layer = _kept(lambda c: pin_list.pin_list(c.tables, c.of_kind(c.attribution, c.phase), None))
    context_growth = _kept(lambda c: context_growth.growth(c.tables, c.timed, c.accessed))
    operation_rates = _kept(lambda c: bandwidth.by_layer(c.tables, c.timed, c.used))
    of_devices = _kept(lambda c: device_ops.by_kind(c.tables, c.ops, c.used, c.phase))

    # Experts of generate passes: how often each was chosen, by which rows; by layer: how unevenly, of how many, and
    # beside what chance gives; how many the token before chose, and how many the layer before tells.
    choice = _of_tables(experts.choice)
    chosen = _of_tables(experts.generated)
    expert_layers = _kept(lambda c: routing.layers(c.choice.counts))
    expert_sizes = _kept(lambda c: experts.sizes(c.tables, c.chosen))
    stickiness = _kept(lambda c: expert_transitions.stickiness(c.chosen, c.expert_sizes))
    experts_next = _kept(lambda c: expert_next.predicted(c.chosen, c.expert_sizes))

    # Of a run whose passes give embeddings: its bytes, else None. Prompts, each with what was kept and computed for it.
    embeddings = _kept(lambda c: summary.embeddings(c.tables, c.ops))
    prompts = _of_tables(served.served)
    rounds = _of_tables(speculation.rounds)
    prompt_tokens = _kept(lambda c: served.totals(c.prompts, whole=c.facts.trace.skipped_passes == 0))

    @cached_property
    def _accesses(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """The results of `accesses`, `ranges` and `unseen` for all passes; the large table of operands is not kept."""
        rows, tables = accesses.placed(self.tables), self.tables
        ranges, unseen = accesses.ranges(tables, rows=rows), accesses.unseen(tables, rows=rows)
        return accesses.accesses(tables, rows=rows), ranges, unseen

    @cached_property
    def input_tokens(self) -> dict[int, int]:
        """Pass -> the generated token that a row of it holds, where that is known."""
        rows = held.held(self.tables).dropna(subset=["generated_token"])
        return {int(p): int(k) for p, k in zip(rows["pass_id"], rows["generated_token"], strict=True)}

    @cached_property
    def windows(self) -> working_set.Windows:
        """What passes in a row touch together: generate passes, or prompt passes in a run without any."""
        phase = self.touching_phase
        passes = self.touching(phase)["pass_id"].astype(int).tolist()
        return working_set.windows(self.granule_uses, passes, self.granule_bytes, phase)

    @cached_property
    def hot_set(self) -> hot_set.HotSet | None:
        """A hot set of experts, learned and scored on generated tokens; None where that is not possible."""
        n = self.choice.n_experts
        return None if n is None else hot_set.hot_set(self.chosen, n)

    @cached_property
    def disk_requests(self) -> pd.DataFrame:
        """What the device was asked to read in each measured pass, and what became of it."""
        page = self.facts.host.page_bytes or 4096
        use = requests.use_by_pass(self.tables, page, used=self.used)
        return requests.by_pass(self.tables).merge(use, on="pass_id", how="left")

    @cached_property
    def typical_pass(self) -> int | None:
        """The generate pass of median length, else the prompt pass of median length; None when no pass has spans."""
        m = self.measured.dropna(subset=["duration_ns", "graph"])
        lanes = self.tables["spans"] if len(self.tables["spans"]) else self.tables["device_ops"]
        m = m[m["pass_id"].isin(lanes["pass_id"])]
        part = m[(m["kind"] == "generate").to_numpy(bool)] if (m["kind"] == "generate").any() else m
        return None if part.empty else passes.median_pass(part)

    def once(self, key: str, make: Callable[[], Result]) -> Result:
        """The result of `make`, which is called only the first time: for what several need and no name is kept."""
        if key not in self._once:
            self._once[key] = make()
        result: Result = self._once[key]
        return result

    @cached_property
    def _once(self) -> dict[str, Any]:
        return {}

    @property
    def phase(self) -> str:
        """The phase that figures of one token show: generate, or prompt if there is no generate pass."""
        return "generate" if self.summary.n_generate_passes else "prompt"

    @cached_property
    def phase_passes(self) -> pd.Series:
        """The numbers of the measured passes of `phase`."""
        return self.of_kind(self.measured, self.phase)["pass_id"]

    def machine(self, phase: str) -> bandwidth.Machine:
        """What the rates of operations of a phase are compared with."""
        passes, host = self.of_kind(self.measured, phase), self.facts.host
        n_threads = int(self.timed["n_threads"].max()) if self.timed["n_threads"].notna().any() else 0
        return bandwidth.Machine(
            memory_rate=bandwidth.rate_of(host.memory_rate, n_threads),
            cache_bytes=host.last_level_cache_bytes,
            n_passes=len(passes),
            pass_bytes=bandwidth.pass_bytes(self.timed, phase),
            delayed_ns=bandwidth.delayed_ns(passes, n_threads),
        )

    @property
    def choice_by_chance(self) -> float | None:
        """The share that the most chosen expert of a layer would get if tokens chose at random; None: not known."""
        choice = self.choice
        if choice.n_experts is None or choice.n_chosen is None:
            return None
        return routing.most_chosen_by_chance(choice.n_rows, choice.n_chosen, choice.n_experts)

    def of_kind(self, rows: pd.DataFrame, kind: str) -> pd.DataFrame:
        """The rows, which have a pass_id, of measured passes of a kind."""
        return rows[(rows["pass_id"].map(self.kinds) == kind).to_numpy(bool)]

    def touching(self, kind: str) -> pd.DataFrame:
        """The rows of `access_passes` for the passes of a kind that touched a mapped file."""
        rows = self.of_kind(self.access_passes, kind)
        return rows[(rows["n_accesses"] > 0).to_numpy(bool)]

    @property
    def touching_phase(self) -> str:
        """The phase that titles of accesses tell of: generate passes, if there are any that touched the file."""
        return "generate" if len(self.touching("generate")) else "prompt"

    @property
    def facts(self) -> Facts:
        """The facts of the run."""
        return self.run.facts
