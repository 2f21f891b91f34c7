"""Where the tensors of the graphs lie: files, placements, buffers."""

from typing import Any

from tests.builders.graph import Graph, shaped

ALIGN = 32


def files_of(g: Graph, splits: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    weights = [leaf for name, leaf in g.leaves.items() if name.endswith(".weight")]
    weights.append(shaped("rope_freqs.weight", "leaf", "NONE", "other", "F32", (4096,), None))
    per_file = -(-len(weights) // splits)
    tensors: list[dict[str, Any]] = []
    files: list[dict[str, Any]] = []
    axis = 0
    for number in range(splits):
        offset = 4096
        for leaf in weights[number * per_file : (number + 1) * per_file]:
            entry = {
                k: leaf[k] for k in ("name", "size_bytes", "dtype", "ne0", "ne1", "ne2", "ne3", "layer", "component")
            }
            experts = leaf["ne2"] if leaf["component"].startswith("expert") else None
            tensors.append(entry | dict(tensor=len(tensors), file=number, offset=offset, n_experts=experts))
            offset += -(-leaf["size_bytes"] // ALIGN) * ALIGN
        name = "model.gguf" if splits == 1 else f"model-{number + 1:05d}-of-{splits:05d}.gguf"
        files.append(
            dict(
                file=number,
                model=0,
                split_index=number,
                path=name,
                size_bytes=offset,
                axis_begin=axis,
                sha256="ab" * 32,
            )
        )
        axis += offset
    return tensors, files


def placements_of(
    built: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]], tensors: list[dict[str, Any]], copied: bool
) -> tuple[list[dict[str, Any]], dict[int, int]]:
    by_name = {t["name"]: t for t in tensors}
    sizes = {1: 0, 2: 0, 3: 0}
    rows = []
    for graph, (nodes, _) in enumerate(built):
        copy_at, kv_at, compute_at = 0, 0, 0
        for node in nodes:
            row = dict(placement=graph, graph=graph, node=node["node"], size_bytes=node["size_bytes"])
            tensor = by_name.get(node["name"])
            if tensor is not None:
                where = dict(
                    tensor=tensor["tensor"], file=tensor["file"], origin_offset=tensor["offset"], memory="disk"
                )
                if copied and node["dtype"] == "Q4_0" and node["component"] != "output":
                    where |= dict(memory="copied", buffer_id=1, buffer_offset=copy_at)
                    copy_at += node["size_bytes"]
            elif node["name"].startswith("cache_") and node["kind"] == "leaf":
                where = dict(memory="buffer", buffer_id=2, buffer_offset=kv_at)
                kv_at += node["size_bytes"]
            elif node["name"].startswith("cache_"):
                where = dict(memory="buffer", buffer_id=2, buffer_offset=0)
            else:
                where = dict(memory="buffer", buffer_id=3, buffer_offset=compute_at % (1 << 18))
                compute_at += 4096
            rows.append(row | where | dict(address=0x10000 + node["node"] * 64))
        sizes = {1: max(sizes[1], copy_at), 2: max(sizes[2], kv_at), 3: 1 << 19}
    return rows, sizes


def buffers_of(sizes: dict[int, int]) -> list[dict[str, Any]]:
    about = {1: ("CPU_REPACK", "weights", 2_000), 2: ("CPU", "any", 2_000_000), 3: ("CPU", "compute", 2_500_000)}
    rows = []
    for number, (name, usage, begin) in about.items():
        if sizes[number]:
            row = dict(
                buffer_id=number, address=0x10000, name=name, backend="CPU", usage=usage, size_bytes=sizes[number]
            )
            rows += [row | dict(event="alloc", time_ns=begin), row | dict(event="free", time_ns=10**9 - number)]
    return rows
