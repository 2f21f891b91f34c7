"""The caches page, second part: what passes in a row need together, reuse, and how uneven the use of the file is."""

import itertools
import math
from collections.abc import Iterable
from typing import Any

from tests.recompute.plain.access import granule_bytes, in_order
from tests.recompute.plain.rows import Row, Rows
from tests.recompute.plain.touched import Access, union

Piece = tuple[int, int | None, int, int]  # tensor, expert, begin, end on the disk axis


def working_set(rows: Rows, found: Iterable[Access], passes: list[int]) -> list[Row]:
    """Windows of 1, 2, 4 … and all of these passes: each window's set is made by itself."""
    size, of = granule_bytes(rows), in_order(rows, found)
    touched = [{n for one in of[p] for n in range(one["begin"] // size, (one["end"] - 1) // size + 1)} for p in passes]
    n = len(touched)
    table = []
    for length in [*itertools.takewhile(lambda x: x < n, (2**k for k in range(32))), n]:
        windows = [len(set.union(*touched[i : i + length])) for i in range(n - length + 1)]
        new = [len(touched[i] - set.union(*touched[i - length : i])) for i in range(length, n)]
        table.append(
            {
                "n_passes": length,
                "n_windows": len(windows),
                "bytes": size * sum(windows) / len(windows),
                "least_bytes": size * min(windows),
                "most_bytes": size * max(windows),
                "new_bytes": size * sum(new) / len(new) if new else None,
            }
        )
    return table


def pieces(rows: Rows, found: Iterable[Access]) -> list[Piece]:
    """Tensors, and experts singly of those of which operations choose experts, in order of the file."""
    chosen = {(row["pass_id"], row["node"], row["slot"]) for row in rows["touches"] if row["unit"] == "expert"}
    stacked = {access.tensor for access in found if (access.pass_id, access.node, access.slot) in chosen}
    every: list[Piece] = []
    for tensor in rows["tensors"]:
        start, size, n = rows.axis[tensor["file"]] + tensor["offset"], tensor["size_bytes"], tensor["n_experts"]
        if n is None or tensor["tensor"] not in stacked:
            every.append((tensor["tensor"], None, start, start + size))
        else:
            each = size // n
            every += [(tensor["tensor"], e, start + e * each, start + (e + 1) * each) for e in range(n)]
    return sorted(every, key=lambda piece: piece[2:])


def _uses(of: dict[int, list[Row]], items: list[tuple[Any, int, int]]) -> list[tuple[int, int, Any, int]]:
    """Pass, node, item and bytes in it, for each operation and each of `items` (name, begin, end) that it used."""
    uses = []
    for pass_id, used in sorted(of.items()):
        for node, of_op in itertools.groupby(used, key=lambda one: one["node"]):
            n_bytes: dict[Any, int] = {}
            for one in of_op:
                for name, begin, end in items:
                    if begin < one["end"] and one["begin"] < end:
                        inside = min(end, one["end"]) - max(begin, one["begin"])
                        n_bytes[name] = n_bytes.get(name, 0) + inside
            uses += [(pass_id, node, name, n) for name, n in n_bytes.items()]
    return uses


def reuse(rows: Rows, found: list[Access]) -> list[Row]:
    """For each kind of item, the passes and bytes between its uses."""
    of, cut = in_order(rows, found), pieces(rows, found)
    every = [(piece, *piece[2:]) for piece in cut]
    with_experts = any(expert is not None for _, expert, _, _ in cut)
    whole = {t: (min(p[2] for p in cut if p[0] == t), max(p[3] for p in cut if p[0] == t)) for t, *_ in cut}
    kinds = {"expert": _again(of, every, lambda piece: piece[1] is not None)} if with_experts else {}
    kinds["tensor"] = _again(of, every, lambda piece: piece[1] is None)
    if with_experts:
        kinds["whole tensor"] = _again(of, [(t, *place) for t, place in whole.items()], lambda _: True)
    for size in (2 << 20, 4 << 10):
        reached = sorted(
            {n for used in of.values() for u in used for n in range(u["begin"] // size, -(-u["end"] // size))}
        )
        kinds[f"{size} bytes"] = _again(
            of, [(n, n * size, (n + 1) * size) for n in reached], lambda _: True, by_granule=True
        )
    return [
        {
            "kind": kind,
            "n_items": n,
            "n_again": len(passes),
            "passes_50": _within(passes, 0.5),
            "passes_90": _within(passes, 0.9),
            "lru_bytes_50": _within(lru, 0.5),
            "lru_bytes_90": _within(lru, 0.9),
            "lru_bytes_99": _within(lru, 0.99),
            "sampled": 1,
            "error": 0,
        }
        for kind, (n, passes, lru) in kinds.items()
    ]


def _again(
    of: dict[int, list[Row]], items: list[tuple[Any, int, int]], chosen: Any, *, by_granule: bool = False
) -> tuple[int, list[int], list[int]]:
    """Of the items that `chosen` is true of: how many were used; for each repeated use passes and LRU bytes.

    The size of an item is what was used of it, each byte once; of a granule all of it.
    """
    uses, size = _uses(of, items), {name: end - begin for name, begin, end in items}
    if not by_granule:
        ranges = {(one["begin"], one["end"]) for used in of.values() for one in used}
        for name, begin, end in items:
            size[name] = union((max(b, begin), min(e, end)) for b, e in ranges if b < end and begin < e)
    number = {pass_id: at for at, pass_id in enumerate(sorted({use[0] for use in uses}))}
    last: dict[Any, int] = {}
    recent: list[Any] = []
    passes, lru = [], []
    for pass_id, _, name, _ in uses:
        if name in last:
            at = recent.index(name)
            if chosen(name):
                passes.append(number[pass_id] - last[name])
                lru.append(sum(size[other] for other in recent[:at]) + size[name])
            del recent[at]
        recent.insert(0, name)
        last[name] = number[pass_id]
    return sum(bool(chosen(name)) for name in last), passes, lru


def _within(values: list[int], target: float) -> int | None:
    return sorted(values)[math.ceil(target * len(values)) - 1] if values else None


def concentration(rows: Rows, found: list[Access]) -> dict[str, list[tuple[float, float]]]:
    """The curve of each measure: share of the tensors' bytes, share of the use."""
    of = in_order(rows, found)
    mapped = {used["tensor"] for one in of.values() for used in one}
    copied = {access.tensor for access in found if access.memory == "copied"} - mapped
    cut = [piece for piece in pieces(rows, found) if piece[0] not in copied]
    uses = _uses(of, [(piece, *piece[2:]) for piece in cut])
    work: dict[tuple[int, int], float] = {}
    for span in rows["spans"]:
        key = (span["pass_id"], span["node"])
        work[key] = work.get(key, 0) + span["work_ns"]
    fused = {(op["pass_id"], op["node"]): op["fused_into"] for op in rows["ops"] if op["fused_into"] is not None}
    kernel = [(pass_id, fused.get((pass_id, node), node)) for pass_id, node, *_ in uses]
    total: dict[tuple[int, int], int] = {}
    for key, use in zip(kernel, uses, strict=True):
        total[key] = total.get(key, 0) + use[3]
    touched, accesses, time = (dict.fromkeys(cut, 0.0) for _ in range(3))
    for key, (_, _, piece, n_bytes) in zip(kernel, uses, strict=True):
        touched[piece] += n_bytes
        accesses[piece] += 1
        time[piece] += work[key] * n_bytes / total[key]
    measures = {"touched_bytes": touched, "n_accesses": accesses, "work_ns": time}
    return {name: _curve(cut, use) for name, use in measures.items()}


def _curve(cut: list[Piece], use: dict[Piece, float]) -> list[tuple[float, float]]:
    ordered = sorted(cut, key=lambda piece: -use[piece] / max(piece[3] - piece[2], 1))
    size, all_use = sum(p[3] - p[2] for p in cut), sum(use.values())
    points, x, y = [(0.0, 0.0)], 0.0, 0.0
    for piece in ordered:
        x, y = x + (piece[3] - piece[2]) / size, y + use[piece] / all_use
        points.append((x, y))
    return points
