"""What if more, or less, of the file stayed in memory?"""

from __future__ import annotations

import pandas as pd

from tracegen.charts import what_if_memory
from tracegen.contract import quantities as q
from tracegen.report.figures import needs, shared_what_if
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.words import what_if_sentences as say


def _content(context: Context) -> Content:
    """The time to read of a pass by size of memory, for each order of the file."""
    empty = shared_what_if.nothing(context)
    if empty:
        return Content(caption="", alt="", chart=lambda _: None, data=pd.DataFrame(), empty=empty)
    table = context.what_if
    saved, memory = shared_what_if.saved(table, shared_what_if.HALF)
    title = say.memory_title(saved, memory, shared_what_if.held(context, memory))
    return Content(
        title=title,
        caption=f"Mean time of a pass to read what is not in memory. {shared_what_if.caption(context)}",
        alt=f"Lines of time by size of memory for {q.counted(table['order'].nunique(), 'order')} of the file. "
        f"{q.ended(title)}",
        chart=lambda width: what_if_memory.chart(table, width=width),
        data=table[["order", "memory_bytes", "reads", "read_bytes", "time_ns"]],
        numbers=shared_what_if.numbers(context),
    )


WHAT_IF_MEMORY = Figure(
    key="what-if-memory",
    page="caches",
    section="caches",
    title="What if more of the file stayed in memory?",
    needs=needs.FILE_USE,
    content=_content,
    explanation=Explanation(
        "How long a pass would read, by how much memory there is for the file.",
        "Memory drops what was not used for longest (LRU); it is counted to the byte. All passes go through it, only "
        "the scored ones count. t = reads · L + bytes / B. The title says beside it what holding the most used bytes "
        "would serve: chosen on the passes that orders are learned on, and never changed.",
        "A line that falls steadily: each GiB of memory is worth the same. A line that stays high and then drops: "
        "little memory is as good as none, until what a token touches fits.",
        code=shared_what_if.CODE + 'data = data[["order", "memory_bytes", "reads", "read_bytes", "time_ns"]]',
    ),
)
