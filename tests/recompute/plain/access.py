"""The access and caches pages: the order of what was used of the mapped files, and what caches would have served."""

import bisect
import itertools
import math
from collections.abc import Iterable
from statistics import median

from tests.recompute.plain.rows import Row, Rows
from tests.recompute.plain.touched import Access, union

SLOTS = ("dst", *(f"src{i}" for i in range(10)))
TOLERANCES = (0, 4096, 131072, 2097152)
TARGETS = (0.5, 0.9, 0.95, 0.99)
Step = tuple[str, int, bool, int | None]  # kind, gap in bytes, whether in one file, layers up


def in_order(rows: Rows, found: Iterable[Access]) -> dict[int, list[Row]]:
    """The ranges of mapped files that each pass used, in their order; begin and end on the disk axis."""
    of: dict[int, list[Row]] = {}
    graphs = {one["pass_id"]: one["graph"] for one in rows["passes"]}
    for access in found:
        if access.memory == "disk" and access.file is not None:
            start = rows.axis[access.file]
            node = rows.nodes[graphs[access.pass_id], access.node]
            of.setdefault(access.pass_id, []).extend(
                {
                    "node": access.node,
                    "slot": SLOTS.index(access.slot),
                    "begin": begin + start,
                    "end": end + start,
                    "file": access.file,
                    "layer": node["layer"],
                    "component": node["component"],
                    "tensor": access.tensor,
                }
                for begin, end in access.ranges
            )
    for used in of.values():
        used.sort(key=lambda one: (one["node"], one["slot"], one["begin"]))
    return of


def steps(used: list[Row]) -> list[Step]:
    """From each range to the next."""
    found: list[Step] = []
    for last, now in itertools.pairwise(used):
        gap, same = now["begin"] - last["end"], now["file"] == last["file"]
        if now["begin"] < last["end"] and last["begin"] < now["end"]:
            kind = "overlapping"
        elif gap < 0:
            kind = "backward"
        else:
            kind = "contiguous" if gap == 0 and same else "forward"
        known = last["layer"] is not None and now["layer"] is not None
        found.append((kind, gap, same, now["layer"] - last["layer"] if known else None))
    return found


def order(rows: Rows, found: Iterable[Access]) -> list[Row]:
    """What the table of the order says of each measured pass."""
    of = in_order(rows, found)
    table = []
    for one in rows.measured:
        used = of.get(one["pass_id"], [])
        moves = steps(used)
        row = {
            "pass_id": one["pass_id"],
            "kind": one["kind"],
            "n_accesses": len(used),
            "touched_bytes": sum(u["end"] - u["begin"] for u in used),
            "distance_bytes": sum(abs(gap) for _, gap, _, _ in moves),
            "n_layers_down": sum(up is not None and up < 0 for *_, up in moves),
        }
        for kind in ("contiguous", "forward", "backward", "overlapping"):
            row[f"n_{kind}"] = sum(k == kind for k, *_ in moves)
        for tolerance in TOLERANCES:
            row[f"reads_{tolerance}"] = len(used) - sum(same and 0 <= gap <= tolerance for _, gap, same, _ in moves)
        table.append(row)
    return table


def shown_passes(passes: list[Row]) -> list[Row]:
    """The passes that answers are about: generate passes that used a mapped file, else such prompt passes."""
    used = [row for row in passes if row["n_accesses"]]
    return [row for row in used if row["kind"] == "generate"] or [row for row in used if row["kind"] == "prompt"]


def reads(passes: list[Row]) -> list[Row]:
    """What joining neighbours makes of these passes."""
    n_steps = sum(max(row["n_accesses"] - 1, 0) for row in passes)
    accesses, touched = (sum(row[name] for row in passes) for name in ("n_accesses", "touched_bytes"))
    table = []
    for tolerance in TOLERANCES:
        joined = [row[f"reads_{tolerance}"] for row in passes]
        table.append(
            {
                "tolerance_bytes": tolerance,
                "reads": float(median(joined)),
                "sequential_share": (accesses - sum(joined)) / n_steps,
                "mean_bytes": touched / sum(joined),
            }
        )
    return table


def path(rows: Rows, found: Iterable[Access], one: Row) -> list[Row]:
    """The ranges that a pass used, with the times of their operations since its start."""
    times = {op["node"]: (op["begin_ns"], op["end_ns"]) for op in rows.ops[one["pass_id"]]}
    for op in rows.ops[one["pass_id"]]:
        if op["fused_into"] is not None:
            times[op["node"]] = times[op["fused_into"]]
    table = []
    for used in in_order(rows, found).get(one["pass_id"], []):
        begin, end = times[used["node"]]
        if begin is not None and end is not None:
            at = {"begin_ns": begin - one["begin_ns"], "end_ns": end - one["begin_ns"]}
            table.append(at | {name: used[name] for name in ("begin", "end", "tensor", "component")})
    return table


