"""Which bytes each op used of each of its operands."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

from tests.recompute.plain.rows import Row, Rows

KINDS_OF_MEMORY = ("disk", "copied", "buffer")
Range = tuple[int, int]


@dataclass(frozen=True)
class Access:
    """What an op used of an operand: how many bytes, and of a model's tensor which (offsets in the file)."""

    pass_id: int
    node: int
    slot: str
    memory: str
    n_bytes: int
    tensor: int | None
    file: int | None
    buffer: int | None
    ranges: tuple[Range, ...]


def accesses(rows: Rows, passes: Iterable[Row]) -> Iterator[Access]:
    """What the ops of these passes used.

    An op uses its result (slot dst) and every operand; only ops that were executed or fused into another use any. A
    tensor of a model lies in memory of kind disk or copied, everything else in that of kind buffer.
    """
    for one in passes:
        if one["graph"] is None:
            continue
        for op in rows.ops.get(one["pass_id"], ()):
            if op["state"] not in ("executed", "fused"):
                continue
            graph, node = one["graph"], op["node"]
            for slot, source in {"dst": node, **rows.sources[graph, node]}.items():
                place = rows.places[one["placement"], source]
                runs, unit = used(rows, one, op, slot)
                n_bytes = unit * sum(n for _, n in runs)
                file = place["file"]
                if file is not None and place["memory"] == "buffer":
                    raise ValueError(f"{place}: bytes of a file in a buffer of the runtime")
                begin = place["origin_offset"]
                ranges = () if file is None else tuple((begin + f * unit, begin + (f + n) * unit) for f, n in runs)
                if file is not None and not contiguous(rows.nodes[graph, source]):
                    raise ValueError(f"{rows.nodes[graph, source]['name']}: not contiguous in its file")
                yield Access(
                    one["pass_id"],
                    node,
                    slot,
                    place["memory"],
                    n_bytes,
                    place["tensor"],
                    file,
                    place["buffer_id"],
                    tuple(r for r in ranges if r[0] < r[1]),
                )


def used(rows: Rows, one: Row, op: Row, slot: str) -> tuple[list[Range], int]:
    """Which units of an operand an op used, as runs (first, how many), and how many bytes a unit has.

    - What exists in no memory is not used: see `absent`.
    - Of a table from which rows are chosen (GET_ROWS, src0) the rows that `touches` lists; of a buffer's table it
      lists none, and as many rows as the result has are used.
    - Of stacked experts (MUL_MAT_ID, src0) and their biases (ADD_ID, src1) the experts that `touches` lists.
    - SET_ROWS writes into its result as many rows as its src0 has; src2, and src1 of CPY, only say where the result
      goes and are not used.
    - Of K and V of FLASH_ATTN_EXT (src1, src2) the cells that `touches` lists, with all heads: those that the mask
      lets through for a row of the batch, of all streams one after the other. Where it lists none, all.
    - Everything else is used whole: all its elements, whatever their strides.
    """
    graph, node = one["graph"], op["node"]
    kind = rows.nodes[graph, node]["op"]
    operand = rows.nodes[graph, rows.sources[graph, node].get(slot, node)]
    listed = rows.touches.get((one["pass_id"], node, slot), [])
    row_bytes = bytes_of(operand["dtype"], operand["ne0"])
    if absent(rows, one, op, slot) or (kind, slot) in (("SET_ROWS", "src2"), ("CPY", "src1")):
        return [], 0
    if (kind, slot) == ("GET_ROWS", "src0"):
        in_buffer = rows.places[one["placement"], operand["node"]]["file"] is None
        return [(0, n_rows(rows.nodes[graph, node]))] if in_buffer and not listed else recorded(listed), row_bytes
    if (kind, slot) == ("MUL_MAT_ID", "src0"):
        return recorded(listed), bytes_of(operand["dtype"], operand["ne0"] * operand["ne1"])
    if (kind, slot) == ("ADD_ID", "src1"):
        return recorded(listed), row_bytes
    if (kind, slot) == ("SET_ROWS", "dst"):
        given = rows.nodes[graph, rows.sources[graph, node]["src0"]]
        return [(0, n_rows(given))], row_bytes
    if kind == "FLASH_ATTN_EXT" and slot in ("src1", "src2") and listed:
        return listed, bytes_of(operand["dtype"], operand["ne0"] * operand["ne2"])
    return [(0, 1)], bytes_of(operand["dtype"], prod(operand[f"ne{i}"] for i in range(4)))


def absent(rows: Rows, one: Row, op: Row, slot: str) -> bool:
    """Whether what stands in the slot exists in no memory, as an intermediate result of fused ops does not.

    Nobody writes the results of a fused group's nodes but of its last one; and what in the group would read them, or a
    view of them, reads nothing.
    """
    inner = rows.intermediates.get((op["pass_id"], op["node"]), set())
    source: int | None = rows.sources[one["graph"], op["node"]].get(slot, op["node"])
    while source is not None:
        if source in inner:
            return True
        source = rows.nodes[one["graph"], source]["view_of"] if slot != "dst" else None
    return False


def recorded(runs: list[Range]) -> list[Range]:
    """The runs, of which there must be some: these runs are not private, and nothing is withheld."""
    if not runs:
        raise LookupError("the trace does not hold which rows or experts were used")
    return runs


def n_rows(node: Row) -> int:
    """The rows of a tensor."""
    return int(node["ne1"] * node["ne2"] * node["ne3"])


def bytes_of(dtype: str, n_elements: int) -> int:
    """What so many elements take, as the gguf package knows the sizes of blocks."""
    per_block, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType[dtype]]
    if n_elements % per_block:
        raise ValueError(f"{n_elements} elements are no whole blocks of {dtype}")
    return int(n_elements // per_block * block_bytes)


def contiguous(node: Row) -> bool:
    """Whether the elements of a tensor lie one behind the other."""
    return bool(node["size_bytes"] == bytes_of(node["dtype"], prod(node[f"ne{i}"] for i in range(4))))


def by_op(found: Iterable[Access]) -> dict[tuple[int, int], dict[str, int]]:
    """Bytes that each op used in each kind of memory, by pass and node; a byte used twice counts twice."""
    sums: dict[tuple[int, int], dict[str, int]] = defaultdict(lambda: dict.fromkeys(KINDS_OF_MEMORY, 0))
    for access in found:
        sums[access.pass_id, access.node][access.memory] += access.n_bytes
    return sums


def union(ranges: Iterable[Range]) -> int:
    """How many bytes lie in at least one of the ranges."""
    total, reach = 0, None
    for begin, end in sorted(ranges):
        start = begin if reach is None else max(begin, reach)
        total += max(end - start, 0)
        reach = end if reach is None else max(reach, end)
    return total
