"""How much of each part of the model was in memory, as the run went on."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import resident_tensors
from tracegen.charts import resident_groups as groups_chart
from tracegen.charts import theme
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.figures.residency import RECORDED
from tracegen.report.words import sentences

LEAST = 0.01  # of the tensors' bytes: smaller groups have no line


def _content(context: Context) -> Content:
    """A line for each group of components."""
    page = context.fact("host", "page_bytes")
    if page is None:
        return Content(
            "", "", lambda _: None, pd.DataFrame(), empty="The size of the machine’s pages was not recorded."
        )
    each = resident_tensors.resident_tensors(context.tables, page)
    data = resident_tensors.by_group(each, context.tables["tensors"], theme.GROUP_OF)
    size = data.drop_duplicates("group").set_index("group")["size_bytes"]
    order = [name for name in theme.GROUPS if size.get(name, 0) >= LEAST * size.sum()]
    passes = {pass_id: at for at, pass_id in enumerate(sorted(data["pass_id"].unique()))}
    rows = data.assign(number=data["pass_id"].map(passes), share=data["resident_bytes"] / data["size_bytes"])
    rows = rows.loc[rows["group"].isin(order), ["number", "group", "share"]]
    ended = rows[rows["number"] == len(passes) - 1].set_index("group")["share"]
    title = sentences.resident_groups_title({name: float(ended[name]) for name in order if name in ended})
    return Content(
        title=title,
        caption="The share of the bytes of each group’s tensors that the kernel had in memory when the load or pass "
        f"had ended, whoever read them. Groups of less than {q.percent(LEAST)} of the tensors’ bytes have no line; the "
        f"CSV has them. n = {q.counted(len(passes), 'load or pass', 'loads and passes')}.",
        alt=f"A line for each of {q.counted(len(order), 'group')}. {q.ended(title)}",
        chart=lambda width: groups_chart.chart(rows, order, width=width),
        data=data,
        empty="" if len(rows) else "No page of a tensor was looked at.",
        numbers={"page_bytes": page},
    )


RESIDENT_GROUPS = Figure(
    key="resident-groups",
    page="memory",
    section="kinds",
    title="How much of each part of the model stayed in memory?",
    needs=(needs.EVIDENCE, needs.KINDS),
    when=RECORDED,
    content=_content,
    explanation=Explanation(
        "The share of each component group that was in memory (mincore) when each load and pass had ended.",
        "Loads and passes that ended, warm-up included. A page that two tensors share counts for each with its part.",
        "A line that stays at the top is kept by the kernel: each token reads it, so that it is never the page that "
        "was not used for longest. A line that falls or stays low is read again and again. Copied weights fall, too: "
        "nothing reads them in the file any more.",
        code="""
from tracegen.analysis import resident_tensors
from tracegen.charts import theme
each = resident_tensors.resident_tensors(run.tables, page_bytes=$page_bytes)
data = resident_tensors.by_group(each, run.tables["tensors"], theme.GROUP_OF)
""",
    ),
)
