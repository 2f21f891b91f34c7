"""What a device with so much memory should hold: options of llama.cpp, and what a token takes then."""

import pandas as pd

from tracegen.analysis import device_place, device_speed
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


PREDICTED = (
    "A layer that moves takes as long for a byte of its weights that a token touches as what the other side has here: "
    "the device from the least to the most that it can have computed, the CPU from its fastest to its slowest layer."
)


_CHOICE = (
    col.number("Memory", lambda r: q.size(r["memory_bytes"])),
    col.text("Options", lambda r: Cell(r["options"], code=True)),
    col.size("Needed", "needed_bytes"),
    col.size("A token reads there", "touched_bytes"),
)


def _on_cpu(context: Context) -> bool:
    one_model = context.tables["files"]["model"].nunique() <= 1
    return one_model and not context.others and context.phase == "generate" and bool(context.tokens.get("generate"))


def _known(context: Context) -> bool:
    return _on_cpu(context) or device_speed.of(context) is not None


KNOWN = When("a run that generated tokens with one model on the CPU, or on the CPU and one device", _known)


def _content(context: Context) -> Rows:
    tensors = context.tables["tensors"]
    if not len(tensors):
        return no_rows("The trace names no model file.")
    if tensors["layer"].isna().all():
        return no_rows("No tensor of the model belongs to a layer.")
    if (mixed := device_speed.of(context)) is not None:
        return _predicted(context, mixed)
    model = device_place.of_run(context)
    data = device_place.table(model, MOST)
    return Rows(
        answer=_half(data, model),
        caption=f"{RULE} {KEPT} n = {q.counted(context.tokens['generate'], 'generated token')}; a token takes "
        f"{q.duration(model.token_ns)} here.",
        data=data,
    ).of(
        data,
        *_CHOICE,
        col.number("The CPU keeps", lambda r: q.decimal(r["kept_ns"] / 1e6, 2), "ms a token"),
        col.number("Speed at most", lambda r: q.decimal(1e9 / r["kept_ns"], 2) if r["kept_ns"] > 0 else "", "tokens/s"),
    )


def _predicted(context: Context, mixed: device_speed.Mixed) -> Rows:
    """The same for a run in which a device computed, too: with the speed that is predicted."""
    data = device_speed.table(mixed, MOST)
    if data.empty:
        return no_rows("Of no choice is it known from this run how long a token would take.")
    best = data.iloc[data["high_ns"].argmin()]
    device, population = q.printable(mixed.backend), q.counted(context.tokens["generate"], "generated token")
    return Rows(
        answer=(
            Amount(float(best["low_ns"]), "ns", f"at least is predicted for a token with {best['options']}"),
            Amount(float(best["high_ns"]), "ns", f"at most; it takes {q.duration(mixed.model.token_ns)} here"),
        ),
        caption=f"For each size of the memory of {device}, the choice with which a token is predicted to be fastest; "
        f"sizes that change nothing are left out. {PREDICTED} n = {population}.",
        data=data,
    ).of(
        data,
        *_CHOICE,
        col.number("A token takes", lambda r: _between(r["low_ns"] / 1e6, r["high_ns"] / 1e6), "ms"),
        col.number("Speed", lambda r: _between(1e9 / r["high_ns"], 1e9 / r["low_ns"]), "tokens/s"),
    )


def _between(low: float, high: float) -> str:
    return f"{q.decimal(low, 2)} to {q.decimal(high, 2)}"


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
    when=KNOWN,
    content=_content,
    words={"rule": RULE, "kept": KEPT, "predicted": PREDICTED},
    made_by="tracegen.analysis.device_speed.choices",
)
