"""The measures of a run: every number that a page, a comparison, a journal or a thesis names stands in this list.

A **counted** measure is decided by the program, the model and the settings: operations, bytes touched, allocations,
choices of experts. Any difference of it is real. A **timed** one differs from run to run: times, and what the page
cache and other programs decide (bytes read from the disk, page faults).

All leave out load and warm-up passes, except those that name loading. `measure_families.py` has those that there are
one of for each layer, component, kind of operation.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.analysis import footprint, speculation
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.hot_set import HotSet
from tracegen.analysis.measure_families import BY, FAMILIES, Kind
from tracegen.analysis.measure_families import Value as Value
from tracegen.analysis.passes import of_kind
from tracegen.contract import needs
from tracegen.contract.needs import Need

COLUMNS = ["key", "phase", "by", "item", "label", "kind", "unit", "value"]
_Function = Callable[[Analyses], float | None]
_Row = tuple[str, str, str, _Function]  # key, label, unit, function

# The timed measures that a comparison is made for, in the order in which they are said. They are tested together, so
# that the many others cannot hide them. What passes read says nothing of loading, which may read what they need not.
ASKED = (
    "tokens_per_second_generate",
    "tokens_per_second_prompt",
    "ttft_ns",
    "disk_read_bytes",
    "disk_read_bytes_load",
)


@dataclass(frozen=True)
class Measure:
    """A number of a run.

    `key` names it in files, `label` in sentences; `unit` is ns, bytes, tokens/s, share, or empty for a count; `phase`
    is prompt, generate, or empty for the whole run. `of` takes the analyses of a run and returns the value, None where
    the trace does not state it. Where one of the checks that `needs` names failed, the value would be false.
    `compared`: comparisons hold it beside that of another run.
    """

    key: str
    label: str
    unit: str
    kind: Kind
    of: _Function
    phase: str = ""
    needs: tuple[Need, ...] = ()
    compared: bool = True

    @property
    def average(self) -> str:
        """Over passes: `mean` of speeds and waiting, `median` of what passes touch and run; empty of one number."""
        if not self.key.endswith(("_per_token", "_per_pass")) and "_per_second_" not in self.key:
            return ""
        return "mean" if self.unit in ("tokens/s", "ns") else "median"


def _generate(a: Analyses) -> pd.DataFrame:
    return of_kind(a.measured, "generate")


def _quantile(share: float) -> _Function:
    """Between neighbours: linear."""
    return lambda a: _number(_generate(a)["duration_ns"].dropna().astype("float64").quantile(share))


def _token_waits(*parts: str) -> _Function:
    """The mean over generate passes of parts of their time; None where page faults were not recorded."""

    def mean(a: Analyses) -> float | None:
        rows = of_kind(a.measured, "generate")[["pass_id"]].merge(a.disk_split)
        return _number(rows[list(parts)].sum(axis=1).mean()) if a.run.has_faults else None

    return mean


def _read_by(kind: str) -> _Function:
    """The bytes that the passes of a kind read from the disk."""
    return lambda a: _number(of_kind(a.measured, kind)["read_bytes"].astype("Float64").sum(skipna=False, min_count=1))


def _of_load(value: Callable[[pd.Series], Any]) -> _Function:
    """A value of the pass that loads the model; None if the run loaded no model, or several."""

    def of(a: Analyses) -> float | None:
        load = of_kind(a.tables["passes"], "load")
        return _number(value(load.iloc[0])) if len(load) == 1 else None

    return of


def _ttft(a: Analyses) -> float | None:
    """Loading, warm-up and prompt together; None where the run did not load one model and read a prompt."""
    passes = a.tables["passes"]
    first = passes[passes["kind"].isin(["load", "warmup", "prompt"]).to_numpy(bool)]
    whole = len(of_kind(first, "load")) == 1 and len(of_kind(first, "prompt")) > 0
    return _number((first["end_ns"] - first["begin_ns"]).astype("Float64").sum(skipna=False)) if whole else None


def _of_embeddings(name: str) -> _Function:
    return lambda a: None if a.embeddings is None else getattr(a.embeddings, name)


def _token_bytes(memory: str) -> _Function:
    return lambda a: a.summary.generate_token_bytes[memory]


def _mapped_share(a: Analyses) -> float | None:
    part, whole = a.summary.touched_disk_bytes, a.summary.file_bytes
    return None if part is None or not whole else part / whole


def _hot(of: Callable[[HotSet], float]) -> _Function:
    return lambda a: None if a.hot_set is None else of(a.hot_set)


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


# (kind, phase, needs) -> measures that have these
_MEASURES: Mapping[tuple[Kind, str, tuple[Need, ...]], tuple[_Row, ...]] = {
    ("timed", "generate", needs.RATES): (
        ("tokens_per_second_generate", "generation speed", "tokens/s", lambda a: a.summary.generate_rate),
    ),
    ("timed", "prompt", needs.RATES): (
        ("tokens_per_second_prompt", "prompt speed", "tokens/s", lambda a: a.summary.prompt_rate),
    ),
    ("timed", "generate", needs.TIMES): (
        ("token_ns_median", "time per token, median", "ns", _quantile(0.5)),
        ("token_ns_p95", "time per token, 95th percentile", "ns", _quantile(0.95)),
    ),
    ("timed", "", needs.RATES): (
        ("drafted_token_ns", "time per token with drafts", "ns", lambda a: speculation.token_ns(a.rounds)),
    ),
    ("counted", "", (needs.EVIDENCE, needs.KINDS, needs.ROWS)): (
        (
            "accepted_share",
            "share of the drafted tokens accepted",
            "share",
            lambda a: speculation.accepted_share(a.rounds),
        ),
    ),
    ("timed", "", needs.STORAGE): (
        ("disk_read_bytes", "read from the disk after loading", "bytes", lambda a: a.summary.read_bytes),
        ("disk_read_bytes_load", "read from the disk while loading", "bytes", _of_load(lambda of: of["read_bytes"])),
        ("major_page_faults", "major page faults", "", lambda a: a.summary.major_faults),
    ),
    ("timed", "", needs.TIMES): (
        ("load_ns", "time to load the model", "ns", _of_load(lambda of: of["end_ns"] - of["begin_ns"])),
        ("ttft_ns", "time to first token", "ns", _ttft),
    ),
    ("timed", "prompt", needs.STORAGE): (
        ("disk_read_bytes_prompt", "read from the disk by the prompt", "bytes", _read_by("prompt")),
    ),
    ("timed", "generate", needs.STORAGE): (
        ("disk_read_bytes_generate", "read from the disk by generation", "bytes", _read_by("generate")),
    ),
    ("timed", "generate", (*needs.TIMES, needs.FAULTS)): (
        ("disk_wait_ns_per_token", "waiting for the disk per token", "ns", _token_waits("disk_ns", "behind_ns")),
        ("paging_ns_per_token", "page faults with no read under way per token", "ns", _token_waits("paging_ns")),
        ("processor_wait_ns_per_token", "waiting for a processor per token", "ns", _token_waits("processor_ns")),
        ("elsewhere_ns_per_token", "other backends per token", "ns", _token_waits("elsewhere_ns")),
    ),
    ("counted", "prompt", ()): (
        ("prompt_tokens", "prompt tokens", "", lambda a: a.summary.prompt_tokens),
        ("n_prompt_passes", "prompt passes", "", lambda a: a.summary.n_prompt_passes),
    ),
    ("counted", "generate", ()): (
        ("generated_tokens", "generated tokens", "", lambda a: a.summary.generated_tokens),
        ("n_generate_passes", "generate passes", "", lambda a: a.summary.n_generate_passes),
    ),
    ("counted", "generate", needs.RATES): (
        ("ops_per_token", "operations per token", "", lambda a: a.summary.ops_per_token),
    ),
    ("counted", "generate", needs.BYTES): (
        ("weight_bytes_per_token", "weights touched per token", "bytes", lambda a: a.summary.weight_token_bytes),
        ("mapped_bytes_per_token", "weights touched per token, mapped", "bytes", _token_bytes("disk")),
        ("copied_bytes_per_token", "weights touched per token, copied", "bytes", _token_bytes("copied")),
        ("buffer_bytes_per_token", "touched per token in buffers", "bytes", _token_bytes("buffer")),
        ("bytes_touched_per_token", "touched per token in total", "bytes", lambda a: a.summary.touched_token_bytes),
    ),
    ("counted", "", needs.BYTES): (
        ("weight_bytes_per_pass", "weights touched per pass", "bytes", _of_embeddings("weight_bytes")),
        ("bytes_touched_per_pass", "touched per pass in total", "bytes", _of_embeddings("touched_bytes")),
    ),
    ("counted", "", needs.FILE_USE): (
        ("touched_bytes", "touched of the file at least once", "bytes", lambda a: a.summary.touched_bytes),
        ("touched_share", "share of the file touched at least once", "share", lambda a: a.summary.touched_share),
        ("touched_share_mapped", "share of the file touched where it is mapped", "share", _mapped_share),
        (
            "touched_weight_share",
            "share of the weights touched at least once",
            "share",
            lambda a: a.summary.touched_weight_share,
        ),
        ("n_tensors_never_touched", "tensors never touched", "", lambda a: a.summary.n_never_touched),
    ),
    ("counted", "", ()): (
        ("file_bytes", "size of the model file", "bytes", lambda a: a.summary.file_bytes or None),
        ("header_bytes", "header and padding of the file", "bytes", lambda a: a.summary.header_bytes),
    ),
    ("counted", "", (needs.EVIDENCE, needs.BALANCE, needs.ALL_BUFFERS, needs.WHOLE)): (
        ("peak_buffer_bytes", "peak buffer memory", "bytes", lambda a: a.peak_buffer_bytes),
    ),
    ("timed", "", (needs.EVIDENCE, needs.WHOLE, needs.FOOTPRINT)): (
        ("peak_resident_bytes", "most resident memory of a sample", "bytes", lambda a: footprint.peak(a.tables)),
    ),
    ("counted", "generate", needs.CHOICES): (
        ("hot_experts_share", "share of the experts in the hot set", "share", _hot(lambda h: h.n_held / h.n_experts)),
        ("hot_experts_hit_rate", "hit rate of the hot set", "share", _hot(lambda h: h.static.served)),
        ("hot_experts_gain", "gain of the hot set over chance", "", _hot(lambda h: h.static.gain)),
        ("recent_experts_hit_rate", "hit rate of the experts chosen last", "share", _hot(lambda h: h.recent.served)),
    ),
}
# Of runs that give embeddings alone, and of those that draft tokens: others do not list them.
OF_SOME_RUNS = "weight_bytes_per_pass", "bytes_touched_per_pass", "drafted_token_ns", "accepted_share"
_NOT_COMPARED = "hot_experts_share", "hot_experts_hit_rate", "hot_experts_gain", "recent_experts_hit_rate"

MEASURES: tuple[Measure, ...] = tuple(
    Measure(key, label, unit, kind, of, phase, why, key not in _NOT_COMPARED)
    for (kind, phase, why), rows in _MEASURES.items()
    for key, label, unit, of in rows
)
BY_KEY = {measure.key: measure for measure in MEASURES}


def compared(a: Analyses) -> pd.DataFrame:
    """The measures of a run that comparisons have, in the order of pages.

    Columns: key (each stands once), phase (`prompt`, `generate`, or empty for the whole run), by (a key of BY), item
    (text; empty for the run), label, kind, unit (`ns`, `bytes`, `tokens/s`, `share`, or empty for a count), value
    (float64). A measure that the trace does not state has no row.
    """
    rows = list(figures(a))
    for by in BY:
        rows += [value for family in FAMILIES if family.by == by for value in family.values(a)]
    table = pd.DataFrame([row[: len(COLUMNS)] for row in rows], columns=COLUMNS).astype({"value": "float64"})
    return table[table["value"].notna()].reset_index(drop=True)


def figures(a: Analyses) -> Iterator[Value]:
    """The measures of the whole run or a phase, and of no part of it."""
    return (_value(measure, a) for measure in MEASURES if measure.compared)


def published(a: Analyses) -> Iterator[Value]:
    """The measures that a version publishes; those that there is one of for each item only where they are known."""
    for measure in MEASURES:
        yield _value(measure, a)
    for family in FAMILIES:
        if family.published:
            yield from family.values(a)


def value(key: str, a: Analyses) -> Value:
    """The value of the measure with this key in a run."""
    return _value(BY_KEY[key], a)


def _value(measure: Measure, a: Analyses) -> Value:
    m = measure
    return Value(m.key, m.phase, "run", "", m.label, m.kind, m.unit, m.of(a), m.needs)
