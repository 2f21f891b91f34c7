"""What the KV cache takes in each layer, and what it would take in a longer context."""

import pandas as pd

from tracegen.analysis import kv_cache
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table, When

LONGER = 4  # times the context of the run, where the model does not say what it was trained for
GROUP = ["context", "part", "dtype", "row_bytes", "cells", "streams", "grows"]


def _layers(context: Context) -> pd.DataFrame:
    return context.once("kv_layers", lambda: kv_cache.layers(context.tables))


CACHED = When("a run with a KV cache", lambda context: len(_layers(context)) > 0)


def _content(context: Context) -> Rows:
    table = _layers(context)
    grouped = table.groupby(GROUP, sort=False, as_index=False)
    alike = grouped.agg(layers=("layer", list), allocated_bytes=("allocated_bytes", "sum"))
    answer: tuple[Amount, ...] = ()
    caption = ""
    if table["context"].nunique() == 1 and (each := kv_cache.token_bytes(table)):
        n_ctx, why = _longer(context, int(table["cells"].max() // table["streams"].max()))
        whole = kv_cache.context_bytes(table, n_ctx)
        answer = (
            Amount(each, "bytes", "for each token of context"),
            Amount(int(table["allocated_bytes"].sum()), "bytes", "allocated"),
            Amount(whole, "bytes", f"in a context of {q.count(n_ctx)} tokens for each slot, {why}"),
        )
        fixed = not table["grows"].all()
        caption = " Windows and states take the same in any context." if fixed else ""
    return Rows(
        answer=answer,
        caption="Allocated in these layers together; a token takes its bytes in each of them, and there is room for so "
        f"many tokens, of all slots together.{caption}",
        data=table,
    ).of(
        alike,
        *((col.count("Context", "context"),) if table["context"].nunique() > 1 else ()),
        col.text("Layers", lambda r: _ranges(r["layers"])),
        col.text("Holds", lambda r: str(r["part"])),
        col.name("Type", "dtype"),
        col.count("Bytes of a token", "row_bytes"),
        col.count("Room, in tokens", "cells"),
        col.size("Allocated", "allocated_bytes"),
    )


def _longer(context: Context, now: int) -> tuple[int, str]:
    """A context to compare with, and why: all that the model was trained for, or else some times the one of the run."""
    model = context.facts.model
    trained = (model.metadata or {}).get(f"{model.architecture}.context_length")
    if isinstance(trained, int) and trained > now:
        return trained, "as many as the model was trained for"
    return LONGER * now, f"{LONGER} times as many as here"


def _ranges(layers: list[int]) -> str:
    """`0 to 3, 5`: the layers, in order."""
    found: list[list[int]] = []
    for layer in sorted(layers):
        if found and layer == found[-1][-1] + 1:
            found[-1] = [found[-1][0], layer]
        else:
            found.append([layer])
    return ", ".join(" to ".join(map(str, run)) for run in found)


KV_LAYERS = Table(
    key="kv-layers",
    section="file",
    title="What does the KV cache take, and what would a longer context take?",
    needs=(needs.EVIDENCE, needs.NAMES),
    when=CACHED,
    content=_content,
    code="data = kv_cache.layers(run.tables)",
)
