"""The facts of a run, as `run.json` holds them: what ran, on what, under which conditions, and how it was recorded.

A new fact is a field here. `measure/runs/facts.py` writes those of a run, `foreign/facts.py` those of an imported one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tracegen.contract.records import Record, encode


@dataclass(frozen=True, eq=False)
class Settings(Record):
    """What was asked for. Here are those that are read by name; `get` gives any that `contract/experiment.py` has."""

    question: str | None = None
    asks: str | None = None
    model: str | None = None
    flags: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    repeat: int | None = None
    private: bool | None = None

    def get(self, name: str) -> Any:
        """The value of a setting, in the form that `Setting.fact` gives it; None if it was not recorded."""
        return encode(self).get(name)


@dataclass(frozen=True, eq=False)
class Repetition(Record):
    """The place of a run in a series: run `number` of `of`. `first_run` is the name of the first run, None in itself.

    The first run gets its own name when it is stored.
    """

    number: int
    of: int
    first_run: str | None = None


@dataclass(frozen=True, eq=False)
class Slot(Record):
    """The place of a run in a matrix: the values of its factors, its round, and its number of `of` runs in their order.

    `matrix` names the matrix: all its runs have the same name, also those of rounds and values that were added.
    `cell`: a hash of the cell's settings and of the seed; `cells`, `repeat`: how many cells the matrix had when the
    order was drawn, and how many runs each. `places`: the place of each value among those of its factor, as
    `experiment.toml` has them, from 0.
    """

    matrix: str
    factors: Mapping[str, str]
    round: int
    number: int
    of: int
    cell: str
    cells: int
    repeat: int
    places: Mapping[str, int] | None = None


@dataclass(frozen=True, eq=False)
class Text(Record):
    """Prompt, text and tokens. `restored`: the first two come from the recorded token ids; `missing`: what of them not.

    `pieces`: the text of each token, by its id; pages leave out entries of another form.
    """

    prompt: str | None = None
    generated: str | None = None
    token_ids: tuple[int, ...] | None = None
    pieces: Any = None
    private: bool | None = None
    restored: bool | None = None
    missing: str | None = None


@dataclass(frozen=True, eq=False)
class LlamaCpp(Record):
    """llama.cpp: its version ("given" for a program of one's own), how it was built, and its own counters."""

    version: str | None = None
    build: Mapping[str, str | None] | None = None
    timings: Mapping[str, float | None] | None = None
    graphs_reused: int | None = None


@dataclass(frozen=True, eq=False)
class PageCache(Record):
    """Bytes of the model's files in the page cache before and after the run."""

    before_bytes: int | None = None
    after_bytes: int | None = None


@dataclass(frozen=True, eq=False)
class Locked(Record):
    """Bytes to lock as set, bytes that the kernel reports as locked, and bytes that are available afterwards."""

    asked_bytes: int
    locked_bytes: int
    available_after_bytes: int


@dataclass(frozen=True, eq=False)
class Pinned(Record):
    """Tensors of the model that another process kept in memory, and bytes of the pages that it locked for them."""

    n_tensors: int
    locked_bytes: int


@dataclass(frozen=True, eq=False)
class Limited(Record):
    """What the kernel reports about a limit; null where this kernel does not report it.

    The counts say how often the limit was reached, how often no memory could be freed then, and how many processes
    were killed for it.
    """

    asked_bytes: int | None = None
    limit_bytes: int | None = None
    swap_limit_bytes: int | None = None
    peak_bytes: int | None = None
    times_reached: int | None = None
    times_out_of_memory: int | None = None
    processes_killed: int | None = None


@dataclass(frozen=True, eq=False)
class Conditions(Record):
    """The conditions of a run: disk and kernel as the system describes them, page cache, locked and limited memory."""

    storage: Mapping[str, Any] | None = None
    kernel: Mapping[str, Any] | None = None
    page_cache: PageCache | None = None
    mlock: Locked | None = None
    pinned: Pinned | None = None
    memory_limit: Limited | None = None

    @property
    def read_ahead_bytes(self) -> int | None:
        """How far the device of the model reads ahead; None where it was not recorded."""
        size = (self.storage or {}).get("readahead_bytes")
        return size if isinstance(size, int) else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Measurement(Record):
    """Reads of one block size at one queue depth, one after the other ("sequential") or at random places ("random").

    `latency_p99_ns` is null with fewer than 100 reads.
    """

    pattern: str
    block_bytes: int
    queue_depth: int
    reads: int | None = None
    read_bytes: int | None = None
    duration_ns: int | None = None
    bytes_per_second: float
    reads_per_second: float | None = None
    latency_median_ns: int | None = None
    latency_p99_ns: int | None = None


@dataclass(frozen=True, eq=False)
class Skipped(Record):
    """A measurement that was not made, and why."""

    pattern: str
    block_bytes: int
    queue_depth: int
    reason: str


@dataclass(frozen=True, eq=False)
class ProgramLimit(Record):
    """The result of the same reads of 4 KiB from /dev/zero, where no device takes part.

    A device with lower latencies or more reads per second cannot be measured.
    """

    queue_depth: int
    reads_per_second: float
    latency_median_ns: int


@dataclass(frozen=True, eq=False)
class Device(Record):
    """A device as the kernel describes it, where null means unknown, and what was measured; or why it was `refused`."""

    file: str | None = None
    file_bytes: int | None = None
    fragments: int | None = None
    device: str | None = None
    model: str | None = None
    file_system: str | None = None
    rotational: bool | None = None
    scheduler: str | None = None
    readahead_bytes: int | None = None
    max_request_bytes: int | None = None
    duration_ns: int | None = None
    measurements: tuple[Measurement, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    program_limits: tuple[ProgramLimit, ...] = ()
    refused: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Execution(Record):
    """What is known of an execution; None where it is not recorded.

    Tokens and times of prompt and generation are llama.cpp's own counters. `read_bytes`: what the program read from
    devices; `written_bytes`: what anyone wrote to the device of the model meanwhile; `others_share`: the share of the
    machine's processor time that others had. Peak and times reached are those of its memory limit. `failure`: how it
    ended, if not in order.
    """

    seconds: float
    prompt_tokens: int | None
    prompt_ms: float | None
    eval_runs: int | None
    eval_ms: float | None
    processor_s: float | None = None
    minor_faults: int | None = None
    major_faults: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    others_share: float | None
    peak_bytes: int | None = None
    times_reached: int | None = None
    failure: str | None


@dataclass(frozen=True, eq=False)
class Control(Record):
    """The program traced, untraced under the same conditions, and untraced without its memory limit if that was tried.

    There is nothing in `untraced` where the program ran traced alone.
    """

    untraced: tuple[Execution, ...]
    traced: Execution
    without_limit: Execution | None


@dataclass(frozen=True, eq=False)
class Model(Record):
    """A model: what its first file says of it; size and number of tensors are those of all its files."""

    file: str | None = None
    sha256: str | None = None
    size_bytes: int | None = None
    n_files: int | None = None
    n_tensors: int | None = None
    origin: str | None = None
    licence: str | None = None
    architecture: str | None = None
    name: str | None = None
    n_layers: int | None = None
    n_experts: int | None = None
    n_experts_used: int | None = None
    random_weights: bool | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class MemoryRate(Record):
    """How fast so many threads read memory together, in bytes per second: one rate for each number of threads."""

    threads: tuple[int, ...]
    bytes_per_second: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Host(Record):
    """The machine. `id` is a hash that tells it from others without its name."""

    name: str | None = None
    id: str | None = None
    cpu: str | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    page_bytes: int | None = None
    kernel: str | None = None
    machine: str | None = None
    memory_rate: MemoryRate | None = None
    last_level_cache_bytes: int | None = None


@dataclass(frozen=True, eq=False)
class DeviceMemory(Record):
    """The memory of a device as its driver said when the last buffer of the run had been allocated there."""

    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, eq=False)
class Trace(Record):
    """The trace, what it lacks and why, and what it cost; shares are those of the passes' time."""

    reader: str | None = None
    run_id: str | None = None
    n_segments: int | None = None
    bytes: int | None = None
    events: int | None = None
    records: int | None = None
    dropped: int | None = None
    dropped_why: str | None = None
    unsealed_chunks: int | None = None
    skipped_passes: int | None = None
    environment: Mapping[str, str | None] | None = None
    environment_unnamed: int | None = None
    clock: str | None = None
    clock_why: str | None = None
    clock_anchor: str | None = None
    mapped_files: tuple[str, ...] | None = None
    n_weights: int | None = None
    n_weights_mapped: int | None = None
    attached: bool | None = None
    not_hooked: tuple[str, ...] | None = None
    faults_recorded: bool | None = None
    faults_refused: str | None = None
    off_cpu_recorded: bool | None = None
    device_refused: str | None = None
    device_ops_refused: str | None = None
    device_ops_lost: int | None = None
    device_memory: Mapping[str, DeviceMemory] | None = None
    cache_refused: str | None = None
    footprint_refused: str | None = None
    io_uring: bool | None = None
    allocations_lost: int | None = None
    nodes_refused: str | None = None
    numa_nodes: int | None = None
    numa_processors: tuple[int, ...] | None = None
    own_page_bytes: int | None = None
    requests_recorded: bool | None = None
    requests_refused: str | None = None
    requests_lost: int | None = None
    requests_unplaced: str | None = None
    requests_elsewhere: int | None = None
    requests_elsewhere_bytes: int | None = None
    event_cost_ns: float | None = None
    clock_read_ns: float | None = None
    pass_cost_ns: float | None = None
    pass_cost_most_ns: float | None = None
    begin_cost_ns: float | None = None
    overhead_share: float | None = None
    between_passes_share: float | None = None

    @property
    def lost(self) -> tuple[str, ...]:
        """The details (details.py) whose hooks do not fit the llama.cpp that ran."""
        return self.not_hooked or ()


@dataclass(frozen=True, eq=False)
class Source(Record):
    """The git commit of the folder in which the experiment ran, and whether files differed from it."""

    commit: str | None = None
    dirty: bool | None = None


@dataclass(frozen=True, eq=False)
class Stage(Record):
    """A stage of making a run, and how long it took."""

    name: str
    seconds: float


@dataclass(frozen=True, eq=False)
class ImportedFile(Record):
    """A file of another tool: its size, and size and SHA-256 of what is kept of it."""

    name: str | None = None
    role: str | None = None
    sha256: str | None = None
    kept_bytes: int | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, eq=False)
