"""What became of the bytes that the program asked the kernel to read ahead: there in time, too late, or never used.

In pages of 4 KiB, each by the first call that asked for it. A page is used when an operation touches it in the mapping
in a pass that ends after that call; it was too late when a page fault on it waited for a read until the end of the
first such pass (later it may have been evicted meanwhile).
"""

import numpy as np
import pandas as pd

from tracegen.analysis import accesses
from tracegen.analysis.accesses import Tables
from tracegen.analysis.disk_waits import recorded
from tracegen.analysis.under_way import UnderWay

PAGE = 4096
SLOW_NS = 20_000  # a fault that only maps a page is shorter; where no requests were recorded, a longer one waited
COLUMNS = ("in_time_bytes", "late_bytes", "unused_bytes")
_NEVER = np.iinfo(np.int32).max


def outcome(tables: Tables, asked: pd.DataFrame, used: pd.DataFrame | None = None) -> pd.DataFrame:
    """COLUMNS for each row of `asked` (file, offset, size_bytes, end_ns; in order of time), Int64: bytes of whole pages
    that no call before had asked for. They add up to these.

    What was too late is null, and so is what was in time, where page faults were not recorded; all are null of a file
    that is not known. `used`: the result of `accesses.ranges`, if the caller has it already.
    """
    found = np.full((len(asked), 3), -1, np.int64)
    known, uses, faults = recorded(tables), _uses(tables, used), _waiting(tables)
    sizes = tables["files"].set_index("file")["size_bytes"]
    asked = asked.reset_index(drop=True)
    since = asked["end_ns"].to_numpy("int64")
    ends = np.sort(tables["passes"]["end_ns"].dropna().to_numpy("int64"))
    for file, of in asked[asked["file"].isin(sizes.index).to_numpy(bool)].groupby("file"):
        n = -(-int(sizes[file]) // PAGE)
        row = np.full(n, -1, np.int32)  # of `asked`: the call that asked first
        for number, begin, size in zip(of.index, of["offset"], of["size_bytes"], strict=True):
            part = row[int(begin) // PAGE : min(-(-(int(begin) + int(size)) // PAGE), n)]
            part[part < 0] = int(number)
        first_use = np.full(n, _NEVER, np.int32)  # place among `ends` of the pass that used it first after that
        for begin, end, place in uses[uses["file"].eq(file).to_numpy(bool)][["begin", "end", "place"]].to_numpy():
            pages = slice(begin // PAGE, -(-end // PAGE))
            after = (row[pages] >= 0) & (since[row[pages]] < ends[place])
            first_use[pages] = np.where(after, np.minimum(first_use[pages], place), first_use[pages])
        touched, late = first_use < _NEVER, np.zeros(n, bool)
        there = faults[faults["file"].eq(file).to_numpy(bool) & faults["offset"].lt(n * PAGE).to_numpy(bool)]
        page, begin_ns = there["offset"].to_numpy("int64") // PAGE, there["begin_ns"].to_numpy("int64")
        until = np.append(ends, np.iinfo(np.int64).max)[np.minimum(first_use[page], len(ends))]
        late[page[(row[page] >= 0) & (begin_ns > since[row[page]]) & (begin_ns <= until)]] = True
        for place, state in enumerate((touched & ~late, late, ~touched & ~late)):
            counts = np.bincount(row[state & (row >= 0)], minlength=len(asked))
            found[of.index, place] = counts[of.index] * PAGE if known or place == 2 else -1
    table = pd.DataFrame(found, columns=list(COLUMNS))
    return table.astype("Int64").mask(table < 0)


def _uses(tables: Tables, used: pd.DataFrame | None) -> pd.DataFrame:
    """What operations touched in mapped files: file, begin, end (bytes), and the place of the end of their pass among
    all ends, ascending; each range once for each pass."""
    ends = tables["passes"].dropna(subset=["end_ns"]).set_index("pass_id")["end_ns"].astype("int64")
    used = accesses.ranges(tables) if used is None else used
    used = used[used["memory"].eq("disk").to_numpy(bool) & used["pass_id"].isin(ends.index).to_numpy(bool)]
    place = np.searchsorted(np.sort(ends.to_numpy()), used["pass_id"].map(ends).to_numpy("int64"))
    return used[["file", "begin", "end"]].assign(place=place).drop_duplicates().astype("int64")


def _waiting(tables: Tables) -> pd.DataFrame:
    """The page faults that waited for a read: file, offset, begin_ns. Without requests, the long ones."""
    faults = tables["faults"].dropna(subset=["file", "offset"])
    took, under_way = faults["duration_ns"].fillna(0).to_numpy("int64"), UnderWay(tables)
    begin = faults["begin_ns"].to_numpy("int64")
    waits = under_way.ns(begin, begin + took) > 0 if under_way.recorded else took >= SLOW_NS
    return faults.loc[waits, ["file", "offset", "begin_ns"]]
