"""Where the time of a pass goes, against sums over single spans, page faults and moments."""

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import a_run, scaled_case, with_faults, with_off_cpu, with_requests
from tracegen.analysis import attribution
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.measures import value
from tracegen.analysis.passes import measured
from tracegen.analysis.under_way import UnderWay
from tracegen.contract import tables as contract

Tables = dict[str, pd.DataFrame]
WAITS = ("computing_ns", "disk_ns", "behind_ns", "paging_ns", "processor_ns", "barrier_ns")
READ = dict(device="8:0", place=0, size_bytes=4096, file_bytes=0, kind="read")


def case(threads: int, seed: int = 0) -> Tables:
    return with_faults(scaled_case(3, 2, moe=True, threads=threads), seed=seed)


def read_share(fault: dict[Any, Any], requests: list[dict[Any, Any]], *, read_nothing: bool) -> float:
    """The share of a page fault's time in which a read was under way, counted by its pieces between all edges."""
    begin, end = fault["begin_ns"], fault["begin_ns"] + fault["duration_ns"]
    if read_nothing or begin == end:
        return 0.0
    if not requests:
        return 1.0
    times = [(r["issue_ns"], r["issue_ns"] + r["duration_ns"]) for r in requests]
    edges = sorted({begin, end, *(edge for pair in times for edge in pair if begin < edge < end)})
    pieces = [(a, b) for a, b in pairwise(edges) if any(first <= a < last for first, last in times)]
    return sum(b - a for a, b in pieces) / (end - begin)


def by_hand(tables: Tables) -> tuple[dict[int, dict[str, float]], dict[int, float]]:
    """The parts of each pass, and how long the disk was waited for because of each page fault, over all threads.

    Each op by itself: what each thread would have waited if no thread had had a page fault in it; who waits, waits
    behind the page faults of the thread that came last.
    """
    found: dict[int, dict[str, float]] = {}
    waited_for: dict[int, float] = defaultdict(float)
    spans = tables["spans"].to_dict("records")
    requests = tables["requests"].dropna(subset=["duration_ns"]).to_dict("records")
    for passed in measured(tables).to_dict("records"):
        of_pass = [s for s in spans if s["pass_id"] == passed["pass_id"]]
        threads = {s["thread"] for s in of_pass}
        sums = dict.fromkeys(attribution.PARTS, 0.0)
        nothing = bool(passed["read_bytes"] == 0) if pd.notna(passed["read_bytes"]) else False
        in_pass = tables["faults"][(tables["faults"]["pass_id"] == passed["pass_id"]).to_numpy(bool)].to_dict("records")
        share = {f["fault"]: read_share(f, requests, read_nothing=nothing) for f in in_pass}
        lost = tables["off_cpu"][(tables["off_cpu"]["pass_id"] == passed["pass_id"]).to_numpy(bool)]
        free = None
        for node in sorted({s["node"] for s in of_pass}):
            op: list[dict[Any, Any]] = [s for s in of_pass if s["node"] == node]
            faults = {s["thread"]: [f for f in in_pass if (f["node"], f["thread"]) == (node, s["thread"])] for s in op}
            ends = {s["thread"]: s["begin_ns"] + s["work_ns"] + s["barrier_ns"] for s in op}
            late = {s["thread"]: without_processor(lost, s["thread"], free, s["begin_ns"]) for s in op}
            lost_in = {s["thread"]: 0 if pd.isna(s["preempted_ns"]) else s["preempted_ns"] for s in op}
            own = {thread: late[thread] + lost_in[thread] for thread in late}
            without = {s["thread"]: ends[s["thread"]] - s["fault_ns"] - own[s["thread"]] for s in op}
            free = max(ends.values())
            last = max(ends, key=lambda thread: (ends[thread], -thread))
            for s in op:
                waited = max(ends.values()) - ends[s["thread"]]
                would_have = max(without.values()) - without[s["thread"]]
                behind = min(max(waited - would_have, 0), s["wait_ns"]) if len(op) > 1 else 0
                sums["computing_ns"] += s["work_ns"] - s["fault_ns"] - lost_in[s["thread"]]
                waits = s["wait_ns"] - behind - late[s["thread"]] if len(op) > 1 else 0
                sums["barrier_ns"] += s["barrier_ns"] + waits
                faulted = sum(f["duration_ns"] for f in faults[last])
                whole = faulted + own[last]
                sums["processor_ns"] += own[s["thread"]] + behind * (whole - faulted) / max(whole, 1)
                had = [("disk_ns", f, f["duration_ns"]) for f in faults[s["thread"]]]
                others = [("behind_ns", f, behind * f["duration_ns"] / max(whole, 1)) for f in faults[last]]
                for part, f, ns in (*had, *others):
                    read = share[f["fault"]] * ns
                    sums[part] += read
                    sums["paging_ns"] += ns - read
                    waited_for[f["fault"]] += read
        means = {part: value / len(threads) for part, value in sums.items()}
        means["outside_ns"] = passed["end_ns"] - passed["begin_ns"] - sum(means.values())
        found[passed["pass_id"]] = means
    return found, waited_for


