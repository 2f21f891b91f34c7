"""What was computed for each prompt that a program got, and what of that had been computed before."""

from collections.abc import Mapping

import pandas as pd

from tracegen.analysis import served
from tracegen.charts import served as served_chart
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Figure, Rows, Table, When

MOST = 200  # rows of the table
# Where tokens lay that were computed again, in the words of the table and of sentences.
LAY: Mapping[str, str] = {
    served.SLOT: "its slot",
    served.OTHER: "slot {slot}",
    served.BEFORE: "no slot any more",
    served.CHANGED: "a slot, behind a change",
}


SEVERAL = When("a run that computed two prompts or more", lambda context: len(context.prompts) > 1)
NEEDED = (needs.EVIDENCE, needs.WHOLE, needs.KINDS, needs.STATES)
CODE = "data = served.served(run.tables)"


def _again(table: pd.DataFrame) -> tuple[Amount, ...]:
    """How much of all computed tokens of prompts had been computed before, and how many there are."""
    computed, again = int(table["n_computed"].sum()), int(table["n_again"].sum())
    return (
        Amount(again / computed, "share", "of the computed tokens of prompts had been computed before"),
        Amount(computed, "count", f"computed for {q.counted(len(table), 'prompt')}"),
    )


def _slots(context: Context) -> Content:
    table = context.prompts
    begin = int(table["begin_ns"].min())
    many = table["context"].nunique() > 1
    slot = zip(table["context"], table["sequence"], strict=True)
    name = [f"slot {number}" + (f" (context {context})" if many else "") for context, number in slot]
    since = table.assign(slot=name, begin=table["begin_ns"] - begin)
    known, ready = since["begin"] + since["again_ns"], since["begin"] + since["prompt_ns"]
    parts = {
        served_chart.AGAIN: (since["begin"], known),
        served_chart.PROMPT: (known, ready),
        served_chart.GENERATION: (ready, ready + since["generate_ns"]),
    }
    rows = pd.concat(
        [pd.DataFrame({"slot": name, "part": part, "begin_ns": b, "end_ns": e}) for part, (b, e) in parts.items()]
    )
    rows = rows[rows["end_ns"] > rows["begin_ns"]].sort_values(["slot", "begin_ns"], kind="stable")
    return Content(
        answer=_again(table),
        caption="Each bar is a prompt with what was generated from it, from the start of its first pass to the end of "
        "its last one; passes compute for several slots at once. How much of a prompt’s time went into what had been "
        f"computed before is estimated from tokens. n = {q.counted(len(table), 'prompt')}.",
        alt="Bars over time, a lane for each slot.",
        chart=lambda width: served_chart.slots(rows, width=width),
        data=rows.reset_index(drop=True),
    )


PROMPT_SLOTS = Figure(
    key="prompt-slots",
    page="timeline",
    section="prompts",
    title="When did each slot compute, and what had been computed before?",
    needs=NEEDED,
    when=SEVERAL,
    content=_slots,
    made_by="tracegen.analysis.served.served",
)


def _table(context: Context) -> Rows:
    table = context.prompts
    shown = table.head(MOST)
    slot_of = dict(zip(table["prompt"], table["sequence"], strict=True))
    cut = f" The first {MOST} of {q.count(len(table))} rows; the CSV has all." if len(table) > MOST else ""

    def lay(r: col.Row) -> str:
        if not q.known(r["again_from"]):
            return ""
        where = LAY[r["again_from"]].format(slot=slot_of.get(r["again_prompt"], ""))
        return f"prompt {r['again_prompt']}: {where}"

    return Rows(
        answer=_again(table),
        caption="Kept: no pass computed these tokens for this prompt. Again: had been computed before, for the prompt "
        "in the next column, and lay where that says. Time: from the first pass of the prompt to its last "
        f"one.{cut}",
        data=table,
    ).of(
        shown,
        col.count("Prompt", "prompt"),
        col.count("Slot", "sequence"),
        col.count("Tokens", "n_tokens"),
        col.count("Kept", "n_kept"),
        col.text("Kept from", lambda r: r["kept_from"] if q.known(r["kept_from"]) else ""),
        col.count("Computed", "n_computed"),
        col.count("Again", "n_again"),
        col.text("Computed for", lay),
        col.decimal("Time", "prompt_ns", 1, "ms", 1e6),
        col.decimal("of that, again", "again_ns", 1, "ms", 1e6),
        col.count("Generated", "n_generated"),
    )


PROMPTS = Table(
    key="prompts",
    section="time",
    title="Which prompts were computed again?",
    needs=NEEDED,
    when=SEVERAL,
    content=_table,
    code=CODE,
)
