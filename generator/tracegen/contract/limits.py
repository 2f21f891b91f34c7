"""The limits of the checks of a run: the numbers that decide, and their words in run.json and on the reference page."""

from collections.abc import Mapping

from tracegen.contract.check_keys import Key
from tracegen.contract.quantities import THIN, count

PADDING = 4096  # bytes: a smaller gap between tensors is padding, because some programs pad to pages
FAULTS_SLACK = 0.01  # of the faults that the kernel counts: those of threads that do not compute
FAULTS_MORE = 0.2  # of the faults that the kernel counts: so many more may be recorded, as faults begin again
FAULTS_SLACK_OF_PASS = 16  # faults: the least that a pass may differ by
FAULTS_OUTSIDE = 0.01  # of the faults in operations: those of bytes that their operation is not known to touch
REQUESTS_SLACK = 0.01  # of the bytes that the device counts
REQUESTS_SLACK_OF_PASS = 2 << 20  # bytes: requests under way when the counters of a pass were read
WARN_COST, FAIL_COST = 0.01, 0.10  # of the undisturbed time of the passes
WARN_SLOWER, FAIL_SLOWER = 0.02, 0.10  # than untraced
WARN_DELAY = 0.02  # of thread time
WARN_SKEW = 1.2
# A pass stalled if its threads were blocked for this share of it and this long; waking threads takes less.
STOOD_SHARE, STOOD_NS = 0.1, 20_000_000


def _percent(share: float) -> str:
    return f"{100 * share:.0f}{THIN}%"


# In the order of a verdict. Of some checks a run knows more: the setting, the counter or the alignment that it is
# compared with stands in its own limit.
LIMITS: Mapping[Key, str] = {
    Key.TRACE_COMPLETE: "closed in order",
    Key.DROPPED_EVENTS: "0",
    Key.ONE_RUN_ID: "one run id, in header and name",
    Key.ZERO_RECORDS: "0",
    Key.MONOTONE_TIME: "0 steps back",
    Key.EVEN_CLOCK: "between two readings 10 ms or 1 %, whichever is more",
    Key.NODES_ACCOUNTED: "all",
    Key.THREADS_ACCOUNTED: "0 operations",
    Key.PASS_KINDS: "0 unknown",
    Key.PASSES_AGREE: "n_eval",
    Key.TOKENS_AGREE: "n_p_eval",
    Key.TOKENS_ASKED: "the setting `tokens`",
    Key.LAYERS_AGREE: "block_count",
    Key.FIRST_OP: "GET_ROWS",
    Key.OP_MIX: "MUL_MAT and a norm; with experts their routing",
    Key.OFFSETS_IN_TENSORS: "all",
    Key.TENSORS_TILE_FILE: f"no overlap, gaps below {count(PADDING)} B, or the file's alignment where it is more",
    Key.NEVER_TOUCHED: "a list",
    Key.BUFFERS_BALANCE: "equal, none freed that was not allocated",
    Key.FAULTS_RECORDED: "0 lost in passes, 0 threads unwatched",
    Key.FAULTS_AGREE: f"within {_percent(FAULTS_SLACK)} or {FAULTS_SLACK_OF_PASS} a pass",
    Key.FAULTS_PLACED: f"{_percent(FAULTS_OUTSIDE)} outside, 0 spans with longer faults than work",
    Key.FAULTS_BARRIERS: "0 operations differ",
    Key.REQUESTS_RECORDED: "0 events lost, every file placed",
    Key.REQUESTS_AGREE: f"within {_percent(REQUESTS_SLACK)} or {REQUESTS_SLACK_OF_PASS >> 20} MiB a pass",
    Key.TIME_ACCOUNTED: "≤ 0 ns apart in one place",
    Key.TRACING_COST: f"≤ {_percent(WARN_COST)}; over {_percent(FAIL_COST)} fails",
    Key.OBSERVER: f"≤ {_percent(WARN_SLOWER)} slower; over {_percent(FAIL_SLOWER)} fails",
    Key.INTERFERENCE: f"≤ {_percent(WARN_DELAY)} of thread time",
    Key.NOT_STOPPED: f"0 passes for {_percent(STOOD_SHARE)} of their time and {STOOD_NS / 1e6:.0f} ms, "
    "waits for the disk left out",
    Key.EVEN_TOKENS: f"mean within a factor of {WARN_SKEW} of the median",
}