def blocks(rows: Rows, found: Iterable[Access]) -> list[Row]:
    """The different bytes that each pass used of mapped files, and those of the blocks in which they lie."""
    table = []
    end_of_files = sum(file["size_bytes"] for file in rows["files"])
    for pass_id, used in in_order(rows, found).items():
        touched = union((one["begin"], one["end"]) for one in used)
        for size in (4096, 131072, 2097152):
            numbers = {n for one in used for n in range(one["begin"] // size, (one["end"] - 1) // size + 1)}
            in_blocks = sum(min((n + 1) * size, end_of_files) - n * size for n in numbers)
            common = {"pass_id": pass_id, "block_bytes": size, "touched_bytes": touched}
            table.append(common | {"in_blocks_bytes": in_blocks})
    return table


def granule_bytes(rows: Rows) -> int:
    """The size of granule: the largest of three of which the files have at least a thousand."""
    total = sum(file["size_bytes"] for file in rows["files"])
    return next((size for size in (2 << 20, 128 << 10) if total >= 1000 * size), 4 << 10)


def uses(rows: Rows, found: Iterable[Access], size: int) -> list[int]:
    """The granules that operations used, one after the other, each once for an operation."""
    granules: list[int] = []
    for _, used in sorted(in_order(rows, found).items()):
        for _, of_op in itertools.groupby(used, key=lambda one: one["node"]):
            numbers = (n for one in of_op for n in range(one["begin"] // size, (one["end"] - 1) // size + 1))
            granules += dict.fromkeys(numbers)
    return granules


def lru_distances(items: list[int]) -> list[int]:
    """How many other items lie before each repeated one in a list of items by last use."""
    recent: list[int] = []
    seen: set[int] = set()
    distances = []
    for item in items:
        if item in seen:
            at = recent.index(item)
            distances.append(at)
            del recent[at]
        seen.add(item)
        recent.insert(0, item)
    return distances


def static_hits(items: list[int]) -> list[int]:
    """Repeated uses of the most used items: of none, of one, of two, …"""
    counts: dict[int, int] = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return [0, *itertools.accumulate(sorted((n - 1 for n in counts.values()), reverse=True))]


def what_if(rows: Rows, found: Iterable[Access]) -> list[Row]:
    """What a pass reads of the file as it is, by size of memory: of a run that did not measure its device."""
    of = in_order(rows, found)
    every = [one["pass_id"] for one in rows.measured]
    generate = [one["pass_id"] for one in rows.of_kind("generate")]
    scored = generate[round(0.8 * len(generate)) :] if len(generate) >= 5 else generate or every
    parts = _parts(rows, of)
    least: list[float] = []  # for each part, the least memory in which it is found
    recent: list[tuple[int, int]] = []
    for _, _, part in parts:
        if part in recent:
            at = recent.index(part)
            least.append(sum(end - begin for begin, end in recent[: at + 1]))
            del recent[at]
        else:
            least.append(math.inf)
        recent.insert(0, part)
    total = sum(end - begin for begin, end in recent)
    joined = [
        (move[0] == "contiguous" or move[1] >= 0) and move[1] <= 131072 for p in scored for move in steps(of.get(p, []))
    ]
    table = []
    for n in range(21):
        memory = round(n / 20 * total)
        reads = n_bytes = 0
        last = (-1, 0)
        for (pass_id, _, (begin, end)), needs in zip(parts, least, strict=True):
            if pass_id in scored and needs > memory:
                reads += not (last[0] == pass_id and 0 <= begin - last[1] <= 131072)
                n_bytes += end - begin
                last = (pass_id, end)
        table.append(
            {
                "order": "today",
                "memory_share": n / 20,
                "memory_bytes": memory,
                "reads": reads / len(scored),
                "read_bytes": n_bytes / len(scored),
                "time_ns": (reads * 1e5 + n_bytes) / len(scored),
                "sequential_share": sum(joined) / len(joined) if joined else None,
            }
        )
    return table


def _parts(rows: Rows, of: dict[int, list[Row]]) -> list[tuple[int, int, tuple[int, int]]]:
    """What passes used, cut where a range, a tensor or an expert begins or ends: pass, node, (begin, end)."""
    cuts = {place for used in of.values() for one in used for place in (one["begin"], one["end"])}
    for tensor in rows["tensors"]:
        start, size, n = rows.axis[tensor["file"]] + tensor["offset"], tensor["size_bytes"], tensor["n_experts"] or 1
        n = n if size % n == 0 else 1
        cuts |= {start + expert * (size // n) for expert in range(n + 1)}
    edges = sorted(cuts)
    parts = []
    for pass_id, used in sorted(of.items()):
        for one in used:
            inside = edges[bisect.bisect_left(edges, one["begin"]) : bisect.bisect_right(edges, one["end"])]
            parts += [(pass_id, one["node"], stretch) for stretch in itertools.pairwise(inside)]
    return parts
