"""Rates of operations: by hand, summed once more in plain loops, and how memory itself is measured."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import scaled_case
from tracegen.analysis import accesses, bandwidth, operations, timing
from tracegen.contract.facts import Facts, MemoryRate
from tracegen.contract.model import Run
from tracegen.contract.records import decode
from tracegen.measure.capture import locked, memory_rate
from tracegen.report.document.amount import in_words
from tracegen.report.figures.bandwidth import BANDWIDTH, WITHHELD, longest
from tracegen.report.figures.context import Context


def an_op(op: str, node: int, n_bytes: int | None, work: int, wait: int, **more: Any) -> dict[str, Any]:
    known = {"disk_bytes": n_bytes, "copied_bytes": 0, "buffer_bytes": 0, "barrier_ns": 0, "n_threads": 2, "layer": 1}
    times = {"work_ns": work, "wait_ns": wait, "duration_ns": work // 2}
    return {"pass_id": 1, "node": node, "phase": "generate", "op": op, **known, **times, **more}


def a_table(*ops: dict[str, Any], faults: dict[int, int] | None = None) -> pd.DataFrame:
    timed = pd.DataFrame(ops).astype(dict.fromkeys(("disk_bytes", "work_ns", "layer"), "Int64"))
    spans = timed[["node", "work_ns"]].assign(pass_id=1, preempted_ns=None, fault_ns=timed["node"].map(faults or {}))
    used = pd.DataFrame({"pass_id": [1, 1], "node": [0, 0], "tensor": [5, 6], "begin": [0, 0], "end": [10, 90]})
    tensors = pd.DataFrame({"tensor": [5, 6], "dtype": ["F32", "Q8_0"]})
    return bandwidth.by_layer({"spans": spans, "tensors": tensors}, timed, used)


def bounds(layers: pd.DataFrame, **machine: Any) -> dict[str, str | None]:
    known = {"memory_rate": 1e9, "cache_bytes": 100, "n_passes": 1, "pass_bytes": 5000.0} | machine
    table = bandwidth.summed(layers, ("op",), bandwidth.Machine(**known))
    return {op: of if isinstance(of, str) else None for op, of in zip(table["op"], table["bound"], strict=True)}


def test_each_bound_by_hand() -> None:
    """Memory gives 1 byte a ns, the caches hold 100 bytes; two threads work 1,000 ns each."""
    layers = a_table(
        an_op("MUL_MAT", 0, 800, 2000, 1000),
        an_op("LESS", 1, 799, 2000, 1000),
        an_op("ADD", 2, 0, 2000, 0, buffer_bytes=900),
        an_op("ROPE", 3, 900, 2000, 2000),
        an_op("NORM", 4, 900, 2000, 0),
        an_op("SCALE", 5, 1500, 2000, 0),
        an_op("UNKNOWN", 6, None, 2000, 0),
        faults={4: 1000},
    )
    assert layers["op"].tolist() == ["ADD", "LESS", "MUL_MAT", "NORM", "ROPE", "SCALE"]
    table = bandwidth.summed(layers, ("op", "dtype"), bandwidth.Machine(1e9, 100, 1, 5000.0)).set_index("op")
    assert table["bytes_per_second"].to_dict() == {
        "MUL_MAT": 8e8,
        "LESS": 7.99e8,
        "ADD": 9e8,
        "ROPE": 9e8,
        "NORM": 1.8e9,
        "SCALE": 1.5e9,
    }
    assert table.loc["MUL_MAT", "dtype"] == "Q8_0" and pd.isna(table.loc["ADD", "dtype"])
    waiting = {"ROPE": "waiting", "NORM": "waiting"}
    assert bounds(layers) == {"MUL_MAT": "memory", "LESS": None, "ADD": None, "SCALE": "caches", **waiting}
    assert bounds(layers, n_passes=2)["MUL_MAT"] is None  # each pass may have had 100 bytes of it in the caches


def test_waiting_is_shown_only_where_no_part_of_a_delay_could_make_it() -> None:
    """However a delay is divided between work and waiting, at least half of the time is waiting; or none is shown."""
    layers = a_table(*(an_op(f"OP{n}", n, 900, 2000 - 100 * n, 100 * n) for n in range(20)))
    for delay in (0, 90, 400, 2000):
        for op, bound in bounds(layers, delayed_ns=float(delay)).items():
            wait = 50 * int(op[2:])
            work = 1000 - wait
            ways = [(work - min(k, work), wait - min(delay - k, wait)) for k in range(0, delay + 1, 10)]
            sure = all(left > 0 and left >= worked for worked, left in ways)
            assert (bound == "waiting") is sure and (bound is None) is (not sure and wait >= work), (op, delay)
    assert set(bounds(layers, delayed_ns=None).values()) == {None}


def test_never_above_memory_s_rate_is_it_memory() -> None:
    layers = a_table(*(an_op(f"OP{size}", size, size, 2000, 0) for size in range(100, 2000, 100)))
    found = bounds(layers, cache_bytes=0)
    assert all(bound == "caches" for op, bound in found.items() if int(op[2:]) > 1000)
    assert {op for op, bound in found.items() if bound == "memory"} == {"OP700", "OP800", "OP900", "OP1000"}
    assert "computing" not in bandwidth.summed(layers, ("op",), bandwidth.Machine(1e9, 0, 1, 1e9))["bound"].tolist()


def test_what_has_room_in_the_caches_is_bound_by_neither_memory_nor_caches() -> None:
    layers = a_table(an_op("MUL_MAT", 0, 900, 2000, 0), an_op("ADD", 1, 10, 2000, 0))
    for size in (5000, 4999):
        assert bounds(layers, cache_bytes=size) == {"MUL_MAT": None, "ADD": None}
    assert bounds(layers, cache_bytes=0)["MUL_MAT"] == "memory"


@pytest.mark.parametrize("unknown", ["memory_rate", "cache_bytes"])
def test_without_a_fact_of_the_machine_nothing_but_waiting_is_shown(unknown: str) -> None:
    layers = a_table(an_op("MUL_MAT", 0, 900, 2000, 0), an_op("ROPE", 1, 1900, 2000, 2000))
    assert bounds(layers, **{unknown: None}) == {"MUL_MAT": None, "ROPE": "waiting"}


def test_the_most_that_a_pass_touches() -> None:
    ops = [an_op("A", 0, 5, 1, 0), an_op("B", 1, 7, 1, 0), an_op("A", 0, 9, 1, 0, pass_id=2, buffer_bytes=4)]
    timed = pd.DataFrame([*ops, an_op("A", 0, 99, 1, 0, pass_id=3, phase="prompt")])
    assert bandwidth.pass_bytes(timed, "generate") == 13
    assert bandwidth.pass_bytes(timed.assign(buffer_bytes=pd.array([0, None, 4, 0], dtype="Int64")), "generate") is None
    assert bandwidth.pass_bytes(timed.head(0), "generate") is None


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
    measured = MemoryRate((1, 2, 4), (10, 18, 30))
    assert [bandwidth.rate_of(measured, n) for n in (1, 2, 3, 4, 64)] == [10, 18, 18, 30, 30]
    assert bandwidth.rate_of(None, 2) is None


def test_memory_is_measured_once_and_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cache" / "rate.json"
    monkeypatch.setattr(memory_rate, "ARRAY_BYTES", 8 << 20)
    monkeypatch.setattr(memory_rate, "last_level_cache_bytes", lambda: 1 << 20)
    monkeypatch.setattr(memory_rate, "UNDISTURBED", 0)  # tests run beside each other
    first = memory_rate.memory_rate(path)
    assert first is not None and first["threads"][0] == 1 and min(first["bytes_per_second"]) > 1e8
    assert json.loads(path.read_text())["result"] == first
    monkeypatch.setattr(memory_rate, "measure", lambda _: pytest.fail("measured again"))
    assert memory_rate.memory_rate(path) == first


def test_the_array_is_larger_than_the_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a smaller array gave is forgotten."""
    sizes: list[int] = []
    monkeypatch.setattr(
        memory_rate, "measure", lambda size: sizes.append(size) or {"threads": [1], "bytes_per_second": [9]}
    )
    for caches in (None, 96 << 20, 1 << 30, 1 << 30):
        monkeypatch.setattr(memory_rate, "last_level_cache_bytes", lambda caches=caches: caches)
        memory_rate.memory_rate(tmp_path / "rate.json")
    assert sizes == [512 << 20, 4 << 30]