class Imported(Record):
    """Of what an imported run was made, and what of it was left out; each format has further facts of its own.

    `identity`: a hash of what was imported and how; `routing`, `spans`: whether it holds them.
    """

    format: str | None = None
    identity: str | None = None
    op_table: str | None = None
    files: tuple[ImportedFile, ...] | None = None
    left_out: tuple[str, ...] | None = None
    routing: bool | None = None
    spans: bool | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Tried(Record):
    """A remedy that was tried: what it was predicted to gain, and what runs with and without it in turn measured.

    `of`: the run whose report offered it, `experiment`: the one that has the runs; `setting`: its name, with the values
    `before` and `after`. Gains are how many times as fast a token is, or the prompt (`phase`); `low` and `high` are the
    ends of a 99 % interval, null with too few pairs of runs. `outcome`: `as predicted`, `not as predicted`, or `not
    decided`. `parts`: by label, time of a token before and after, ns.
    """

    of: str
    experiment: str
    remedy: str
    setting: str
    before: str
    after: str
    predicted_low: float
    predicted_high: float
    measured: float
    low: float | None = None
    high: float | None = None
    pairs: int
    outcome: str
    parts: Mapping[str, tuple[float, ...]] | None = None
    phase: str | None = None


@dataclass(frozen=True, eq=False)
class Failure(Record):
    """Why a program ended with an error, in its own words.

    Where memory could not be allocated: `place`, the backend's name of it, `wanted_bytes`, and `what` it was for (KV
    cache, weights, compute), as far as it said. `signal`: the name of the one that killed it. `limit_s`: the time, s,
    after which it was stopped, as its experiment says.
    """

    words: tuple[str, ...]
    signal: str | None = None
    place: str | None = None
    wanted_bytes: int | None = None
    what: str | None = None
    limit_s: int | None = None


