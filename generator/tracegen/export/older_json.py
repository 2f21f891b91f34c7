"""`json`: the files that the older tools export, so that their viewers and notebooks open what was recorded here.

    traces/token-00000.json   the executed operations of a pass, in order of execution
    graphs/token-00000.json   its graph, named as its trace
    memory-map.json           the tensors of the model; each expert of a stack is an entry of its own
    buffer-timeline.json      the runtime buffers

That schema knows begins but no ends, one thread, disk and buffers, and the experts of the first token row. What it has
no place for is left out: loads, waiting, faults, requests, copies' origins.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tracegen.contract.errors import SettingsError
from tracegen.export.format import Format, Source

# The symbol that ggml's dump draws for an operation; the others are NAME(x).
SYMBOLS: Mapping[str, str] = {
    "MUL_MAT": "X*Y", "MUL_MAT_ID": "X[i]*Y", "ADD": "x+y", "ADD_ID": "x[i]+y", "SUB": "x-y", "MUL": "x*y",
    "DIV": "x/y", "CPY": "x-\\>y", "NONE": "CONST",
}  # fmt: skip
# component -> category, component and component type of a memory map
_ATTENTION = "attention"
COMPONENTS: Mapping[str, tuple[str, str, str]] = {
    "embedding": ("embedding", "other", "Token Embeddings"),
    "attention_q": (_ATTENTION, "query", "Attention Q"),
    "attention_k": (_ATTENTION, "key", "Attention K"),
    "attention_v": (_ATTENTION, "value", "Attention V"),
    "attention_output": (_ATTENTION, "output", "Output Projection"),
    "attention": (_ATTENTION, "other", "Other"),
    "router": ("ffn", "gate", "FFN Gate"),
    "ffn_gate": ("ffn", "gate", "FFN Gate"),
    "ffn_up": ("ffn", "up", "FFN Up"),
    "ffn_down": ("ffn", "down", "FFN Down"),
    "expert_gate": ("ffn", "gate", "FFN Gate"),
    "expert_up": ("ffn", "up", "FFN Up"),
    "expert_down": ("ffn", "down", "FFN Down"),
    "output": ("output", "output", "Output Projection"),
}
OTHER = ("other", "other", "Other")
N_IDS = 16  # experts that a record of the older tools has room for


def _write(source: Source, folder: Path) -> None:
    passes = source.table("passes")
    passes = passes[passes["graph"].notna().to_numpy(bool)]
    if passes.empty:
        raise SettingsError(f"{source.name}: has no pass with a graph, so there is nothing to export as JSON")
    (folder / "traces").mkdir()
    (folder / "graphs").mkdir()
    graphs = {int(graph): _Graph(source, int(graph)) for graph in passes["graph"].unique()}
    ops = _begun(source.table("ops"))
    of_pass = dict(list(ops.groupby("pass_id")))
    experts = _experts(source)
    for number, row in enumerate(passes.to_dict("records")):
        graph = graphs[int(row["graph"])]
        places = _places(source, None if pd.isna(row["placement"]) else int(row["placement"]))
        rows = of_pass.get(row["pass_id"], ops.iloc[:0]).sort_values(["begin_ns", "node"])
        entries = graph.entries(rows, number, str(row["kind"]), places, experts.get(int(row["pass_id"]), {}))
        _dump(folder / f"traces/token-{number:05d}.json", _trace(entries, number))
        _dump(folder / f"graphs/token-{number:05d}.json", {"token_id": number, **graph.document})
    if len(source.table("tensors")):
        _dump(folder / "memory-map.json", _memory_map(source))
    _dump(folder / "buffer-timeline.json", _buffers(source))


def _begun(ops: pd.DataFrame) -> pd.DataFrame:
    """The operations that ran, with their begin; one that was fused begins with the kernel that computed it."""
    ran = ops[ops["state"].isin(["executed", "fused"]).to_numpy(bool)]
    kernel = ran["fused_into"].fillna(ran["node"])
    begins = ran[["pass_id", "node", "begin_ns"]].rename(columns={"node": "kernel", "begin_ns": "kernel_begin_ns"})
    rows = ran.assign(kernel=kernel).merge(begins, on=["pass_id", "kernel"], how="left")
    rows["begin_ns"] = rows["begin_ns"].fillna(rows["kernel_begin_ns"])
    return rows[rows["begin_ns"].notna().to_numpy(bool)]


def _dump(path: Path, document: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False) + "\n", encoding="utf-8")


def _trace(entries: list[dict[str, Any]], number: int) -> dict[str, Any]:
    times = [entry["timestamp_ns"] for entry in entries]
    begin, end = (times[0], times[-1]) if times else (0, 0)
    metadata = {
        "total_entries": len(entries), "duration_ms": (end - begin) / 1e6, "timestamp_start_ns": begin,
        "format_version": "1024-byte",
    }  # fmt: skip
    return {"token_id": number, "metadata": metadata, "entries": entries}


class _Graph:
    """A graph of the run: its nodes by number, and what its file says."""

    def __init__(self, source: Source, graph: int) -> None:
        nodes, edges = source.table("graph_nodes"), source.table("graph_edges")
        nodes = nodes[(nodes["graph"] == graph).to_numpy(bool)].sort_values("node")
        edges = edges[(edges["graph"] == graph).to_numpy(bool)].sort_values(["target", "slot"])
        self._nodes = {int(row["node"]): row for row in nodes.astype(object).to_dict("records")}
        self._operands: dict[int, list[int]] = {}
        for target, of in zip(edges["target"].tolist(), edges["source"].tolist(), strict=True):
            self._operands.setdefault(int(target), []).append(int(of))
        rows = list(self._nodes.values())
        layers = {row["layer"] for row in rows if not pd.isna(row["layer"])}
        self.document = {
            "metadata": {
                "total_nodes": len(rows), "total_edges": len(edges), "layers": len(layers),
                "timestamp_generated": None,
            },
            "nodes": [_node(row) for row in rows],
            "edges": [
                {"source": f"node_{s}", "target": f"node_{t}", "label": f"src {slot.removeprefix('src')}"}
                for s, t, slot in zip(edges["source"], edges["target"], edges["slot"].astype(str), strict=True)
            ],
        }  # fmt: skip

    def entries(
        self, ops: pd.DataFrame, number: int, kind: str, places: Mapping[int, Mapping[str, Any]],
        experts: Mapping[int, list[int]],
    ) -> list[dict[str, Any]]:  # fmt: skip
        """The entries of a pass; `experts` has the chosen experts by layer."""
        entries: list[dict[str, Any]] = []
        first = int(ops["begin_ns"].iloc[0]) if len(ops) else 0
        for node, begin in zip(ops["node"].tolist(), ops["begin_ns"].tolist(), strict=True):
            row = self._nodes[int(node)]
            sources = [self._source(of, places) for of in self._operands.get(int(node), [])]
            layer = None if pd.isna(row["layer"]) else int(row["layer"])
            entry: dict[str, Any] = {
                "entry_id": len(entries), "timestamp_ns": int(begin),
                "timestamp_relative_ms": round((int(begin) - first) / 1e6, 3), "token_id": number, "layer_id": layer,
                "thread_id": 0, "phase": "GENERATE" if kind == "generate" else "PROMPT",
                "operation_type": str(row["op"]), "dst_name": str(row["name"]), "num_sources": len(sources),
                "sources": sources,
            }  # fmt: skip
            if row["op"] == "MUL_MAT_ID":
                ids = experts.get(-1 if layer is None else layer, [])[:N_IDS]
                entry = {**entry, "expert_ids": ids, "num_experts": len(ids)}
            entries.append(entry)
        return entries

    def _source(self, node: int, places: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        row, place = self._nodes[node], places.get(node, {})
        size = place.get("size_bytes", row["size_bytes"])
        address = place.get("address")
        described = {
            "name": str(row["name"]),
            "tensor_ptr": f"0x{0 if pd.isna(address) else int(address):x}",
            "size_bytes": 0 if pd.isna(size) else int(size),
            "layer_id": None,
            "memory_source": "DISK" if place.get("memory") == "disk" else "BUFFER",
        }
        if described["memory_source"] == "DISK":
            layer = None if pd.isna(row["layer"]) else int(row["layer"])  # the older tools name that of weights only
            return described | {"layer_id": layer, "disk_offset": int(place["origin_offset"])}
        buffer = place.get("buffer_id")
        return described if pd.isna(buffer) else described | {"buffer_id": int(buffer)}


def _node(row: Mapping[Any, Any]) -> dict[str, Any]:
    leaf = row["kind"] == "leaf"
    shape = [row[f"ne{i}"] for i in range(4)]
    known = [] if any(pd.isna(n) for n in shape) else [int(n) for n in shape]
    while len(known) > 2 and known[-1] == 1:
        known.pop()
    category = "input" if row["component"] == "embedding" else COMPONENTS.get(str(row["component"]), OTHER)[0]
    category = "norm" if row["component"] == "norm" else category
    return {
        "id": f"node_{row['node']}", "address": f"0x{int(row['node']):x}", "label": str(row["name"]),
        "operation": SYMBOLS.get(str(row["op"]), f"{str(row['op']).lower()}(x)"), "shape": known,
        "dtype": "" if pd.isna(row["dtype"]) else str(row["dtype"]).lower(),
        "layer_id": None if pd.isna(row["layer"]) else int(row["layer"]), "category": category,
        "node_type": "infrastructure" if leaf or pd.isna(row["layer"]) else "layer",
    }  # fmt: skip


def _places(source: Source, placement: int | None) -> dict[int, dict[str, Any]]:
    table = source.table("placements")
    rows = table[(table["placement"] == placement).to_numpy(bool)] if placement is not None else table.iloc[:0]
    return {int(row["node"]): row for row in rows.astype(object).to_dict("records")}  # type: ignore[misc]


def _experts(source: Source) -> dict[int, dict[int, list[int]]]:
    """pass -> layer -> the experts of the first token row, in order of rank."""
    routing = source.table("routing")
    first = routing[(routing["row"] == 0).to_numpy(bool)].sort_values(["pass_id", "layer", "rank"])
    chosen: dict[int, dict[int, list[int]]] = {}
    for pass_id, layer, expert in zip(*(first[c].tolist() for c in ("pass_id", "layer", "expert")), strict=True):
        chosen.setdefault(pass_id, {}).setdefault(layer, []).append(expert)
    return chosen


def _memory_map(source: Source) -> dict[str, Any]:
    tensors, files, model = source.table("tensors"), source.table("files"), source.run.facts.get("model") or {}
    if len(files) > 1:
        raise SettingsError(f"{source.name}: its model has {len(files)} files, but a memory map has one; use parquet")
    listed = [entry for row in tensors.astype(object).to_dict("records") for entry in _tensors(row)]
    metadata = (model.get("metadata") or {}) if isinstance(model, Mapping) else {}
    arch = model.get("architecture")
    return {
        "model_name": str(model.get("name") or files["path"].iloc[0]),
        "total_size_bytes": int(files["size_bytes"].sum()),
        "metadata": {
            "n_layers": model.get("n_layers"), "n_vocab": metadata.get(f"{arch}.vocab_size"),
            "n_embd": metadata.get(f"{arch}.embedding_length"), "n_tensors": len(listed),
        },
        "tensors": listed,
    }  # fmt: skip


def _tensors(row: Mapping[Any, Any]) -> Iterable[dict[str, Any]]:
    """The entries of a tensor: one, or one for each expert that it stacks."""
    shape = [] if pd.isna(row["ne0"]) else [int(row[f"ne{i}"]) for i in range(4)]
    while len(shape) > 1 and shape[-1] == 1:
        shape.pop()
    category, component, kind = COMPONENTS.get(str(row["component"]), OTHER)
    if row["component"] == "norm":
        category, component, kind = "attention", "norm", "Attention Norm"
    layer = None if pd.isna(row["layer"]) else int(row["layer"])
    n = 1 if pd.isna(row["n_experts"]) else int(row["n_experts"])
    stacked = n > 1 and len(shape) == 3 and shape[2] == n
    size = int(row["size_bytes"]) // n if stacked else int(row["size_bytes"])
    for expert in range(n if stacked else 1):
        begin = int(row["offset"]) + expert * size
        entry = {
            "name": f"{row['name']}[{expert}]" if stacked else str(row["name"]), "offset_start": begin,
            "offset_end": begin + size, "size_bytes": size, "shape": shape[:2] if stacked else shape,
            "category": category, "layer_id": layer, "component": component,
            "component_type": f"{kind} Expert {expert}" if stacked else kind,
        }  # fmt: skip
        yield entry | ({"expert_id": expert} if stacked else {})


def _buffers(source: Source) -> dict[str, Any]:
    """The buffers that are allocations; a buffer that views the mapped file is none."""
    table = source.table("buffers")
    table = table[~(table["usage"] == "mapped").fillna(False).to_numpy(bool)].sort_values("time_ns", kind="stable")
    rows = table.astype(object).to_dict("records")
    ends = {row["buffer_id"]: row["time_ns"] / 1e6 for row in rows if row["event"] == "free"}
    usages = ("any", "weights", "compute")
    buffers: list[dict[str, Any]] = []
    timeline: list[dict[str, Any]] = []
    size = active = 0
    for row in rows:
        alloc = row["event"] == "alloc"
        size += int(row["size_bytes"]) if alloc else -int(row["size_bytes"])
        active += 1 if alloc else -1
        usage = usages.index(row["usage"]) if row["usage"] in usages else 0
        name = "" if pd.isna(row["name"]) else str(row["name"])
        timeline.append(
            {
                "timestamp_ms": row["time_ns"] / 1e6, "event": "alloc" if alloc else "dealloc",
                "buffer_id": int(row["buffer_id"]), "buffer_name": name, "size": int(row["size_bytes"]),
                "cumulative_size": size, "num_active_buffers": active,
            }
        )  # fmt: skip
        if alloc:
            buffers.append(
                {
                    "id": int(row["buffer_id"]), "name": name, "size": int(row["size_bytes"]),
                    "backend": None if pd.isna(row["backend"]) else str(row["backend"]), "usage": usage,
                    "usage_name": usages[usage].upper(), "layer": 65535, "alloc_time_ms": row["time_ns"] / 1e6,
                    "dealloc_time_ms": ends.get(row["buffer_id"]),
                }
            )  # fmt: skip
    peak = max((row["cumulative_size"] for row in timeline), default=0)
    kinds = pd.Series([buffer["usage_name"] for buffer in buffers], dtype=object).value_counts()
    times = [row["timestamp_ms"] for row in timeline]
    return {
        "metadata": {
            "total_events": len(timeline), "total_buffers": len(buffers), "peak_occupancy_bytes": peak,
            "peak_occupancy_mb": peak / 2**20, "duration_ms": times[-1] - times[0] if times else 0.0,
            "usage_breakdown": {str(name): int(n) for name, n in kinds.items()},
        },
        "buffers": buffers,
        "timeline": timeline,
    }  # fmt: skip


JSON = Format("json", "a folder in the schema of the older tools: traces, graphs, memory map, buffers", _write)