@pytest.mark.parametrize(
    "rate",
    [
        {},
        {"threads": [], "bytes_per_second": []},
        {"threads": [1], "bytes_per_second": []},
        {"threads": [1], "bytes_per_second": [-5]},
        {"threads": [1], "bytes_per_second": ["x"]},
    ],
)
def test_a_damaged_rate_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate: object) -> None:
    path, new = tmp_path / "rate.json", {"threads": [1], "bytes_per_second": [7]}
    monkeypatch.setattr(memory_rate, "measure", lambda _: new)
    memory_rate.memory_rate(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "result": rate}))
    assert memory_rate.memory_rate(path) == new


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
    monkeypatch.setattr(locked, "PROC", tmp_path)
    monkeypatch.setattr(memory_rate, "available_bytes", locked.available_bytes)
    assert memory_rate.measure() is None


@pytest.mark.parametrize(
    ("rate", "bound", "memory", "withheld", "said"),
    [
        (9e9, "memory", 1e10, False, "8.38 GiB/s touched, 90.0 % of memory bandwidth: bound by memory"),
        (11e9, "caches", 1e10, False, "110.0 % of memory bandwidth: served by caches"),
        (4e9, None, 1e10, False, "40.0 % of memory bandwidth"),
        (4e9, None, None, False, "/s touched"),
        (9e9, "memory", 1e10, True, "90.0 % of memory bandwidth: what bounds it is withheld"),
        (None, None, 1e10, False, "is MUL_MAT with Q8_0 weights"),
    ],
)
def test_the_answer_says_no_more_than_is_shown(
    rate: float | None, bound: str | None, memory: float | None, withheld: bool, said: str
) -> None:
    row = {"op": "MUL_MAT", "dtype": "Q8_0", "bytes_per_second": pd.NA if rate is None else rate, "bound": bound}
    row |= {"duration_ns": 6.0, "working_ns": 3.0, "waiting_ns": 1.0}
    text = in_words(longest(row, 8.0, memory, "generate", withheld=withheld))
    assert text.startswith("75.0 % of operation time in generate passes is MUL_MAT with Q8_0 weights")
    assert text.endswith(said)


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("waiting", "is waiting: bound by waiting"),
        (None, "is waiting, in part maybe for a processor"),
    ],
)
def test_the_answer_of_operations_that_mostly_wait_is_how_much(bound: str | None, said: str) -> None:
    row = {"op": "ADD", "dtype": None, "bytes_per_second": 4e9, "bound": bound}
    row |= {"duration_ns": 6.0, "working_ns": 1.0, "waiting_ns": 3.0}
    _, waited = longest(row, 8.0, 1e10, "generate", withheld=False)
    assert waited.text == f"75.0 % of its thread time {said}"
    assert "withheld" in in_words(longest(row, 8.0, 1e10, "generate", withheld=True))