@dataclass(frozen=True, eq=False)
class Facts(Record):
    """The facts of a run. A group that its document lacks has nothing in it, or is None."""

    settings: Settings = field(default_factory=Settings.absent)
    repetition: Repetition | None = None
    slot: Slot | None = None
    command: tuple[str, ...] = ()
    exit_status: int | None = None
    failure: Failure | None = None
    stopped: bool | None = None
    counted: bool | None = None
    text: Text = field(default_factory=Text.absent)
    llama_cpp: LlamaCpp = field(default_factory=LlamaCpp.absent)
    conditions: Conditions = field(default_factory=Conditions.absent)
    device: Device | None = None
    control: Control | None = None
    model: Model = field(default_factory=Model.absent)
    more_models: tuple[Model, ...] = ()
    host: Host = field(default_factory=Host.absent)
    trace: Trace = field(default_factory=Trace.absent)
    versions: Mapping[str, str | None] | None = None
    source: Source = field(default_factory=Source.absent)
    stages: tuple[Stage, ...] = ()
    tried: tuple[Tried, ...] = ()
    imported: Imported | None = None

    @property
    def private(self) -> bool:
        """Whether the run's experiment says `private = true`."""
        return self.settings.private is True or self.text.private is True

    @property
    def models(self) -> tuple[Model, ...]:
        """All models of the run, the first one first."""
        return (self.model, *self.more_models)
