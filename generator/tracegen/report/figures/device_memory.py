"""What a device with so much memory should hold: options of llama.cpp, and the time that the CPU keeps."""

import pandas as pd

from tracegen.analysis import buffers, device_place
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import Cell
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table, When, no_rows

MOST = 8
RULE = (
    "Of all pairs of -ngl and --n-cpu-moe that fit, the one with which the CPU keeps least. Needed: the weights, the "
    "KV cache of these layers, and intermediate results as large as here."
)
KEPT = (
    "The CPU keeps the operations that stay with it and the time outside operations; with a device that took no time, "
    "a token would take that long. A real one adds what it reads for a token divided by its memory bandwidth, and the "
    "hand-over at each change between the two."
)


def _on_cpu(context: Context) -> bool:
    one_model = context.tables["files"]["model"].nunique() <= 1
    return one_model and not context.others and context.phase == "generate" and bool(context.tokens.get("generate"))


ON_CPU = When("a run that generated tokens on the CPU alone, with one model", _on_cpu)


def _content(context: Context) -> Rows:
    tensors = context.tables["tensors"]
    if not len(tensors):
        return no_rows("The trace names no model file.")
    if tensors["layer"].isna().all():
        return no_rows("No tensor of the model belongs to a layer.")
    model = _model(context)
    data = device_place.table(model, MOST)
    return Rows(
        answer=_half(data, model),
        caption=f"{RULE} {KEPT} n = {q.counted(context.tokens['generate'], 'generated token')}; a token takes "
        f"{q.duration(model.token_ns)} here.",
        data=data,
    ).of(
        data,
        col.number("Memory", lambda r: q.size(r["memory_bytes"])),
        col.text("Options", lambda r: Cell(r["options"], code=True)),
        col.size("Needed", "needed_bytes"),
        col.size("A token reads there", "touched_bytes"),
        col.number("The CPU keeps", lambda r: q.decimal(r["kept_ns"] / 1e6, 2), "ms a token"),
        col.number("Speed at most", lambda r: q.decimal(1e9 / r["kept_ns"], 2) if r["kept_ns"] > 0 else "", "tokens/s"),
    )


def _model(context: Context) -> device_place.Model:
    timed = context.timed[context.timed["phase"].eq("generate").to_numpy(bool)]
    used = context.of_kind(context.used, "generate")
    peaks = buffers.peaks(context.tables)
    sizes = {str(group): int(size) for group, size in zip(peaks["group"], peaks["peak_bytes"], strict=True)}
    return device_place.model_of(context.tables, timed, used, sizes, context.tokens["generate"])


def _half(data: pd.DataFrame, model: device_place.Model) -> tuple[Amount, ...]:
    """What the smallest memory gives that is half of what all takes."""
    row = data[(data["memory_bytes"] >= model.whole_bytes / 2).to_numpy(bool)].iloc[0]
    return (
        Amount(int(row["memory_bytes"]), "bytes", f"is best used with {row['options']}"),
        Amount(float(row["touched_bytes"]), "bytes", "of what a token reads lie there"),
        Amount(float(row["kept_ns"]), "ns", f"of the {q.duration(model.token_ns)} of a token stay with the CPU"),
    )


DEVICE_MEMORY = Table(
    key="device-memory",
    section="cache",
    title="What belongs on a device with so much memory?",
    needs=(*needs.TIMES, *needs.BYTES, needs.LAYERS),
    when=ON_CPU,
    content=_content,
    words={"rule": RULE, "kept": KEPT},
    made_by="tracegen.analysis.device_place.table",
)
