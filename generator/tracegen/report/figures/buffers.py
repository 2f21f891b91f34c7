"""What is in the runtime’s buffers, and the most that was; how much of the KV cache tokens use."""

from collections.abc import Sequence
from itertools import pairwise

from tracegen.analysis import buffers
from tracegen.charts import buffers as buffers_chart
from tracegen.charts import tokens
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Figure, Rows, Table


def _buffers(context: Context) -> Content:
    level = buffers.occupancy(context.tables)
    passes = context.tables["passes"]
    ends = passes["end_ns"].dropna()
    begin = min([*(level["time_ns"].head(1)), *(passes["begin_ns"].head(1))], default=0)
    end = int(ends.max()) - begin if len(ends) else 0
    data = level.assign(time_ns=level["time_ns"] - begin)
    return Content(
        caption="Bytes allocated and not yet freed, by what the buffer holds; n = "
        f"{q.counted(len(buffers.allocations(context.tables)), 'event')} (allocations "
        "and frees of more than 0 bytes). All passes are equally wide. llama.cpp wraps the mapped model file in a "
        "buffer too; it takes no memory of its own and is left out.",
        alt=f"Stacked area of allocated bytes over time; peak {q.size(context.peak_buffer_bytes)}.",
        chart=lambda width: buffers_chart.chart(data, end, passes["begin_ns"].dropna() - begin, width=width),
        data=data,
        empty="" if len(level) else "The trace holds no allocation.",
    )


BUFFERS = Figure(
    key="buffers",
    page="file",
    section="buffers",
    title="How much do the runtime’s buffers hold in the whole run?",
    needs=(needs.EVIDENCE, needs.BALANCE, needs.ALL_BUFFERS, needs.WHOLE),
    content=_buffers,
    code="""
level = buffers.occupancy(run.tables)
begin = min([*level["time_ns"].head(1), *run.passes["begin_ns"].head(1)])
data = level.assign(time_ns=level["time_ns"] - begin)
""",
)


PADDED = (
    "with the rows that attention masks: without flash attention, operations read rows up to the next multiple of 256, "
    "so that a flat line says nothing of tokens"
)


def _kv_cache(context: Context) -> Content:
    """The bytes of the KV cache that each generate pass touches."""
    generate = context.of_kind(context.measured, "generate").dropna(subset=["produced_token"])
    used = context.buffer_use[context.buffer_use["group"] == "KV cache"]
    data = generate[["pass_id", "produced_token"]].merge(used[["pass_id", "touched_bytes"]], on="pass_id")
    peaks = buffers.peaks(context.tables).set_index("group")["peak_bytes"]
    fused = context.tables["graph_nodes"]["op"].eq("FLASH_ATTN_EXT").any()
    rows = "without the rows that attention masks" if fused else PADDED
    return Content(
        answer=_growth([int(size) for size in data["touched_bytes"]], peaks.get("KV cache")),
        caption=f"What each generate pass reads and writes, in all layers, {rows}. "
        f"n = {q.counted(len(data), 'token')}.",
        alt="Line of bytes by token.",
        chart=lambda width: tokens.kv_cache(data, width=width),
        data=data,
        empty="" if len(data) else "No generate pass used a KV cache.",
    )


def _growth(touched: Sequence[int], allocated: int | None) -> tuple[Amount, ...]:
    """What tokens touch of the KV cache, in bytes, and how much more each does if that is the same for all."""
    if not touched:
        return ()
    whole = () if allocated is None else (Amount(int(allocated), "bytes", "allocated"),)
    if len(touched) == 1:
        return (Amount(touched[0], "bytes", "touched by the one token"), *whole)
    steps = {b - a for a, b in pairwise(touched)}
    return (
        Amount(touched[0], "bytes", "touched by the first token"),
        Amount(touched[-1], "bytes", "by the last token"),
        *(Amount(step, "bytes", "more for each token") for step in steps if len(steps) == 1 and step > 0),
        *whole,
    )


KV_CACHE = Figure(
    key="kv-cache",
    page="file",
    section="buffers",
    title="How does the KV cache grow?",
    needs=needs.FILE_USE,
    content=_kv_cache,
    code="""
used = buffers.touched_by_group(run.tables, accesses.accesses(run.tables))
tokens = run.passes[run.passes["kind"] == "generate"].dropna(subset=["produced_token"]).sort_values("pass_id")
used = used[used["group"] == "KV cache"]
data = tokens[["pass_id", "produced_token"]].merge(used[["pass_id", "touched_bytes"]], on="pass_id")
""",
)


PLACES = " and memory. Pinned memory of the CPU is where data waits that is copied to a device or comes from it"


def _buffer_peaks(context: Context) -> Rows:
    peaks = buffers.peaks_by_place(context.tables)
    elsewhere = set(peaks["place"]) - {"CPU"}
    return Rows(
        caption=f"Peak of the bytes allocated at one time, per group{PLACES if elsewhere else ''}.",
        data=peaks,
        empty="The trace holds no allocation.",
    ).of(
        peaks,
        col.text("Group", lambda r: str(r["group"])),
        *((col.text("Memory of", lambda r: q.printable(r["place"])),) if elsewhere else ()),
        col.count("Allocations", "n_buffers"),
        col.size("Peak", "peak_bytes"),
    )


BUFFER_PEAKS = Table(
    key="buffer-peaks",
    section="file",
    title="How much did each kind of buffer hold at most?",
    needs=(needs.EVIDENCE, needs.BALANCE, needs.ALL_BUFFERS, needs.WHOLE),
    content=_buffer_peaks,
    code="data = buffers.peaks_by_place(run.tables)",
)
