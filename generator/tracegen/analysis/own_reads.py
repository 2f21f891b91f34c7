"""Reads of a model file that threads make themselves inside operations: they wait for the disk, as in a page fault."""

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.explicit_reads import ASKED_ONLY
from tracegen.analysis.under_way import UnderWay

_KEY = ["pass_id", "node", "thread"]


def as_faults(tables: Tables) -> Tables:
    """The tables with a page fault for each such read, and the time of it in `fault_ns` of its span.

    A read waits from the first moment to the last in which a request of the model's devices was under way during it;
    what the page cache had is copied, which is computing. Where no request was recorded, it waits all of its time. In a
    pass that read nothing from the disk no read waits.
    """
    reads = tables["reads"]
    inside = reads["node"].notna() & reads["pool_thread"].notna() & ~reads["call"].isin(ASKED_ONLY)
    rows = reads[inside.to_numpy(bool)].reset_index(drop=True)
    if rows.empty:
        return tables
    begin, end = rows["begin_ns"].to_numpy("int64"), rows["end_ns"].to_numpy("int64")
    under_way = UnderWay(tables)
    if under_way.recorded:
        begin, end = under_way.hull(begin, end)
    nothing_read = (tables["passes"].set_index("pass_id")["read_bytes"] == 0).fillna(False)
    end = np.where(rows["pass_id"].map(nothing_read).to_numpy(bool), begin, end)
    faults = pd.DataFrame(
        {
            "fault": len(tables["faults"]) + np.arange(len(rows)),
            "pass_id": rows["pass_id"],
            "node": rows["node"],
            "thread": rows["pool_thread"],
            "file": rows["file"],
            "offset": rows["offset"] + rows["got_bytes"] // 2,  # direct reads begin and end at whole blocks
            "kind": "major",
            "begin_ns": begin,
            "duration_ns": end - begin,
        }
    )
    faults = faults[(faults["duration_ns"] > 0).to_numpy(bool)]
    dtypes = tables["faults"].dtypes.to_dict()
    every = pd.concat([tables["faults"], faults.astype(dtypes)], ignore_index=True).astype(dtypes)
    spans = tables["spans"]
    more = faults.astype(dict.fromkeys(_KEY, "int64")).groupby(_KEY)["duration_ns"].sum().rename("more_ns")
    more_ns = spans[_KEY].astype("int64").join(more, on=_KEY)["more_ns"].fillna(0).to_numpy("int64")
    return {**tables, "faults": every, "spans": spans.assign(fault_ns=spans["fault_ns"] + more_ns)}
