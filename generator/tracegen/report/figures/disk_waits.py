"""How long tokens wait for the disk: for which bytes, layers, tensors and experts."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from tracegen.analysis import attribution, disk_waits, expert_waits, heatmap
from tracegen.charts import file_rows, theme, tokens
from tracegen.charts.heatmap import Axis
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Rows, When
from tracegen.report.figures.shared_disk import PHASES, RECORDED, fault_figure, fault_table
from tracegen.report.figures.shared_experts import WITH_EXPERTS

PARTS = (
    "Waiting for the disk is the time of page faults of the model file inside operations while a read of its device "
    "was under way. While none was, the kernel made room for pages, or mapped some that were in memory. Waiting for a "
    "processor: a thread could have gone on but had none, or waited for such a thread. Other waiting at barriers is "
    "that for threads with more work. A single thread waits for no other; time between its operations is outside "
    "operations."
)
NO_PROCESSOR = "When threads had no processor was not recorded: it counts as computing, or as waiting at barriers."
NO_REQUESTS = "Which reads were under way was not recorded: page faults of passes that read anything count as waiting."
LEAST = 0.001  # of the time: less is not said


def _disk_split(context: Context) -> Content:
    rows = context.disk_split
    generate, prompt = context.of_kind(rows, "generate").reset_index(drop=True), context.of_kind(rows, "prompt")
    shown, phase = (generate, "generate") if len(generate) else (prompt, "prompt")
    token_of = context.measured.set_index("pass_id")["produced_token"]
    labels = [
        str(token) if q.known(token) else context.labels[number]
        for number, token in zip(shown["pass_id"], token_of.reindex(shown["pass_id"]), strict=True)
    ]
    other = _sums(prompt)
    spans = context.tables["spans"]
    unknown = "" if context.run.has_requests or not rows["waited_ns"].any() else f" {NO_REQUESTS}"
    unknown += "" if spans["preempted_ns"].notna().any() else f" {NO_PROCESSOR}"
    waited = other["disk_ns"] + other["behind_ns"]
    undrawn = (
        f" The prompt, which is not drawn, took {q.duration(other['duration_ns'])}; {q.duration(waited)} of it was "
        "waiting for the disk."
        if phase == "generate" and other["duration_ns"]
        else ""
    )
    return Content(
        answer=_waited(_sums(shown), phase),
        caption=f"Wall time of each {phase} pass in parts; the parts are means over {_threads(rows)} and add up to the "
        f"pass. {PARTS}{unknown}{undrawn} n = {len(shown)}.",
        alt=f"Stacked bars of {q.counted(len(shown), 'pass')}.",
        chart=lambda width: tokens.parts(shown, labels, width=width),
        data=rows,
        empty="" if len(shown) else "No prompt or generate pass with recorded page faults has an end.",
    )


def _sums(rows: pd.DataFrame) -> dict[str, float]:
    """Sums of duration and parts over passes, ns."""
    return {name: float(rows[name].sum()) for name in ("duration_ns", *attribution.PARTS)}


def _waited(sums: Mapping[str, float], phase: str) -> tuple[Amount, ...]:
    """How much of a phase is waiting for the disk, and page faults without; `sums`: of duration and parts, ns."""
    whole = sums["duration_ns"]
    if not whole:
        return ()
    disk, behind, paging, processor = (sums[f"{name}_ns"] / whole for name in ("disk", "behind", "paging", "processor"))
    of = f"of the time of {PHASES[phase]}"
    amounts = [Amount(disk + behind, "share", f"{of} waiting for the disk")]
    if not disk:
        amounts = [Amount(sums["computing_ns"] / whole, "share", f"{of} computing")]
    if behind >= LEAST:
        amounts.append(Amount(behind / (disk + behind), "share", "of it for another thread that waits there"))
    if paging >= LEAST:
        amounts.append(Amount(paging, "share", "of the time in page faults with no read under way"))
    if processor >= LEAST:
        amounts.append(Amount(processor, "share", "of the time waiting for a processor"))
    return tuple(amounts)


def _threads(rows: pd.DataFrame) -> str:
    numbers = sorted(set(rows["n_threads"].astype(int)))
    return q.counted(numbers[0], "thread") if len(numbers) == 1 else "the threads of each pass"


DISK_SPLIT = fault_figure(
    key="disk-split",
    title="Where does the time of each token go?",
    section="time",
    needs=(*needs.TIMES, needs.FAULTS),
    when=RECORDED,
    content=_disk_split,
    code="data = attribution.by_pass(run.tables)",
)


CELLS = 2_500  # at most, to keep the SVG small


def _disk_map(context: Context) -> Content:
    tables = context.tables
    rows = context.display_rows
    rows = rows[~rows["outside"].to_numpy(bool)]
    n_rows = max(int(rows["row"].nunique()), 1)
    n_bins = max(40, min(280, CELLS // n_rows))
    cells, longest = disk_waits.cells(tables, rows, n_bins, theme.N_STEPS)
    axis = Axis.of(tables["files"], n_bins)
    ends = [q.duration(longest / disk_waits.FACTOR ** (theme.N_STEPS - 1 - i)) for i in range(theme.N_STEPS)]
    bands = heatmap.bands(tables, "layer"), heatmap.bands(tables, "component")
    n_cells = len(cells[["begin"]].drop_duplicates())
    n_regions = -(-axis.total // axis.cell_bytes) if axis.cell_bytes else 0
    share = n_cells / n_regions if n_regions else 0.0
    return Content(
        answer=(Amount(share, "share", "of the regions of the file have page faults in measured passes"),)
        if share
        else (),
        caption=f"Left: the model file from first to last byte; each cell is {q.size(axis.cell_bytes)} of file. Its "
        "colour is the time of page faults on its bytes, summed over threads; each step of colour is four times the "
        f"one before. Right, or below: the sum of the row. n = {q.counted(len(rows), 'pass')} in "
        f"{q.counted(n_rows, 'row')}{'; where several share a row, it is their mean' if len(rows) > n_rows else ''}. "
        "Load and warm-up are left out.",
        alt=f"Heatmap of {q.counted(n_rows, 'row')} by {n_bins} regions of the file.",
        chart=lambda width: file_rows.waits(cells, rows, bands, axis, ends, width=width),
        data=cells,
        empty="" if len(cells) else "No measured pass had a page fault of the model file.",
        numbers={"n_bins": n_bins},
    )


DISK_MAP = fault_figure(
    key="disk-map",
    title="For which bytes of the file do tokens wait?",
    content=_disk_map,
    wide=True,
    code="""
