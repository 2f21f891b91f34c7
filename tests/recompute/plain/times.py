"""Where time went: rates, and the wall time, work and waiting of ops."""

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from tests.recompute.plain.memory import GROUP_OF
from tests.recompute.plain.rows import Row, Rows, duration

TIMES = ("work_ns", "barrier_ns", "wait_ns")
SUMS = ("duration_ns", *TIMES)
PHASES = ("prompt", "generate")
BEFORE, AFTER = "before operations", "after operations"
SLACK_NS = 300  # a processor may read its counter before it has seen that a barrier opened; the run's check allows it


def rate(rows: Rows, kind: str) -> float | None:
    """Tokens of all passes of a kind, over the sum of their durations, in tokens per second."""
    time = sum(duration(one) for one in rows.of_kind(kind))
    return sum(one["n_tokens"] for one in rows.of_kind(kind)) / time * 1e9 if time else None


def op_times(rows: Rows, pass_id: int, node: int) -> Row | None:
    """The times of an op from its spans; None where no thread had one.

    begin_ns: when its first thread began, since the pass began. duration_ns: from there to when its last thread
    ended, which is its work and its waiting inside later. Work and waiting are sums over threads.
    """
    spans = rows.spans.get((pass_id, node))
    if not spans:
        return None
    begin = min(span["begin_ns"] for span in spans)
    end = max(span["begin_ns"] + span["work_ns"] + span["barrier_ns"] for span in spans)
    row: Row = {"begin_ns": begin - rows.passes[pass_id]["begin_ns"], "duration_ns": end - begin}
    return row | {name: sum(span[name] for span in spans) for name in TIMES} | {"n_threads": len(spans)}


def executed(rows: Rows, phase: str) -> list[Row]:
    """The executed ops of a phase's passes with times, and what is static about them.

    Fused ops have no time: it is in that of the op that computed them.
    """
    table = []
    for one in rows.of_kind(phase):
        for op in rows.ops[one["pass_id"]]:
            times = op_times(rows, one["pass_id"], op["node"])
            if op["state"] == "executed" and times is not None:
                table.append(rows.nodes[one["graph"], op["node"]] | {"pass_id": one["pass_id"]} | times)
    return table


def outside(rows: Rows, one: Row) -> tuple[dict[str, int], int]:
    """The time of a pass that lies in no executed op, ns; with the wall time of these it is the pass's duration.

    Before the first op; between two ops, from the end of one on all threads to the start of the next on any of them,
    apart where the next is of another split of the scheduler; after the last. Where ops overlap by no more than the
    clock allows, nothing lies between them, and `twice` is what the sum of all parts is longer than the pass.
    """
    at, split, twice = one["begin_ns"], None, 0
    parts = dict.fromkeys((BEFORE, "between operations", "between splits", AFTER), 0)
    for op in rows.ops[one["pass_id"]]:
        times = op_times(rows, one["pass_id"], op["node"])
        if op["state"] != "executed" or times is None:
            continue
        begin = one["begin_ns"] + times["begin_ns"]
        if at - begin > SLACK_NS:
            raise ValueError(f"pass {one['pass_id']}: node {op['node']} begins before another has ended")
        first = at == one["begin_ns"]
        part = BEFORE if first else "between operations" if op["split"] == split else "between splits"
        parts[part] += max(begin - at, 0)
        twice += max(at - begin, 0)
        at, split = begin + times["duration_ns"], op["split"]
    parts[AFTER] = one["end_ns"] - at
    return parts, twice


def by(rows: Rows, key: str) -> list[Row]:
    """The time of each phase's passes: executed ops summed by component or kind of op, and what lies in none.

    share: of the duration of the phase's passes. ns_per_token: over the tokens of the phase. What lies in no op
    has no work or waiting of threads; parts that take no time are no rows.
    """
    table: list[Row] = []
    for phase in PHASES:
        sums: dict[Any, Row] = {}
        for op in executed(rows, phase):
            row = sums.setdefault(op[key], {"phase": phase, key: op[key], **dict.fromkeys(SUMS, 0), "n_ops": 0})
            _add(row, op)
        parts: dict[str, int] = defaultdict(int)
        twice = 0
        for one in rows.of_kind(phase):
            lying, overlapping = outside(rows, one)
            twice += overlapping
            for part, ns in lying.items():
                parts[part] += ns
        for part, ns in parts.items():
            if ns:
                sums[part] = {"phase": phase, key: part, "duration_ns": ns, **dict.fromkeys(TIMES), "n_ops": 0}
        whole = sum(duration(one) for one in rows.of_kind(phase))
        assert sum(row["duration_ns"] for row in sums.values()) == whole + twice
        tokens = sum(one["n_tokens"] for one in rows.of_kind(phase))
        for row in sums.values():
            row["share"], row["ns_per_token"] = row["duration_ns"] / whole, row["duration_ns"] / tokens
        table += sums.values()
    return table


