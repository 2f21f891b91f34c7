"""The two dialects of `.ggmlviz`, which give the types 6 to 10 different meanings under the same version.

`main` has barrier and thread events (6 to 8, without a pointer); the branch `memory-visualization` put allocations of
backend buffers before them.
"""

import numpy as np

from tracegen.contract.errors import TraceFormatError
from tracegen.foreign.ggmlviz.events import VizEvents

_COMMON = ("graph_begin", "graph_end", "op_begin", "op_end", "tensor_alloc", "tensor_free")
MAIN, MEMORY, EITHER = "main", "memory-visualization", "main or memory-visualization"
TYPES = {
    MAIN: (*_COMMON, "barrier", "thread_begin", "thread_free"),
    MEMORY: (*_COMMON, "buffer_alloc", "buffer_free", "barrier", "thread_begin", "thread_free"),
    EITHER: _COMMON,
}
BUFFER_ALLOC, BUFFER_FREE = 6, 7


def dialect_of(name: str, events: VizEvents) -> str:
    """The dialect, by what the records hold; EITHER where no record differs between them.

    Raises TraceFormatError where the records fit both or neither.
    """
    kind, pointer = events.type, events.pointer
    if not (kind >= BUFFER_ALLOC).any():
        return EITHER
    buffers = (kind == BUFFER_ALLOC) | (kind == BUFFER_FREE)
    signs = {
        MAIN: ("of type 6 or 7 without a pointer", buffers & (pointer == 0)),
        MEMORY: ("of type 6 or 7 with a pointer, or of type 9 or 10", (buffers & (pointer != 0)) | (kind > 8)),
    }
    fits = [dialect for dialect, (_, sign) in signs.items() if sign.any()]
    if len(fits) == 1:
        return fits[0]
    at = int(events.offset[(kind >= BUFFER_ALLOC).argmax()])
    counts = "; ".join(f"{dialect} ({int(sign.sum())} records {what})" for dialect, (what, sign) in signs.items())
    raise TraceFormatError(
        f"{name}: record at byte {at}: expected the types above 5 of one dialect, found signs of "
        f"{'both' if fits else 'neither'}: {counts}; record it again with one version of ggml-viz"
    )


def counts_by_type(events: VizEvents, dialect: str) -> dict[str, int]:
    """How many events of each type there are, for those that there are."""
    names = TYPES[dialect]
    counts = np.bincount(events.type, minlength=len(names)).tolist()
    return {names[number]: n for number, n in enumerate(counts) if n}
