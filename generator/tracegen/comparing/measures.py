"""The measures of a run: every number that a comparison holds beside that of another run.

A **counted** measure is decided by the program, the model and the settings: operations, bytes touched, allocations,
choices of experts. Any difference of it is real. A **timed** one differs from run to run: times, and what the page
cache and other programs decide (bytes read from the disk, page faults).
"""

from collections.abc import Iterator
from typing import Any, Literal

import pandas as pd

from tracegen.analysis import buffers, timing
from tracegen.analysis.passes import of_kind
from tracegen.charts import theme
from tracegen.report.figures import shared_times
from tracegen.report.figures.context import Context

Kind = Literal["counted", "timed"]
KEY = ["phase", "by", "item", "what"]  # what names a measure; `item` is one of the things that `by` names
COLUMNS = [*KEY, "kind", "unit", "value"]

# by -> what its items are, in the order of pages
BY = {
    "run": "Key figures",
    "op": "Kinds of operation",
    "component": "Parts of the model",
    "layer": "Layers",
    "buffer": "Buffers",
    "expert": "Experts",
}
# The speed of passes says nothing of loading, which may read what they then need not.
AFTER_LOADING, WHILE_LOADING = "read from the disk after loading", "read from the disk while loading"
FILE_SIZE = "size of the model file"
WAITING = ("generate", "waiting for the disk in operations, of a token")  # phase, what
UNTIL_FIRST_TOKEN = "loading, warm-up and prompt together"
# The timed measures that a comparison is made for, by phase and what: they are said first, and tested together, so that
# the many others cannot hide them.
ASKED = (
    ("generate", "speed"),
    ("prompt", "speed"),
    ("", UNTIL_FIRST_TOKEN),
    ("", AFTER_LOADING),
    ("", WHILE_LOADING),
)
_Row = tuple[str, str, str, str, Kind, str, float]


def measures(context: Context) -> pd.DataFrame:
    """The measures of a run, in the order of pages; loading and warm-up are left out of all that do not name them.

    Columns: phase (`prompt`, `generate`, or empty for the whole run), by (a key of BY), item (text; empty for the run),
    what (text), kind (`counted`, `timed`), unit (`ns`, `bytes`, `tokens/s`, `share`, or empty for a count), value
    (float64). A measure that the trace does not state has no row. Each (phase, by, item, what) stands once.
    """
    rows = [*_key_figures(context), *_times(context), *_layers(context), *_bytes(context), *_buffers(context)]
    rows += _experts(context)
    table = pd.DataFrame(rows, columns=COLUMNS)
    table = table[table["value"].notna()].astype({"value": "float64"})
    order = pd.Categorical(table["by"], list(BY), ordered=True)
    return table.assign(order=order).sort_values("order", kind="stable", ignore_index=True)[COLUMNS]


def _key_figures(context: Context) -> Iterator[_Row]:
    s = context.summary
    generate = of_kind(context.measured, "generate")
    times = generate["duration_ns"].dropna().astype("float64")
    timed: tuple[tuple[str, str, str, float | None], ...] = (
        ("generate", "speed", "tokens/s", s.generate_rate),
        ("prompt", "speed", "tokens/s", s.prompt_rate),
        ("generate", "time of a token, median", "ns", float(times.median())),
        ("generate", "time of a token, 95th percentile", "ns", float(times.quantile(0.95))),
        ("", AFTER_LOADING, "bytes", s.read_bytes),
        ("", "page faults that waited for a read", "", s.major_faults),
    )
    for phase, what, unit, value in timed:
        yield phase, "run", "", what, "timed", unit, _number(value)
    yield from _start(context)
    if context.run.has_faults:
        split = context.disk_split[context.disk_split["pass_id"].isin(generate["pass_id"])]
        for column, what in (
            ("disk_ns", WAITING[1]),
            ("behind_ns", "waiting behind other threads’ page faults, of a token"),
        ):
            yield "generate", "run", "", what, "timed", "ns", _number(split[column].mean())
    counted: tuple[tuple[str, str, str, float | None], ...] = (
        ("prompt", "tokens", "", s.prompt_tokens),
        ("generate", "tokens", "", s.generated_tokens),
        ("prompt", "passes", "", s.n_prompt_passes),
        ("generate", "passes", "", s.n_generate_passes),
        ("generate", "operations of a token", "", s.ops_per_token),
        ("generate", "weights touched by a token, mapped", "bytes", s.generate_token_bytes["disk"]),
        ("generate", "weights touched by a token, copied", "bytes", s.generate_token_bytes["copied"]),
        ("generate", "touched by a token in buffers", "bytes", s.generate_token_bytes["buffer"]),
        ("", FILE_SIZE, "bytes", s.file_bytes or None),
        ("", "touched of the file at least once", "bytes", s.touched_bytes),
        ("", "tensors never touched", "", s.n_never_touched),
        ("", "most that buffers held", "bytes", buffers.total_peak(context.tables)),
    )
    for phase, what, unit, value in counted:
        yield phase, "run", "", what, "counted", unit, _number(value)


