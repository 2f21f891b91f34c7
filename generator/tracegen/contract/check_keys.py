"""The checks of a run: their keys, titles and limits. Figures and stored runs name a check by its key."""

from enum import StrEnum

from tracegen.contract.quantities import THIN, count

PADDING = 4096  # bytes: a smaller gap between tensors is padding, because some programs pad to pages
FAULTS_SLACK = 0.01  # of the faults that the kernel counts: those of threads that do not compute
FAULTS_MORE = 0.2  # of the faults that the kernel counts: so many more may be recorded, as faults begin again
FAULTS_SLACK_OF_PASS = 16  # faults: the least that a pass may differ by
FAULTS_OUTSIDE = 0.01  # of the faults in operations: those of bytes that their operation is not known to touch
PREEMPTIONS_SLACK = (
    0.01  # of the time that the kernel counts: it reads its clock a moment earlier than it notes a switch
)
PREEMPTIONS_SLACK_OF_THREAD_NS = 1_000_000  # of each pass
REQUESTS_SLACK = 0.01  # of the bytes that the device counts
REQUESTS_SLACK_OF_PASS = 2 << 20  # bytes: requests under way when the counters of a pass were read
FOOTPRINT_SLACK, FOOTPRINT_SLACK_BYTES = 0.01, 1 << 20  # of the process: other threads allocate while it is read
WARN_COST, FAIL_COST = 0.01, 0.10  # of the undisturbed time of the passes
WARN_SLOWER, FAIL_SLOWER = 0.02, 0.10  # than untraced
WARN_DELAY = 0.02  # of thread time
WARN_SKEW = 1.2
# A pass stalled if its threads were blocked for this share of it and this long; waking threads takes less.
STOOD_SHARE, STOOD_NS = 0.1, 20_000_000


def _percent(share: float) -> str:
    return f"{100 * share:.0f}{THIN}%"


