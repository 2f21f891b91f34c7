"""Whether the prompt chooses other experts than generated tokens."""

from __future__ import annotations

from math import comb

from tracegen.analysis import chance, expert_phases, experts
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_experts
from tracegen.report.figures.cells import Head, cells, number, share
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.figures.shared_experts import WITH_EXPERTS
from tracegen.report.words import expert_chance_sentences as say


def _few(n_prompt: int, n_generate: int, block: int) -> bool:
    """Whether there are so few ways to deal the blocks that no distance is rarer than chance.LEVEL."""
    prompt, generate = -(-n_prompt // block), -(-n_generate // block)
    return comb(prompt + generate, prompt) * chance.LEVEL <= 1


def _content(context: Context) -> Rows:
    """A row over all layers, and one for each."""
    table = expert_phases.phases(context.tables)
    records = table.to_dict("records")
    rows = [
        cells(
            number(q.count(r["layer"]) if q.known(r["layer"]) else f"all {q.count(r['n_layers'])}"),
            number(q.count(r["n_prompt"])),
            number(q.count(r["n_generate"])),
            share(r["distance"], 1),
            number(f"below {q.percent(r['high'])}"),
            number(say.points(r["effect"])),
            number(q.p_value(r["p_held"])),
        )
        for r in records
    ]
    title, block, cut = "", expert_phases.BLOCK, ""
    if records:
        r = records[0]
        block = int(r["block"])
        title = say.phases_title(
            distance=float(r["distance"]), high=float(r["high"]), p=float(r["p"]),
            level=chance.LEVEL, few=_few(int(r["n_prompt"]), int(r["n_generate"]), block),
        )  # fmt: skip
        most = expert_phases.MOST_ROWS
        if most in (r["n_prompt"], r["n_generate"]):
            cut = f" At most {q.count(most)} rows of a phase count: the last of the prompt, the first generated."
    n_prompt = len(experts.of_phase(context.tables, "prompt"))
    return Rows(
        title=title,
        caption=say.phases_caption(block=block, draws=chance.DRAWS, cut=cut),
        head=(
            Head("Layer", number=True),
            Head("Prompt rows", number=True),
            Head("Generated rows", number=True),
            Head("Distance", number=True),
            Head("Dealt at random", number=True),
            Head("Effect", "points", True),
            Head("p", number=True),
        ),
        rows=rows,
        data=table,
        empty=shared_experts.no_choice(context) or say.no_phases(n_prompt=n_prompt, n_generate=len(context.chosen)),
    )


EXPERTS_PHASES = Table(
    key="experts-phases",
    page="experts",
    section="tables",
    title="Does the prompt choose other experts than generated tokens?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_content,
    explanation=Explanation(
        "How far apart the experts’ shares of the choices lie in the prompt and in generation.",
        "Token rows of passes of the prompt, and of generate passes; warm-up is left out. Layers in which rows choose "
        "all experts, or different numbers of them, are left out, and so is one that a phase lacks.",
        "With few rows the distance is large by chance alone: compare it with “dealt at random”. A distance above that "
        "range says that what the prompt chose is no good guess of what generated tokens will choose. Rows in blocks "
        "that are dealt together resemble each other; a text with longer parts than a block may still differ for no "
        "other reason than its parts.",
        code="from tracegen.analysis import expert_phases\ndata = expert_phases.phases(run.tables)",
    ),
)
