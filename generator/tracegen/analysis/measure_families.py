"""The measures of a run that there is one of for each layer, component, kind of operation, buffer, expert."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pandas as pd

from tracegen.analysis import buffers, timing
from tracegen.analysis.analyses import Analyses
from tracegen.contract.components import GROUP_OF
from tracegen.contract.needs import CHOICES, FILE_USE, LAYERS, RATES, ROWS, TIMES, Need

Kind = Literal["counted", "timed"]
Items = Iterable[tuple[str, str, float]]  # phase, item, value
MIDDLE = 16  # passes in a row whose working set is a measure, beside those of one pass and of all
LAYER_TIMES = (*TIMES, LAYERS, ROWS)

# by -> what its items are, in the order of pages
BY = {
    "run": "Key figures",
    "op": "Kinds of operation",
    "component": "Parts of the model",
    "layer": "Layers",
    "buffer": "Buffers",
    "expert": "Experts",
}


class Value(NamedTuple):
    """The value of a measure in a run; `item` of a family, which stands in the group `by` of comparisons."""

    key: str
    phase: str
    by: str
    item: str
    label: str
    kind: Kind
    unit: str
    value: float | None
    needs: tuple[Need, ...]


@dataclass(frozen=True)
class Family:
    """Measures that differ only in what they are of: one for each phase and item that `of` returns.

    Their keys are `key`, the phase and the item: `layer_ns_per_token_generate_3`, `op_ns_per_token_prompt_MUL_MAT`.
    `by` is their group in comparisons; those without are only published.
    """

    key: str
    label: str
    unit: str
    kind: Kind
    of: Callable[[Analyses], Items]
    by: str = ""
    needs: tuple[Need, ...] = ()
    published: bool = False

    def values(self, a: Analyses) -> Iterator[Value]:
        """The values in a run."""
        for phase, item, value in self.of(a):
            name = item.removeprefix("layer ").replace(",", "").replace(" ", "_")
            key = "_".join(filter(None, (self.key, phase, name)))
            yield Value(key, phase, self.by, item, self.label, self.kind, self.unit, float(value), self.needs)


def _rows(table: pd.DataFrame, item: str, value: str) -> Items:
    """The rows of a table with a phase and a known value."""
    known = table.dropna(subset=[value])
    return zip(known["phase"].tolist(), map(str, known[item].tolist()), known[value].tolist(), strict=True)


def _n_ops(table: pd.DataFrame, item: str) -> Items:
    return _rows(table[(table["n_ops"] > 0).to_numpy(bool)], item, "n_ops")


def _layer_ns(a: Analyses) -> Items:
    for phase in timing.PHASES:
        if a.tokens[phase]:
            sums = timing.by_layer(a.timed, phase, a.tokens, GROUP_OF).groupby("layer", dropna=False)
            for layer, ns in sums["ns_per_token"].sum().items():
                yield phase, timing.layer_name(layer), float(ns)


def _mean_layer_ns(a: Analyses) -> Items:
    times = [ns for phase, layer, ns in _layer_ns(a) if phase == a.phase and layer != timing.OUTSIDE_LAYERS]
    return [(a.phase, "mean", sum(times) / len(times))] if times else []


def _pass_bytes(by: str, memory: str) -> Callable[[Analyses], Items]:
    """Bytes touched in the mean of a phase's passes; each operand counts. An item with an unknown one has none."""

    def means(a: Analyses) -> Items:
        n_passes = timing.phases(a.measured).value_counts()
        grouped = a.phase_ops.groupby(["phase", by], observed=True)[f"{memory}_bytes"]
        known = grouped.sum().mask(grouped.count().lt(grouped.size())).rename("size").reset_index()
        return [(phase, item, size / float(n_passes[phase])) for phase, item, size in _rows(known, by, "size")]

    return means


def _buffers(column: str) -> Callable[[Analyses], Items]:
    return lambda a: _rows(buffers.peaks(a.tables).assign(phase=""), "group", column)


def _chosen(a: Analyses) -> Items:
    counts = a.choice.counts
    for layer, expert, n in zip(*(counts[name].tolist() for name in ("layer", "expert", "n_tokens")), strict=True):
        yield "generate", f"layer {layer}, expert {expert}", n


def _by_layer(column: str) -> Callable[[Analyses], Items]:
    return lambda a: _rows(a.expert_layers.assign(phase="generate"), "layer", column)


def _cache_bytes(a: Analyses) -> Items:
    """The size of cache that a policy needs for a hit rate; nothing without repeated uses."""
    needed = a.hit_rates.needed.dropna(subset=["size_granules"])
    for policy, target, n in zip(needed["policy"], needed["target"], needed["size_granules"], strict=True):
        yield "", f"{round(100 * target)} {policy.lower()}", n * a.granule_bytes


def _working_set(a: Analyses) -> Items:
    n = len(a.windows.pass_ids)
    for length in dict.fromkeys((1, MIDDLE, n)):
        size = a.windows.of(length)
        if size is not None:
            yield "", "all" if length == n else str(length), size


def _times(by: str) -> Callable[[Analyses], Items]:
    return lambda a: _rows(getattr(a, f"{by}_times"), by, "ns_per_token")


FAMILIES: tuple[Family, ...] = (
    Family("op_ns_per_token", "time per token", "ns", "timed", _times("op"), "op"),
    Family("n_ops", "operations", "", "counted", lambda a: _n_ops(a.op_times, "op"), "op"),
    Family("group_ns_per_token", "time per token", "ns", "timed", _times("group"), "component"),
    Family("n_group_ops", "operations", "", "counted", lambda a: _n_ops(a.group_times, "group"), "component"),
    Family("component_ns_per_token", "time per token", "ns", "timed", _times("component"), "", RATES, published=True),
    Family("layer_ns_per_token", "time per token", "ns", "timed", _layer_ns, "layer", LAYER_TIMES, published=True),
    Family("layer_ns_per_token", "time per token", "ns", "timed", _mean_layer_ns, "", LAYER_TIMES, published=True),
    *(
        Family(f"{by}_{key}_bytes_per_pass", f"touched per pass, {words}", "bytes", "counted", _pass_bytes(by, of), at)
        for by, at in (("group", "component"), ("layer", "layer"))
        for key, of, words in (
            ("mapped", "disk", "mapped"),
            ("copied", "copied", "copied"),
            ("buffer", "buffer", "in buffers"),
        )
    ),
    Family("buffer_peak_bytes", "peak size", "bytes", "counted", _buffers("peak_bytes"), "buffer"),
    Family("n_buffers", "allocations", "", "counted", _buffers("n_buffers"), "buffer"),
    Family("n_tokens", "times chosen", "", "counted", _chosen, "expert"),
    Family("cache_bytes", "cache for a hit rate", "bytes", "counted", _cache_bytes, "", FILE_USE, published=True),
    Family("working_set_bytes", "working set", "bytes", "counted", _working_set, "", FILE_USE, published=True),
    *(
        Family(key, label, unit, "counted", _by_layer(column), "", CHOICES, published=True)
        for key, label, unit, column in (
            ("most_chosen_expert", "most chosen expert", "", "most_chosen"),
            ("most_chosen_share", "share of choices of the most chosen expert", "share", "most_share"),
        )
    ),
)