def without_processor(lost: pd.DataFrame, thread: int, begin: int | None, end: int) -> int:
    """How long a thread had no processor between two moments; 0 where the first one is not known."""
    rows = lost[(lost["thread"] == thread).to_numpy(bool)].to_dict("records") if begin is not None else []
    return sum(max(min(r["begin_ns"] + r["duration_ns"], end) - max(r["begin_ns"], begin or 0), 0) for r in rows)


MORE = [set(), {"requests"}, {"preemptions"}, {"preemptions", "late"}, {"requests", "preemptions"}]


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_parts_of_a_pass_equal_sums_over_its_single_spans(threads: int, more: set[str]) -> None:
    tables = case(threads, seed=threads)
    tables = with_requests(tables) if "requests" in more else tables
    tables = with_off_cpu(tables) if "preemptions" in more else tables
    if "late" in more:  # each lasts until after the operation's end
        rows = tables["off_cpu"]
        tables = {**tables, "off_cpu": rows.assign(duration_ns=rows["duration_ns"] + 40)}
    expected, _ = by_hand(tables)
    found = attribution.by_pass(tables)
    assert list(found["pass_id"]) == list(expected)
    for row in found.to_dict("records"):
        assert {part: row[part] for part in attribution.PARTS} == pytest.approx(expected[row["pass_id"]], abs=1e-3)
        in_pass = tables["faults"][tables["faults"]["pass_id"] == row["pass_id"]]
        assert row["n_faults"] == len(in_pass) and row["waited_ns"] == in_pass["duration_ns"].sum()


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_of_a_pass_add_up_to_its_duration_times_its_threads(threads: int) -> None:
    tables = with_requests(case(threads, seed=7))
    rows, passes = attribution.attribution(tables), measured(tables).set_index("pass_id")
    for pass_id, of in rows.groupby("pass_id"):
        assert of["thread_ns"].sum() == pytest.approx(threads * int(passes.loc[pass_id, "duration_ns"]), abs=1e-3)
    assert set(rows["part"]) <= set(attribution.PARTS)
    assert (rows.loc[rows["part"] != "outside_ns", "thread_ns"] > 0).all()


def test_time_under_way_equals_a_count_of_moments() -> None:
    chosen = np.random.default_rng(3)
    for _ in range(60):
        n = int(chosen.integers(0, 6))
        begin = chosen.integers(0, 60, n)
        rows = [
            READ | dict(request=i, issue_ns=int(b), duration_ns=int(d))
            for i, (b, d) in enumerate(zip(begin, chosen.integers(0, 25, n), strict=True))
        ]
        tables = {"requests": contract.frame("requests", rows)}
        first = chosen.integers(0, 60, 8)
        last = first + chosen.integers(0, 30, 8)
        counted = [
            sum(any(r["issue_ns"] <= at < r["issue_ns"] + r["duration_ns"] for r in rows) for at in range(a, b))
            for a, b in zip(first, last, strict=True)
        ]
        assert UnderWay(tables).ns(first, last).tolist() == counted


