"""The timeline and experts pages as values: chunks equal tables, pages follow the run, empty states say why."""

import io
import json
import re
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import a_moe_run, a_run, scaled_case, with_facts, with_faults
from tests.recompute.published import handed_over
from tests.report.rendered import CASES, body, rendered, words
from tests.unpacking import unpacked
from tracegen.contract import tables as contract
from tracegen.publishing import privacy
from tracegen.report.document.amount import Amount
from tracegen.report.document.page import OUTLINE, Report, outline
from tracegen.report.figures.context import Context
from tracegen.report.figures.timeline import TIMELINE
from tracegen.report.figures.waiting import WAITING_KINDS
from tracegen.report.pages.explorers import span_chunks
from tracegen.report.pages.explorers.span_chunks import chosen
from tracegen.report.pages.timeline import others_of

CASE = scaled_case(4, 2, moe=True, threads=3)
WITH_FAULTS = with_facts(a_moe_run(), trace=dict(faults_recorded=True))


@pytest.fixture(scope="module")
def report() -> Report:
    return rendered(CASE, a_moe_run())


def called(report: Report, pattern: str, call: str) -> list[Any]:
    texts = [c.decode() for name, c in sorted(report.files.items()) if re.fullmatch(pattern, name)]
    assert all(call in text for text in texts)
    return [handed_over(text)[0] for text in texts]


def test_the_outline_follows_from_the_run_alone() -> None:
    every = [key for key, *_ in OUTLINE]
    assert [key for key, *_ in outline(a_moe_run())] == every
    for run in (a_run(), a_run(model={}), a_run(model=dict(n_experts=0))):
        assert [key for key, *_ in outline(run)] == [key for key in every if key != "experts"]
    assert [key for key, *_ in outline(a_run(more_models=[dict(n_experts=8)]))] == every
    # what a draft announces is what is drawn
    for run in (a_moe_run(), privacy.made_private(a_moe_run()), a_run(), WITH_FAULTS):
        assert outline(privacy.public_run(run)) == outline(run)


def test_chunks_hold_the_waiting_for_the_disk_where_it_was_recorded(report: Report) -> None:
    tables = with_faults(CASE)
    waited = {}
    for chunk in called(rendered(tables, WITH_FAULTS), r"data/spans/\d+\.js", "tracegenSpans"):
        for one in chunk:
            for lane in one["threads"]:
                pairs = zip(unpacked(lane["node"]), unpacked(lane["disk"]), strict=True)
                waited |= {(one["id"], lane["thread"], node): ns for node, ns in pairs}
    spans = tables["spans"]
    assert waited == dict(
        zip(zip(spans["pass_id"], spans["thread"], spans["node"], strict=True), spans["fault_ns"], strict=True)
    )
    assert sum(waited.values()) > 0
    without = called(report, r"data/spans/\d+\.js", "tracegenSpans")
    assert all("disk" not in lane for chunk in without for one in chunk for lane in one["threads"])


def test_splits_that_end_with_one_wait_are_one_bar() -> None:
    """Of a passive tracer; those of another device, and those that were only handed over, keep their own."""
    tables = scaled_case(1, 1)
    number, begin = (int(tables["passes"][name].iloc[-1]) for name in ("pass_id", "begin_ns"))
    rows = (("A", 0, 50, "synchronise"), ("A", 10, 50, "synchronise"), ("B", 5, 50, "synchronise"))
    rows = (*rows, ("A", 60, 70, "synchronise"), ("B", 40, 45, "none"))
    splits = [
        dict(
            pass_id=number, split=i, backend=name, n_nodes=1, begin_ns=begin + since, end_ns=begin + until, by_op=False
        )
        | dict(proof=proof)
        for i, (name, since, until, proof) in enumerate(rows)
    ]
    context = Context(a_run(), {**tables, "splits": contract.frame("splits", splits)})
    bars = [["A", 0, 50, 0], ["A", 60, 10, 0], ["B", 5, 45, 0], ["B", 40, 5, 1]]
    assert others_of(context) == {number: bars}


