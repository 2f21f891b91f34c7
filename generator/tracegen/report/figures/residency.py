"""Which part of the model file was in memory as the run went on."""

from collections.abc import Mapping
from functools import partial

from tracegen.analysis import residency, resident_tensors
from tracegen.charts import file_rows, lines, theme
from tracegen.charts.heatmap import Axis
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Figure, When, not_drawn

MARKS = 4_500  # at most, to keep the SVG small
NO_PAGE = "The size of the machine’s pages was not recorded."


def _looked(context: Context) -> bool:
    return not context.tables["residency"].empty and not context.tables["files"].empty


RECORDED = When("a run that recorded which pages were in memory (residency = true)", _looked)
_figure = partial(Figure, section="file", needs=(needs.EVIDENCE, needs.KINDS), when=RECORDED)


def _residency(context: Context) -> Content:
    tables = context.tables
    page = context.facts.host.page_bytes
    if page is None:  # an older run without the size of a page: its pages have no place in the file
        return not_drawn(NO_PAGE)
    rows = residency.resident_rows(tables)
    n_bins = max(40, min(280, MARKS // max(int(rows["row"].nunique()), 1)))
    axis = Axis.of(tables["files"], n_bins)
    binned = residency.resident_cells(tables, page, n_bins)
    read = residency.read_per_row(tables, rows)
    together = binned.groupby("pass_id")["resident_bytes"].sum().reindex(rows["pass_id"], fill_value=0)
    first, last = (float(together.iloc[place]) / axis.total for place in (0, -1))
    loaded = tables["passes"].set_index("pass_id")["kind"].get(together.index[0]) == "load"
    after = Amount(first, "share", f"of the file in memory after the {'load' if loaded else 'first pass'}")
    return Content(
        answer=(after, Amount(last, "share", "at the end")) if len(together) > 1 else (after,),
        caption=f"Left: the model file from first to last byte; each cell is {q.size(axis.cell_bytes)} of file. Its "
        f"colour is the share of its pages ({q.size(page)} each) that the kernel had in memory when the load or pass "
        "had ended, whoever read them. The head of the file, which llama.cpp unmaps after the load, was not recorded. "
        "Right, or below: bytes that the process made the kernel read from the disk in the same time, read-ahead "
        f"included. n = {q.counted(len(together), 'load or pass', 'loads and passes')} in "
        f"{q.counted(int(rows['row'].nunique()), 'row')}; where several share a row, it is their mean.",
        alt=f"Heatmap of {q.counted(int(rows['row'].nunique()), 'row')} by {n_bins} regions of the file.",
        chart=lambda width: file_rows.residency(
            residency.joined_shares(binned, rows, theme.N_STEPS), read, rows, axis, width=width
        ),
        data=binned,
        numbers={"page_bytes": page, "n_bins": n_bins},
    )


RESIDENCY = _figure(
    key="residency",
    title="How much of the file was in memory?",
    content=_residency,
    wide=True,
    code="data = residency.resident_cells(run.tables, page_bytes=$page_bytes, n_bins=$n_bins)",
)


LEAST = 0.01  # of the tensors' bytes: smaller groups have no line


def _resident_groups(context: Context) -> Content:
    page = context.facts.host.page_bytes
    if page is None:
        return not_drawn(NO_PAGE)
    each = resident_tensors.resident_tensors(context.tables, page)
    data = resident_tensors.by_group(each, context.tables["tensors"], theme.GROUP_OF)
    size = data.drop_duplicates("group").set_index("group")["size_bytes"]
    order = [name for name in theme.GROUPS if size.get(name, 0) >= LEAST * size.sum()]
    passes = {pass_id: at for at, pass_id in enumerate(sorted(data["pass_id"].unique()))}
    rows = data.assign(number=data["pass_id"].map(passes), share=data["resident_bytes"] / data["size_bytes"])
    rows = rows.loc[rows["group"].isin(order), ["number", "group", "share"]]
    ended = rows[rows["number"] == len(passes) - 1].set_index("group")["share"]
    return Content(
        answer=most_and_least({name: float(ended[name]) for name in order if name in ended}),
        caption="The share of the bytes of each group’s tensors that the kernel had in memory when the load or pass "
        f"had ended, whoever read them. Groups of less than {q.percent(LEAST)} of the tensors’ bytes have no line; the "
        f"CSV has them. n = {q.counted(len(passes), 'load or pass', 'loads and passes')}.",
        alt=f"A line for each of {q.counted(len(order), 'group')}.",
        chart=lambda width: lines.in_memory(rows, order, width=width),
        data=data,
        empty="" if len(rows) else "No page of a tensor was recorded.",
        numbers={"page_bytes": page},
    )


def most_and_least(shares: Mapping[str, float]) -> tuple[Amount, ...]:
    """Of which part of the model most was in memory at the end, and of which least; `shares` by group."""
    if not shares:
        return ()
    most, least = max(shares, key=lambda name: shares[name]), min(shares, key=lambda name: shares[name])
    if shares[most] - shares[least] < 0.01:
        return (Amount(shares[most], "share", "of each part in memory at the end"),)
    return (
        Amount(shares[most], "share", f"of {most} weights in memory at the end"),
        Amount(shares[least], "share", f"of {least} weights"),
    )


RESIDENT_GROUPS = _figure(
    key="resident-groups",
    title="How much of each part of the model stayed in memory?",
    content=_resident_groups,
    code="""
each = resident_tensors.resident_tensors(run.tables, page_bytes=$page_bytes)
data = resident_tensors.by_group(each, run.tables["tensors"], theme.GROUP_OF)
""",
)
