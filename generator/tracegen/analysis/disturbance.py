"""What held threads up that could have run: other programs, too many threads of one's own, a stop."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured

STOOD_SHARE, STOOD_NS = 0.1, 20_000_000  # of a pass and at least: shorter is how threads of a pool wake


@dataclass(frozen=True)
class Disturbance:
    """Over the measured passes whose run delay is known; times in ns, None: nothing is known.

    `run_delay_ns` is thread time that was runnable and had no processor, of `thread_ns` in all (threads times the
    stretches over which it was counted: each pass, and the moments just before and after it);
    `worst_share` that of the pass with the largest share. `n_blocked` passes stood still for a tenth of their time
    or more (and 20 ms), no thread running or waiting for a processor, `blocked_ns` together: in `n_stopped` of them
    (`stopped_ns`) nothing was read and no page fault began a read, so that no disk explains it.
    """

    n_passes: int
    n_threads: int
    thread_ns: int | None
    run_delay_ns: int | None
    worst_share: float | None
    n_blocked: int
    blocked_ns: int
    n_stopped: int
    stopped_ns: int

    @property
    def share(self) -> float | None:
        """The share of thread time without a processor."""
        return None if not self.thread_ns or self.run_delay_ns is None else self.run_delay_ns / self.thread_ns


def disturbance(tables: Tables) -> Disturbance:
    """What held up the measured passes."""
    spans = tables["spans"]
    threads = (spans.groupby("pass_id")["thread"].max() + 1).rename("n_threads")
    passes = measured(tables).dropna(subset=["duration_ns"]).merge(threads, left_on="pass_id", right_index=True)
    known = passes[passes["run_delay_ns"].notna()]
    delay = known["run_delay_ns"].astype("int64")
    thread_ns = known["counted_ns"].astype("int64") * known["n_threads"]
    blocked = passes["blocked_ns"].fillna(0).astype("int64")
    stood = (blocked >= STOOD_NS) & (blocked >= STOOD_SHARE * passes["duration_ns"].astype("float64"))
    no_disk = (passes["major_faults"] == 0).fillna(False) & (passes["read_bytes"].fillna(0) == 0)
    stopped = stood & no_disk.to_numpy(bool)
    return Disturbance(
        n_passes=len(known),
        n_threads=int(threads.max()) if len(threads) else 0,
        thread_ns=int(thread_ns.sum()) if len(known) else None,
        run_delay_ns=int(delay.sum()) if len(known) else None,
        worst_share=float((delay / thread_ns.where(thread_ns > 0)).max()) if len(known) else None,
        n_blocked=int(stood.sum()),
        blocked_ns=int(blocked[stood].sum()),
        n_stopped=int(stopped.sum()),
        stopped_ns=int(blocked[stopped].sum()),
    )


def token_skew(tables: Tables) -> tuple[float, int] | None:
    """Mean over median of the generate passes' durations, and how many there are; None below three of them."""
    passes: pd.DataFrame = measured(tables)
    times = passes.loc[(passes["kind"] == "generate").to_numpy(bool), "duration_ns"].dropna().astype("float64")
    if len(times) < 3 or not times.median():
        return None
    return float(times.mean() / times.median()), len(times)