def by_layer(rows: Rows, phase: str = "") -> list[Row]:
    """Executed ops of passes of a phase summed by layer and component group.

    Of generate passes, or prompt passes where there is none, if no phase is named.
    """
    phase = phase or ("generate" if rows.of_kind("generate") else "prompt")
    tokens = sum(one["n_tokens"] for one in rows.of_kind(phase))
    sums: dict[tuple[int | None, str], int] = defaultdict(int)
    for op in executed(rows, phase):
        sums[op["layer"], GROUP_OF[op["component"]]] += op["duration_ns"]
    return [
        {"layer": layer, "group": group, "duration_ns": ns, "ns_per_token": ns / tokens}
        for (layer, group), ns in sums.items()
    ]


def top_operations(rows: Rows, most: int, named: Container[str] = ()) -> list[Row]:
    """The nodes whose executions in generate passes (or prompt passes) took most wall time, summed.

    Of nodes that took as long, those with a name in `named` come first: which of them is the last one is left open.

    Executions of the same name, kind, layer and component are those of one node. pass_id and node are of its longest
    execution; share is of the wall time of all executed ops of these passes.
    """
    phase = "generate" if rows.of_kind("generate") else "prompt"
    whole = sum(op["duration_ns"] for op in executed(rows, phase))
    sums: dict[tuple[Any, ...], Row] = {}
    longest: dict[tuple[Any, ...], int] = {}
    for op in executed(rows, phase):
        key = tuple(op[name] for name in ("name", "op", "layer", "component"))
        empty = dict(zip(("name", "op", "layer", "component"), key, strict=True))
        row = sums.setdefault(key, {**empty, **dict.fromkeys(SUMS, 0), "n_ops": 0})
        _add(row, op)
        if op["duration_ns"] > longest.get(key, -1):
            longest[key] = op["duration_ns"]
            row["pass_id"], row["node"] = op["pass_id"], op["node"]
    for row in sums.values():
        row["share"] = row["duration_ns"] / whole
    return sorted(sums.values(), key=lambda row: (-row["duration_ns"], row["name"] not in named))[:most]


def waiting(rows: Rows, keys: tuple[str, ...]) -> list[Row]:
    """Work and waiting of threads in the executed ops of all measured passes, summed by `keys` of the op.

    waiting_ns: inside and after, where several threads ran the op: one alone waits for nobody. share: of the duration
    of these passes times their threads. pass_id and at_node are of the op that waited longest.
    """
    sums: dict[tuple[Any, ...], Row] = {}
    longest: dict[tuple[Any, ...], int] = {}
    whole = 0
    for one in rows.measured:
        n_threads = 0
        for op in rows.ops.get(one["pass_id"], ()):
            times = op_times(rows, one["pass_id"], op["node"])
            if op["state"] != "executed" or times is None:
                continue
            what = rows.nodes[one["graph"], op["node"]]
            key = tuple(what[name] for name in keys)
            empty = dict.fromkeys((*TIMES, "waiting_ns"), 0)
            row = sums.setdefault(key, {**dict(zip(keys, key, strict=True)), **empty, "n_ops": 0})
            times["waiting_ns"] = times["barrier_ns"] + times["wait_ns"] if times["n_threads"] > 1 else 0
            _add(row, times, tuple(empty))
            n_threads = max(n_threads, times["n_threads"])
            if times["waiting_ns"] > longest.get(key, -1):
                longest[key] = times["waiting_ns"]
                row["pass_id"], row["at_node"] = one["pass_id"], op["node"]
        whole += duration(one) * n_threads
    for row in sums.values():
        row["share"] = row["waiting_ns"] / whole
    return list(sums.values())


