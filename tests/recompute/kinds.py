"""Whether a run is of the kind that it is there for."""

from collections.abc import Callable, Mapping

from tests.recompute.plain import experts, memory
from tests.recompute.plain.rows import Rows
from tests.recompute.plain.touched import accesses

WINDOW = 8  # of the model that has one, in its layers of even number


def is_strided(rows: Rows) -> bool:
    """Whether an op reads a view of the cache that skips parts of it."""
    views = [row for row in rows["graph_nodes"] if row["component"] == "kv_cache" and row["view_of"] is not None]
    return any(row["size_bytes"] > row["nb0"] * row["ne0"] * row["ne1"] * row["ne2"] for row in views)


def ops_of(rows: Rows) -> set[str]:
    return {row["op"] for row in rows["graph_nodes"]}


def memories(rows: Rows) -> set[str]:
    return {row["memory"] for row in rows["placements"]}


def threads(rows: Rows) -> int:
    return max(row["thread"] for row in rows["spans"]) + 1


def is_biased(rows: Rows) -> bool:
    """Whether a router names an expert first that is not the one of greatest weight."""
    return any(
        token[0]["weight"] < max(row["weight"] for row in token)
        for tokens in experts.choices(rows).values()
        for token in tokens
    )


def is_read_twice(rows: Rows) -> bool:
    """Whether a tensor is used through the mapping and from a copy."""
    return any(row["memory"] == "copied + disk" for row in memory.tensors_use(rows, accesses(rows, rows.measured)))


def hides_cells(rows: Rows) -> bool:
    """Whether attention with sinks lets a token see less than the cache holds."""
    attending = {(graph, node) for (graph, node), row in rows.nodes.items() if row["op"] == "FLASH_ATTN_EXT"}
    assert all("src4" in rows.sources[key] for key in attending)
    seen = {
        node: sum(n for _, n in rows.touches.get((one["pass_id"], node, "src1"), ()))
        for one in rows.of_kind("generate")[-1:]
        for graph, node in attending
        if graph == one["graph"]
    }
    return len(set(seen.values())) == 2


# What a kind of run is there for: where it no longer holds, its figures test less than they seem to.
IS: Mapping[str, Callable[[Rows], bool]] = {
    "dense": lambda rows: "FLASH_ATTN_EXT" in ops_of(rows) and memories(rows) == {"disk", "buffer"},
    "mixture": lambda rows: len(rows["routing"]) > 0,
    "several ubatches": lambda rows: len(rows.of_kind("prompt")) > 2 and "FLASH_ATTN_EXT" in ops_of(rows),
    "no flash attention": lambda rows: "FLASH_ATTN_EXT" not in ops_of(rows) and is_strided(rows),
    "quantised cache": lambda rows: {row["type_k"] for row in rows["contexts"]} == {"q8_0"},
    "context shift": lambda rows: any(row["kind"] is None for row in rows.measured),
    "tied": is_read_twice,
    "tied, as stored": lambda rows: "copied" not in memories(rows),
    "biased router": is_biased,
    "one thread": lambda rows: threads(rows) == 1,
    "four threads on two processors": lambda rows: threads(rows) == 4 and len(rows["files"]) == 2,
    "sinks and a sliding window": hides_cells,
}