def test_chunks_hold_every_span_of_the_table(report: Report) -> None:
    begin = dict(zip(CASE["passes"]["pass_id"], CASE["passes"]["begin_ns"], strict=True))
    found = set()
    for chunk in called(report, r"data/spans/\d+\.js", "tracegenSpans"):
        for one in chunk:
            for lane in one["threads"]:
                assert all(gap is not None and gap >= 0 for gap in unpacked(lane["begin"]))
                begins = list(accumulate(gap or 0 for gap in unpacked(lane["begin"])))
                node, *times = (unpacked(lane[name]) for name in ("node", "work", "barrier", "wait"))
                columns = (node, begins, *times)
                found |= {(one["id"], lane["thread"], *row) for row in zip(*columns, strict=True)}
    assert found == {
        (
            s["pass_id"],
            s["thread"],
            s["node"],
            s["begin_ns"] - begin[s["pass_id"]],
            s["work_ns"],
            s["barrier_ns"],
            s["wait_ns"],
        )
        for s in CASE["spans"].to_dict("records")
    }
    nodes = {
        (g["graph"], n): name
        for g in called(report, r"data/spans/g\d+\.js", "tracegenNodes")
        for n, name in zip(g["node"], g["name"], strict=True)
    }
    table = CASE["graph_nodes"][CASE["graph_nodes"]["kind"] == "op"]
    assert nodes == dict(zip(zip(table["graph"], table["node"], strict=True), table["name"], strict=True))


def test_of_a_long_run_some_passes_are_carried_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = CASE["spans"].groupby("pass_id").size()
    monkeypatch.setattr(span_chunks, "MOST_SPANS", int(sizes.iloc[0]) * 4)
    report = rendered(CASE, a_moe_run())
    state = json.loads(re.search(r'id="tg-timeline">(.*?)</script>', body(report, "timeline"), re.S)[1])  # type: ignore[index]
    carried = [p["id"] for p in state["passes"] if p["chunk"] is not None]
    assert len(carried) == 4 and state["shown"] in carried
    assert f"4 of {len(sizes)} passes with times of threads" in words(body(report, "timeline"))


