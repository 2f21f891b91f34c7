"""Reads of the program itself: each byte that they brought is marked, and what is missing is seen."""

from collections import defaultdict
from typing import Any

import pandas as pd
import pytest

from tests.builders import scaled_case
from tracegen.analysis import explicit_reads
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
