"""Every check can fail: each test breaks one thing in the hard case and names the check that sees it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tests.golden.hard_case import hard_case
from tracegen.model import verdict_of
from tracegen.verdict import Evidence, checks_of, overhead_share

TRACE: dict[str, Any] = {
    "dropped": 0, "dropped_why": None, "skipped_passes": 0,
    "ended": True, "unsealed_chunks": 0, "open_computes": 0, "not_monotone": 0, "zero_records": 0,
    "clock_uneven_ns": 0,
    "n_ops_short_of_threads": 0, "run_id": "00ff", "n_segments": 3, "n_misnamed": 0,
    "n_copies": 3, "event_cost_ns": 50.0, "clock_read_ns": 20.0, "pass_cost_ns": 100.0,
    "pass_cost_most_ns": 9000.0,
}  # fmt: skip


def evidence(**changes: Any) -> Evidence:
    """The hard case as a run that passes: 5 prompt tokens, no generate pass, no warm-up."""
    made = Evidence(
        tables=hard_case(),
        trace=TRACE,
        timings={"prompt_tokens": 5, "eval_runs": 1},
        n_layers=1,
        n_experts=4,
        data_begin=(512, 256),
        tokens_asked=1,
        warmup=False,
    )
    return replace(made, **changes)


def state_of(given: Evidence, key: str) -> str:
    (check,) = [check for check in checks_of(given) if check.key == key]
    assert check.found and check.limit, f"{key}: a check states its figure and its limit"
    return check.state


def with_table(name: str, change: Any) -> Evidence:
    tables = hard_case()
    tables[name] = change(tables[name])
    return evidence(tables=tables)


def test_the_hard_case_passes_what_it_can() -> None:
    found = {check.key: check.state for check in checks_of(evidence())}
    # It has no norm, and its ops are so short that tracing them costs more than a hundredth.
    assert found.pop("op_mix") == "failed"
    assert found.pop("tracing_cost") == "warning"
    assert found.pop("interference") in ("passed", "warning")
    assert set(found.values()) == {"passed"}, found


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("dropped_events", {"dropped": 1}),
        ("trace_complete", {"ended": False}),
        ("trace_complete", {"open_computes": 1}),
        ("monotone_time", {"not_monotone": 1}),
        ("even_clock", {"clock_uneven_ns": 3 * 10**9}),
        ("zero_records", {"zero_records": 2}),
        ("threads_accounted", {"n_ops_short_of_threads": 1}),
        ("one_run_id", {"run_id": ""}),
        ("one_run_id", {"n_misnamed": 1}),
    ],
)
def test_what_the_trace_says_of_itself(key: str, changes: dict[str, Any]) -> None:
    assert state_of(evidence(trace={**TRACE, **changes}), key) == "failed"


def test_unsealed_chunks_are_a_warning_of_checksums_and_an_early_end() -> None:
    cut = evidence(trace={**TRACE, "unsealed_chunks": 1})
    assert state_of(cut, "checksums") == "warning"
    assert state_of(cut, "trace_complete") == "failed"


def test_a_program_that_failed_is_not_complete() -> None:
    assert state_of(evidence(exit_status=-9), "trace_complete") == "failed"
    assert state_of(evidence(exit_status=1), "trace_complete") == "warning"
    assert state_of(evidence(exit_status=130, stopped=True), "trace_complete") == "passed"


def test_a_node_without_a_state_is_unaccounted() -> None:
    def forget(ops: pd.DataFrame) -> pd.DataFrame:
        ops.loc[0, "state"] = None
        return ops

    assert state_of(with_table("ops", forget), "nodes_accounted") == "failed"


@pytest.mark.parametrize(
    ("key", "timings"),
    [("tokens_agree", {"prompt_tokens": 6, "eval_runs": 1}), ("passes_agree", {"prompt_tokens": 5, "eval_runs": 4})],
)
def test_llama_cpps_own_counters(key: str, timings: dict[str, Any]) -> None:
    assert state_of(evidence(timings=timings), key) == "failed"
    assert state_of(evidence(timings={}), key) == "not checked"


def test_a_prompt_of_one_token_is_a_run_to_llama_cpp() -> None:
    tables = hard_case()
    prompt = tables["passes"]["kind"] == "prompt"
    tables["passes"].loc[prompt, "n_tokens"] = [0] * (int(prompt.sum()) - 1) + [1]
    for runs, state in ((1, "passed"), (2, "failed")):
        assert state_of(evidence(tables=tables, timings={"eval_runs": runs}), "passes_agree") == state


def test_a_pass_of_no_known_kind() -> None:
    def forget(passes: pd.DataFrame) -> pd.DataFrame:
        return passes.assign(kind=passes["kind"].where(passes.index != passes.index[-1]))

    assert state_of(with_table("passes", forget), "pass_kinds") == "warning"


def test_fewer_tokens_than_asked_for() -> None:
    assert state_of(evidence(tokens_asked=2), "tokens_asked") == "warning"
    assert state_of(evidence(tokens_asked=None), "tokens_asked") == "not checked"


def test_layers_and_experts_of_the_metadata() -> None:
    assert state_of(evidence(n_layers=2), "layers_agree") == "failed"
    assert state_of(evidence(n_layers=None), "layers_agree") == "not checked"
    for n_layers, n_layers_ahead, state in ((2, 1, "passed"), (1, 1, "passed"), (3, 1, "failed")):
        assert state_of(evidence(n_layers=n_layers, n_layers_ahead=n_layers_ahead), "layers_agree") == state
    assert "MUL_MAT_ID in a model without experts" in next(
        c.found for c in checks_of(evidence(n_experts=None)) if c.key == "op_mix"
    )


def test_a_first_op_from_the_wrong_enum_table() -> None:
    def rename(nodes: pd.DataFrame) -> pd.DataFrame:
        nodes["op"] = nodes["op"].astype(object).replace("GET_ROWS", "ARGMAX").astype("category")
        return nodes

    assert state_of(with_table("graph_nodes", rename), "first_op") == "failed"


def test_an_offset_beyond_its_tensor() -> None:
    def shift(place: pd.DataFrame) -> pd.DataFrame:
        place.loc[place["tensor"] == 0, "origin_offset"] += 8
        return place

    assert state_of(with_table("placements", shift), "offsets_in_tensors") == "failed"


@pytest.mark.parametrize("size", [1288, 40000])
def test_tensors_that_overlap_or_leave_a_hole(size: int) -> None:
    def inflate(tensors: pd.DataFrame) -> pd.DataFrame:
        tensors.loc[0, "size_bytes"] = size
        return tensors

    assert state_of(with_table("tensors", inflate), "tensors_tile_file") == "failed"
    assert state_of(evidence(data_begin=()), "tensors_tile_file") == "not checked"


def test_untouched_tensors_are_listed() -> None:
    def skip(ops: pd.DataFrame) -> pd.DataFrame:
        ops.loc[ops["node"] == 4, "state"] = "off"
        return ops

    (check,) = [c for c in checks_of(with_table("ops", skip)) if c.key == "never_touched"]
    assert check.state == "passed" and check.found.startswith("1 of 3") and "ffn_gate_exps" in check.detail


def test_an_op_that_ran_and_whose_experts_nobody_saw_is_a_gap() -> None:
    def forget(touches: pd.DataFrame) -> pd.DataFrame:
        return touches[touches["node"] != 4].reset_index(drop=True)

    (check,) = [c for c in checks_of(with_table("touches", forget)) if c.key == "never_touched"]
    assert check.state == "warning" and "ffn_gate_exps" in check.detail
    assert check.found == "0 of 3 tensors, 0 B; 1 more read, nobody saw what of them"


def test_a_buffer_that_was_never_freed() -> None:
    assert state_of(with_table("buffers", lambda b: b[:-1]), "buffers_balance") == "warning"


def test_buffers_of_a_program_that_we_ended() -> None:
    """Its trace was closed while it held some; one that frees what it never had is wrong all the same."""
    held = replace(with_table("buffers", lambda b: b[:-1]), stopped=True)
    assert state_of(held, "buffers_balance") == "not checked"
    freed = replace(with_table("buffers", lambda b: pd.concat([b, b[b["event"] == "free"]])), stopped=True)
    assert state_of(freed, "buffers_balance") == "warning"


def test_how_many_tokens_passes_of_several_sequences_gave_is_not_known() -> None:
    def several(passes: pd.DataFrame) -> pd.DataFrame:
        return passes.assign(kind=passes["kind"].astype(object).replace("prompt", "mixed"))

    made = replace(with_table("passes", several), tokens_asked=None)
    (check,) = [check for check in checks_of(made) if check.key == "tokens_asked"]
    assert (check.state, check.found) == ("not checked", "not known")
    (check,) = [check for check in checks_of(evidence(tokens_asked=None)) if check.key == "tokens_asked"]
    assert (check.state, check.found) == ("not checked", "1")


def test_graphs_of_ggml_without_llama_cpp_are_of_no_known_kind_and_that_is_no_fault() -> None:
    """Where a model or a context is known, passes without a kind are a warning as ever."""
    tables = dict(hard_case())
    tables["passes"] = tables["passes"].iloc[1:].assign(kind=None)
    known = evidence(tables=tables, warmup=None)
    assert (state_of(known, "pass_kinds"), state_of(known, "op_mix")) == ("warning", "failed")  # it has no norm
    tables |= {name: tables[name][:0] for name in ("contexts", "files", "tensors")}
    alone = evidence(tables=tables, warmup=None, tokens_asked=None, data_begin=())
    keys = ("pass_kinds", "op_mix", "tokens_asked")
    assert {state_of(alone, key) for key in keys} == {"not checked"}


def test_warm_up_that_was_recorded_as_a_prompt() -> None:
    assert state_of(evidence(warmup=True), "pass_kinds") == "failed"


def test_cost_is_events_times_cost_over_the_threads_time() -> None:
    """16 spans and 3 copies of 50 ns, 8 barriers of two 20 ns reads, two passes of 100 ns, in 2 x 5,000 ns."""
    share = overhead_share(hard_case(), TRACE)
    assert share == pytest.approx((19 * 50 + 8 * 40 + 2 * 100 * 2) / (2 * 5000 * 2))


def test_interference_counts_forced_switches() -> None:
    def preempt(passes: pd.DataFrame) -> pd.DataFrame:
        passes["involuntary_switches"] = passes["involuntary_switches"] + 2
        return passes

    assert state_of(with_table("passes", preempt), "interference") == "warning"


def test_the_verdict_is_the_worst_state() -> None:
    checks = checks_of(evidence())
    assert verdict_of(checks) == "not usable"
    assert verdict_of(tuple(c for c in checks if c.state == "passed")) == "complete"
