"""How the device was asked for what it read, beside what it can do."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from tracegen.analysis import requests
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.cells import Cell, Head, cells, number
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_disk import REQUESTED, told_phase
from tracegen.report.words import disk_sentences as say


def _content(context: Context) -> Rows:
    """Rows of the run's phases, and rows of what was measured on the device before."""
    table, measured = requests.by_kind(context.tables), _measured(context)
    phases = table.to_dict("records")
    rows = [_cells(f"{r['kind']} passes", r) for r in phases] + [_cells(str(r["what"]), r) for r in measured]
    refused = context.fact("device", "refused")
    ceiling = max((r["bytes_per_second"] for r in measured), default=0.0)
    phase = told_phase({str(row["kind"]): float(row["read_bytes"]) for row in phases})
    rates = {str(row["kind"]): row["bytes_per_second"] for row in phases if q.known(row["bytes_per_second"])}
    if measured:
        note = (
            "The lower rows were measured just before the run, on the model file, past the page cache. "
            "The CSV has the upper rows."
        )
    elif refused:
        note = f"What the device can do was not measured: {q.printable(str(refused))}."
    else:
        note = "What the device can do was not measured."
    return Rows(
        title=say.sizes_title(float(rates.get(phase, 0.0)), phase, ceiling),
        caption="The upper rows are the requests of this run, with those of other programs; rate and queue depth are "
        f"means over the time in which at least one request was under way. {note}",
        head=(
            Head("What"),
            Head("Requests", number=True),
            Head("Mean size", "KiB", True),
            Head("Queue depth", number=True),
            Head("Rate", "MiB/s", True),
            Head("Median duration", "µs", True),
        ),
        rows=rows,
        data=table,
        empty="" if rows else "No request was issued in a measured pass.",
    )


def _cells(what: str, row: Mapping[Hashable, Any]) -> tuple[Cell, ...]:
    def shown(value: object, scale: float, digits: int) -> Cell:
        return number(q.decimal(float(value) / scale, digits) if q.known(value) else "")  # type: ignore[arg-type]

    return cells(
        what,
        number(q.count(row["n_requests"])),
        shown(row["mean_bytes"], 2**10, 0),
        shown(row["mean_depth"], 1, 1),
        shown(row["bytes_per_second"], 2**20, 0),
        shown(row["median_ns"], 1e3, 0),
    )


def _measured(context: Context) -> list[dict[Hashable, Any]]:
    """What `tracegen device` measured before the run."""
    return [
        {
            "what": f"device: {m['pattern']}",
            "n_requests": m["reads"],
            "mean_bytes": m["block_bytes"],
            "mean_depth": m["queue_depth"],
            "bytes_per_second": m["bytes_per_second"],
            "median_ns": m["latency_median_ns"],
        }
        for m in context.fact("device", "measurements") or ()
    ]


DISK_SIZES = Table(
    key="disk-sizes",
    page="disk",
    section="split",
    title="How near does the device come to what it can do?",
    needs=(*needs.TIMES, needs.REQUESTS),
    when=REQUESTED,
    content=_content,
    explanation=Explanation(
        "The requests of this run by phase, and reads of known size and queue depth that `tracegen device` made on the "
        "same file.",
        "Requests that were issued during prompt and generate passes, whoever wanted them. A request is as large as "
        "the kernel made it: it joins neighbouring pages, and splits what exceeds the largest request of the device.",
        "A device that can read faster than it was asked to is not the limit: larger or more requests at a time would "
        "use it better. A virtual disk may slow down after some GiB, so one measurement is no ceiling for all times.",
        code="""
from tracegen.analysis import requests
data = requests.by_kind(run.tables)
""",
    ),
)
