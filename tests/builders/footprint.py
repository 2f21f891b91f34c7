"""Samples of the memory of a process, for tables that have none."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tracegen.contract.tables import frame

MIB = 1 << 20
FIXED = {"model": 90 * MIB, "files": 14 * MIB, "stacks": 1 * MIB, "tracer": 2 * MIB}
HEAP = 20 * MIB


def with_footprint(
    tables: Mapping[str, pd.DataFrame], *, state_bytes: int = 8 * MIB, heap_bytes: int = 0
) -> dict[str, pd.DataFrame]:
    """The same tables with a sample after each pass: before it a state was saved, and so much of the heap was taken."""
    allocated = tables["buffers"][tables["buffers"]["event"].eq("alloc").to_numpy(bool)]
    buffers = allocated[allocated["usage"].ne("mapped").to_numpy(bool)][["buffer_id", "size_bytes"]].to_numpy("int64")
    samples: list[dict[str, Any]] = []
    states: list[dict[str, Any]] = []
    ended = tables["passes"].dropna(subset=["end_ns"]).sort_values("end_ns")
    for n, row in enumerate(ended.to_dict("records")):
        end = int(row["end_ns"])
        computes = row["kind"] != "load"
        if computes and state_bytes:
            state = dict(saved=len(states), begin_ns=end + 100, end_ns=end + 900, sequence=0, event="saved")
            states.append({**state, "context": row["context"], "partial": False, "on_device": False})
            states[-1]["size_bytes"] = state_bytes
        held = [("buffer", int(of), int(size)) for of, size in buffers] if computes else []
        held += [("saved", of["saved"], of["size_bytes"]) for of in states]
        anonymous = HEAP + (n + 1) * heap_bytes + sum(size for *_, size in held)
        mappings = [*((kind, 0, size) for kind, size in FIXED.items()), ("anonymous", 0, anonymous)]
        process = ("process", 0, sum(size for *_, size in mappings))
        about = dict(sample=n, time_ns=end + 1_000, took_ns=50, occasion="pass" if computes else "load")
        for part, (kind, of, size) in enumerate((process, *mappings, *held)):
            place = dict(buffer_id=of if kind == "buffer" else None, saved=of if kind == "saved" else None)
            samples.append({**about, "part": part, "pass_id": row["pass_id"], "kind": kind, **place})
            samples[-1]["resident_bytes"] = size
    return {**tables, "footprint": frame("footprint", samples), "saved_states": frame("saved_states", states)}
