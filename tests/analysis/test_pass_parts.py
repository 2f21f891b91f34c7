"""The parts of a pass, against a walk over its nanoseconds; and that they are the whole of it."""

from collections import Counter
from typing import cast

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tracegen.analysis import backends, timing
from tracegen.analysis.pass_parts import PARTS, pass_parts
from tracegen.contract.tables import empty, frame


def run_of(
    begin: int,
    end: int,
    ops: list[tuple[int, int, int]],
    others: list[tuple[int, int, int]],
    backend: str = "BLAS",
    proof: str | None = None,
) -> dict[str, pd.DataFrame]:
    """One pass; `ops` of the CPU and splits of another backend as (split, begin, end)."""
    tables = empty()
    tables["passes"] = frame("passes", [dict(pass_id=0, kind="generate", graph=0, begin_ns=begin, end_ns=end)])
    rows = [
        dict(pass_id=0, node=i, state="executed", split=split, begin_ns=b, end_ns=e, time_basis="measured")
        for i, (split, b, e) in enumerate(ops)
    ]
    tables["ops"] = frame("ops", rows)
    tables["splits"] = frame(
        "splits",
        [
            dict(pass_id=0, split=s, backend=backend, n_nodes=1, begin_ns=b, end_ns=e, by_op=False, proof=proof)
            for s, b, e in others
        ],
    )
    return tables


Item = tuple[int, int, int, str]  # begin, end, split, part of the pass


@st.composite
def timelines(draw: st.DrawFn) -> tuple[int, int, list[Item], list[dict[str, object]]]:
    """Things that follow one another in a pass of some 100 ns, and the splits of other backends among them.

    A backend computes before it returns, or it takes a split, and llama.cpp waits later for all that it has not done.
    """
    at = begin = draw(st.integers(0, 10))
    items: list[Item] = []
    splits: list[dict[str, object]] = []
    split = 0
    for _ in range(draw(st.integers(1, 10))):
        at += draw(st.integers(0, 5))
        length = draw(st.integers(1, 9))
        kind = draw(st.sampled_from(("op", "copy", "blocking", "taken", "wait")))
        opened = [s for s in splits if s["proof"] == "none"]
        if kind == "wait" and not opened:
            continue
        split += 1 if kind in ("blocking", "taken") or draw(st.booleans()) else 0
        times = dict(begin_ns=at, submitted_ns=at + length, end_ns=at + length)
        if kind == "blocking":
            splits.append(dict(split=split, proof="blocking", waiting_ns=at) | times)
        elif kind == "taken":
            splits.append(dict(split=split, proof="none", waiting_ns=None) | times)
        elif kind == "wait":
            for s in opened:
                s |= dict(proof="synchronise", waiting_ns=at, end_ns=at + length)
        of = cast(int, opened[0]["split"]) if kind == "wait" else split
        part = dict(op="ops_ns", copy="copying_ns", taken="submitted_ns").get(kind, "awaited_ns")
        items.append((at, at + length, of, part))
        split += kind in ("blocking", "taken")
        at += length
    return begin, at + draw(st.integers(0, 7)), items, splits


def played(begin: int, end: int, items: list[Item], splits: list[dict[str, object]]) -> dict[str, pd.DataFrame]:
    """The tables of such a pass."""
    tables = run_of(begin, end, [(s, b, e) for b, e, s, part in items if part == "ops_ns"], [])
    others = dict(pass_id=0, backend="GPU0", n_nodes=1, by_op=False)
    tables["splits"] = frame("splits", [others | split for split in splits])
    copies = [(b, e, s) for b, e, s, part in items if part == "copying_ns"]
    of = dict(pass_id=0, tensor="x", source="CPU", target="GPU0", size_bytes=1)
    rows = [of | dict(copy=i, split=s, begin_ns=b, end_ns=e) for i, (b, e, s) in enumerate(copies)]
    tables["copies"] = frame("copies", rows)
    return tables


@settings(max_examples=80)
@given(timelines())
def test_parts_are_what_a_walk_over_the_nanoseconds_counts(
    given: tuple[int, int, list[Item], list[dict[str, object]]],
) -> None:
    begin, end, items, _ = given
    assume(items)
    counted: Counter[str] = Counter()
    for ns in range(begin, end):
        inside = next((part for b, e, _, part in items if b <= ns < e), None)
        earlier = [item for item in items if item[1] <= ns]
        later = [item for item in items if item[0] > ns]
        if inside:
            counted[inside] += 1
        elif not earlier:
            counted["before_ns"] += 1
        elif not later:
            counted["after_ns"] += 1
        else:
            counted["between_ns" if earlier[-1][2] == later[0][2] else "between_splits_ns"] += 1
    parts = pass_parts(played(*given)).iloc[0]
    assert {part: parts[part] for part in PARTS if parts[part]} == dict(counted)
    assert parts[list(PARTS)].sum() == parts["duration_ns"] == end - begin and parts["apart_ns"] == 0


@settings(max_examples=60)
@given(timelines())
def test_a_device_is_busy_at_least_while_it_is_waited_for_and_at_most_since_it_was_handed_work(
    given: tuple[int, int, list[Item], list[dict[str, object]]],
) -> None:
    begin, end, _, splits = given
    done, tables = [s for s in splits if s["proof"] != "none"], played(*given)
    busy = backends.busy_ns(tables["splits"], tables["device_ops"])
    for name, since in (("least", "waiting_ns"), ("most", "begin_ns")):
        spans = [(cast(int, s[since]), cast(int, s["end_ns"])) for s in done]
        assert busy[name].sum() == sum(any(b <= ns < e for b, e in spans) for ns in range(begin, end))


