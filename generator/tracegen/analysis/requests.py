"""What the model's devices were asked to read: how much, how quickly, whether it was used, and what was read again."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from tracegen.analysis import accesses
from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured

SIZES = tuple(4096 << step for step in range(0, 11, 2))  # 4 KiB, 16 KiB, … 4 MiB: where one class ends, bytes
_BATCH = 16  # passes whose accesses are looked up at a time
_NEVER = np.iinfo(np.int32).max


def by_pass(tables: Tables) -> pd.DataFrame:
    """One row for each measured pass that ended: what was issued during it, and how the device was used.

    Columns: pass_id, duration_ns, n_requests, read_bytes, model_bytes (bytes of model files), ahead_bytes (of these,
    read-ahead), busy_ns (time with a request under way), mean_depth (requests under way while there were any),
    mean_bytes (of a request), median_ns (of the durations), bytes_per_second (read_bytes over busy_ns). Means, medians
    and rates are null without a request. A request that begins in one pass and ends in the next keeps the device busy
    in both; its bytes count in the first.
    """
    requests = tables["requests"]
    ended = requests.dropna(subset=["duration_ns"])
    begin = ended["issue_ns"].to_numpy("int64")
    passes = measured(tables).dropna(subset=["end_ns"])
    groups = requests.groupby("pass_id")
    ahead = requests[(requests["kind"] == "ahead").to_numpy(bool)].groupby("pass_id")["file_bytes"].sum()
    table = passes[["pass_id", "duration_ns"]].reset_index(drop=True).astype("int64")
    sums = groups.agg(
        n_requests=("size_bytes", "size"), read_bytes=("size_bytes", "sum"), model_bytes=("file_bytes", "sum")
    )
    table = table.join(sums, on="pass_id").join(ahead.rename("ahead_bytes"), on="pass_id")
    counts = ["n_requests", "read_bytes", "model_bytes", "ahead_bytes"]
    table[counts] = table[counts].fillna(0).astype("int64")
    edges = passes[["begin_ns", "end_ns"]].to_numpy("int64")
    until = _under_way(begin, begin + ended["duration_ns"].to_numpy("int64"), edges)
    table["busy_ns"], under_way = (of[:, 1] - of[:, 0] for of in until)
    some, any_busy = table["n_requests"] > 0, table["busy_ns"] > 0
    table["mean_depth"] = (under_way / table["busy_ns"].where(any_busy)).astype("Float64")
    table["mean_bytes"] = (table["read_bytes"] / table["n_requests"].where(some)).astype("Float64")
    table["median_ns"] = table["pass_id"].map(groups["duration_ns"].median()).astype("Float64")
    table["bytes_per_second"] = (table["read_bytes"] * 1e9 / table["busy_ns"].where(any_busy)).astype("Float64")
    return table


def _under_way(begin: np.ndarray, end: np.ndarray, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Until each moment: the time with at least one request under way, and the sum of the durations until then, ns."""
    times = np.concatenate([begin, end])
    if not len(times):
        return np.zeros_like(moments), np.zeros_like(moments)
    order = np.argsort(times, kind="stable")
    times = times[order]
    steps = np.where(order < len(begin), 1, -1)
    depth = np.concatenate([[0], np.cumsum(steps)])  # before each time, and after the last
    length = np.diff(times, prepend=times[:1])
    at = np.searchsorted(times, moments, side="right")
    before = np.clip(at - 1, 0, None)
    since = np.where(at > 0, moments - times[before], 0)
    busy, summed = (
        np.where(at > 0, np.cumsum(length * of[:-1])[before], 0) + since * of[at] for of in (depth > 0, depth)
    )
    return busy, summed


