"""Rates of operations: by hand, summed once more in plain loops, and how memory itself is measured."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import scaled_case
from tracegen.analysis import accesses, bandwidth, operations, timing
from tracegen.capture import memory_rate


def an_op(op: str, node: int, n_bytes: int | None, work: int, wait: int, **more: Any) -> dict[str, Any]:
    known = {"disk_bytes": n_bytes, "copied_bytes": 0, "buffer_bytes": 0, "barrier_ns": 0, "n_threads": 2, "layer": 1}
    times = {"work_ns": work, "wait_ns": wait, "duration_ns": work // 2}
    return {"pass_id": 1, "node": node, "phase": "generate", "op": op, **known, **times, **more}


def a_table(*ops: dict[str, Any], faults: dict[int, int] | None = None) -> pd.DataFrame:
    timed = pd.DataFrame(ops).astype(dict.fromkeys(("disk_bytes", "work_ns", "layer"), "Int64"))
    spans = pd.DataFrame({"pass_id": 1, "node": timed["node"], "fault_ns": timed["node"].map(faults or {})})
    used = pd.DataFrame({"pass_id": [1, 1], "node": [0, 0], "tensor": [5, 6], "begin": [0, 0], "end": [10, 90]})
    tensors = pd.DataFrame({"tensor": [5, 6], "dtype": ["F32", "Q8_0"]})
    return bandwidth.by_layer({"spans": spans, "tensors": tensors}, timed, used)


def test_each_bound_by_hand() -> None:
    """Memory gives 1 byte a ns; two threads work 1,000 ns each."""
    layers = a_table(
        an_op("MUL_MAT", 0, 500, 2000, 1000),
        an_op("ADD", 1, 499, 2000, 1000),
        an_op("ROPE", 2, 900, 2000, 2000),
        an_op("NORM", 3, 900, 2000, 0),
        an_op("UNKNOWN", 4, None, 2000, 0),
        faults={3: 1000},
    )
    assert layers["op"].tolist() == ["ADD", "MUL_MAT", "NORM", "ROPE"]
    table = bandwidth.summed(layers, ("op", "dtype"), 1e9).set_index("op")
    assert table["bound"].to_dict() == {"MUL_MAT": "memory", "ADD": "computing", "ROPE": "waiting", "NORM": "waiting"}
    assert table["bytes_per_second"].to_dict() == {"MUL_MAT": 5e8, "ADD": 4.99e8, "ROPE": 9e8, "NORM": 1.8e9}
    assert table.loc["MUL_MAT", "dtype"] == "Q8_0" and pd.isna(table.loc["ADD", "dtype"])
    slow = bandwidth.summed(layers, ("op",), 4e8).set_index("op")["bound"]
    assert pd.isna(slow["MUL_MAT"]) and pd.isna(slow["ADD"]) and slow["ROPE"] == slow["NORM"] == "waiting"
    unknown = bandwidth.summed(layers, ("op",), None).set_index("op")["bound"]
    assert unknown["ROPE"] == "waiting" and pd.isna(unknown["MUL_MAT"])


def test_sums_are_those_of_plain_loops() -> None:
    tables = scaled_case(5, 3, moe=True)
    timed = timing.timed_ops(tables, operations.op_rows(tables))
    layers = bandwidth.by_layer(tables, timed, accesses.ranges(tables))
    sums: dict[tuple[str, str], list[float]] = {}
    for row in timed.to_dict("records"):
        sizes = [row["disk_bytes"], row["copied_bytes"], row["buffer_bytes"]]
        if any(pd.isna(size) for size in sizes) or pd.isna(row["work_ns"]):
            continue
        of = sums.setdefault((row["phase"], row["op"]), [0, 0, 0.0, 0.0])
        of[0] += 1
        of[1] += sum(sizes)
        of[2] += row["work_ns"] / row["n_threads"]
        of[3] += (row["barrier_ns"] + row["wait_ns"]) / row["n_threads"]
    found = layers.groupby(["phase", "op"])[["n_ops", "touched_bytes", "working_ns", "waiting_ns"]].sum()
    assert sums == {key: pytest.approx(list(row)) for key, row in zip(found.index, found.to_numpy(), strict=True)}


def test_the_rate_of_memory_for_a_number_of_threads() -> None:
    measured = {"threads": [1, 2, 4], "bytes_per_second": [10, 18, 30]}
    assert [bandwidth.rate_of(measured, n) for n in (1, 2, 3, 4, 64)] == [10, 18, 18, 30, 30]
    assert bandwidth.rate_of(None, 2) is None


def test_memory_is_measured_once_and_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cache" / "rate.json"
    monkeypatch.setattr(memory_rate, "ARRAY_BYTES", 8 << 20)
    monkeypatch.setattr(memory_rate.measure, "__defaults__", (8 << 20,))
    monkeypatch.setattr(memory_rate, "UNDISTURBED", 0)  # tests run beside each other
    first = memory_rate.memory_rate(path)
    assert first is not None and first["threads"][0] == 1 and min(first["bytes_per_second"]) > 1e8
    assert json.loads(path.read_text())["rate"] == first
    monkeypatch.setattr(memory_rate, "measure", lambda: pytest.fail("measured again"))
    assert memory_rate.memory_rate(path) == first


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"rate": {"threads": [1], "bytes_per_second": []}}'])
def test_a_broken_or_foreign_memory_is_measured_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    path = tmp_path / "rate.json"
    path.write_text(text)
    new = {"threads": [1], "bytes_per_second": [7]}
    monkeypatch.setattr(memory_rate, "measure", lambda: new)
    assert memory_rate.memory_rate(path) == new
    path.write_text(path.read_text().replace('"schema": 2', '"schema": 1'))
    other = {"threads": [1], "bytes_per_second": [8]}
    monkeypatch.setattr(memory_rate, "measure", lambda: other)
    assert memory_rate.memory_rate(path) == other


def test_only_takes_count_in_which_each_thread_had_a_processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every third take is undisturbed, and none is as fast as those that are not."""
    takes = iter(range(10**6))
    monkeypatch.setattr(memory_rate, "_take", lambda *_: (0.5, 0.99) if next(takes) % 3 == 2 else (0.01, 0.5))
    measured = memory_rate.measure(8 << 20)
    assert measured is not None and set(measured["bytes_per_second"]) == {16 << 20}
    assert next(takes) == 3 * memory_rate.TAKES * len(measured["threads"])
    monkeypatch.setattr(memory_rate, "_take", lambda *_: (0.01, 0.5))
    assert memory_rate.memory_rate(tmp_path / "rate.json") is None and not list(tmp_path.iterdir())


def test_the_share_of_time_with_a_processor_is_that_of_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, own = iter([10.0, 14.0]), iter([1.0, 4.0])
    monkeypatch.setattr(memory_rate, "time", SimpleNamespace(perf_counter=clock.__next__, thread_time=own.__next__))
    assert memory_rate._read(np.arange(3)) == 0.75


def test_without_room_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory_rate, "available_bytes", lambda: 100 << 20)
    assert memory_rate.measure(64 << 20) is None
    assert memory_rate.memory_rate(tmp_path / "rate.json") is None and not list(tmp_path.iterdir())
    monkeypatch.setattr(memory_rate, "available_bytes", lambda: None)
    assert memory_rate.measure() is None


def test_the_kernel_s_estimate_of_free_memory(tmp_path: Path) -> None:
    path = tmp_path / "meminfo"
    path.write_text("MemTotal: 9 kB\nMemAvailable:   12 kB\n")
    assert memory_rate.available_bytes(path) == 12 * 1024
    path.write_text("MemTotal: 9 kB\n")
    assert memory_rate.available_bytes(path) is None and memory_rate.available_bytes(tmp_path / "none") is None
    assert np.isfinite(memory_rate.available_bytes() or 0)
