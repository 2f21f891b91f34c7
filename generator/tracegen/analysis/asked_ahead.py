"""What became of the bytes that the program asked the kernel to read ahead: there in time, too late, or never used.

In pages of 4 KiB, each by the first call that asked for it. A page is used when an operation touches it in the mapping
in a pass that ends after that call; it was too late when a page fault on it waited for a read after the call.
"""

import numpy as np
import pandas as pd

from tracegen.analysis import accesses
from tracegen.analysis.accesses import Tables
from tracegen.analysis.disk_waits import recorded
from tracegen.analysis.under_way import UnderWay

PAGE = 4096
NEVER_ASKED = np.iinfo(np.int64).max
COLUMNS = ("in_time_bytes", "late_bytes", "unused_bytes")


def outcome(tables: Tables, asked: pd.DataFrame) -> pd.DataFrame:
    """COLUMNS for each row of `asked` (file, offset, size_bytes, end_ns; in order of time), Int64: bytes of whole pages
    that no call before had asked for. They add up to these.

    What was too late is null, and so is what was in time, where page faults were not recorded; all are null of a file
    that is not known.
    """
    found = np.full((len(asked), 3), -1, np.int64)
    known, used = recorded(tables), accesses.ranges(tables)
    used = used[used["memory"].eq("disk").to_numpy(bool)]
    ends = tables["passes"].set_index("pass_id")["end_ns"].fillna(NEVER_ASKED - 1)
    used = used.assign(end_ns=used["pass_id"].map(ends)).groupby(["file", "begin", "end"])["end_ns"].max().reset_index()
    faults = _waiting(tables)
    sizes = tables["files"].set_index("file")["size_bytes"]
    asked = asked.reset_index(drop=True)
    for file, of in asked[asked["file"].isin(sizes.index).to_numpy(bool)].groupby("file"):
        n = -(-int(sizes[file]) // PAGE)
        since, row = np.full(n, NEVER_ASKED, np.int64), np.full(n, -1, np.int64)
        for number, begin, size, ns in zip(of.index, of["offset"], of["size_bytes"], of["end_ns"], strict=True):
            first, last = int(begin) // PAGE, min(-(-(int(begin) + int(size)) // PAGE), n)
            fresh = np.flatnonzero(row[first:last] < 0) + first
            since[fresh], row[fresh] = int(ns), number
        touched, late = np.zeros(n, bool), np.zeros(n, bool)
        mine = used[used["file"].eq(file).to_numpy(bool)]
        for begin, end, ns in zip(mine["begin"], mine["end"], mine["end_ns"], strict=True):
            pages = slice(int(begin) // PAGE, -(-int(end) // PAGE))
            touched[pages] |= since[pages] < int(ns)
        there = faults[faults["file"].eq(file).to_numpy(bool)]
        page = there["offset"].to_numpy("int64") // PAGE
        late[page[there["begin_ns"].to_numpy("int64") > since[page]]] = True
        states = (touched & ~late, late, ~touched & ~late)
        for place, state in enumerate(states):
            counts = np.bincount(row[state & (row >= 0)], minlength=len(asked))
            found[of.index, place] = counts[of.index] * PAGE if known or place == 2 else -1
    table = pd.DataFrame(found, columns=list(COLUMNS))
    return table.astype("Int64").mask(table < 0)


def _waiting(tables: Tables) -> pd.DataFrame:
    """The page faults that waited for a read: file, offset, begin_ns. Without requests, those that began one."""
    faults = tables["faults"].dropna(subset=["file", "offset"])
    under_way = UnderWay(tables)
    if under_way.recorded:
        begin = faults["begin_ns"].to_numpy("int64")
        end = begin + faults["duration_ns"].fillna(0).to_numpy("int64")
        waits = under_way.ns(begin, end) > 0
    else:
        waits = faults["kind"].eq("major").fillna(False).to_numpy(bool)
    return faults.loc[waits, ["file", "offset", "begin_ns"]]
