"""How much of each token's time is waiting for the disk."""

from __future__ import annotations

import pandas as pd

from tracegen.analysis import disk_waits
from tracegen.charts import disk_split
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.figures.shared_disk import FAULTS, RECORDED, read_bytes
from tracegen.report.words import disk_sentences as say


def _content(context: Context) -> Content:
    """The parts of the time of each generate pass."""
    rows = context.disk_split
    kind = rows["pass_id"].map(context.kinds).astype("object")
    generate = rows[(kind == "generate").to_numpy(bool)].reset_index(drop=True)
    shown, phase = (generate, "generate") if len(generate) else (rows[(kind == "prompt").to_numpy(bool)], "prompt")
    tokens = context.measured.set_index("pass_id")["produced_token"]
    labels = [
        str(token) if q.known(token) else context.labels[number]
        for number, token in zip(shown["pass_id"], tokens.reindex(shown["pass_id"]), strict=True)
    ]
    prompt = rows[(kind == "prompt").to_numpy(bool)]
    title = say.split_title(_sums(shown), phase, read_bytes(context, shown["pass_id"]))
    return Content(
        title=title,
        caption=f"Wall time of each {phase} pass in parts; the parts are means over {_threads(rows)} and add up to the "
        f"pass. {say.PARTS}{say.prompt(_sums(prompt)) if phase == 'generate' else ''} n = {len(shown)}.",
        alt=f"Stacked bars of {q.counted(len(shown), 'pass')}. {q.ended(title)}",
        chart=lambda width: disk_split.chart(shown, labels, width=width),
        data=rows,
        empty="" if len(shown) else "No prompt or generate pass with recorded page faults has an end.",
    )


def _sums(rows: pd.DataFrame) -> dict[str, float]:
    """Sums of duration and parts over passes, ns."""
    return {name: float(rows[name].sum()) for name in ("duration_ns", *disk_waits.PARTS)}


def _threads(rows: pd.DataFrame) -> str:
    numbers = sorted(set(rows["n_threads"].astype(int)))
    return q.counted(numbers[0], "thread") if len(numbers) == 1 else "the threads of each pass"


DISK_SPLIT = Figure(
    key="disk-split",
    page="disk",
    section="split",
    title="How much of each token’s time is waiting for the disk?",
    needs=(*needs.TIMES, needs.FAULTS),
    when=RECORDED,
    content=_content,
    explanation=Explanation(
        f"The time of each pass in five parts, in the mean over its threads. {FAULTS}",
        "Prompt and generate passes that ended. The figure shows the generate passes; the CSV has all measured passes, "
        "with the number of page faults and their time summed over threads.",
        "“Waiting for a thread that waits for the disk” is counted at each barrier, inside operations and after them: "
        "how much later the last thread arrived because of its page faults since the barrier before, less how much "
        "later the waiting thread itself arrived because of its own. Time without a processor is part of whatever the "
        "thread was doing.",
        code="""
from tracegen.analysis import disk_waits
data = disk_waits.pass_split(run.tables)
""",
    ),
)
