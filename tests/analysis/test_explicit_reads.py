"""Reads of the program itself: each byte that they brought is marked, and what is missing is seen."""

from collections import defaultdict
from typing import Any

import pandas as pd
import pytest

from tests.builders import scaled_case
from tracegen.analysis import accesses, asked_ahead, explicit_reads
from tracegen.contract.tables import frame


def with_reads(*reads: tuple[int, int, int, str, bool], began: int = 1_000) -> dict[str, pd.DataFrame]:
    """The load of a run reads so: offset, bytes asked for and read, the call, and whether past the page cache."""
    tables = scaled_case(2, 2)
    load = tables["passes"].query("kind == 'load'").iloc[0]
    rows: list[dict[str, Any]] = []
    for n, (offset, size, got, call, direct) in enumerate(reads):
        begin = int(load["begin_ns"]) + began * n
        row = dict(read=n, pass_id=int(load["pass_id"]), thread=9, file=0, offset=offset, size_bytes=size)
        rows.append({**row, "got_bytes": got, "begin_ns": begin, "end_ns": begin + 1_500, "call": call})
        rows[-1] |= {"direct": direct, "n_calls": 1, "tensor": None}
    return {**tables, "reads": frame("reads", rows)}


READS = (
    (0, 100, 100, "fread", False),
    (50, 100, 100, "fread", False),
    (400, 50, 20, "fread", False),
    (0, 512, 512, "read", True),
    (0, 4096, 0, "fadvise", False),
)


def test_bytes_and_time_are_counted_one_by_one() -> None:
    tables = with_reads(*READS)
    found = explicit_reads.by_call(tables).set_index("call")
    marked, ran = defaultdict(set), defaultdict(set)
    for row in tables["reads"].to_dict("records"):
        marked[row["call"]].update(range(row["offset"], row["offset"] + row["got_bytes"]))
        ran[row["call"]].update(range(row["begin_ns"], row["end_ns"]))
    assert found["file_bytes"].to_dict() == {call: len(places) for call, places in marked.items()}
    assert found["took_ns"].to_dict() == {call: len(moments) for call, moments in ran.items()}
    assert found.loc["fread", ["n_calls", "asked_bytes", "got_bytes"]].tolist() == [3, 250, 220]
    assert found["kind"].eq("load").all() and found["direct"].tolist() == [False, True, False]


def test_without_reads_there_is_no_row() -> None:
    tables = scaled_case(2, 2)
    assert explicit_reads.by_call(tables).empty and explicit_reads.missing(tables) is None


def copied(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The same, where all weights were copied into memory."""
    place = tables["placements"].copy()
    place["memory"] = place["memory"].astype("object").mask(place["tensor"].notna(), "copied").astype("category")
    return {**tables, "placements": place}


@pytest.mark.parametrize("gap", [0, 7])
def test_weights_that_no_read_brought_are_missing(gap: int) -> None:
    size = int(scaled_case(2, 2)["files"]["size_bytes"].iloc[0])
    first = scaled_case(2, 2)["tensors"].sort_values("offset").iloc[0]
    begin = int(first["offset"]) + gap
    tables = copied(with_reads((begin, size - begin, size - begin, "pread", False)))
    of_a_tensor = tables["reads"].assign(tensor=pd.array([0], "Int32"))
    assert explicit_reads.missing({**tables, "reads": of_a_tensor}) == gap
    assert explicit_reads.missing(tables) is None  # it read the header alone: what it copied came from a mapping


def test_what_was_only_asked_for_was_not_read() -> None:
    assert explicit_reads.missing(copied(with_reads((0, 1 << 40, 0, "readahead", False)))) is None


def test_reads_of_an_unknown_file_say_nothing() -> None:
    tables = copied(with_reads((0, 100, 100, "read", False)))
    unknown = tables["reads"].assign(file=pd.array([None], "Int32"), tensor=pd.array([0], "Int32"))
    assert explicit_reads.missing({**tables, "reads": unknown}) is None


def test_what_was_asked_for_was_in_time_too_late_or_never_used() -> None:
    """Each page by itself, in plain loops: asked for by the load, and again by the first pass."""
    tables = with_reads((0, 1 << 40, 0, "fadvise", False), (100, 9_000, 0, "readahead", False))
    reads, passes = tables["reads"], tables["passes"].set_index("pass_id")
    size = int(tables["files"]["size_bytes"].iloc[0])
    first, second = (int(ns) for ns in reads["end_ns"])
    tables = {**tables, "reads": reads.iloc[::-1].assign(begin_ns=[second, first], end_ns=[second + 9, first + 9])}
    tables["reads"] = tables["reads"].sort_values("begin_ns", ignore_index=True)
    used = accesses.ranges(tables)
    used = used[used["memory"].eq("disk").to_numpy(bool)]
    touched = {
        page
        for row in used.to_dict("records")
        for page in range(row["begin"] // 4096, -(-row["end"] // 4096))
        if passes["end_ns"].get(row["pass_id"]) > first
    }
    late, others = sorted(touched)[:3], sorted(touched)[4:6]
    slow, last_ns = asked_ahead.SLOW_NS, int(passes["end_ns"].max())
    seen = [(page, second + 50, slow, "minor") for page in late]  # on its way
    seen += [(others[0], second + 50, slow - 1, "minor"), (others[1], last_ns - 1, 9 * slow, "major")]  # evicted since
    seen += [(late[0], first - 50, slow, "major"), (1 << 30, second, slow, "major")]  # before, and behind the file
    faults = [
        dict(
            pass_id=1,
            node=0,
            thread=0,
            file=0,
            offset=4096 * page + n,
            kind=kind,
            begin_ns=ns,
            duration_ns=took,
            fault=n,
        )
        for n, (page, ns, took, kind) in enumerate(seen)
    ]
    spans = tables["spans"].assign(fault_ns=pd.array([0] * len(tables["spans"]), "Int64"))
    known = {**tables, "faults": frame("faults", faults), "spans": spans}
    found = explicit_reads.by_call(known).set_index("call")
    pages = -(-size // 4096)
    assert found.loc["fadvise", "late_bytes"] == 4096 * len(late)
    assert found.loc["fadvise", "in_time_bytes"] == 4096 * (len(touched) - len(late))
    assert found.loc["fadvise", "unused_bytes"] == 4096 * (pages - len(touched))
    assert found.loc["readahead", [*asked_ahead.COLUMNS]].tolist() == [0, 0, 0]  # fadvise had asked for them
    unknown = explicit_reads.by_call(tables).set_index("call")
    assert unknown.loc["fadvise", ["in_time_bytes", "late_bytes"]].isna().all()
    assert unknown.loc["fadvise", "unused_bytes"] == 4096 * (pages - len(touched))


def test_what_was_read_has_no_such_figures() -> None:
    found = explicit_reads.by_call(with_reads((0, 100, 100, "fread", False)))
    assert found[[*asked_ahead.COLUMNS]].isna().all(axis=None)