def test_a_wait_within_a_copy_is_no_copying() -> None:
    """As where llama.cpp synchronises a device before it copies to it."""
    splits: list[dict[str, object]] = [
        dict(split=i, begin_ns=b, submitted_ns=b + 5, waiting_ns=30, end_ns=50, proof="synchronise")
        for i, b in enumerate((0, 10))
    ]
    items = [(0, 5, 0, "submitted_ns"), (10, 15, 1, "submitted_ns"), (20, 70, 1, "copying_ns"), (80, 90, 2, "ops_ns")]
    parts = pass_parts(played(0, 90, items, splits)).iloc[0]
    names = ("submitted_ns", "awaited_ns", "copying_ns", "ops_ns", "apart_ns")
    assert [parts[name] for name in names] == [10, 20, 30, 10, 0]


@pytest.mark.parametrize(
    "backend, proof",
    [
        ("RPC0", None),
        ("CUDA0", None),
        ("Vulkan0", None),
        ("", None),
        ("blas", None),
        ("RPC0", "none"),
        ("BLAS", "none"),
    ],
)
def test_a_backend_that_may_compute_later_has_no_time_of_computing(backend: str, proof: str | None) -> None:
    """The whole stays that of the pass."""
    ops, others = [(0, 10, 30), (2, 90, 100)], [(1, 40, 45)]
    known = pass_parts(run_of(0, 100, ops, others)).iloc[0]
    parts = pass_parts(run_of(0, 100, ops, others, backend, proof)).iloc[0]
    assert (known["awaited_ns"], known["submitted_ns"]) == (5, 0)
    assert (parts["awaited_ns"], parts["submitted_ns"]) == (0, 5)
    assert parts[list(PARTS)].sum() == 100 and parts["ops_ns"] == 30
    rest = timing.outside(run_of(0, 100, ops, others, backend, proof)).set_index("part")["duration_ns"]
    assert rest["handing over to other backends"] == 5 and "waiting for other backends" not in rest


@pytest.mark.parametrize("proof", ["synchronise", "blocking"])
def test_a_backend_that_was_waited_for_has_a_time_of_computing_whatever_its_name(proof: str) -> None:
    parts = pass_parts(run_of(0, 100, [(0, 10, 30)], [(1, 40, 45)], "Vulkan0", proof)).iloc[0]
    assert (parts["awaited_ns"], parts["submitted_ns"]) == (5, 0)


def test_the_proof_decides_and_the_name_only_where_there_is_none() -> None:
    rows = [
        dict(backend=backend, by_op=by_op, proof=proof)
        for backend in ("CPU", "Vulkan0")
        for by_op in (False, True)
        for proof in (None, "none", "synchronise", "blocking")
    ]
    others = dict(pass_id=0, n_nodes=1, begin_ns=0, end_ns=1)
    splits = frame("splits", [others | row | {"split": i} for i, row in enumerate(rows)])
    handed = splits[backends.submitted(splits)].astype(object)
    assert handed["backend"].tolist() == ["CPU", "Vulkan0", "Vulkan0"]
    assert handed["proof"].fillna("").tolist() == ["none", "", "none"]


@pytest.mark.parametrize(
    ("ops", "apart"),
    [
        ([(0, 10, 30), (0, 25, 40)], 5),  # overlap
        ([(0, 5, 30), (0, 30, 40)], 5),  # before the pass begins
        ([(0, 10, 30), (0, 30, 103)], 3),  # after it has ended
        ([(0, 4, 30), (0, 28, 40), (0, 37, 101)], 6 + 2 + 3 + 1),
    ],
)
def test_what_does_not_follow_one_another_is_counted_apart(ops: list[tuple[int, int, int]], apart: int) -> None:
    parts = pass_parts(run_of(10, 100, ops, []))
    assert parts["apart_ns"].tolist() == [apart]
    assert parts["longest_apart_ns"].tolist() == [6 if len(ops) == 3 else apart]


def test_passes_without_an_end_or_timed_operations_have_no_parts() -> None:
    tables = run_of(0, 100, [(0, 10, 20)], [])
    open_pass = {**tables, "passes": tables["passes"].assign(end_ns=pd.array([None], dtype="Int64"))}
    assert pass_parts(open_pass).empty and pass_parts({**tables, "ops": tables["ops"][:0]}).empty


@pytest.mark.parametrize(
    "backend, proof, submitted, least",
    [
        ("BLAS", None, None, 30),
        ("BLAS", "blocking", None, 30),
        ("GPU0", "synchronise", 15, 25),
        ("GPU0", "synchronise", None, 0),
        ("RPC0", "reply", 15, 0),
    ],
)
def test_runs_of_before_waiting_was_recorded_keep_what_they_know(
    backend: str, proof: str | None, submitted: int | None, least: int
) -> None:
    tables = run_of(0, 100, [], [(0, 10, 40)], backend, proof)
    splits = tables["splits"].assign(submitted_ns=pd.array([submitted], "Int64"))
    busy = backends.busy_ns(splits, tables["device_ops"]).iloc[0]
    assert (busy["least"], busy["most"]) == (least, 30)
    taken = 0 if least in (0, 30) else 30 - least
    rows = backends.on_program(splits).groupby("waiting")
    spans = {waits: int((of["end_ns"] - of["begin_ns"]).sum()) for waits, of in rows}
    assert sum(spans.values()) == 30 and spans.get(False, 0) in (taken, 5 if proof == "reply" else taken)