def by_kind(tables: Tables) -> pd.DataFrame:
    """The requests of all prompt passes together, and of all generate passes; kinds without a request are left out.

    Columns: kind, n_requests, read_bytes, mean_bytes, mean_depth, bytes_per_second, median_ns, with the meanings that
    they have in `by_pass`. Only of passes that ended.
    """
    passes = by_pass(tables)
    passes["kind"] = passes["pass_id"].map(tables["passes"].set_index("pass_id")["kind"].astype("object"))
    rows = []
    for kind in ("prompt", "generate"):
        part = passes[(passes["kind"] == kind).to_numpy(bool)]
        n, busy, read = (int(part[name].sum()) for name in ("n_requests", "busy_ns", "read_bytes"))
        if not n:
            continue
        issued = tables["requests"]["pass_id"].isin(part["pass_id"]).to_numpy(bool)
        rows.append(
            {
                "kind": kind,
                "n_requests": n,
                "read_bytes": read,
                "mean_bytes": read / n,
                "mean_depth": float((part["mean_depth"].fillna(0) * part["busy_ns"]).sum()) / busy if busy else None,
                "bytes_per_second": read * 1e9 / busy if busy else None,
                "median_ns": tables["requests"].loc[issued, "duration_ns"].median(),
            }
        )
    columns = ["kind", "n_requests", "read_bytes", "mean_bytes", "mean_depth", "bytes_per_second", "median_ns"]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype(dict.fromkeys(columns[1:3], "int64") | dict.fromkeys(columns[3:], "Float64"))


def by_size(tables: Tables) -> pd.DataFrame:
    """The requests of measured passes by size, from smallest to largest class; classes without a request are left out.

    Columns: most_bytes (the largest size of the class; null: larger than all of SIZES), n_requests, read_bytes,
    median_ns (of their durations).
    """
    requests = tables["requests"]
    requests = requests[requests["pass_id"].isin(measured(tables)["pass_id"]).to_numpy(bool)]
    size_class = np.searchsorted(SIZES, requests["size_bytes"].to_numpy())
    table = requests.groupby(size_class).agg(
        n_requests=("size_bytes", "size"), read_bytes=("size_bytes", "sum"), median_ns=("duration_ns", "median")
    )
    most = [SIZES[number] if number < len(SIZES) else None for number in table.index]
    table.insert(0, "most_bytes", pd.Series(most, table.index, "Int64"))
    return table.astype({"median_ns": "Float64"}).reset_index(drop=True)


def use_by_pass(tables: Tables, page_bytes: int, *, used: pd.DataFrame | None = None) -> pd.DataFrame:
    """What became of the pages of model files that were requested during each measured pass; bytes of whole pages.

    Columns: pass_id, page_bytes_read, now_bytes (an operation of the same pass touches the page), later_bytes (only
    one of a later pass), never_bytes (none of the same or a later pass), again_bytes (pages that had been requested
    before in this run: they had been evicted), evicted_bytes (of these, what the same or a later pass touches). The
    first is the sum of the next three. Rows and experts that were not recorded count as not touched. `used`: the result
    of `accesses.ranges`, if the caller has it already.
    """
    first_page, n_pages = first_pages(tables, page_bytes)
    passes = tables["passes"].dropna(subset=["graph"]).sort_values("begin_ns", kind="stable")
    order = {int(number): place for place, number in enumerate(passes["pass_id"])}
    requests = tables["requests"].dropna(subset=["file"])
    requests = requests[(requests["file_bytes"] > 0).to_numpy(bool)]
    shift = requests["file"].astype("int64").map(first_page).to_numpy("int64")
    first = shift + requests["offset"].to_numpy("int64") // page_bytes
    last = shift + (requests["offset"].to_numpy("int64") + requests["file_bytes"].to_numpy() - 1) // page_bytes
    place = requests["pass_id"].astype("Int64").map(order).fillna(-1).to_numpy("int64")
    again = _again(first, last, n_pages)

    def touched(pass_ids: list[int]) -> dict[int, list[tuple[int, int]]]:
        ranges = accesses.ranges(tables, pass_ids) if used is None else used[used["pass_id"].isin(pass_ids)]
        return _touched(ranges, pass_ids, first_page, page_bytes)

    rows = _use(touched, (first, last, place), again, order, n_pages)
    columns = ["pass_id", "now_bytes", "later_bytes", "never_bytes", "again_bytes", "evicted_bytes"]
    table = pd.DataFrame(rows, columns=columns)
    table.insert(1, "page_bytes_read", table[["now_bytes", "later_bytes", "never_bytes"]].sum(axis=1))
    table.iloc[:, 1:] *= page_bytes
    return table[table["pass_id"].isin(measured(tables)["pass_id"])].reset_index(drop=True)


