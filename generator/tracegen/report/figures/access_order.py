"""In which order the accesses of a pass go through the mapped files."""

from __future__ import annotations

from tracegen.analysis import order
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_access
from tracegen.report.figures.cells import Head, cells, number, share, size
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words import access_sentences as say


def _content(context: Context) -> Rows:
    """A row for each phase; the CSV has one for each pass."""
    passes = context.access_passes
    rows = []
    for row in order.by_phase(passes[passes["n_accesses"] > 0]).to_dict("records"):
        steps = sum(int(row[f"n_{kind}"]) for kind in order.KINDS)
        rows.append(
            cells(
                f"{row['kind']} passes",
                number(q.count(row["n_passes"])),
                number(q.decimal(row["n_accesses"] / row["n_passes"])),
                size(row["touched_bytes"] / row["n_passes"]),
                *(share(row[f"n_{kind}"], steps) for kind in order.KINDS),
                size(row["distance_bytes"] / steps if steps else None),
            )
        )
    told = shared_access.of_phase(context, shared_access.phase(context))
    n = {kind: int(told[f"n_{kind}"].sum()) for kind in order.KINDS}
    return Rows(
        title=say.order_title(n, shared_access.phase(context)),
        caption=f"{say.STEP}{say.layers(int(told['n_layers_down'].sum()), sum(n.values()))} Accesses, bytes and "
        f"distance are means; a byte counts as often as it was accessed. The CSV has a row for each pass."
        f"{shared_access.left_out(context)}",
        head=(
            Head("Phase"),
            Head("Passes", number=True),
            Head("Accesses of a pass", number=True),
            Head("Bytes of a pass", "MiB", True),
            *(Head(kind.capitalize(), number=True) for kind in order.KINDS),
            Head("Mean distance", "MiB", True),
        ),
        rows=rows,
        data=passes,
        empty=shared_access.nothing(context),
    )


ACCESS_ORDER = Table(
    key="access-order",
    page="access",
    section="order",
    title="In which order are the bytes of the file touched?",
    needs=needs.BYTES,
    content=_content,
    explanation=Explanation(
        f"How the accesses of each phase follow each other in the mapped file. {say.STEP}",
        shared_access.MEASURED,
        "Contiguous steps are what read-ahead serves well. Steps back cost a spinning disk a seek; a solid-state disk "
        "does not seek, but the kernel reads ahead for neither. Order matters for bytes that must be read: those in "
        "memory cost nothing in any order.",
        code=shared_access.ACCESSES + "data = order.by_pass(run.tables, touched)",
    ),
)
