"""The known faults of traces that other tools recorded: each is looked for, and named in the verdict.

A key that a native run has too means the same there (`contract/check_keys.py`), and the same figures need it.
"""

from collections.abc import Mapping

from tracegen.contract.check_keys import Key
from tracegen.contract.model import Check, CheckState

# the limits of the checks, by key
LIMITS: Mapping[str, str] = {
    "trace_complete": "no record is cut",
    "zero_records": "0",
    "monotone_time": "0 steps back",
    "recorded_once": "no pass inside another",
    "nodes_accounted": "all",
    "op_times": "begin and end of each operation",
    "op_names": "one table of names fits",
    "first_op": "GET_ROWS",
    "pass_kinds": "0 unknown",
    "claims_agree": "0 records differ",
    "names_whole": "0 names as long as their field",
    "operands_whole": "0 operations with as many as there is room for",
    "sizes_whole": "0 sizes beyond 32 bits",
    "threads_known": "the whole number of each thread",
    "disk_known": "the address lies in a file mapping",
    "offsets_in_tensors": "0 outside",
    "tensors_tile_file": "no overlap",
    "experts_whole": "0 operations without",
    "experts_prompt": "0 operations without, none with all experts",
    "buffers_balance": "equal, none freed that was not allocated",
    "buffers_whole": "more than the KV cache, with frees",
    "graphs_joined": "a dump for each graph",
}


def found(key: str, state: CheckState | bool, finding: str, detail: str = "") -> Check:
    """The check `key` of LIMITS with what was found; the state True means passed, False failed."""
    if isinstance(state, bool):
        state = "passed" if state else "failed"
    return Check(key, Key(key).says, state, finding, LIMITS[key], detail)
