"""The known faults of traces that other tools recorded: each is looked for, and named in the verdict.

A key that a native run has too means the same there (`checks/keys.py`), and the same figures need it.
"""

from collections.abc import Mapping

from tracegen.contract.model import Check, CheckState

# key: title of the check, and its limit
KNOWN: Mapping[str, tuple[str, str]] = {
    "trace_complete": ("The trace was closed in order", "no record is cut"),
    "zero_records": ("No empty records", "0"),
    "monotone_time": ("Time runs forward on every thread", "0 steps back"),
    "recorded_once": ("Each pass was recorded once", "no pass inside another"),
    "nodes_accounted": ("Every node of every pass is accounted for", "all"),
    "op_times": ("Operations have times of their own", "begin and end of each operation"),
    "op_names": ("Operations have the names of their revision of ggml", "one table of names fits"),
    "first_op": ("Each pass begins with the embedding lookup", "GET_ROWS"),
    "pass_kinds": ("Load and warm-up are told apart from other passes", "0 unknown"),
    "claims_agree": ("What the file claims is what was found", "0 records differ"),
    "names_whole": ("Names are whole", "0 names as long as their field"),
    "operands_whole": ("All operands of each operation are recorded", "0 operations with as many as there is room for"),
    "sizes_whole": ("Sizes are whole", "0 sizes beyond 32 bits"),
    "threads_known": ("Threads are known", "the whole number of each thread"),
    "disk_known": ("Weights lay in the mapped file", "the address lies in a file mapping"),
    "offsets_in_tensors": ("File offsets lie inside the model's tensors", "0 outside"),
    "tensors_tile_file": ("Tensors tile their file", "no overlap"),
    "experts_whole": ("The experts of all token rows are recorded", "0 operations without"),
    "experts_prompt": (
        "The experts of the prompt are recorded, and those of a usual prompt",
        "0 operations without, none with all experts",
    ),
    "buffers_balance": ("Allocations and frees balance", "equal, none freed that was not allocated"),
    "buffers_whole": ("All buffers are recorded", "more than the KV cache, with frees"),
    "graphs_joined": ("Each pass has the graph that was dumped for it", "a dump for each graph"),
}


def found(key: str, state: CheckState | bool, finding: str, detail: str = "") -> Check:
    """The check `key` of KNOWN with what was found; the state True means passed, False failed."""
    title, limit = KNOWN[key]
    if isinstance(state, bool):
        state = "passed" if state else "failed"
    return Check(key, title, state, finding, limit, detail)
