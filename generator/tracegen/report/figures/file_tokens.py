"""The one picture of a run: the model file by token, and how long each took."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import pandas as pd

from tracegen.analysis import axis, file_tokens
from tracegen.analysis.caches import lru_granules
from tracegen.analysis.coverage import union
from tracegen.charts import file_plan, theme
from tracegen.charts import file_tokens as chart
from tracegen.charts.card import card
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.contract.address import CARD
from tracegen.report.figures import caches
from tracegen.report.figures.caches import CACHE_RATES
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Figure
from tracegen.report.figures.heatmap import nothing_touched

MOST_ROWS = (5, 16, 34)  # by width: on paper at most 90 and 110 mm high, on the page
HITS = (0.5, 0.8, 0.9)  # shares of repeated uses that the ruler of memory marks
LONGER = 1.5  # times what is drawn of a row: its longest pass is marked
LEAST_SHARE = 0.02  # of the time of a row: groups that computed for less in every row are one, "other"


def _most_rows(width: int) -> int:
    """How many rows a drawing of this width has room for."""
    return next((most for room, most in zip(theme.WIDTHS, MOST_ROWS, strict=True) if width <= room), MOST_ROWS[-1])


def _name(labels: Mapping[int, str], pass_id: int) -> str:
    """`token 3`, also for a prompt that gave it, or `pass 7` where it gave none."""
    found = re.search(r"token \d+", labels[pass_id])
    return found[0] if found else f"pass {pass_id}"


def _labels(context: Context, rows: pd.DataFrame) -> pd.DataFrame:
    """Names of rows: row, pass_id (the first of the row), label, short (for a narrow picture), is_prompt, is_folded."""
    names, labels = context.labels, []
    no_reads = context.run.has_requests or context.run.has_faults
    for number, some in rows.groupby("row"):
        first, last = (_name(names, int(some["pass_id"].iloc[at])) for at in (0, -1))
        n, quiet = len(some), bool(some["is_quiet"].iloc[0])
        is_prompt = some["kind"].iloc[0] == "prompt"
        noun, _, short = first.partition(" ")
        if is_prompt:
            first, short = f"prompt, 1 of {n}" if n > 1 else "prompt", "prompt"
        elif n > 1:
            end = last.partition(" ")[2] if last.startswith(noun) else last
            first = f"{'passes' if noun == 'pass' else 'tokens'} {short} to {end}"
            short = f"{short}–{end}"
        folded = n > 1 and not is_prompt and quiet and no_reads
        label = f"{q.counted(n, 'token')}: no reads" if folded else first
        labels.append(
            (number, int(some["pass_id"].iloc[0]), label, short, is_prompt, folded or (n > 1 and not is_prompt))
        )
    return pd.DataFrame(labels, columns=["row", "pass_id", "label", "short", "is_prompt", "is_folded"])


def median_passes(times: pd.DataFrame) -> pd.DataFrame:
    """Of each row its pass of median length, pass_id and times: one slow token does not stand for eight."""
    ordered = times.sort_values(["row", "duration_ns", "pass_id"])
    place, n = ordered.groupby("row").cumcount(), ordered.groupby("row")["pass_id"].transform("size")
    return ordered[(place == (n - 1) // 2).to_numpy(bool)].set_index("row")


def joined(by_row: pd.DataFrame) -> list[str]:
    """The parts of the time that are drawn; small groups are added to "other" in place."""
    groups = [name for name in theme.GROUPS if name in by_row]
    small = [name for name in groups if (by_row[name] < LEAST_SHARE * by_row["duration_ns"]).all()]
    if small:
        by_row["other"] = by_row[sorted({"other", *small} & set(by_row))].sum(axis=1)
    drawn = [name for name in theme.GROUPS if name in by_row and (name not in small or name == "other")]
    return [name for name in (*drawn, *chart.WAITS) if name in by_row and (by_row[name] > 0).any()]


def beside(found: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """The cells of rows (row, cell) that are not among the others."""
    both = found.merge(others[["row", "cell"]], how="left", indicator=True)
    return both[(both["_merge"] == "left_only").to_numpy(bool)]


@dataclass(frozen=True)
class Seen:
    """What the measured passes of a run touched, read and waited for, and how long they took.

    `used`, `read`, `waits`: ranges on the axis of the file (pass_id, begin, end). `times`: as of `file_tokens.times`.
    `sizes`: bytes read by pass_id and, where each read is known, what of them the pass needed; empty where nothing was
    read.
    """

    used: pd.DataFrame
    read: pd.DataFrame
    waits: pd.DataFrame
    times: pd.DataFrame
    sizes: dict[str, pd.Series]
    has_read_nothing: bool


def seen(context: Context) -> Seen:
    """What the run of a context shows."""
    tables = context.tables
    used = axis.on_axis(tables, context.measured_used)
    read, waits = file_tokens.reads(tables), file_tokens.waits(tables)
    times = file_tokens.times(tables, theme.GROUP_OF, split=context.disk_split)
    nothing = file_tokens.has_read_nothing(tables)
    if nothing:  # faults of pages that lie in memory already
        waits = waits.iloc[:0]
    counted = context.measured.set_index("pass_id")["read_bytes"].dropna()
    sizes = {"read": counted} if (counted > 0).any() else {}
    if len(read):
        size = (read["end"] - read["begin"]).groupby(read["pass_id"]).sum()
        sizes = {"read": size, "needed": file_tokens.needed_bytes(used, read)}
    return Seen(used, read, waits, times, sizes, nothing)


def _content(context: Context) -> Content:
    """What each token touched, waited for and read of each part of the file, and its time in parts."""
    tables, of = context.tables, seen(context)
    used, waits, read = (union(ranges, "pass_id") for ranges in (of.used, of.waits, of.read))
    quiet = file_tokens.quiet(tables)
    alike = file_tokens.touched_alike(tables, context.measured_used, context.pieces)

    @cache
    def picture(width: int) -> chart.Picture:
        rows = file_tokens.rows(tables, quiet, alike, _most_rows(width))
        shown, by_row = _labels(context, rows), median_passes(of.times.merge(rows[["pass_id", "row"]], on="pass_id"))
        longest = of.times.merge(rows[["pass_id", "row"]], on="pass_id").groupby("row")["duration_ns"].max()
        typical, names = by_row.pop("pass_id"), joined(by_row)
        shown["took"] = [q.duration(ns) for ns in shown["row"].map(by_row["duration_ns"])]
        longer = (longest > LONGER * by_row["duration_ns"]) & ~longest.index.isin(shown.loc[shown["is_prompt"], "row"])
        shown["longest_ns"] = shown["row"].map(longest.where(longer)).astype("float64")
        shown["longest"] = ["" if pd.isna(ns) else q.duration(ns) for ns in shown["longest_ns"]]
        for name, of_pass in of.sizes.items():
            sizes = shown["row"].map(typical).fillna(shown["pass_id"]).map(of_pass).fillna(0)
            shown[name] = [q.size(int(size)) if size else "–" for size in sizes]
        found = file_tokens.parts(tables, theme.GROUP_OF, file_plan.most_parts(width))
        at = file_plan.plan(found, width, len(shown), "read" in shown)
        is_on_axis = rows[["pass_id", "row", "n_passes"]]
        touched, waited, ahead = (file_tokens.shares(ranges, is_on_axis, at.cells) for ranges in (used, waits, read))
        often, times = file_tokens.touching(used, rows, at.cells), by_row.reset_index()
        unused = beside(ahead, touched)
        more = {"others": context.others} if context.others else {}
        memory = _memory(context)
        return chart.Picture(at, shown, touched, waited, unused, times, names, often=often, memory=memory, **more)

    rows = file_tokens.rows(tables, quiet, alike, _most_rows(theme.WIDTH))
    empty = nothing_touched(axis.length(tables), rows, of.used)
    data = rows.merge(of.times, on="pass_id", how="left")
    return Content(
        caption=f"{_caption(rows)}{_order(tables)}{f' {context.gaps} They are not drawn.' if context.gaps else ''}"
        f"{SLOWED if context.refusal((needs.COST,)) else ''}",
        alt=f"The model file from left to right, {q.counted(rows['row'].nunique(), 'row')} of passes, downwards.",
        chart=lambda width: chart.chart(picture(width)),
        data=data,
        empty=empty,
        numbers={"most": MOST_ROWS[-1]},
        files={} if empty else {CARD: card(chart.simplified(picture(theme.WIDTHS[1])))},
    )


SLOWED = " Times are those of a program that tracing slowed down."


def _memory(context: Context) -> pd.DataFrame:
    """The memory that serves HITS of the repeated uses with LRU: share, size_bytes; empty where that is not known."""
    sizes = {}
    if not context.refusal(CACHE_RATES.needs) and not caches.nothing(context):
        sizes = {share: lru_granules(context.repeat_distances, share) for share in HITS}
    known = [(share, size * context.granule_bytes) for share, size in sizes.items() if size]
    return pd.DataFrame(known, columns=["share", "size_bytes"])


def _caption(rows: pd.DataFrame) -> str:
    n = int((rows["kind"] == "tokens").sum())
    return (
        "Columns follow the model file; their width is the square root of their bytes. A bar with a gap is not to "
        "scale. The ruler of memory is linear. Right: time (mean of threads) and reads of a pass, of several of "
        "the one that took the median time, with a line to the longest where that took half more; the prompt has "
        "its own scale, and a bar over four times the median is cut. "
        f"n = {q.counted(n, 'token')}."
    )


def _order(tables: Mapping[str, pd.DataFrame]) -> str:
    """That the file does not have its layers by their number, as one whose names were sorted as text."""
    tensors = tables["tensors"].sort_values(["file", "offset"])
    layers = [int(layer) for layer in tensors["layer"].dropna().drop_duplicates()]
    if layers == sorted(layers):
        return ""
    return f" The file has its layers in this order: {', '.join(map(str, layers[:5]))} …"


FILE_TOKENS = Figure(
    key="file-tokens",
    page="overview",
    section="picture",
    title="What does each token touch, wait for and take?",
    needs=needs.FILE_USE,
    content=_content,
    wide=True,
    code="""
used = accesses.ranges(run.tables)
used = used[used["pass_id"].isin(passes.measured(run.tables)["pass_id"])]
alike = file_tokens.touched_alike(run.tables, used, pieces.pieces(run.tables))
rows = file_tokens.rows(run.tables, file_tokens.quiet(run.tables), alike, $most)
data = rows.merge(file_tokens.times(run.tables, theme.GROUP_OF), on="pass_id", how="left")
""",
)
