"""What fills the memory: the resident bytes of the process over time, by what they are."""

from tracegen.analysis import footprint
from tracegen.charts import buffers as buffers_chart
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Figure, When

MOST_SAID = 3  # groups in the answer
LITTLE = 0.02  # of the most that the process held: what never is more has no colour of its own
RULE = (
    "Buffers of ggml and saved states are counted by their pages; “other memory” is what else belongs to no file: what "
    "the program and its libraries allocate. The kernel shares pages of the model file, and can drop them."
)


def _sampled(context: Context) -> bool:
    return bool(context.tables["footprint"]["occasion"].isin(footprint.WHILE).any())


def _content(context: Context) -> Content:
    table = footprint.footprint(context.tables)
    passes = context.tables["passes"]
    begin = min(int(table["time_ns"].min()), int(passes["begin_ns"].min()))
    ended = table["occasion"].eq("end").to_numpy(bool)
    end = int(table["time_ns"].max()) - begin
    data = table[~ended][["time_ns", "group", "resident_bytes"]].assign(time_ns=table["time_ns"] - begin)
    level = data.pivot_table(index="time_ns", columns="group", values="resident_bytes", fill_value=0, aggfunc="sum")
    little = level.columns[(level.max() < LITTLE * level.sum(axis=1).max()).to_numpy(bool)]
    drawn = level.drop(columns=little).assign(other=level[little].sum(axis=1))
    rows = drawn.reset_index().melt("time_ns", var_name="group", value_name="size_bytes")
    most = level.iloc[int(level.sum(axis=1).to_numpy().argmax())].sort_values(ascending=False, kind="stable")
    n = q.counted(table["sample"].nunique(), "sample")
    return Content(
        answer=(
            Amount(int(most.sum()), "bytes", "at most"),
            *(Amount(int(size), "bytes", str(name)) for name, size in most.head(MOST_SAID).items()),
        ),
        caption=f"Resident bytes of the process at each sample, until the next. n = {n}. All passes are equally wide. "
        f"What is never more than {q.percent(LITTLE)} of the highest is “other”.",
        alt=f"Stacked area of resident bytes over time; at most {q.size(int(most.sum()))}.",
        chart=lambda width: buffers_chart.chart(
            rows,
            end,
            passes["begin_ns"].dropna() - begin,
            width=width,
            colours=buffers_chart.HELD,
            what="resident",
        ),
        data=data,
    )


FOOTPRINT = Figure(
    key="footprint",
    page="file",
    section="buffers",
    title="What fills the memory?",
    needs=(needs.EVIDENCE, needs.WHOLE, needs.FOOTPRINT),
    when=When("a run whose memory was sampled while it computed", _sampled),
    content=_content,
    words={"rule": RULE},
    made_by="tracegen.analysis.footprint.footprint",
)
