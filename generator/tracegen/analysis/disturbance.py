"""What delayed the threads of a run: other programs, more threads than processors, a stop of the program."""

from dataclasses import dataclass

from tracegen.analysis.accesses import Tables
from tracegen.analysis.backends import elsewhere_ns
from tracegen.analysis.passes import measured, of_kind
from tracegen.contract.check_keys import STOOD_NS, STOOD_SHARE


@dataclass(frozen=True)
class Disturbance:
    """What delayed the threads; times in ns, None: not recorded.

    The first five values are of the measured passes whose run delay was recorded: `run_delay_ns` is thread time spent
    runnable without a processor, `thread_ns` all thread time (threads times the time over which the kernel counted:
    the pass and the moments just before and after it), `worst_share` their ratio in the worst pass.
    `n_blocked` measured passes stalled (STOOD_SHARE, STOOD_NS): no thread ran or waited for a processor, but for the
    time in which another backend computed. In `n_stopped` of them (`stopped_ns`) nothing was read and no page fault
    began a read: they did not wait for the disk.
    """

    n_passes: int
    n_threads: int
    thread_ns: int | None
    run_delay_ns: int | None
    worst_share: float | None
    n_blocked: int
    n_stopped: int
    stopped_ns: int

    @property
    def share(self) -> float | None:
        """The share of thread time without a processor."""
        return None if not self.thread_ns or self.run_delay_ns is None else self.run_delay_ns / self.thread_ns


def disturbance(tables: Tables) -> Disturbance:
    """What delayed the measured passes."""
    spans = tables["spans"]
    threads = (spans.groupby("pass_id")["thread"].max() + 1).rename("n_threads")
    passes = measured(tables).dropna(subset=["duration_ns"]).merge(threads, left_on="pass_id", right_index=True)
    known = passes[passes["run_delay_ns"].notna()]
    delay = known["run_delay_ns"].astype("int64")
    thread_ns = known["counted_ns"].astype("int64") * known["n_threads"]
    others = elsewhere_ns(tables["splits"]).reindex(passes["pass_id"], fill_value=0).to_numpy()
    blocked = (passes["blocked_ns"].fillna(0).astype("int64") - others).clip(0)
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
        n_stopped=int(stopped.sum()),
        stopped_ns=int(blocked[stopped].sum()),
    )


def token_skew(tables: Tables) -> tuple[float, int] | None:
    """The mean duration of generate passes divided by the median, and their number; None for fewer than three."""
    times = of_kind(measured(tables), "generate")["duration_ns"].dropna().astype("float64")
    if len(times) < 3 or not times.median():
        return None
    return float(times.mean() / times.median()), len(times)