def _start(context: Context) -> Iterator[_Row]:
    """What it takes until the first token; nothing if the run loaded no model, or several."""
    passes = context.tables["passes"]
    kinds = passes["kind"].astype("object")
    load = passes[(kinds == "load").to_numpy(bool)]
    if len(load) != 1:
        return
    first = passes[kinds.isin(["load", "warmup", "prompt"]).to_numpy(bool)]
    times = (first["end_ns"] - first["begin_ns"]).astype("Float64")
    together = None if times.isna().any() or not (kinds == "prompt").any() else float(times.sum())
    yield "", "run", "", "loading the model", "timed", "ns", _number(times[load.index].iloc[0])
    yield "", "run", "", UNTIL_FIRST_TOKEN, "timed", "ns", _number(together)
    yield "", "run", "", WHILE_LOADING, "timed", "bytes", _number(load["read_bytes"].iloc[0])


def _times(context: Context) -> Iterator[_Row]:
    """Time and number of operations by kind and by part of the model, for each token row."""
    rows = context.timed.assign(component=shared_times.component_groups(context.timed))
    for by, rest in (("op", context.outside_ops), ("component", None)):
        sums = timing.by(rows, by, context.tokens, rest).dropna(subset=["ns_per_token"])
        for phase, item, n_ops, ns in by_row(sums, "phase", by, "n_ops", "ns_per_token"):
            yield phase, by, str(item), "time for a token", "timed", "ns", float(ns)
            if n_ops:
                yield phase, by, str(item), "operations", "counted", "", float(n_ops)


def _layers(context: Context) -> Iterator[_Row]:
    for phase in timing.PHASES:
        if not context.tokens[phase]:
            continue
        sums = timing.by_layer(context.timed, phase, context.tokens, theme.GROUP_OF)
        of_layer = sums.groupby("layer", dropna=False)["ns_per_token"].sum().reset_index()
        for layer, ns in by_row(of_layer, "layer", "ns_per_token"):
            yield phase, "layer", _layer(layer), "time for a token", "timed", "ns", float(ns)


def _bytes(context: Context) -> Iterator[_Row]:
    """Bytes touched in the mean of a phase's passes, by part of the model and by layer; each operand counts."""
    phases = timing.phases(context.measured)
    ran = context.ops[context.ops["state"].isin(["executed", "fused"]) & context.ops["pass_id"].isin(phases.index)]
    rows = ran.assign(
        phase=ran["pass_id"].map(phases),
        component=shared_times.component_groups(ran),
        layer=[_layer(number) for number in ran["layer"]],
    )
    n_passes = phases.value_counts()
    for by in ("component", "layer"):
        for memory, name in (("disk", "mapped"), ("copied", "copied"), ("buffer", "in buffers")):
            grouped = rows.groupby(["phase", by], observed=True)[f"{memory}_bytes"]
            sums = grouped.sum().mask(grouped.count().lt(grouped.size()))  # unknown where one operand is
            known = sums.dropna().rename("size").reset_index()
            for phase, item, size in by_row(known, "phase", by, "size"):
                mean = float(size) / float(n_passes[phase])
                yield phase, by, str(item), f"touched in a pass, {name}", "counted", "bytes", mean


def _buffers(context: Context) -> Iterator[_Row]:
    peaks = buffers.peaks(context.tables)
    for group, size, n in by_row(peaks, "group", "peak_bytes", "n_buffers"):
        yield "", "buffer", str(group), "most held", "counted", "bytes", float(size)
        yield "", "buffer", str(group), "allocations", "counted", "", float(n)


def _experts(context: Context) -> Iterator[_Row]:
    for layer, expert, n in by_row(context.choice.counts, "layer", "expert", "n_tokens"):
        yield "generate", "expert", f"layer {layer}, expert {expert}", "times chosen", "counted", "", float(n)


def by_row(table: pd.DataFrame, *columns: str) -> Iterator[tuple[Any, ...]]:
    """The values of some columns, row by row."""
    return zip(*(table[column].tolist() for column in columns), strict=True)


def _layer(number: Any) -> str:
    return "in no layer" if pd.isna(number) else f"layer {int(number)}"


def _number(value: Any) -> float:
    return float("nan") if pd.isna(value) else float(value)