def touched_by_pass(
    tables: Tables, page_bytes: int, used: pd.DataFrame
) -> tuple[list[tuple[int, list[tuple[int, int]]]], int]:
    """The pages of mapped files that the operations of each pass touch in their order, warm-up too; how many there are.

    A list of (pass_id, pages), pages as (first, behind the last) over all files. `used`: of `accesses.ranges`.
    """
    first_page, n_pages = first_pages(tables, page_bytes)
    order = (
        tables["passes"].dropna(subset=["graph"]).sort_values("begin_ns", kind="stable")["pass_id"].astype(int).tolist()
    )
    rows = used[used["file"].isin(first_page).to_numpy(bool)]
    rows = rows.sort_values(["pass_id", "node", "slot", "begin"], kind="stable")
    return list(_touched(rows, order, first_page, page_bytes).items()), n_pages


def first_pages(tables: Tables, page_bytes: int) -> tuple[dict[int, int], int]:
    """The number of the first page of each file when all are counted together, and how many pages there are."""
    files = tables["files"].set_index("file")["size_bytes"].astype("int64").sort_index()
    n_pages = -(-files // page_bytes)
    first = n_pages.cumsum() - n_pages
    return dict(zip(n_pages.index.tolist(), first.tolist(), strict=True)), int(n_pages.sum())


def _again(first: np.ndarray, last: np.ndarray, n_pages: int) -> list[np.ndarray]:
    """Of each request, in order of issue, which of its pages an earlier one had already read."""
    seen = np.zeros(n_pages, bool)
    again = []
    for begin, end in zip(first.tolist(), (last + 1).tolist(), strict=True):
        again.append(seen[begin:end].copy())
        seen[begin:end] = True
    return again


def _use(
    touched: Callable[[list[int]], dict[int, list[tuple[int, int]]]],
    pages: tuple[np.ndarray, np.ndarray, np.ndarray],
    again: list[np.ndarray],
    order: dict[int, int],
    n_pages: int,
) -> list[tuple[int, int, int, int, int, int]]:
    """The columns of `use_by_pass` in pages, for each pass in the order of passes, but for page_bytes_read.

    `touched` gives the result of `_touched` for the numbers of some passes, `again` is that of `_again`.
    """
    first, last, place = pages
    next_touch = np.full(n_pages, _NEVER, np.int32)
    rows = []
    numbers = list(order)
    touched_pages: dict[int, list[tuple[int, int]]] = {}
    for pass_id, number in reversed(order.items()):
        if pass_id not in touched_pages:
            batch = numbers[max(0, number - _BATCH + 1) : number + 1]
            touched_pages = touched(batch)
        for begin, end in touched_pages[pass_id]:
            next_touch[begin:end] = number
        now = later = total = n_again = evicted = 0
        for at in np.flatnonzero(place == number):
            when, read_before = next_touch[first[at] : last[at] + 1], again[at]
            used, same = int(np.count_nonzero(when != _NEVER)), int(np.count_nonzero(when == number))
            now, later, total = now + same, later + used - same, total + len(when)
            n_again += int(np.count_nonzero(read_before))
            evicted += int(np.count_nonzero(read_before & (when != _NEVER)))
        rows.append((pass_id, now, later, total - now - later, n_again, evicted))
    return rows[::-1]


def _touched(
    ranges: pd.DataFrame, pass_ids: list[int], first_page: dict[int, int], page_bytes: int
) -> dict[int, list[tuple[int, int]]]:
    """By pass: the pages of mapped files that its operations touch, as (first, behind the last) over all files."""
    rows = ranges[(ranges["memory"] == "disk").to_numpy(bool)]
    shift = rows["file"].astype("int64").map(first_page).to_numpy("int64")
    begin = shift + rows["begin"].to_numpy("int64") // page_bytes
    end = shift + -(-rows["end"].to_numpy("int64") // page_bytes)
    pages: dict[int, list[tuple[int, int]]] = {pass_id: [] for pass_id in pass_ids}
    for pass_id, first, behind in zip(rows["pass_id"].tolist(), begin.tolist(), end.tolist(), strict=True):
        pages[pass_id].append((first, behind))
    return pages