class Key(StrEnum):
    """The key of a check in run.json and on pages, in the order of a verdict.

    `says` is the title of the check, `limit` the words of its limit: empty for the checks of imported traces alone.
    Of some checks a run knows more: the setting, the counter or the alignment that it is compared with stands there.
    """

    says: str
    limit: str

    def __new__(cls, value: str, says: str = "", limit: str = "") -> "Key":
        """A key, the title of its check, and its limit."""
        key = str.__new__(cls, value)
        key._value_, key.says, key.limit = value, says, limit
        return key

    TRACE_COMPLETE = "trace_complete", "The trace was closed in order", "closed in order"
    DROPPED_EVENTS = "dropped_events", "No event was dropped", "0"
    ONE_RUN_ID = "one_run_id", "All files carry one run id", "one run id, in header and name"
    MODEL_UNCHANGED = "model_unchanged", "No model file changed while the program ran", "0 changed"
    ZERO_RECORDS = "zero_records", "No empty records", "0"
    MONOTONE_TIME = "monotone_time", "Timestamps are monotonic on every thread", "0 steps back"
    EVEN_CLOCK = (
        "even_clock",
        "The clock of the events kept pace with the system clock",
        "between two readings 10 ms or 1 %, whichever is more",
    )
    HOOKS = "hooks", "All hooks fit this llama.cpp", "all"
    NODES_ACCOUNTED = "nodes_accounted", "Every node of every pass is accounted for", "all"
    THREADS_ACCOUNTED = (
        "threads_accounted",
        "Every thread has a span for every operation it took part in",
        "0 operations",
    )
    PASS_KINDS = "pass_kinds", "Load and warm-up are distinguished from other passes", "0 unknown"
    PASSES_AGREE = "passes_agree", "Generate passes agree with llama.cpp's counter", "n_eval"
    TOKENS_AGREE = "tokens_agree", "Prompt tokens agree with llama.cpp's counter", "n_p_eval"
    TOKENS_ASKED = "tokens_asked", "As many tokens were generated as asked for", "the setting `tokens`"
    LAYERS_AGREE = "layers_agree", "Layers agree with the model's metadata", "block_count"
    FIRST_OP = "first_op", "Each pass starts with the embedding lookup", "GET_ROWS"
    OP_MIX = "op_mix", "The operations are those of the architecture", "MUL_MAT and a norm; with experts their routing"
    OFFSETS_IN_TENSORS = "offsets_in_tensors", "File offsets lie inside the model's tensors", "all"
    TENSORS_TILE_FILE = (
        "tensors_tile_file",
        "Tensors tile their file",
        f"no overlap, gaps below {count(PADDING)} B, or the file's alignment where it is more",
    )
    NEVER_TOUCHED = "never_touched", "Tensors that no token touched are listed", "a list"
    BUFFERS_BALANCE = "buffers_balance", "Allocations and frees balance", "equal, none freed that was not allocated"
    READS = "reads", "Reads of the program brought all weights that were copied", "0 bytes missing, none failed"
    FOOTPRINT = (
        "footprint",
        "What memory is made of adds up to what the process holds",
        "1 MiB or 1 %, whichever is more, at each sample",
    )
    FAULTS_RECORDED = (
        "faults_recorded",
        "Every page fault of the model files was recorded",
        "0 lost in passes, 0 threads unwatched",
    )
    FAULTS_AGREE = (
        "faults_agree",
        "Page faults agree with the kernel’s counters",
        f"within {_percent(FAULTS_SLACK)} or {FAULTS_SLACK_OF_PASS} a pass",
    )
    FAULTS_PLACED = (
        "faults_placed",
        "Page faults lie in what their operations touch",
        f"{_percent(FAULTS_OUTSIDE)} outside, 0 spans with longer faults than work",
    )
    FAULTS_BARRIERS = "faults_barriers", "Waits at barriers inside operations add up", "0 operations differ"
    PREEMPTIONS_AGREE = (
        "preemptions_agree",
        "Preemptions do not exceed the kernel’s count of waiting for a processor",
        f"in no pass above it by more than {_percent(PREEMPTIONS_SLACK)} and "
        f"{PREEMPTIONS_SLACK_OF_THREAD_NS / 1e6:.0f}{THIN}ms a thread",
    )
    REQUESTS_RECORDED = (
        "requests_recorded",
        "Every read of the model’s devices was recorded",
        "0 events lost, every file placed",
    )
    REQUESTS_AGREE = (
        "requests_agree",
        "Requests agree with the device’s counters",
        f"within {_percent(REQUESTS_SLACK)} or {REQUESTS_SLACK_OF_PASS >> 20} MiB a pass",
    )
    TIME_ACCOUNTED = "time_accounted", "The parts of each pass add up to its duration", "≤ 0 ns apart in one place"
    TRACING_COST = (
        "tracing_cost",
        "Cost of tracing, of the passes' undisturbed time",
        f"≤ {_percent(WARN_COST)}; over {_percent(FAIL_COST)} fails",
    )
    OBSERVER = (
        "observer",
        "Speed agrees with that of the same program untraced",
        f"≤ {_percent(WARN_SLOWER)} slower; over {_percent(FAIL_SLOWER)} fails",
    )
    INTERFERENCE = (
        "interference",
        "Time that threads waited for a processor",
        f"≤ {_percent(WARN_DELAY)} of thread time",
    )
    NOT_STOPPED = (
        "not_stopped",
        "Passes that stalled",
        f"0 passes for {_percent(STOOD_SHARE)} of their time and {STOOD_NS / 1e6:.0f} ms, waits for the disk left out",
    )
    EVEN_TOKENS = (
        "even_tokens",
        "Mean and median of the token times agree",
        f"mean within a factor of {WARN_SKEW} of the median",
    )
    RECORDED_ONCE = "recorded_once", "Each pass was recorded once"
    OP_TIMES = "op_times", "Operations have times of their own"
    OP_NAMES = "op_names", "Operations have the names of their revision of ggml"
    CLAIMS_AGREE = "claims_agree", "What the file claims is what was found"
    NAMES_WHOLE = "names_whole", "Names are whole"
    OPERANDS_WHOLE = "operands_whole", "All operands of each operation are recorded"
    SIZES_WHOLE = "sizes_whole", "Sizes are whole"
    THREADS_KNOWN = "threads_known", "Threads are known"
    DISK_KNOWN = "disk_known", "Weights lay in the mapped file"
    EXPERTS_WHOLE = "experts_whole", "The experts of all tokens are recorded"
    EXPERTS_PROMPT = "experts_prompt", "The experts of the prompt are recorded, and those of a usual prompt"
    BUFFERS_WHOLE = "buffers_whole", "All buffers are recorded"
    GRAPHS_JOINED = "graphs_joined", "Each pass has the graph that was dumped for it"


CHECKED = tuple(key for key in Key if key.limit)  # those of runs that were measured here
