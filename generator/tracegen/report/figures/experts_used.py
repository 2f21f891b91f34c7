"""How many experts of each tensor a pass used, in the words that users of llama.cpp paste."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import expert_use
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.cells import Cell, Head, applicable, cells, number, share
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_sentences as say

SHOWN = 64
FILE = "data/experts-used.txt"


def _line(tensor: object, layer: object, n_used: object, n_experts: object) -> str:
    name = q.printable(tensor) if q.known(tensor) else f"layer {layer}"
    return expert_use.line(name, int(str(n_used)), int(str(n_experts)))


def _text(table: pd.DataFrame) -> str:
    """A line for each tensor of each pass, under the name of the pass."""
    lines = []
    for (_, name), of in table.groupby(["pass_id", "name"], sort=False, dropna=False):
        n = int(of["n_rows"].max())
        lines.append(f"# {name}: {n} token {'row' if n == 1 else 'rows'}")
        lines += [
            _line(*values) for values in zip(of["tensor"], of["layer"], of["n_used"], of["n_experts"], strict=True)
        ]
    return "\n".join(lines) + "\n"


def _title(table: pd.DataFrame) -> str:
    ends = {}
    for phase in ("prompt", "generate"):
        used = table.loc[table["phase"] == phase, "n_used"]
        ends[phase] = (int(used.min()), int(used.max())) if len(used) else None
    sizes = table["n_experts"].unique()
    return say.used_title(**ends, n_experts=int(sizes[0]) if len(sizes) == 1 else None)


def _content(context: Context) -> Rows:
    """A row for each layer of each pass of the prompt, and of all generated tokens."""
    table = expert_use.used(context.tables)
    once = table.drop_duplicates(["phase", "pass_id", "layer"])
    once = once.assign(last=once["phase"].eq("prompt")).sort_values(["last", "pass_id", "layer"]).head(SHOWN)
    rows = [
        cells(
            q.printable(r["name"]),
            Cell(_line(r["tensor"], r["layer"], r["n_used"], r["n_experts"]), code=True),
            share(r["n_used"], r["n_experts"]),
            applicable(r["if_even"], lambda value: q.decimal(value, 1)),
            number(q.count(r["n_rows"])),
        )
        for r in once.to_dict("records")
    ]
    n_all = len(table.drop_duplicates(["phase", "pass_id", "layer"]))
    cut = f" The first {len(rows)} of {q.count(n_all)} layers of passes." if len(rows) < n_all else ""
    return Rows(
        title=_title(table),
        caption="Experts that at least one token row of the pass chose; one line per layer, for all its expert tensors "
        "share one routing. Random: how many would be used on average if each row chose at random, E (1 − (1 − k/E)ⁿ). "
        f"{FILE} has a line for every tensor of every pass.{cut} Warm-up is left out.",
        head=(
            Head("Pass"),
            Head("Experts used"),
            Head("Share", number=True),
            Head("Random", number=True),
            Head("Token rows", number=True),
        ),
        rows=rows,
        data=table,
        empty="" if rows else shared_experts.no_choice(context),
        files={FILE: _text(table)} if rows else {},
    )


EXPERTS_USED = Table(
    key="experts-used",
    page="experts",
    section="tables",
    title="How many experts of each tensor does a pass use?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "How many experts of each expert tensor are used, by each pass (ubatch) of the prompt, and by all generated "
        "tokens together.",
        "An expert counts once for a pass, however many of its token rows chose it. n is the number of token rows: the "
        "last layer of a prompt has fewer, for llama.cpp computes it only where an output is asked for.",
        "Experts that no line counts need not be in memory for this text. The more rows, the more experts: fewer than "
        "“random” means that rows choose the same ones.",
        code="from tracegen.analysis import expert_use\ndata = expert_use.used(run.tables)",
    ),
)