@pytest.mark.parametrize(("delayed", "shown"), [(0, True), (7, True), (None, False)])
def test_without_a_record_of_delays_it_is_withheld_what_bounds(delayed: int | None, shown: bool) -> None:
    """All that a pass touches has room in a cache of a TiB. Five passes of two threads wait 7 ns each."""
    host = {"memory_rate": {"threads": [1], "bytes_per_second": [10**9]}, "last_level_cache_bytes": 1 << 40}
    tables = scaled_case(5, 3)
    passes = tables["passes"].assign(run_delay_ns=pd.array([delayed] * len(tables["passes"]), dtype="Int64"))
    tables = tables | {"passes": passes}
    rows = BANDWIDTH.content(Context(Run("sample", 1, "", (), decode(Facts, {"host": host})), tables))
    bound = {str(row[9].text) for row in rows.rows}
    assert (WITHHELD in bound) is not shown and ("caches" in bound) is shown
    assert ("withheld" in rows.caption) is not shown and "1.00 TiB" in rows.caption
    assert ("a thread waited 18 ns for a processor" in rows.caption) is bool(delayed), rows.caption
    unknown = BANDWIDTH.content(Context(Run("sample", 1, "", (), Facts()), tables))
    assert "is not known, so whether bytes came from memory is not" in unknown.caption


def test_bytes_of_a_kernel_are_those_of_all_operations_that_it_computes() -> None:
    tables = scaled_case(3, 2, moe=True)
    timed = timing.timed_ops(tables, operations.op_rows(tables)).set_index(["pass_id", "node"])
    kernel_of = {
        (row["pass_id"], row["node"]): row["node"] if pd.isna(row["fused_into"]) else int(row["fused_into"])
        for row in tables["ops"].to_dict("records")
    }
    sums: dict[tuple[int, int], int] = {}
    for row in accesses.accesses(tables).dropna(subset=["memory"]).to_dict("records"):
        kernel = (row["pass_id"], kernel_of[row["pass_id"], row["node"]])
        sums[kernel] = sums.get(kernel, 0) + row["touched_bytes"]
    fused = {(p, kernel) for (p, node), kernel in kernel_of.items() if node != kernel} & set(timed.index)
    assert fused
    for key, row in timed.iterrows():
        touched = row[["disk_bytes", "copied_bytes", "buffer_bytes"]].sum()
        assert touched == sums.get(key, 0), key