def test_chosen_passes_hold_the_ends_and_keep_the_limit() -> None:
    rng = np.random.default_rng(7)
    for _ in range(30):
        n = int(rng.integers(1, 400))
        passes = pd.DataFrame({"pass_id": range(10, 10 + n), "duration_ns": rng.integers(1, 10**6, n)})
        sizes = pd.Series(rng.integers(50, 150, n), index=passes["pass_id"])
        ordered = passes.sort_values(["duration_ns", "pass_id"])["pass_id"].tolist()
        typical = ordered[(n - 1) // 2]
        kept = chosen(passes, sizes, [typical], 3_000)
        assert kept == sorted(set(kept)) and sizes[kept].sum() <= 3_000
        if sizes.sum() <= 3_000:
            assert kept == list(sizes.index)
        else:
            assert {10, ordered[0], ordered[-1], typical} <= set(kept) and len(kept) >= 15
            assert max(np.diff(kept)) < 4 * n / len(kept) + 2


def test_one_pass_larger_than_the_limit_is_carried_alone() -> None:
    passes = pd.DataFrame({"pass_id": [1, 2], "duration_ns": [5, 6]})
    assert chosen(passes, pd.Series([900, 900], index=[1, 2]), [2], 100) == [2]


def test_the_answer_of_waiting_is_a_share_of_thread_time_and_the_kind_with_most_of_it() -> None:
    passes = CASE["passes"][CASE["passes"]["kind"].isin(["prompt", "generate"])].set_index("pass_id")
    spans = CASE["spans"][CASE["spans"]["pass_id"].isin(passes.index)]
    spans = spans.merge(CASE["graph_nodes"][["node", "op", "component"]].drop_duplicates(), on="node")
    waited = spans.assign(ns=spans["barrier_ns"] + spans["wait_ns"]).groupby(["op", "component"], observed=True)["ns"]
    share, most = waiting_answer(CASE)
    assert share.value == pytest.approx(waited.sum().sum() / (passes["end_ns"] - passes["begin_ns"]).sum() / 3)
    assert most.value == waited.sum().max() / waited.sum().sum()
    assert most.words == "of that at {} ({})".format(*waited.sum().idxmax())


def test_threads_that_never_wait_and_a_thread_alone() -> None:
    still = CASE["spans"].assign(barrier_ns=0, wait_ns=0)
    assert [amount.number for amount in waiting_answer(CASE | {"spans": still})] == ["0 %"]
    assert waiting_answer(scaled_case(2, 1, threads=1)) == ()


def waiting_answer(tables: dict[str, pd.DataFrame]) -> tuple[Amount, ...]:
    return WAITING_KINDS.content(Context(a_moe_run(), tables)).answer


@pytest.mark.parametrize(("threads", "after"), [(3, "barrier wait"), (1, "between operations")])
def test_the_answer_of_the_timeline_is_what_its_threads_did(threads: int, after: str) -> None:
    tables = scaled_case(4, 2, threads=threads)
    content = TIMELINE.content(Context(a_run(), tables))
    number = content.numbers["pass_id"]
    spans, one = tables["spans"].query(f"pass_id == {number}"), tables["passes"].set_index("pass_id").loc[number]
    times = [spans[name].sum() for name in ("work_ns", "barrier_ns", "wait_ns")]
    whole = float(one["end_ns"] - one["begin_ns"]) * threads
    assert [amount.value for amount in content.answer] == [ns / whole for ns in times]
    assert content.answer[2].words == after and content.title == "What do the threads do during token 4?"


def test_the_tables_of_waiting_hold_what_their_csv_holds(report: Report) -> None:
    whole = pd.read_csv(io.BytesIO(report.files["data/waiting-nodes.csv"]))
    shown = re.findall(
        r"<tr>", body(report, "appendix").partition('id="tab-waiting-nodes"')[2].partition("</table>")[0]
    )
    assert len(shown) == 15 + 1 and len(whole) > 15
    first = whole.iloc[0]
    assert f'href="../operations/index.html#pass={first["pass_id"]}&amp;node={first["at_node"]}"' in body(
        report, "appendix"
    )


@pytest.mark.parametrize(
    ("name", "said"), [("no spans", "The trace holds no times of threads"), ("only a load", "No pass was measured")]
)
def test_a_timeline_of_nothing_says_why(name: str, said: str) -> None:
    report = rendered(CASES[name])
    assert said in words(body(report, "appendix"))
    assert words(body(report, "timeline")).count(said) == 2 and 'data-tg="timeline"' not in body(report, "timeline")


def test_one_operation_on_one_thread_is_a_timeline() -> None:
    spans = CASE["spans"]
    last = spans[spans["pass_id"] == spans["pass_id"].max()].head(1)
    report = rendered(CASE | {"spans": last.reset_index(drop=True)}, a_moe_run())
    assert "timeline" in {f.key for f in report.figures} and "1 thread, " in words(body(report, "timeline"))
    assert "1 pass with 1 span," in words(body(report, "timeline"))


def test_experts_are_carried_layer_by_layer(report: Report) -> None:
    routing = CASE["routing"].merge(CASE["passes"][["pass_id", "kind"]], on="pass_id")
    routing = routing[routing["kind"] == "generate"]
    for data in called(report, r"data/experts/\d+\.js", "tracegenExperts"):
        rows = routing[routing["layer"] == data["layer"]].sort_values(["pass_id", "row", "rank"])
        assert data["pass"] == sorted(set(rows["pass_id"]))
        assert [e for one in data["experts"] for e in one] == list(rows["expert"])