rows = heatmap.display_rows(run.tables)
data, longest_ns = disk_waits.cells(run.tables, rows[~rows["outside"]], n_bins=$n_bins, n_steps=8)
""",
)


MOST_TENSORS = 5


def _disk_tensors(context: Context) -> Rows:
    found = disk_waits.by_tensor(context.tables)
    whole, n = int(found["waited_ns"].sum()), len(found)
    first = f"The {min(n, MOST_TENSORS)} of {q.counted(n, 'tensor')} with page faults that threads waited for longest. "
    return Rows(
        answer=_longest(found, whole),
        caption=f"{first if n else ''}Time is summed over threads and measured passes. Pages: how many different pages "
        "of 4 KiB had a fault; neighbours that the kernel mapped with them are not counted. The group is that of the "
        "tensor’s name: a tied embedding is also the matrix of the output. Used in: the kind of operation with most of "
        "the waiting for the tensor, and its share of that. The CSV has all tensors.",
        data=found,
        empty="" if len(found) else "No measured pass had a page fault of the model file.",
    ).of(
        found.head(MOST_TENSORS),
        col.name("Tensor", "name", "between tensors"),
        col.component(),
        col.layer(),
        col.count("Page faults", "n_faults"),
        col.count("of them major", "n_major"),
        col.count("Pages", "n_pages"),
        col.decimal("Waited", "waited_ns", 3, "ms", 1e6),
        col.share("Share of waiting", "waited_ns", whole),
        col.text("Used in", _used_in),
    )


def _longest(found: pd.DataFrame, whole: int) -> tuple[Amount, ...]:
    """The group of components and the tensor that was waited for longest, with its use; `whole`: all waiting, ns."""
    named = found.dropna(subset=["component"])
    if named.empty or not whole:
        return ()
    groups = named.groupby(named["component"].astype(str).map(theme.group))["waited_ns"].sum()
    top, waiting = named.iloc[0], "of the waiting in measured passes"
    tensor = Amount(float(top["share"]), "share", f"for {q.printable(top['name'])}")
    place = f"in {q.printable(top['op'])}" if q.known(top["op"]) else "between operations"
    use = Amount(float(top["op_share"]), "share", f"of that {place}")
    group = Amount(float(groups.max()) / whole, "share", f"{waiting} for {groups.idxmax()}")
    if group.number == tensor.number:
        return replace(tensor, words=f"{waiting} {tensor.words}"), use
    return group, tensor, use


def _used_in(r: col.Row) -> str:
    return f"{q.printable(r['op'])} ({q.percent(r['op_share'])})" if q.known(r["op"]) else "between operations"


DISK_TENSORS = fault_table(
    key="disk-tensors",
    title="Which tensors do threads wait for?",
    content=_disk_tensors,
    code="data = disk_waits.by_tensor(run.tables)",
)


MOST_EXPERTS = 15
WITH_BOTH = When(
    "a run of a model with experts that recorded page faults",
    lambda context: context.run.has_faults and WITH_EXPERTS.holds(context),
)


def _disk_experts(context: Context) -> Rows:
    table = expert_waits.by_expert(context.tables)
    waited = int(table["waited_ns"].sum())
    half = int((table["waited_ns"].cumsum() < waited / 2).sum()) + 1 if waited else 0
    share = Amount(float(table["share"].sum()), "share", "of the waiting in measured passes is for experts")
    most = Amount(half, "", f"of {q.count(len(table))} experts for half of that")
    caption = (
        f"The {min(len(table), MOST_EXPERTS)} of {q.counted(len(table), 'expert')} whose bytes threads waited "
        "for longest; each with all its tensors in its layer; time is summed over threads and measured passes. Passes: "
        "in how many an expert was waited for. The CSV has all of them."
    )
    return Rows(
        answer=() if not share.value else (share, most) if len(table) > 1 else (share,),
        caption=caption if len(table) else "",
        data=table,
        empty="" if len(table) else "No measured pass had a page fault on bytes of an expert.",
    ).of(
        table.head(MOST_EXPERTS),
        col.count("Layer", "layer"),
        col.count("Expert", "expert"),
        col.count("Passes", "n_passes"),
        col.count("Page faults", "n_faults"),
        col.count("of them major", "n_major"),
        col.decimal("Waited", "waited_ns", 3, "ms", 1e6),
        col.share("Share of waiting for experts", "waited_ns", waited),
    )


DISK_EXPERTS = fault_table(
    key="disk-experts",
    title="Which experts do threads wait for?",
    when=WITH_BOTH,
    content=_disk_experts,
    code="data = expert_waits.by_expert(run.tables)",
)
