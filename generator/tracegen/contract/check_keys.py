"""The keys of all checks, with their titles: figures and stored runs name a check by its key."""

from enum import StrEnum


class Key(StrEnum):
    """The key of a check in run.json and on pages; `says` is the title of the check."""

    says: str

    def __new__(cls, value: str, says: str = "") -> "Key":
        """A key, and the title of its check."""
        key = str.__new__(cls, value)
        key._value_, key.says = value, says
        return key

    DROPPED_EVENTS = "dropped_events", "No event was dropped"
    TRACE_COMPLETE = "trace_complete", "The trace was closed in order"
    NODES_ACCOUNTED = "nodes_accounted", "Every node of every pass is accounted for"
    THREADS_ACCOUNTED = "threads_accounted", "Every thread has a span for every operation it took part in"
    PASSES_AGREE = "passes_agree", "Generate passes agree with llama.cpp's counter"
    TOKENS_AGREE = "tokens_agree", "Prompt tokens agree with llama.cpp's counter"
    TOKENS_ASKED = "tokens_asked", "As many tokens were generated as asked for"
    LAYERS_AGREE = "layers_agree", "Layers agree with the model's metadata"
    FIRST_OP = "first_op", "Each pass starts with the embedding lookup"
    OP_MIX = "op_mix", "The operations are those of the architecture"
    OFFSETS_IN_TENSORS = "offsets_in_tensors", "File offsets lie inside the model's tensors"
    TENSORS_TILE_FILE = "tensors_tile_file", "Tensors tile their file"
    MONOTONE_TIME = "monotone_time", "Timestamps are monotonic on every thread"
    EVEN_CLOCK = "even_clock", "The clock of the events kept pace with the system clock"
    ZERO_RECORDS = "zero_records", "No empty records"
    NEVER_TOUCHED = "never_touched", "Tensors that no token touched are listed"
    BUFFERS_BALANCE = "buffers_balance", "Allocations and frees balance"
    ONE_RUN_ID = "one_run_id", "All files carry one run id"
    PASS_KINDS = "pass_kinds", "Load and warm-up are distinguished from other passes"
    TIME_ACCOUNTED = "time_accounted", "The parts of each pass add up to its duration"
    FAULTS_RECORDED = "faults_recorded", "Every page fault of the model files was recorded"
    FAULTS_AGREE = "faults_agree", "Page faults agree with the kernel’s counters"
    FAULTS_PLACED = "faults_placed", "Page faults lie in what their operations touch"
    FAULTS_BARRIERS = "faults_barriers", "Waits at barriers inside operations add up"
    REQUESTS_RECORDED = "requests_recorded", "Every read of the model’s devices was recorded"
    REQUESTS_AGREE = "requests_agree", "Requests agree with the device’s counters"
    TRACING_COST = "tracing_cost", "Cost of tracing, of the passes' undisturbed time"
    OBSERVER = "observer", "Speed agrees with that of the same program untraced"
    INTERFERENCE = "interference", "Time that threads waited for a processor"
    NOT_STOPPED = "not_stopped", "Passes that stalled"
    EVEN_TOKENS = "even_tokens", "Mean and median of the token times agree"
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