def two_threads(faults: list[dict[str, Any]], requests: list[dict[str, Any]], read_bytes: int | None = 4096) -> Tables:
    """One pass of 1,000 ns and one op, in which thread 0 works for 900 ns and thread 1 for 100 ns; then both go on."""
    tables = scaled_case(1, 1, threads=2)
    kept = int(measured(tables)["pass_id"].iloc[-1])
    passes = tables["passes"][tables["passes"]["pass_id"] == kept].assign(begin_ns=0, end_ns=1_000)
    node = int(tables["ops"].loc[tables["ops"]["pass_id"] == kept, "node"].iloc[0])
    taken = {thread: sum(f["duration_ns"] for f in faults if f["thread"] == thread) for thread in (0, 1)}
    spans = [
        dict(pass_id=kept, node=node, thread=t, begin_ns=0, work_ns=w, barrier_ns=0, wait_ns=900 - w, fault_ns=taken[t])
        for t, w in ((0, 900), (1, 100))
    ]
    about = dict(pass_id=kept, node=node, file=0, kind="major")
    return tables | {
        "passes": passes.assign(read_bytes=pd.array([read_bytes], "Int64")),
        "spans": contract.frame("spans", spans),
        "faults": contract.frame("faults", [dict(fault=i) | about | f for i, f in enumerate(faults)]),
        "requests": contract.frame("requests", [dict(request=i) | READ | r for i, r in enumerate(requests)]),
        "barriers": contract.frame("barriers", []),
        "off_cpu": contract.frame("off_cpu", []),
    }


def parts_of(tables: Tables) -> dict[str, float]:
    (row,) = attribution.by_pass(tables).to_dict("records")
    return {part: row[part] * 2 for part in attribution.PARTS if row[part]}  # thread time


FAULT = dict(thread=0, offset=0, begin_ns=100, duration_ns=600)


def test_a_page_fault_is_split_by_whether_a_read_was_under_way_and_so_is_the_wait_behind_it() -> None:
    tables = two_threads([FAULT], [dict(issue_ns=200, duration_ns=150), dict(issue_ns=300, duration_ns=200)])
    # 300 of 600 ns with a read. Thread 1 waits 800 ns, of which 600 for the page fault; without it 200.
    assert parts_of(tables) == {
        "computing_ns": 300 + 100,
        "disk_ns": 300,
        "behind_ns": 300,
        "paging_ns": 300 + 300,
        "barrier_ns": 200,
        "outside_ns": 200,
    }


def test_waiting_behind_a_page_fault_counts_for_the_tensor_that_it_was_for() -> None:
    tables = two_threads([], [])
    first, second = (tables["tensors"].iloc[i] for i in (0, 1))
    faults = [
        FAULT | {"duration_ns": 200, "offset": int(first["offset"])},
        FAULT | {"begin_ns": 400, "duration_ns": 400, "offset": int(second["offset"])},
    ]
    tables = two_threads(faults, [dict(issue_ns=0, duration_ns=1_000)])
    rows = attribution.attribution(tables)
    behind = rows[rows["part"] == "behind_ns"].set_index("tensor")["thread_ns"]
    assert behind.to_dict() == {int(first["tensor"]): 200, int(second["tensor"]): 400}
    own = rows[rows["part"] == "disk_ns"].set_index("tensor")["thread_ns"]
    assert own.to_dict() == {int(first["tensor"]): 200, int(second["tensor"]): 400}


def test_a_pass_that_read_nothing_did_not_wait_for_the_disk() -> None:
    """Another program may read the device meanwhile."""
    of_others = [dict(issue_ns=0, duration_ns=1_000)]
    assert set(parts_of(two_threads([FAULT], of_others, 0))) == {
        "computing_ns",
        "paging_ns",
        "barrier_ns",
        "outside_ns",
    }


@pytest.mark.parametrize("read_bytes", [4096, None])
def test_page_faults_count_as_waiting_for_the_disk_where_requests_were_not_recorded(read_bytes: int | None) -> None:
    found = parts_of(two_threads([FAULT], [], read_bytes))
    assert found["disk_ns"] == found["behind_ns"] == 600 and "paging_ns" not in found


