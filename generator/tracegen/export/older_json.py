"""`json`: the files that the older tools export, so that their viewers and notebooks open what was recorded here.

    traces/token-00000.json   the executed operations of a pass, in order of execution
    graphs/token-00000.json   its graph, named as its trace
    memory-map.json           the tensors of the model; each expert of a stack is an entry of its own
    buffer-timeline.json      the runtime buffers

That schema knows begins but no ends, one thread, disk and buffers, and the experts of the first token. What it has
no place for is left out: loads, waiting, faults, requests, copies' origins.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tracegen.contract.errors import SettingsError
from tracegen.contract.quantities import trimmed
from tracegen.contract.tables import records
from tracegen.export.format import Format, Source

# The symbol that ggml's dump draws for an operation; the others are NAME(x).
SYMBOLS: Mapping[str, str] = {
    "MUL_MAT": "X*Y",
    "MUL_MAT_ID": "X[i]*Y",
    "ADD": "x+y",
    "ADD_ID": "x[i]+y",
    "SUB": "x-y",
    "MUL": "x*y",
    "DIV": "x/y",
    "CPY": "x-\\>y",
    "NONE": "CONST",
}
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
    graphs = {graph: _Graph(source, graph) for graph in passes["graph"].unique().tolist()}
    ops = _ran(source.table("ops"))
    of_pass = dict(list(ops.groupby("pass_id")))
    experts = _experts(source)
    placements = source.table("placements")
    for number, row in enumerate(records(passes)):
        graph = graphs[row["graph"]]
        places = records(placements[placements["placement"] == row["placement"]])
        rows = of_pass.get(row["pass_id"], ops.iloc[:0]).sort_values(["begin_ns", "node"])
        by_node = {place["node"]: place for place in places}
        entries = graph.entries(rows, number, row["kind"], by_node, experts.get(row["pass_id"], {}))
        _dump(folder / f"traces/token-{number:05d}.json", _trace(entries, number))
        _dump(folder / f"graphs/token-{number:05d}.json", {"token_id": number, **graph.document})
    if len(source.table("tensors")):
        _dump(folder / "memory-map.json", _memory_map(source))
    _dump(folder / "buffer-timeline.json", _buffers(source))


def _ran(ops: pd.DataFrame) -> pd.DataFrame:
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
        "total_entries": len(entries),
        "duration_ms": (end - begin) / 1e6,
        "timestamp_start_ns": begin,
        "format_version": "1024-byte",
    }
    return {"token_id": number, "metadata": metadata, "entries": entries}


class _Graph:
    """A graph of the run: its nodes by number, and what its file says."""

    def __init__(self, source: Source, graph: int) -> None:
        nodes, edges = source.table("graph_nodes"), source.table("graph_edges")
        rows = records(nodes[(nodes["graph"] == graph).to_numpy(bool)].sort_values("node", kind="stable"))
        operands = records(edges[(edges["graph"] == graph).to_numpy(bool)].sort_values(["target", "slot"]))
        self._nodes = {row["node"]: row for row in rows}
        self._operands: dict[int, list[int]] = {}
        for edge in operands:
            self._operands.setdefault(edge["target"], []).append(edge["source"])
        self.document = {
            "metadata": {
                "total_nodes": len(rows),
                "total_edges": len(operands),
                "layers": len({row["layer"] for row in rows} - {None}),
                "timestamp_generated": None,
            },
            "nodes": [_node(row) for row in rows],
            "edges": [
                {
                    "source": f"node_{edge['source']}",
                    "target": f"node_{edge['target']}",
                    "label": f"src {edge['slot'].removeprefix('src')}",
                }
                for edge in operands
            ],
        }

    def entries(
        self,
        ops: pd.DataFrame,
        number: int,
        kind: str | None,
        places: Mapping[int, Mapping[str, Any]],
        experts: Mapping[int, list[int]],
    ) -> list[dict[str, Any]]:
        """The entries of a pass; `experts` has the chosen experts by layer."""
        entries: list[dict[str, Any]] = []
        first = int(ops["begin_ns"].iloc[0]) if len(ops) else 0
        for node, begin in zip(ops["node"].tolist(), ops["begin_ns"].tolist(), strict=True):
            row = self._nodes[node]
            sources = [self._source(of, places.get(of, {})) for of in self._operands.get(node, [])]
            entry: dict[str, Any] = {
                "entry_id": len(entries),
                "timestamp_ns": int(begin),
                "timestamp_relative_ms": round((int(begin) - first) / 1e6, 3),
                "token_id": number,
                "layer_id": row["layer"],
                "thread_id": 0,
                "phase": "GENERATE" if kind == "generate" else "PROMPT",
                "operation_type": row["op"],
                "dst_name": row["name"],
                "num_sources": len(sources),
                "sources": sources,
            }
            if row["op"] == "MUL_MAT_ID":
                ids = experts.get(row["layer"], [])[:N_IDS]
                entry |= {"expert_ids": ids, "num_experts": len(ids)}
            entries.append(entry)
        return entries

    def _source(self, node: int, place: Mapping[str, Any]) -> dict[str, Any]:
        row, on_disk = self._nodes[node], place.get("memory") == "disk"
        described = {
            "name": row["name"],
            "tensor_ptr": f"0x{place.get('address') or 0:x}",
            "size_bytes": place.get("size_bytes", row["size_bytes"]) or 0,
            "layer_id": row["layer"] if on_disk else None,  # the older tools name that of weights only
            "memory_source": "DISK" if on_disk else "BUFFER",
        }
        if on_disk:
            return described | {"disk_offset": place["origin_offset"]}
        buffer = place.get("buffer_id")
        return described if buffer is None else described | {"buffer_id": buffer}


def _node(row: Mapping[str, Any]) -> dict[str, Any]:
    shape = [row[f"ne{i}"] for i in range(4)]
    category, _, _ = COMPONENTS.get(row["component"], OTHER)
    named = {"embedding": "input", "norm": "norm"}
    return {
        "id": f"node_{row['node']}",
        "address": f"0x{row['node']:x}",
        "label": row["name"],
        "operation": SYMBOLS.get(row["op"], f"{row['op'].lower()}(x)"),
        "shape": [] if None in shape else trimmed(shape, 2),
        "dtype": (row["dtype"] or "").lower(),
        "layer_id": row["layer"],
        "category": named.get(row["component"], category),
        "node_type": "infrastructure" if row["kind"] == "leaf" or row["layer"] is None else "layer",
    }


def _experts(source: Source) -> dict[int, dict[int, list[int]]]:
    """pass -> layer -> the experts of the first token, in order of rank."""
    routing = source.table("routing")
    first = routing[(routing["row"] == 0).to_numpy(bool)].sort_values(["pass_id", "layer", "rank"])
    chosen: dict[int, dict[int, list[int]]] = {}
    for pass_id, layer, expert in zip(*(first[c].tolist() for c in ("pass_id", "layer", "expert")), strict=True):
        chosen.setdefault(pass_id, {}).setdefault(layer, []).append(expert)
    return chosen


def _memory_map(source: Source) -> dict[str, Any]:
    tensors, files, model = source.table("tensors"), source.table("files"), source.run.facts.model
    if len(files) > 1:
        raise SettingsError(f"{source.name}: its model has {len(files)} files, but a memory map has one; use parquet")
    listed = [entry for row in records(tensors) for entry in _tensors(row)]
    metadata, arch = model.metadata or {}, model.architecture
    return {
        "model_name": str(model.name or files["path"].iloc[0]),
        "total_size_bytes": int(files["size_bytes"].sum()),
        "metadata": {
            "n_layers": model.n_layers,
            "n_vocab": metadata.get(f"{arch}.vocab_size"),
            "n_embd": metadata.get(f"{arch}.embedding_length"),
            "n_tensors": len(listed),
        },
        "tensors": listed,
    }


def _tensors(row: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """The entries of a tensor: one, or one for each expert that it stacks."""
    shape = [] if row["ne0"] is None else trimmed([row[f"ne{i}"] for i in range(4)], 1)
    category, component, kind = COMPONENTS.get(row["component"], OTHER)
    if row["component"] == "norm":
        category, component, kind = "attention", "norm", "Attention Norm"
    n = row["n_experts"] or 1
    stacked = n > 1 and len(shape) == 3 and shape[2] == n
    size = row["size_bytes"] // n if stacked else row["size_bytes"]
    for expert in range(n if stacked else 1):
        begin = row["offset"] + expert * size
        entry = {
            "name": f"{row['name']}[{expert}]" if stacked else row["name"],
            "offset_start": begin,
            "offset_end": begin + size,
            "size_bytes": size,
            "shape": shape[:2] if stacked else shape,
            "category": category,
            "layer_id": row["layer"],
            "component": component,
            "component_type": f"{kind} Expert {expert}" if stacked else kind,
        }
        yield entry | ({"expert_id": expert} if stacked else {})


def _buffers(source: Source) -> dict[str, Any]:
    """The buffers that are allocations; a buffer that views the mapped file is none."""
    table = source.table("buffers")
    table = table[~(table["usage"] == "mapped").fillna(False).to_numpy(bool)].sort_values("time_ns", kind="stable")
    rows = records(table)
    ends = {row["buffer_id"]: row["time_ns"] / 1e6 for row in rows if row["event"] == "free"}
    usages = ("any", "weights", "compute")
    buffers: list[dict[str, Any]] = []
    timeline: list[dict[str, Any]] = []
    occupied = active = 0
    for row in rows:
        alloc, size = row["event"] == "alloc", row["size_bytes"]
        occupied += size if alloc else -size
        active += 1 if alloc else -1
        usage = usages.index(row["usage"]) if row["usage"] in usages else 0
        timeline.append(
            {
                "timestamp_ms": row["time_ns"] / 1e6,
                "event": "alloc" if alloc else "dealloc",
                "buffer_id": row["buffer_id"],
                "buffer_name": row["name"] or "",
                "size": size,
                "cumulative_size": occupied,
                "num_active_buffers": active,
            }
        )
        if alloc:
            buffers.append(
                {
                    "id": row["buffer_id"],
                    "name": row["name"] or "",
                    "size": size,
                    "backend": row["backend"],
                    "usage": usage,
                    "usage_name": usages[usage].upper(),
                    "layer": 65535,
                    "alloc_time_ms": row["time_ns"] / 1e6,
                    "dealloc_time_ms": ends.get(row["buffer_id"]),
                }
            )
    peak = max((row["cumulative_size"] for row in timeline), default=0)
    kinds = pd.Series([buffer["usage_name"] for buffer in buffers], dtype=object).value_counts()
    times = [row["timestamp_ms"] for row in timeline]
    return {
        "metadata": {
            "total_events": len(timeline),
            "total_buffers": len(buffers),
            "peak_occupancy_bytes": peak,
            "peak_occupancy_mb": peak / 2**20,
            "duration_ms": times[-1] - times[0] if times else 0.0,
            "usage_breakdown": {str(name): int(n) for name, n in kinds.items()},
        },
        "buffers": buffers,
        "timeline": timeline,
    }


JSON = Format("json", "a folder in the schema of the older tools: traces, graphs, memory map, buffers", _write)
