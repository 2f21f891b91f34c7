"""What threads that computed waited for: page faults, by place in the model files, and barriers inside operations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.arrays import nullable
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.clock import Clock
from tracegen.readers.native.computes import Computes
from tracegen.readers.native.events import Spans
from tracegen.readers.native.fault_records import OPEN, FaultRecords, StructRecords
from tracegen.readers.native.placement_table import file_numbers
from tracegen.readers.native.recorded import Pass, Records


@dataclass(frozen=True)
class Faults:
    """What the segments of page faults say.

    table: the table `faults`.
    span_ns: of each span, in the order of `spans`: time in page faults of model files, ns (int64).
    of_passes: columns of `passes`: page faults outside the model files, their time, and events that the kernel had no
        room for (int64).
    facts: how many events had no room, and how many threads could not be watched.
    """

    table: pd.DataFrame
    span_ns: np.ndarray
    of_passes: dict[str, np.ndarray]
    facts: dict[str, object]


def place_faults(
    recorded: FaultRecords,
    records: Records,
    ordered: Sequence[Pass],
    computes: Computes,
    spans: Spans,
    files: pd.DataFrame,
) -> Faults:
    """Place each fault in its pass, operation and file. `ordered`: passes and loads by pass_id.

    Raises TraceFormatError for a fault of a compute that the main segment lacks, or where no file was mapped.
    """
    faults = pd.DataFrame({name: recorded.faults.rows[name] for name in ("address", "kind")})
    faults["begin_ns"], faults["took_ns"] = (
        recorded.faults.rows[name].astype(np.int64) for name in ("begin_ns", "took_ns")
    )
    faults["thread"] = recorded.faults.thread
    faults["pass_id"] = _pass_ids(recorded.faults, "begin_ns", computes, ordered)
    faults = faults.sort_values("begin_ns", kind="stable", ignore_index=True)
    span = span_of(faults, spans)
    span_ns = np.zeros(len(spans.node), np.int64)
    at = (span >= 0) & (faults["kind"] != OPEN)
    np.add.at(span_ns, span[at], faults["took_ns"][at])
    elsewhere, lost = recorded.elsewhere.rows, recorded.lost.rows
    of_elsewhere = _pass_ids(recorded.elsewhere, "begin_ns", computes, ordered)
    of_lost = _pass_ids(recorded.lost, "before_ns", computes, ordered)
    return Faults(
        table=_table(faults, span, spans, *_places(faults, records, files)),
        span_ns=span_ns,
        of_passes={
            "other_faults": _by_pass(of_elsewhere, elsewhere["n_faults"], len(ordered)),
            "other_fault_ns": _by_pass(of_elsewhere, elsewhere["took_ns"], len(ordered)),
            "lost_faults": _by_pass(of_lost, lost["n_events"], len(ordered)),
        },
        facts={
            "faults_lost": int(lost["n_events"].sum()),
            "threads_without_faults": len(recorded.unseen.rows),
        },
    )


def _pass_ids(recorded: StructRecords, time: str, computes: Computes, ordered: Sequence[Pass]) -> np.ndarray:
    """pass_id of each record: of its compute, or where it is of none the one that was open at its time; else -1."""
    pass_id = computes.pass_ids("page faults are told", recorded.compute)
    return np.where(recorded.thread < 0, pass_at(recorded.rows[time].astype(np.int64), ordered), pass_id)


def pass_at(time_ns: np.ndarray, ordered: Sequence[Pass]) -> np.ndarray:
    """The pass or load that was open at each time; -1 where there was none, or more than one."""
    if not ordered:
        return np.full(len(time_ns), -1, np.int64)
    begin = np.array([p.begin_ns for p in ordered], np.int64)
    end = np.array([1 << 62 if p.end_ns is None else p.end_ns for p in ordered], np.int64)
    n_started = np.searchsorted(begin, time_ns, "right")
    last = np.maximum(n_started - 1, 0)
    n_open = n_started - np.searchsorted(np.sort(end), time_ns, "right")
    return np.where((n_open == 1) & (time_ns < end[last]), last, -1)


def span_of(events: pd.DataFrame, spans: Spans) -> np.ndarray:
    """The row of `spans` in which each event lies by the middle of its time; -1: between two operations.

    `events`: pass_id, thread (-1: it took no part), begin_ns, took_ns.
    """
    row_of = np.full(len(events), -1, np.int64)
    middle = (events["begin_ns"] + events["took_ns"] // 2).to_numpy()
    pass_id, thread = (events[name].to_numpy(np.int64) for name in ("pass_id", "thread"))
    in_order = np.lexsort((thread, pass_id))
    in_order = in_order[thread[in_order] >= 0]
    another = (np.diff(pass_id[in_order]) != 0) | (np.diff(thread[in_order]) != 0)
    for chosen in np.split(in_order, np.flatnonzero(another) + 1) if len(in_order) else ():
        rows = spans.of_thread(pass_id[chosen[0]], thread[chosen[0]])
        at = np.searchsorted(spans.begin_ns[rows], middle[chosen], "right") - 1
        chosen, row = chosen[at >= 0], rows[at[at >= 0]]
        inside = middle[chosen] <= spans.begin_ns[row] + spans.work_ns[row] + spans.barrier_ns[row]
        row_of[chosen[inside]] = row[inside]
    return row_of


def _places(faults: pd.DataFrame, records: Records, files: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """File (-1: of no model) and offset in it of each fault. Raises TraceFormatError where nothing was mapped."""
    numbers = file_numbers(records, files)
    address, begin_ns = faults["address"].to_numpy(), faults["begin_ns"].to_numpy()
    file, offset = np.full(len(address), -2, np.int64), np.zeros(len(address), np.int64)
    for mapping in records.mappings:
        there = (address >= np.uint64(mapping.address)) & (address - np.uint64(mapping.address) < mapping.size_bytes)
        there &= begin_ns >= mapping.begin_ns
        if mapping.end_ns is not None:
            there &= begin_ns < mapping.end_ns
        file[there] = numbers[mapping.path]
        offset[there] = (address[there] - np.uint64(mapping.address)).astype(np.int64) + mapping.file_offset
    if (file == -2).any():
        first = int(address[file == -2][0])
        raise TraceFormatError(f"a page fault at address {first:#x} is told of, where no file was mapped")
    return file, offset


def _table(faults: pd.DataFrame, span: np.ndarray, spans: Spans, file: np.ndarray, offset: np.ndarray) -> pd.DataFrame:
    kind = faults["kind"].to_numpy()
    node = spans.node[np.maximum(span, 0)] if len(spans.node) else np.zeros(len(span), np.int32)
    return contract.frame(
        "faults",
        {
            "fault": np.arange(len(span), dtype=np.int32),
            "pass_id": nullable(faults["pass_id"].to_numpy()),
            "node": pd.arrays.IntegerArray(node.astype(np.int32), span < 0),
            "thread": nullable(faults["thread"].to_numpy()),
            "file": nullable(file),
            "offset": pd.arrays.IntegerArray(offset, file < 0),
            "kind": contract.coded("faults", "kind", np.where(kind == OPEN, 0, kind).astype(np.int8) - np.int8(1)),
            "begin_ns": faults["begin_ns"].to_numpy(),
            "duration_ns": pd.arrays.IntegerArray(faults["took_ns"].to_numpy(), kind == OPEN),
        },
    )


def _by_pass(pass_id: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """Sums of the values of each pass; those of no pass (-1) are left out."""
    sums = np.zeros(n, np.int64)
    np.add.at(sums, pass_id[pass_id >= 0], values[pass_id >= 0].astype(np.int64))
    return sums


def barrier_table(waits: StructRecords, computes: Computes, clock: Clock) -> pd.DataFrame:
    """The table `barriers`. Raises TraceFormatError for a wait in no compute, or in one that the main segment lacks."""
    if (waits.thread < 0).any():
        raise TraceFormatError("a wait belongs to no compute; the trace was changed")
    of_each = np.arange(len(waits.rows))
    pass_id, node, _ = computes.place("the trace tells of a wait", waits.compute, of_each, waits.rows["node"])
    begin = waits.rows["begin"].astype(np.int64)
    begin_ns, end_ns = clock.ns_of(begin), clock.ns_of(begin + waits.rows["took"].astype(np.int64))
    keys = {"pass_id": pass_id.astype(np.int32), "node": node, "thread": waits.thread.astype(np.int32)}
    table = pd.DataFrame({**keys, "begin_ns": begin_ns, "duration_ns": end_ns - begin_ns})
    table = table.sort_values([*keys, "begin_ns"], ignore_index=True)
    table["barrier"] = table.groupby(list(keys)).cumcount().astype(np.int32)
    return contract.frame("barriers", {name: table[name] for name in table.columns})
