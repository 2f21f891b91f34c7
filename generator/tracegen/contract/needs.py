"""Which checks each figure needs: if one of them failed, the figure would be false, and a reason replaces it.

Checks with the same reason form a group (`Need`). The reference page prints the reason beside the figures.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tracegen.contract.check_keys import Key


@dataclass(frozen=True)
class Need:
    """Checks that belong together, and why a figure is false where one of them failed.

    `warned`: checks of imported runs that make a figure false already where they warn, because what such a trace
    lacks would count as 0. `detail`: of `details.py`; without it, too.
    """

    why: str
    checks: tuple[Key, ...]
    warned: tuple[Key, ...] = ()
    detail: str = ""


EVIDENCE = Need(
    "events that are missing from the trace, or come from another run, make every sum wrong",
    (Key.ONE_RUN_ID, Key.DROPPED_EVENTS, Key.ZERO_RECORDS, Key.RECORDED_ONCE),
)
NODES = Need("an operation that was not recorded has no time and no bytes", (Key.NODES_ACCOUNTED,))
CLOCK = Need(
    "times of some or all threads are wrong",
    (Key.THREADS_ACCOUNTED, Key.MONOTONE_TIME, Key.EVEN_CLOCK, Key.TIME_ACCOUNTED, Key.OP_TIMES),
)
COST = Need("times are those of the tracer rather than of the model", (Key.TRACING_COST, Key.OBSERVER))
PLACES = Need(
    "bytes would be drawn at the wrong place of the file",
    (Key.MODEL_UNCHANGED, Key.OFFSETS_IN_TENSORS, Key.TENSORS_TILE_FILE, Key.SIZES_WHOLE),
)
NAMES = Need(
    "operations have wrong names, and the names decide what an operation reads",
    (Key.FIRST_OP, Key.OP_MIX, Key.OP_NAMES),
)
LAYERS = Need("operations would be counted in wrong layers", (Key.LAYERS_AGREE,))
KINDS = Need(
    "passes would be counted as another kind: warm-up as prompt, prompt as generation",
    (Key.PASS_KINDS, Key.PASSES_AGREE),
)
ROWS = Need("sums would be divided by the wrong number of tokens", (Key.TOKENS_AGREE,))
WHOLE = Need(
    "the program or its trace ended too early, so nothing can be said about the whole run", (Key.TRACE_COMPLETE,)
)
FAULTS = Need(
    "page faults are missing, or were counted in the wrong operation",
    (Key.FAULTS_RECORDED, Key.FAULTS_AGREE, Key.FAULTS_PLACED, Key.FAULTS_BARRIERS),
)
REQUESTS = Need("requests are missing, or model files have no known place on the device", (Key.REQUESTS_RECORDED,))
CHOSEN = Need(
    "which experts tokens chose was not recorded, so that their bytes would count as 0", (), (Key.EXPERTS_WHOLE,)
)
ALL_BUFFERS = Need("buffers are missing from the log, so that no sum is that of the run", (), (Key.BUFFERS_WHOLE,))
STATES = Need("a prompt whose state was restored looks like one that was kept in its slot", (), detail="states")
ALL_OPS = Need("a graph of some operations is not the graph that ran", (Key.GRAPHS_JOINED,))
READS = Need("reads of the program are missing", (Key.READS,), detail="reads")
FOOTPRINT = Need("what memory is made of is not all that the process holds", (), (Key.FOOTPRINT,))
BALANCE = Need("more was freed than allocated, so the sizes are wrong", (Key.BUFFERS_BALANCE,))

TIMES = (EVIDENCE, NODES, CLOCK, COST, KINDS)
OF_DEVICES = (EVIDENCE, NODES, CLOCK, KINDS)  # times by their own clock: recording slows the launch, not the work
BYTES = (EVIDENCE, NODES, PLACES, NAMES, KINDS, CHOSEN)
CHOICES = (EVIDENCE, NODES, NAMES, LAYERS, KINDS, WHOLE)

# Needs of the key figures and findings of the overview: tokens per second and operations; bytes per token; bytes of the
# file that the whole run touched; bytes read from the disk.
RATES = (*TIMES, ROWS)
FILE_USE = (*BYTES, WHOLE)
STORAGE = (EVIDENCE, KINDS, WHOLE)
KEY_FIGURES: Mapping[str, tuple[Need, ...]] = {
    "rates": RATES,
    "bytes": BYTES,
    "file-use": FILE_USE,
    "storage": STORAGE,
}

# If a check only warned, its figures are shown with the warning: above the times of a page, or in their captions.
NOTED_ABOVE_TIMES = (Key.OP_TIMES, Key.INTERFERENCE, Key.NOT_STOPPED, Key.EVEN_TOKENS, Key.TRACING_COST, Key.OBSERVER)
NOTED_IN_CAPTIONS: Mapping[Key, tuple[Need, ...]] = {
    Key.PASS_KINDS: (KINDS,),
    Key.TRACE_COMPLETE: (WHOLE,),
    Key.BUFFERS_BALANCE: (BALANCE,),
    Key.EXPERTS_PROMPT: (CHOSEN,),
    Key.OPERANDS_WHOLE: (CHOSEN,),
}
# Where hooks of a detail (details.py) do not fit llama.cpp, these figures say so: copies count as other time then,
# states as other memory, and the CPU's work memory as none.
LOST_IN: Mapping[str, tuple[Need, ...]] = {
    "copies": (COST,),
    "states": (FOOTPRINT,),
    "work": (ALL_BUFFERS, FOOTPRINT),
}
