"""Run folders are whole or absent, and changes in them are found."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.golden.hard_case import hard_case
from tracegen.contract.errors import EnvironmentFailure, StoreError, TableError
from tracegen.contract.facts import Facts
from tracegen.contract.model import Check, Run
from tracegen.contract.records import decode
from tracegen.contract.tables import BY_NAME, coded, frame
from tracegen.readers.native.segments import segment_files
from tracegen.storing import store

CHECKS = (Check("k", "t", "passed", "1", "1"),)
RUN = Run("case", 1, "2026-01-01T00:00:00Z", CHECKS, decode(Facts, {"text": {"prompt": "naïve \u2028"}}))


def stored(folder: Path) -> Path:
    with store.part_folder(folder) as part:
        store.write_tables(part / "tables", hard_case(), "test")
        return store.place_numbered(part, folder, lambda n: store.write_run_file(part, RUN))


def test_large_numbers_beside_nulls_come_back_whole(tmp_path: Path) -> None:
    """2**53 ns of CLOCK_MONOTONIC are 104 days; float64 would round what comes after."""
    case = hard_case()
    late = case["passes"]["end_ns"] + 2**53 + 1
    late.iloc[0] = pd.NA
    case["passes"] = case["passes"].assign(end_ns=late)
    store.write_tables(tmp_path, case, "test")
    assert store.read_tables(tmp_path, ("passes",))["passes"]["end_ns"].tolist() == late.tolist()


@pytest.mark.parametrize("column", ["pass_id", "position_begin"])
@pytest.mark.parametrize("value", [1 << 31, -(1 << 31) - 1, 1 << 32])
@pytest.mark.parametrize(
    "kept", [list, np.array, pd.Series, lambda v: pd.array(v, dtype="Int64"), lambda v: pd.Series(v, dtype="Float64")]
)
def test_a_number_that_its_column_cannot_hold_is_refused(kept: Any, value: int, column: str) -> None:
    """A number in any kind of array; pandas would silently keep its lower 32 bits."""
    with pytest.raises(TableError, match=column):
        frame("passes", {"pass_id": [1], "begin_ns": [0], column: kept([value])})


def test_tables_belong_to_who_asked_for_them(tmp_path: Path) -> None:
    """Every column can be written, and none is a view of the array that it was made from."""
    array = np.arange(6, dtype=np.int64).reshape(3, 2)
    none = np.zeros(3, np.int32)
    residency = frame(
        "residency", {"pass_id": none, "file": none.copy(), "first_page": array[:, 0], "n_pages": array[:, 1]}
    )
    codes = np.arange(3, dtype=np.int8)
    codes.flags.writeable = False
    nodes = {"pass_id": none, "node": np.arange(3, dtype=np.int32), "state": coded("ops", "state", codes)}
    store.write_tables(tmp_path, hard_case(), "hand")
    for name, table in {"residency": residency, "ops": frame("ops", nodes), **store.read_tables(tmp_path)}.items():
        for column in table.columns if len(table) > 1 else []:
            table.loc[0, column] = table.loc[1, column]
            assert table[column].isna()[0] or table.loc[0, column] == table.loc[1, column], f"{name}.{column}"
    assert array.ravel().tolist() == list(range(6))


def test_a_new_run_takes_no_number_that_a_version_holds(tmp_path: Path) -> None:
    """A clone has the versions, but not the runs that they were made from."""
    version = tmp_path / "versions" / "2"
    version.mkdir(parents=True)
    assert store.last_published_run(tmp_path) == 0
    (version / "version.json").write_text('{"schema": 1, "runs": [3, 7]}')
    after = store.last_published_run(tmp_path)
    with store.part_folder(tmp_path / "runs") as part:
        folder = store.place_numbered(part, tmp_path / "runs", lambda n: store.write_run_file(part, RUN), after=after)
    assert folder.name == "008"
    (version / "version.json").write_text("no JSON")
    with pytest.raises(StoreError, match="cannot be read"):
        store.last_published_run(tmp_path)


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    assert folder.name == "001"
    assert store.read_run(folder) == RUN
    for name, table in store.read_tables(folder / "tables").items():
        pd.testing.assert_frame_equal(table, hard_case()[name], check_categorical=False)
    store.verify_run(folder)


def test_a_large_table_comes_back_column_by_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = store.read_tables(stored(tmp_path) / "tables")
    monkeypatch.setattr(store, "LARGE", 0)
    for name, table in store.read_tables(stored(tmp_path / "again") / "tables").items():
        pd.testing.assert_frame_equal(table, tables[name])


def test_a_block_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), store.whole_folder(tmp_path / "1") as part:
        (part / "half").write_text("x")
        raise RuntimeError
    with pytest.raises(RuntimeError), store.part_folder(tmp_path):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_two_runs_at_once_get_two_numbers(tmp_path: Path) -> None:
    threads = [threading.Thread(target=stored, args=(tmp_path,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.name for path in store.run_folders_in(tmp_path)] == ["001", "002", "003", "004"]


@pytest.mark.parametrize("fault", ["changed", "missing", "added", "shorter"])
def test_verify_names_the_file(tmp_path: Path, fault: str) -> None:
    folder = stored(tmp_path)
    path = folder / "tables" / "ops.parquet"
    if fault == "changed":
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)
    elif fault == "missing":
        path.unlink()
    elif fault == "shorter":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        path = folder / "tables" / "extra.parquet"
        path.write_bytes(b"")
    with pytest.raises(StoreError, match=path.name):
        store.verify_run(folder)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("", "cannot be read"),
        ("[]", "no schema number"),
        ('{"schema": 99}', "newer tracegen"),
        ('{"schema": 0}', "no migration"),
        ('{"schema": 1}', "is broken: experiment is missing"),
    ],
)
def test_a_broken_run_file(tmp_path: Path, document: str, says: str) -> None:
    (tmp_path / "run.json").write_text(document)
    with pytest.raises(StoreError, match=says):
        store.read_run(tmp_path)


def test_a_run_of_before_a_table_was_added_has_none_and_one_that_lost_it_is_an_error(tmp_path: Path) -> None:
    store.write_tables(tmp_path, hard_case(), "test")
    for name in ("faults", "device", "cache", "requests", "barriers", "memory"):
        with pytest.raises(StoreError, match=f"{name}.parquet: is missing"):
            (tmp_path / f"{name}.parquet").rename(tmp_path / "aside")
            store.read_tables(tmp_path)
        (tmp_path / "aside").rename(tmp_path / f"{name}.parquet")
    newest_first = ("allocations", "nodes", "reads", "saved_states", "footprint", "device_ops", "off_cpu", "memory")
    for name in (*newest_first, "barriers", "requests"):
        (tmp_path / f"{name}.parquet").unlink()
        assert store.read_tables(tmp_path)[name].empty
    for name in ("faults", "device", "cache"):
        (tmp_path / f"{name}.parquet").unlink()
    loaded = store.read_tables(tmp_path)
    later = (
        "footprint",
        "saved_states",
        "faults",
        "device",
        "cache",
        "requests",
        "barriers",
        "memory",
        "off_cpu",
        "device_ops",
    )
    assert all(loaded[name].empty for name in later)
    assert len(loaded["copies"]) == len(hard_case()["copies"])
    (tmp_path / "copies.parquet").unlink()
    with pytest.raises(StoreError, match=r"copies.parquet: is missing"):
        store.read_tables(tmp_path)
    (tmp_path / "splits.parquet").unlink()
    tables = store.read_tables(tmp_path)
    assert tables["copies"].empty and tables["splits"].empty and tables["faults"].empty


def test_a_missing_or_broken_table_says_how_to_make_it_anew(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    (folder / "tables" / "ops.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreError, match="tracegen read"):
        store.read_tables(folder / "tables")
    (folder / "tables" / "ops.parquet").unlink()
    with pytest.raises(StoreError, match="tracegen read"):
        store.read_tables(folder / "tables")


@pytest.mark.slow
@pytest.mark.parametrize("bit, large", [(0x01, store.LARGE), (0x80, 0)], ids=["another name", "no text"])
def test_a_changed_byte_in_the_footer_of_a_table_is_found_or_does_no_harm(
    bit: int, large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LARGE", large)
    store.write_tables(tmp_path, hard_case(), "test")
    path = tmp_path / "graphs.parquet"
    whole = path.read_bytes()
    refused = 0
    for place in range(len(whole) - 8 - int.from_bytes(whole[-8:-4], "little"), len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        try:
            store.read_tables(tmp_path, ("graphs",))
        except StoreError as error:
            said = str(error)
            assert said.startswith(f"{path}: ") and said.endswith("; `tracegen read` makes the tables again")
            refused += 1
    assert refused > 500


def test_two_columns_of_one_name_are_no_table_of_ours(tmp_path: Path) -> None:
    store.write_tables(tmp_path, hard_case(), "test")
    table = pa.Table.from_arrays([pa.array([0], pa.int32())] * 2, names=["pass_id", "pass_id"])
    pq.write_table(table, tmp_path / "passes.parquet")
    with pytest.raises(StoreError, match=r"passes\.parquet: cannot be read .*makes the tables again"):
        store.read_tables(tmp_path, ("passes",))


def test_a_folder_whose_name_is_no_utf_8_is_written_and_read(tmp_path: Path) -> None:
    """Arrow takes no such path."""
    folder = tmp_path / os.fsdecode(b"nu\xff")
    run = stored(folder)
    assert store.read_tables(run / "tables", ("passes",))["passes"].equals(hard_case()["passes"])
    (folder / "0.tt").write_bytes(b"trace")
    store.compress(folder / "0.tt")
    assert {name: bytes(data) for name, data in segment_files(folder).items()} == {"0.tt": b"trace"}
    with pytest.raises(StoreError, match=r"none\.parquet|passes\.parquet: is missing"):
        store.read_tables(folder / "none", ("passes",))


def test_a_manifest_cannot_point_outside(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    document = json.loads((folder / "run.json").read_text())
    document["manifest"]["../../etc/passwd"] = {"size_bytes": 1, "sha256": ""}
    (folder / "run.json").write_text(json.dumps(document))
    with pytest.raises(StoreError, match="outside the folder"):
        store.verify_run(folder)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFailure, match="file"), store.part_folder(tmp_path / "file" / "runs"):
        pass


def test_what_does_not_reach_the_disk_is_not_placed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flush = store.flush

    def full(path: Path) -> None:
        if path.name == "7":
            raise OSError(28, "No space left on device")
        flush(path)

    monkeypatch.setattr(store, "flush", full)
    with pytest.raises(EnvironmentFailure, match="No space left"), store.whole_folder(tmp_path / "v1") as beside:
        for number in range(20):
            (beside / str(number)).write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_compressed_evidence_is_the_same_bytes(tmp_path: Path) -> None:
    from tracegen.readers.native.segments import segment_files

    data = bytes(range(256)) * 100
    (tmp_path / "x.tt").write_bytes(data)
    store.compress(tmp_path / "x.tt")
    assert segment_files(tmp_path)["x.tt"].tobytes() == data


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([dict(graph=0, source=0, target=1, slot="src0")] * 2, "occurs twice"),
        ([dict(graph=0, source=0, target=1, slot="dst")], "not one of"),
        ([dict(graph=0, source=0, target=1, slot="src0", colour="red")], "unknown column"),
        ([dict(graph=0, source=0, target=1)], "is missing"),
        ([dict(graph=0, source=None, target=1, slot="src0")], "source"),
        ([dict(graph=0, source="x", target=1, slot="src0")], "source"),
    ],
)
def test_a_table_refuses_what_breaks_its_contract(rows: list[dict[str, object]], says: str) -> None:
    with pytest.raises(TableError, match=says):
        frame("graph_edges", rows)


def test_a_full_disk_names_the_table(tmp_path: Path) -> None:
    (tmp_path / "passes.parquet").symlink_to("/dev/full")
    with pytest.raises(EnvironmentFailure, match=r"passes\.parquet: could not be written: .*No space left"):
        store.write_tables(tmp_path, hard_case(), "test")


def test_a_pipe_in_the_place_of_a_table_is_not_waited_for(tmp_path: Path) -> None:
    store.write_tables(tmp_path, {name: frame(name) for name in BY_NAME}, "reader 1")
    (tmp_path / "passes.parquet").unlink()
    os.mkfifo(tmp_path / "passes.parquet")
    with pytest.raises(StoreError, match=r"passes\.parquet: is not a regular file"):
        store.read_tables(tmp_path)