def typical_pass(rows: Rows) -> Row:
    """The generate pass of median duration, the shorter of the two in the middle, the earlier of equal ones."""
    ordered = sorted(rows.of_kind("generate"), key=lambda one: (duration(one), one["pass_id"]))
    return ordered[(len(ordered) - 1) // 2]


def waited_for_reads(rows: Rows, one: Row) -> int:
    """The time of page faults in operations of a pass while a read of the devices was under way, ns, over all threads.

    None in a pass that read nothing; where no request was recorded, that of all page faults.
    """
    requests = [row for row in rows["requests"] if row["duration_ns"] is not None]
    total = 0
    for fault in rows["faults"]:
        if fault["pass_id"] != one["pass_id"] or fault["node"] is None or fault["duration_ns"] is None:
            continue
        begin, end = fault["begin_ns"], fault["begin_ns"] + fault["duration_ns"]
        if not requests:
            total += end - begin
            continue
        cuts = sorted(
            (max(begin, row["issue_ns"]), min(end, row["issue_ns"] + row["duration_ns"]))
            for row in requests
            if row["issue_ns"] < end and row["issue_ns"] + row["duration_ns"] > begin
        )
        reached = begin
        for first, last in cuts:
            total += max(0, last - max(first, reached))
            reached = max(reached, last)
    return 0 if one["read_bytes"] == 0 else total


def shown_pass(rows: Rows) -> Row:
    """The generate pass of median duration among those in which page faults take a twentieth of thread time or more
    while a read is under way; else the typical pass.
    """
    waits = []
    for one in rows.of_kind("generate"):
        spans = [span for span in rows["spans"] if span["pass_id"] == one["pass_id"]]
        waited = waited_for_reads(rows, one)
        if waited and waited / len({span["thread"] for span in spans}) >= 0.05 * duration(one):
            waits.append(one)
    if not waits:
        return typical_pass(rows)
    ordered = sorted(waits, key=lambda one: (duration(one), one["pass_id"]))
    return ordered[(len(ordered) - 1) // 2]


def segments(rows: Rows, one: Row) -> list[Row]:
    """What each thread did during a pass: of each span its work, then its waiting inside, then that after it.

    Where waits at barriers were recorded, each is cut out of the op in which it lies. Where one thread computes, it
    waits for nobody: what follows an op lies between operations.
    """
    waits = [wait for wait in rows["barriers"] if wait["pass_id"] == one["pass_id"]]
    threads = {span["thread"] for span in rows["spans"] if span["pass_id"] == one["pass_id"]}
    states = ("work", "waiting inside", "barrier wait" if len(threads) > 1 else "between operations")
    table = []
    for (pass_id, node), spans in rows.spans.items():
        for span in spans if pass_id == one["pass_id"] else ():
            for state, begin, end in _states(span, states, [w for w in waits if w["thread"] == span["thread"]]):
                table.append(
                    {
                        "thread": span["thread"],
                        "begin_ns": begin - one["begin_ns"],
                        "end_ns": end - one["begin_ns"],
                        "state": state,
                        "node": node,
                        "component": rows.nodes[one["graph"], node]["component"],
                    }
                )
    return table


def _states(span: Row, states: Sequence[str], waits: Sequence[Row]) -> Iterator[tuple[str, int, int]]:
    """The states of a thread in a span and after it, each with begin and end; `waits`: those recorded of the thread."""
    begin = span["begin_ns"]
    if not waits:
        for state, name in zip(states, TIMES, strict=True):
            if span[name]:
                yield state, begin, begin + span[name]
            begin += span[name]
        return
    ended = begin + span["work_ns"] + span["barrier_ns"]
    times = [(w["begin_ns"], w["begin_ns"] + w["duration_ns"]) for w in waits]
    edges = sorted({begin, ended, *(edge for of in times for edge in of if begin < edge < ended)})
    for first, last in pairwise(edges):
        waited = any(since <= first and last <= until for since, until in times)
        yield states[1 if waited else 0], first, last
    if span["wait_ns"]:
        yield states[2], ended, ended + span["wait_ns"]


def tokens(rows: Rows) -> list[Row]:
    """Each generate pass with the token that it gave, its duration, and what the kernel counted during it."""
    counted = ("n_tokens", "major_faults", "minor_faults", "read_bytes", "run_delay_ns", "involuntary_switches")
    return [
        {"produced_token": one["produced_token"], "pass_id": one["pass_id"], "duration_ns": duration(one)}
        | {name: one[name] for name in counted}
        for one in rows.of_kind("generate")
    ]


def ops_per_token(rows: Rows) -> float:
    """The median over generate passes of the number of executed ops."""
    return median(sum(op["state"] == "executed" for op in rows.ops[one["pass_id"]]) for one in rows.of_kind("generate"))


def _add(row: Row, op: Row, names: tuple[str, ...] = SUMS) -> None:
    for name in names:
        row[name] += op[name]
    row["n_ops"] += 1
