"""The memory page: what was used of the file and of its tensors, and what was in the buffers."""

import math
from collections import defaultdict
from collections.abc import Iterable

from tests.recompute.plain.rows import Row, Rows
from tests.recompute.plain.touched import Access, Range, union

# What a component is counted under, listed here a second time.
GROUPS = {
    "embedding": ("embedding",),
    "attention": ("attention", "attention_q", "attention_k", "attention_v", "attention_output"),
    "KV cache": ("kv_cache",),
    "router": ("router",),
    "FFN": ("ffn_gate", "ffn_up", "ffn_down"),
    "experts": ("expert_gate", "expert_up", "expert_down"),
    "norm": ("norm",),
    "output": ("output",),
    "other": ("recurrent", "other"),
}
GROUP_OF = {component: group for group, components in GROUPS.items() for component in components}


def shared_rows(rows: Rows, most: int) -> list[list[int]]:
    """The passes of each row of a drawing with about `most` rows: only neighbouring generate passes share one."""
    passes = sorted((p for p in rows["passes"] if p["graph"] is not None), key=lambda p: p["pass_id"])
    generate = [p["pass_id"] for p in passes if p["kind"] == "generate"]
    together = max(1, math.ceil(len(generate) / max(1, most - (len(passes) - len(generate)))))
    shared: list[list[int]] = []
    before = None
    for one in passes:
        place = (generate.index(one["pass_id"]) // together) if one["kind"] == "generate" else None
        if place is None or place != before:
            shared.append([])
        shared[-1].append(one["pass_id"])
        before = place
    return shared


def heatmap(
    rows: Rows, found: Iterable[Access], cells: Iterable[tuple[int, int]], shared: list[list[int]]
) -> list[Row]:
    """How much of the bytes of each cell (begin, end on the disk axis) the passes of each row used, each byte once.

    A row is named by its first pass; its bytes are sums over its passes. Where nothing was used there is no row.
    """
    used: dict[tuple[int, bool], list[Range]] = defaultdict(list)
    for access in found:
        if access.file is None:
            continue
        start = rows.axis[access.file]
        for begin, end in access.ranges:
            for copied in {False, access.memory == "copied"}:
                used[access.pass_id, copied].append((begin + start, end + start))

    def within(pass_id: int, copied: bool, begin: int, end: int) -> int:
        pieces = used.get((pass_id, copied), ())
        return union((max(b, begin), min(e, end)) for b, e in pieces if b < end and e > begin)

    drawn = []
    for together in shared:
        for begin, end in cells:
            touched = sum(within(pass_id, False, begin, end) for pass_id in together)
            if touched:
                drawn.append(
                    {
                        "pass_id": together[0],
                        "n_passes": len(together),
                        "begin": begin,
                        "end": end,
                        "size_bytes": end - begin,
                        "touched_bytes": touched,
                        "copied_bytes": sum(within(pass_id, True, begin, end) for pass_id in together),
                        "share": touched / ((end - begin) * len(together)),
                    }
                )
    return drawn


def touched_bytes(found: Iterable[Access], memory: str | None = None) -> int:
    """How many bytes of the model files were used at least once, of one kind of memory or of both."""
    ranges: dict[int, list[Range]] = defaultdict(list)
    for access in found:
        if access.file is not None and memory in (None, access.memory):
            ranges[access.file] += access.ranges
    return sum(union(of_file) for of_file in ranges.values())


def tensors_use(rows: Rows, found: Iterable[Access]) -> list[Row]:
    """Every tensor of the files: what was used of it, through which memory, and in how many passes.

    Bytes count once, however often they were used: through the mapping (mapped_bytes), from a copy (copied_bytes),
    and through either (touched_bytes), which is less than the sum where both used the same.
    """
    ranges: dict[int, dict[str, list[Range]]] = defaultdict(lambda: defaultdict(list))
    passes: dict[int, set[int]] = defaultdict(set)
    for access in found:
        if access.tensor is not None and access.ranges:
            ranges[access.tensor][access.memory] += access.ranges
            passes[access.tensor].add(access.pass_id)
    table = []
    for tensor in rows["tensors"]:
        of = ranges[tensor["tensor"]]
        table.append(
            tensor
            | {
                "touched_bytes": union([*of["disk"], *of["copied"]]),
                "mapped_bytes": union(of["disk"]),
                "copied_bytes": union(of["copied"]),
                "n_passes": len(passes[tensor["tensor"]]),
                "memory": " + ".join(memory for memory in ("copied", "disk") if of[memory]) or None,
            }
        )
    return table


def tensor_groups(use: Iterable[Row]) -> list[Row]:
    """`tensors_use` summed by groups of components; a group without tensors has no row."""
    sums: dict[str, Row] = {}
    counted = ("size_bytes", "touched_bytes", "mapped_bytes", "copied_bytes")
    for tensor in use:
        group = GROUP_OF[tensor["component"]]
        row = sums.setdefault(group, {"group": group, "n_tensors": 0, **dict.fromkeys(counted, 0)})
        row["n_tensors"] += 1
        for name in counted:
            row[name] += tensor[name]
    return list(sums.values())


def buffer_kinds(rows: Rows) -> dict[int, str]:
    """What each buffer holds.

    Copied weights where bytes of a file were put into it, the KV cache where a tensor named cache_k… or cache_v… lies
    in it, else what it was allocated for, if that was compute, weights or work.
    """
    kinds = {}
    for row in rows["buffers"]:
        kinds[row["buffer_id"]] = row["usage"] if row["usage"] in ("compute", "weights", "work") else "other"
    for row in rows["placements"]:
        if row["buffer_id"] is not None and rows.nodes[row["graph"], row["node"]]["name"].startswith(
            ("cache_k", "cache_v")
        ):
            kinds[row["buffer_id"]] = "KV cache"
    for row in rows["placements"]:
        if row["buffer_id"] is not None and row["memory"] == "copied":
            kinds[row["buffer_id"]] = "copied weights"
    return kinds


def buffer_events(rows: Rows) -> list[Row]:
    """Allocations and frees of memory, in order: what only shows a mapping of the file, or has no size, is none."""
    events = [row for row in rows["buffers"] if row["usage"] != "mapped" and row["size_bytes"]]
    return sorted(events, key=lambda row: row["time_ns"])


def buffer_levels(rows: Rows) -> list[Row]:
    """How many bytes each kind of buffer had from each event on: time_ns, group, size_bytes.

    Times begin with the first event or the first pass, whichever is first.
    """
    kinds, events = buffer_kinds(rows), buffer_events(rows)
    begin = min(events[0]["time_ns"], min(row["begin_ns"] for row in rows["passes"]))
    allocated = dict.fromkeys((kinds[row["buffer_id"]] for row in events), 0)
    levels: dict[int, dict[str, int]] = {}
    for row in events:
        allocated[kinds[row["buffer_id"]]] += row["size_bytes"] if row["event"] == "alloc" else -row["size_bytes"]
        levels[row["time_ns"] - begin] = dict(allocated)
    return [
        {"time_ns": time, "group": group, "size_bytes": n} for time, at in levels.items() for group, n in at.items()
    ]


def buffer_peaks(rows: Rows) -> list[Row]:
    """The most that each kind of buffer had at one time, and how many of them were allocated."""
    kinds, most, n = buffer_kinds(rows), defaultdict[str, int](int), defaultdict[str, int](int)
    for level in buffer_levels(rows):
        most[level["group"]] = max(most[level["group"]], level["size_bytes"])
    for row in buffer_events(rows):
        n[kinds[row["buffer_id"]]] += row["event"] == "alloc"
    known = {"place": "CPU"}  # these runs have no device
    return [{"group": group, **known, "peak_bytes": peak, "n_buffers": n[group]} for group, peak in most.items()]


def kv_cache(rows: Rows, found: Iterable[Access]) -> list[Row]:
    """What each token used of the KV cache: pass_id, produced_token, touched_bytes."""
    kinds = buffer_kinds(rows)
    used: dict[int, int] = {}
    for access in found:
        if access.memory == "buffer" and kinds.get(access.buffer) == "KV cache":
            used[access.pass_id] = used.get(access.pass_id, 0) + access.n_bytes
    return [
        {key: one[key] for key in ("pass_id", "produced_token")} | {"touched_bytes": used[one["pass_id"]]}
        for one in rows.of_kind("generate")
    ]


def peak(rows: Rows) -> int:
    """The most that all buffers had together at one time."""
    together: dict[int, int] = defaultdict(int)
    for level in buffer_levels(rows):
        together[level["time_ns"]] += level["size_bytes"]
    return max(together.values())


def peak_resident(rows: Rows) -> int | None:
    """The most that the process held in memory at a sample of the computation; None where none was taken."""
    found = [
        row["resident_bytes"]
        for row in rows["footprint"]
        if row["kind"] == "process" and row["occasion"] in ("pass", "saved")
    ]
    return max(found, default=None)
