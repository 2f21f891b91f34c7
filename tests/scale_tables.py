"""Tables at the scale of real runs: times of days, files of hundreds of GB, a million passes, many experts.

`stretched` and `enlarged` make them of a small run, in whole numbers: every time is its small one times a factor, every
byte too, so that what an analysis finds must be what it finds in the small run, times the factor, to the last digit.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracegen.contract.tables import BY_NAME, empty, frame

Tables = dict[str, pd.DataFrame]

BOOT_NS = 10**16 + 1  # 116 days since the machine began: more than the 2**53 that a float64 holds
SLOWER = 100_000_007  # a run of milliseconds takes days
LARGER = 200_003  # a model of megabytes has hundreds of GB

MOMENTS = ("begin_ns", "end_ns", "time_ns")
SIZES = (
    "offset",
    "origin_offset",
    "buffer_offset",
    "size_bytes",
    "axis_begin",
    "ne0",
    "nb1",
    "nb2",
    "nb3",
    "view_offset_bytes",
    "read_bytes",
)


def stretched(tables: Mapping[str, pd.DataFrame]) -> Tables:
    """The same run `SLOWER` times slower, on a machine that began `BOOT_NS` before it."""
    larger = {}
    for name, table in tables.items():
        times = [c.name for c in BY_NAME[name].columns if c.unit == "ns"]
        larger[name] = table.assign(**{c: table[c] * SLOWER + (BOOT_NS if c in MOMENTS else 0) for c in times})
    return larger


def enlarged(tables: Mapping[str, pd.DataFrame]) -> Tables:
    """The same run of a model with rows of `LARGER` times as many elements."""
    larger = {}
    for name, table in tables.items():
        sizes = [c for c in table.columns if c in SIZES]
        larger[name] = table.assign(**{c: table[c] * LARGER for c in sizes})
    return larger


def many_passes(n: int, pages_read: int = 0) -> Tables:
    """A load, a warm-up, a prompt and generate passes of a microsecond each, `n` together; nothing of their ops.

    After each of them other `pages_read` runs of a single page are in memory, three pages apart.
    """
    tables = empty()
    kinds = pd.Categorical(["load", "warmup", "prompt"] + ["generate"] * (n - 3))
    number = np.arange(n)
    waits = pd.array(np.maximum(number - 2, 0), dtype="Int32")
    waits[:2] = pd.NA
    graph = pd.array(np.ones(n), dtype="Int32")
    graph[0] = pd.NA
    columns = {
        "pass_id": number.astype("int32"),
        "kind": kinds.set_categories(BY_NAME["passes"].columns[4].values),
        "kind_basis": pd.Categorical.from_codes(np.zeros(n, np.int8), ["recorded", "inferred"]),
        "begin_ns": BOOT_NS + number * 2_000_000,
        "end_ns": pd.array(BOOT_NS + number * 2_000_000 + 1_000_000 + number % 7, dtype="Int64"),
        "graph": graph,
        "placement": graph.copy(),
        "n_tokens": pd.array(np.ones(n), dtype="Int32"),
        "n_outputs": pd.array(np.ones(n), dtype="Int32"),
        "produced_token": waits,
        "read_bytes": pd.array(10**10 + number, dtype="Int64"),
        "major_faults": pd.array(number % 5, dtype="Int64"),
    }
    tables["passes"] = frame("passes", columns)
    if pages_read:
        each = np.repeat(number[2:], pages_read)
        page = (np.tile(np.arange(pages_read), n - 2) * 3 + each) % (pages_read * 4)
        order = np.lexsort((page, each))
        runs = {"pass_id": each[order].astype("int32"), "file": np.zeros(len(each), "int32"), "first_page": page[order]}
        tables["residency"] = frame("residency", {**runs, "n_pages": np.ones(len(each), "int64")})
        size = pages_read * 4 * 4096
        file = dict(file=0, model=0, split_index=0, path="m.gguf", size_bytes=size, axis_begin=0)
        tables["files"] = frame("files", [file])
    return tables


def many_experts(n_tokens: int, n_layers: int = 60, n_experts: int = 512, n_chosen: int = 10) -> Tables:
    """A generate pass for each token, and the experts that it chose in each layer; nothing of ops."""
    tables = many_passes(n_tokens + 3)
    token, layer, rank = (axis.ravel() for axis in np.indices((n_tokens, n_layers, n_chosen)))
    first = token * 7 + layer * 13 + token * token % 11
    columns = {
        "pass_id": (token + 3).astype("int32"),
        "layer": layer.astype("int32"),
        "row": np.zeros(len(token), "int32"),
        "sequence": pd.array(np.zeros(len(token)), dtype="Int32"),
        "rank": rank.astype("int32"),
        "expert": ((first + rank * rank * 3) % n_experts).astype("int32"),
        "weight": pd.array(1 / (rank + 2.0), dtype="Float64"),
    }
    tables["routing"] = frame("routing", columns)
    tensors = [
        dict(
            tensor=i,
            name=f"blk.{i}.ffn_up_exps.weight",
            file=0,
            offset=i << 33,
            size_bytes=1 << 33,
            dtype="F16",
            layer=i,
            component="expert_up",
            n_experts=n_experts,
            ne0=1 << 11,
            ne1=1 << 12,
            ne2=n_experts,
            ne3=1,
        )
        for i in range(n_layers)
    ]
    tables["tensors"] = frame("tensors", tensors)
    return tables


def long_graph(n_layers: int, per_layer: int) -> Tables:
    """One graph of `n_layers` layers of `per_layer` additions each, every one of what came before and a weight."""
    tables = empty()
    n = n_layers * per_layer
    number = np.arange(n + 1)
    layer = pd.array(np.minimum(number // per_layer, n_layers - 1), dtype="Int32")
    layer[n] = pd.NA
    is_op = number < n
    names = [f"part_{i % per_layer}-{i // per_layer}" for i in range(n)] + ["output_norm.weight"]
    columns: dict[str, object] = {
        "graph": np.zeros(n + 1, "int32"),
        "node": number.astype("int32"),
        "kind": np.where(is_op, "op", "leaf"),
        "op": np.where(is_op, "ADD", "NONE"),
        "name": names,
        "layer": layer,
        "component": ["other"] * (n + 1),
        "dtype": ["F32"] * (n + 1),
        "op_params": [""] * (n + 1),
        "compute": np.ones(n + 1, bool),
        "view_offset_bytes": np.zeros(n + 1, "int64"),
        "size_bytes": np.full(n + 1, 4 * 4096),
        "ne0": np.full(n + 1, 4096),
        "nb0": np.full(n + 1, 4),
        "nb1": np.full(n + 1, 4 * 4096),
    }
    columns |= {f"ne{i}": np.ones(n + 1, "int64") for i in (1, 2, 3)}
    columns |= {f"nb{i}": np.full(n + 1, 4 * 4096) for i in (2, 3)}
    tables["graph_nodes"] = frame("graph_nodes", columns)
    edges = {
        "graph": np.zeros(2 * n, "int32"),
        "source": np.stack([np.where(number[:n] > 0, number[:n] - 1, n), np.full(n, n)], axis=1).ravel(),
        "target": np.repeat(number[:n], 2),
        "slot": ["src0", "src1"] * n,
    }
    tables["graph_edges"] = frame("graph_edges", edges)
    tables["graphs"] = frame("graphs", [dict(graph=0, topology="aa", n_nodes=n, n_leafs=1)])
    one = dict(pass_id=0, kind="generate", graph=0, placement=0, begin_ns=BOOT_NS, end_ns=BOOT_NS + 1000 * n + 500)
    tables["passes"] = frame("passes", [one])
    at = BOOT_NS + 200 + number[:n] * 1000
    zeros = np.zeros(n, "int32")
    tables["ops"] = frame(
        "ops",
        {
            "pass_id": zeros,
            "node": number[:n].astype("int32"),
            "state": ["executed"] * n,
            "backend": ["CPU"] * n,
            "split": pd.array(zeros, dtype="Int32"),
            "n_threads": pd.array(zeros + 1, dtype="Int32"),
            "begin_ns": pd.array(at, dtype="Int64"),
            "end_ns": pd.array(at + 900, dtype="Int64"),
            "time_basis": ["measured"] * n,
        },
    )
    times = {
        "begin_ns": at,
        "work_ns": np.full(n, 900),
        "barrier_ns": zeros.astype("int64"),
        "wait_ns": np.full(n, 100),
    }
    tables["spans"] = frame("spans", {"pass_id": zeros, "node": number[:n].astype("int32"), "thread": zeros, **times})
    return tables


def repeated(tables: Mapping[str, pd.DataFrame], n: int) -> Tables:
    """The same run with its last pass `n` times more; the copies follow each other as the last pass follows the first.

    Rows that are numbered by pass are repeated with it (ops, spans, tokens, touches, routing, …), others are not.
    """
    passes = tables["passes"]
    last = passes.iloc[-1]
    length = int(last["end_ns"] - last["begin_ns"]) + 40_000
    larger = dict(tables)
    for name, table in tables.items():
        if BY_NAME[name].key[0] != "pass_id":
            continue
        rows = table[(table["pass_id"] == last["pass_id"]).to_numpy(bool)]
        if not len(rows):
            continue
        number = np.repeat(np.arange(1, n + 1), len(rows))
        columns = {column: rows[column].array.take(np.tile(np.arange(len(rows)), n)) for column in rows}
        for column in ("pass_id", "produced_token", "call"):
            if column in columns:
                columns[column] = (pd.Series(columns[column]) + number).astype(rows[column].dtype).array
        for column in MOMENTS:
            if column in columns:
                columns[column] = (pd.Series(columns[column]) + number * length).astype(rows[column].dtype).array
        larger[name] = pd.concat([table, pd.DataFrame(columns)], ignore_index=True)
    return larger
