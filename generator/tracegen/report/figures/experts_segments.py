"""How far one set of experts, or a cache, serves several tokens in a row: SRP and SCH."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracegen.analysis import expert_segments
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.cells import Cell, Head, cells, number, share
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_chance_sentences as say

QUESTION = "How long do the same experts serve?"
TOLD = 16  # the title tells segments of this length, or of the longest below
HEAD = tuple(
    Head(name, number=True)
    for name in (
        "Tokens in a row", "Segments", "SRP", "shuffled", "Experts taken / k", "SCH, k cached", "shuffled",
        "SCH, 2k cached", "shuffled",
    )
)  # fmt: skip


def _row(r: Mapping[Any, Any]) -> tuple[Cell, ...]:
    """A row of the table from a row of the data."""
    return cells(
        number(q.count(r["length"])),
        number(q.count(r["n_segments"])),
        share(r["srp"], 1),
        Cell(q.percent(r["srp_shuffled"]), number=True),
        number(q.decimal(r["srp_size"], 1)),
        share(r["sch_1"], 1),
        Cell(q.percent(r["sch_1_shuffled"]), number=True),
        share(r["sch_2"], 1),
        Cell(q.percent(r["sch_2_shuffled"]), number=True),
    )


def _content(context: Context) -> Rows:
    """A row for each length of segment."""
    table = expert_segments.segments(context.chosen, context.expert_sizes)
    told = table[table["length"] <= TOLD].tail(1).to_dict("records")
    title = QUESTION
    if told:
        r = told[0]
        title = say.segments_title(
            length=int(r["length"]), srp=float(r["srp"]), low=float(r["srp_low"]), high=float(r["srp_high"])
        )
    n_rows, n_layers = (int(table[name].iloc[0]) if len(table) else 0 for name in ("n_rows", "n_layers"))
    return Rows(
        title=title,
        caption=say.segments_caption(
            n_rows=n_rows, n_layers=n_layers, draws=expert_segments.DRAWS,
            cut=shared_experts.first_rows(context, expert_segments.MOST_ROWS),
        ),
        head=HEAD,
        rows=[_row(r) for r in table.to_dict("records")],
        data=table,
        empty=shared_experts.untested(context)
        or ("" if len(table) else f"No sequence has {expert_segments.LENGTHS[0]} generated tokens in a row."),
    )  # fmt: skip


EXPERTS_SEGMENTS = Table(
    key="experts-segments",
    page="experts",
    section="tests",
    title=QUESTION,
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "The two measures of Liang and others (arXiv 2505.16056) of how alike the choices of tokens in a row are: "
        "segment routing best performance (SRP) and segment cache best hit rate (SCH, as in versions 3 and 4 of the "
        "paper).",
        f"{shared_experts.GENERATED} Segments of the paper’s lengths overlap. Layers with the commonest numbers of "
        "experts and of choices. Each layer has its cache; SCH is the mean over layers. An expert that comes into free "
        "room counts as a hit, as in the paper.",
        "SRP of 100 %: all tokens of a segment choose the same experts. SCH: the share of choices that a cache serves "
        "which knows the tokens to come, and drops the expert that they choose least often, as the paper has it. It is "
        "no bound of what reading ahead can reach: a cache that drops what is chosen again last can serve more. Both "
        "grow with k/E and with how unequally experts are used, whatever the order: what the order adds is the "
        "distance from “shuffled”. The paper’s models were measured on given texts, this run on what it generated.",
        code=shared_experts.CHOSEN.replace("experts, routing", "expert_segments, experts")
        + "data = expert_segments.segments(chosen, experts.sizes(run.tables, chosen))",
    ),
)
