"""In which order operations go through the mapped files, how far they step, and how many reads that would be."""

from collections.abc import Mapping

import pandas as pd

from tracegen.analysis import order
from tracegen.charts import accesses
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import size
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_access
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Rows, no_rows, not_drawn

STEP = (
    "A step leads from the end of an access to the start of the next one of its pass: contiguous if nothing lies "
    "between, overlapping if both share bytes, else forward or backward in the file."
)


def _access_path(context: Context, pass_id: int | None = None) -> Content:
    """The accesses of the measured pass `pass_id`, by default the typical pass."""
    drawn = context.typical_pass if pass_id is None else pass_id
    empty = shared_access.nothing(context)
    if not empty and (drawn is None or drawn not in set(context.measured["pass_id"])):
        empty = "The ends of measured passes were not recorded."
    rows = pd.DataFrame() if empty else order.path(context.tables, context.disk_accesses, int(drawn or 0))
    if not empty and rows.empty:
        empty = "The operations of the pass touched no mapped file, or have no times of their own."
    if empty:
        return not_drawn(empty)
    files = context.tables["files"]
    total = int((files["axis_begin"] + files["size_bytes"]).max())
    label = context.labels[int(drawn or 0)]
    more = " Files stand one behind the other." if len(files) > 1 else ""
    return Content(
        title=f"Where in the file are the operations of {label}, one after the other?",
        caption=f"Each mark is an access of {label}: as high as the bytes that it covers, as wide as its operation "
        f"takes; thin ones are drawn thicker. n = {q.counted(len(rows), 'access')}.{more} Weights that were copied "
        f"into memory are not in it.{shared_access.left_out(context)}",
        alt=f"Marks of {q.counted(len(rows), 'access')} by time and place in the file.",
        chart=lambda width: accesses.path(rows, total, width=width),
        data=rows,
        numbers={"pass_id": int(drawn or 0)},
    )


ACCESS_PATH = shared_access.order_figure(
    key="access-path",
    title="Where in the file are the operations, one after the other?",
    needs=(*needs.TIMES, *needs.BYTES),
    content=_access_path,
    wide=True,
    code=shared_access.ACCESSES + "data = order.path(run.tables, touched, $pass_id)",
)


def _access_order(context: Context) -> Rows:
    """A row for each phase; the CSV has one for each pass."""
    passes = context.access_passes
    phases = order.by_phase(passes[passes["n_accesses"] > 0])
    phases = phases.assign(steps=phases[[f"n_{kind}" for kind in order.KINDS]].sum(axis=1))
    phase = context.touching_phase
    shown = context.touching(phase)
    n = {kind: int(shown[f"n_{kind}"].sum()) for kind in order.KINDS}
    return Rows(
        answer=_steps(n, phase),
        caption=f"{STEP}{_layers(int(shown['n_layers_down'].sum()), sum(n.values()))} Accesses, bytes and "
        f"distance are means; a byte counts as often as it was accessed. The CSV has a row for each pass."
        f"{shared_access.left_out(context)}",
        data=passes,
        empty=shared_access.nothing(context),
    ).of(
        phases,
        col.text("Phase", lambda r: f"{r['kind']} passes"),
        col.count("Passes", "n_passes"),
        col.number("Accesses of a pass", lambda r: q.decimal(r["n_accesses"] / r["n_passes"])),
        col.number("Bytes of a pass", lambda r: size(r["touched_bytes"] / r["n_passes"]), "MiB"),
        *(col.share(kind.capitalize(), f"n_{kind}", "steps") for kind in order.KINDS),
        col.number("Mean distance", lambda r: size(r["distance_bytes"] / r["steps"] if r["steps"] else None), "MiB"),
    )


def _layers(n_down: int, n_steps: int) -> str:
    """Whether layers come in their order; empty where no step is known."""
    if not n_steps:
        return ""
    if not n_down:
        return " Layers come in their order: no step leads to an earlier layer."
    return f" Of {q.counted(n_steps, 'step')}, {q.count(n_down)} lead{'s' * (n_down == 1)} to an earlier layer."


def _steps(n: Mapping[str, int], phase: str) -> tuple[Amount, ...]:
    """Which way the steps of a phase go; `n`: steps by kind."""
    total = sum(n.values())
    if not total:
        return ()
    return (
        Amount(n["contiguous"] / total, "share", f"of the steps of {phase} passes are contiguous"),
        Amount(n["backward"] / total, "share", "go back in the file"),
    )


ACCESS_ORDER = shared_access.order_table(
    key="access-order",
    title="In which order are the bytes of the file touched?",
    content=_access_order,
    words={"step": STEP},
    code=shared_access.ACCESSES + "data = order.by_pass(run.tables, touched)",
)


def _access_reads(context: Context) -> Rows:
    phase = context.touching_phase
    shown = context.touching(phase)
    if shown.empty:
        empty = shared_access.nothing(context) or "No prompt or generate pass touched the mapped file."
        return no_rows(empty)
    table = order.reads(shown)
    median = {int(t): float(n) for t, n in zip(table["tolerance_bytes"], table["reads"], strict=True)}
    return Rows(
        answer=_joined(float(shown["n_accesses"].median()), median),
        caption=f"Accesses that follow each other with at most so many bytes between are joined into one read. "
        "Sequential: the share of steps that are joined. Reads: the median of a pass; size: the mean, without the "
        f"bytes between. "
        f"n = {q.counted(len(shown), f'{phase} pass')}.{shared_access.left_out(context)}",
        data=table,
        numbers={"phase": phase},
    ).of(
        table,
        col.text("At most between", lambda r: q.size(r["tolerance_bytes"]) if r["tolerance_bytes"] else "nothing"),
        col.decimal("Reads of a pass", "reads", 1),
        col.share("Sequential steps", "sequential_share"),
        col.size("Mean size of a read", "mean_bytes"),
    )


def _joined(accesses: float, reads: Mapping[int, float]) -> tuple[Amount, ...]:
    """How many reads the accesses of a pass coalesce into; `reads`: by tolerance in bytes, medians over passes."""
    largest = max(reads, default=0)
    if not accesses or not largest:
        return ()
    n_accesses, n_reads = round(accesses), round(reads[largest])
    return (
        Amount(n_accesses, "", q.noun(n_accesses, "access")),
        Amount(n_reads, "", f"{q.noun(n_reads, 'read')} with a gap tolerance of {q.size(largest)}"),
    )


ACCESS_READS = shared_access.order_table(
    key="access-reads",
    title="How many reads would the accesses of a token coalesce into?",
    content=_access_reads,
    code=shared_access.ACCESSES
    + """passes = order.by_pass(run.tables, touched)
data = order.reads(passes[(passes["kind"] == "$phase") & (passes["n_accesses"] > 0)])""",
)
