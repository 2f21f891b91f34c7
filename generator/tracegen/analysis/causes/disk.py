"""Why threads wait for the disk: what was read for nothing, read again, and read for the first time."""

from collections.abc import Iterator

import pandas as pd

from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Cause, Key, Phase


def causes(of: Analyses, phase: Phase) -> Iterator[Cause]:
    """Divides the waiting of each pass by the bytes that it read, taking that each byte costs alike.

    - unused-reads: bytes that no operation used afterwards, before they were evicted or the run ended;
    - evicted: bytes used afterwards that had been read before in this run;
    - first-reads: bytes used afterwards that had not.
    Numbers of all three: read_bytes, and cause_bytes of it. Where requests were not recorded, or a pass waited without
    reading, all that is left is `reads`.
    """
    left = phase.waiting_ns
    if not left:
        return
    if of.run.has_requests:
        rows = of.of_kind(of.disk_requests, phase.name).merge(of.time_split[["pass_id", "disk_ns", "behind_ns"]])
        rows = rows[(rows["page_bytes_read"] > 0).to_numpy(bool)]
        read = rows["page_bytes_read"].astype("float64")
        waited = rows["disk_ns"] + rows["behind_ns"]
        used = rows["now_bytes"] + rows["later_bytes"]
        shares: dict[Key, pd.Series] = {
            "unused-reads": rows["never_bytes"],
            "evicted": rows["evicted_bytes"],
            "first-reads": used - rows["evicted_bytes"],
        }
        for key, size in shares.items():
            ns = float((waited * size / read).sum())
            left -= ns
            if ns > 0:
                numbers = {"read_bytes": float(read.sum()), "cause_bytes": float(size.sum())}
                yield phase.cause(key, ns, numbers)
    if left > 1:  # ns: less is rounding
        yield phase.cause("reads", left)


def paging(of: Analyses, phase: Phase) -> Iterator[Cause]:
    """Page faults with no read under way."""
    ns = phase.parts["paging_ns"]
    if ns:
        yield phase.cause("paging", ns)