def test_what_another_backend_computes_is_a_part_of_passes_with_operations_and_without() -> None:
    """From the hand-over to the known end; a split that was only handed over stays outside operations."""
    tables = case(2, seed=5)
    expected, _ = by_hand(tables)
    passes = measured(tables)
    alone = int(passes["pass_id"].iloc[-1])
    times = {row.pass_id: (row.begin_ns, row.end_ns) for row in passes.itertuples()}
    took = {number: int(parts["outside_ns"] // 2) for number, parts in expected.items()}
    took[alone] = int(times[alone][1] - times[alone][0]) - 7
    proofs = ("synchronise", "blocking", "none")
    splits = [
        dict(pass_id=n, split=i, backend="GPU0", n_nodes=1, begin_ns=times[n][0] + i, end_ns=times[n][0] + i + ns)
        | dict(by_op=False, proof=proofs[i])
        for n, whole in took.items()
        for i, ns in enumerate((whole // 3, whole - whole // 3, whole))
    ]
    spans = tables["spans"][(tables["spans"]["pass_id"] != alone).to_numpy(bool)]
    faults = tables["faults"][(tables["faults"]["pass_id"] != alone).to_numpy(bool)]
    tables = {**tables, "splits": contract.frame("splits", splits), "spans": spans, "faults": faults}
    for row in attribution.by_pass(tables).to_dict("records"):
        n = row["pass_id"]
        assert row["elsewhere_ns"] == pytest.approx(took[n])
        outside = 7 if n == alone else expected[n]["outside_ns"] - took[n]
        assert row["outside_ns"] == pytest.approx(outside) and row["n_threads"] == (1 if n == alone else 2)
        if n != alone:
            assert {p: row[p] for p in WAITS} == pytest.approx({p: expected[n][p] for p in WAITS})


def test_a_run_without_recorded_page_faults_has_no_parts() -> None:
    tables = scaled_case(2, 2)
    assert attribution.by_pass(tables).empty and attribution.attribution(tables).empty
    number, begin = (int(measured(tables)[name].iloc[0]) for name in ("pass_id", "begin_ns"))
    split = dict(pass_id=number, split=0, backend="GPU0", n_nodes=1, begin_ns=begin, end_ns=begin + 1, by_op=False)
    spans = tables["spans"][(tables["spans"]["pass_id"] != number).to_numpy(bool)]
    tables |= {"splits": contract.frame("splits", [split | dict(proof="blocking")]), "spans": spans}
    assert attribution.by_pass(tables).empty


@pytest.mark.parametrize("read_bytes", [0, 4096])
def test_measures_of_waiting_are_means_over_tokens(read_bytes: int) -> None:
    tables = with_off_cpu(case(2, seed=5))
    read = pd.array([read_bytes] * len(tables["passes"]), "Int64")
    tables = {**tables, "passes": tables["passes"].assign(read_bytes=read)}
    of = Analyses(a_run(trace={"faults_recorded": True}), tables)
    kinds = dict(zip(tables["passes"]["pass_id"], tables["passes"]["kind"], strict=True))
    tokens = [parts for pass_id, parts in by_hand(tables)[0].items() if kinds[pass_id] == "generate"]
    sums = {"disk_wait": ("disk_ns", "behind_ns"), "processor_wait": ("processor_ns",), "paging": ("paging_ns",)}
    means = {key: sum(parts[name] for parts in tokens for name in names) / len(tokens) for key, names in sums.items()}
    assert {key: value(f"{key}_ns_per_token", of).value for key in sums} == pytest.approx(means)
    assert means["processor_wait"] > 0 < means["disk_wait" if read_bytes else "paging"]


def test_what_was_computed_has_the_type_of_its_weights() -> None:
    tables = case(2)
    nodes = {(n["graph"], n["node"]): n for n in tables["graph_nodes"].to_dict("records")}
    graph_of = dict(zip(tables["passes"]["pass_id"], tables["passes"]["graph"], strict=True))
    reads = {
        (e["graph"], e["target"]): e["source"] for e in tables["graph_edges"].to_dict("records") if e["slot"] == "src0"
    }
    types = {t["name"]: t["dtype"] for t in tables["tensors"].to_dict("records")}
    expected: dict[Any, float] = defaultdict(float)
    for span in tables["spans"].to_dict("records"):
        node = nodes[graph_of[span["pass_id"]], span["node"]]
        source = nodes.get((node["graph"], reads.get((node["graph"], node["node"]))), {})
        of_weight = node["op"] in attribution.WEIGHT_OPS and source.get("name") in types
        if span["pass_id"] in set(measured(tables)["pass_id"]):
            expected[source["dtype"] if of_weight else None] += span["work_ns"] - span["fault_ns"]
    rows = attribution.attribution(tables)
    rows = rows[rows["part"] == "computing_ns"]
    found = rows.groupby(rows["dtype"].fillna("none"))["thread_ns"].sum().to_dict()
    assert found == pytest.approx({key or "none": ns for key, ns in expected.items() if ns}) and len(found) > 1
    assert rows["thread_ns"].sum() == pytest.approx(sum(expected.values()))
