"""What reading a long trace of ggml-viz costs: a million events to tables, in a process of its own."""

import json
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.result import Result
from tracegen.contract.errors import EnvironmentFailure
from tracegen.readers.foreign.ggmlviz import events as layout
from tracegen.readers.foreign.op_numbers import number_of
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.progress import Progress

EVENTS = 1_000_000
SECONDS_LIMIT, TIMES_LIMIT = 3.0, 4.0
LAYERS = 4
NODES = (  # of a layer
    ("norm", "RMS_NORM"), ("attn_norm", "MUL"), ("Qcur", "MUL_MAT"), ("Qcur", "ROPE"), ("Kcur", "MUL_MAT"),
    ("Kcur", "ROPE"), ("Vcur", "MUL_MAT"), ("cache_k", "SET_ROWS"), ("cache_v", "SET_ROWS"), ("Qcur_view", "VIEW"),
    ("__fattn__", "FLASH_ATTN_EXT"), ("kqv_out", "RESHAPE"), ("attn_out", "MUL_MAT"), ("ffn_inp", "ADD"),
    ("norm", "RMS_NORM"), ("ffn_norm", "MUL"), ("ffn_gate", "MUL_MAT"), ("ffn_up", "MUL_MAT"), ("ffn_swiglu", "GLU"),
    ("ffn_out", "MUL_MAT"), ("l_out", "ADD"),
)  # fmt: skip


def run(quick: bool) -> list[Result]:
    events, repeats = (100_000, 1) if quick else (EVENTS, 3)
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="tracegen-bench-") as name:
        work, path = Path(name), Path(name) / "long.ggmlviz"
        progress.step(f"write {events:,} events")
        begin = time.perf_counter()
        path.write_bytes(_trace(events).data)
        written_s, size = time.perf_counter() - begin, path.stat().st_size
        found = []
        for repeat in range(repeats):
            progress.step(f"read them, {repeat + 1} of {repeats}")
            found.append(_read(work, path))
        progress.done()
    last = found[-1]
    rows = ", ".join(f"{n:,} {table}".replace(",", "\u2009") for table, n in last["rows"].items())
    how = f"median of {repeats}; {last['events']:,} events".replace(",", "\u2009") + f", {size / 2**20:.0f} MiB; {rows}"
    parts = f"{last['import_s']:.2f} s of imports are in the whole process alone"
    peak = max((one["peak"] - one["peak_imports"]) / size for one in found)
    whole = f"beyond the {last['peak_imports'] / 2**20:.0f} MiB of interpreter and imports, with the bytes of the file"
    results = [
        Result("ggml-viz trace to tables", statistics.median(one["wall_s"] for one in found), "s", SECONDS_LIMIT, how),
        Result("reading alone, last round", last["read_s"], "s", note=parts),
        Result("peak memory / file", peak, "×", TIMES_LIMIT, whole),
        Result("making the file", written_s, "s", note="records and labels from arrays"),
    ]
    # The limits are for the whole size: beside few events the interpreter is most of it.
    return [replace(result, limit=None) for result in results] if quick else results


def _read(work: Path, path: Path) -> dict[str, Any]:
    out, err = work / "read.txt", work / "read-err.txt"
    begin = time.perf_counter()
    ended = run_program([sys.executable, "-m", "benchmarks.ggmlviz_once", str(path)], stdout=out, stderr=err)
    wall_s = time.perf_counter() - begin
    if ended.status != 0:
        raise EnvironmentFailure(f"reading: {ended.ending}:\n{last_lines(err)}")
    found: dict[str, Any] = json.loads(out.read_text())
    return found | {"wall_s": wall_s}


def _trace(n_events: int) -> np.ndarray:
    """The bytes of a file with about so many events: graphs whose cache grows, so that each pass has a graph."""
    names = [f"{stem}-{layer}" for layer in range(LAYERS) for stem, _ in NODES]
    ops = np.array([number_of(op) for _ in range(LAYERS) for _, op in NODES], np.uint32)
    of_pass = 2 + 2 * len(names)
    n_passes = n_events // of_pass
    records = np.zeros((n_passes, of_pass), layout.RECORD)
    records["time_ns"] = np.arange(1, records.size + 1).reshape(records.shape) * 500
    records["thread"] = 1
    records["type"][:, 1::2], records["type"][:, 2::2] = layout.OP_BEGIN, layout.OP_END
    records["type"][:, 0], records["type"][:, -1] = layout.GRAPH_BEGIN, layout.GRAPH_END
    node = np.repeat(np.arange(len(names)), 2)
    records["pointer"][:, 1:-1], records["op"][:, 1:-1] = 1 + node, ops[node]
    records["op_size"][:, 1:-1] = 4096 + np.arange(n_passes)[:, None]
    records["n_nodes"][:, [0, -1]] = len(names)
    label = np.concatenate([[-1], node, [-1]])
    return layout.encode(records.reshape(-1), np.tile(label, n_passes), [name.encode() for name in names])
