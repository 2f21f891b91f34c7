"""Every check can fail: each test breaks one thing in the hard case and names the check that sees it."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tests.builders import with_device_ops, with_footprint, with_reads
from tests.golden.hard_case import hard_case
from tracegen.analysis.tracing_cost import FAULT_NS, between_share, by_phase, elapsed, overhead_share, pass_costs
from tracegen.contract.check_keys import CHECKED, Key
from tracegen.contract.details import in_words
from tracegen.contract.facts import Control, Execution
from tracegen.contract.model import Check, verdict_of
from tracegen.contract.records import decode
from tracegen.contract.tables import empty, frame, small_tables
from tracegen.measure.checks import verdict
from tracegen.measure.checks.evidence import Evidence
from tracegen.measure.checks.verdict import checks_of

TRACE: dict[str, Any] = {
    "dropped": 0,
    "dropped_why": None,
    "skipped_passes": 0,
    "ended": True,
    "unsealed_chunks": 0,
    "open_computes": 0,
    "not_monotone": 0,
    "zero_records": 0,
    "clock": "monotonic",
    "clock_uneven_ns": 0,
    "n_ops_short_of_threads": 0,
    "run_id": "00ff",
    "n_segments": 3,
    "n_misnamed": 0,
    "event_cost_ns": 50.0,
    "clock_read_ns": 20.0,
    "hook_ns": {1: 100.0, 2: 120.0},
    "copy_ns": {1: 90.0},
    "processors_allowed": 2,
    "faults_recorded": False,
    "faults_refused": None,
    "faults_lost": 0,
    "threads_without_faults": 0,
    "off_cpu_recorded": False,
    "delay_threads": {},
    "requests_recorded": False,
    "requests_refused": None,
    "requests_unplaced": None,
    "requests_lost": 0,
}


BY_KEY = {key.value: made for key, made in zip(CHECKED, verdict._CHECKS, strict=True)}
FAULTS = ("faults_recorded", "faults_agree", "faults_placed", "faults_barriers", "preemptions_agree")


def evidence(**changes: Any) -> Evidence:
    """The hard case as a run that passes: 5 prompt tokens, no generate pass, no warm-up."""
    given = Evidence(
        tables=hard_case(),
        trace=TRACE,
        timings={"prompt_tokens": 5, "eval_runs": 1},
        n_layers=1,
        n_experts=4,
        data_begin=(512, 256),
        alignment=(32, 32),
        tokens_asked=1,
        warmup=False,
    )
    return replace(given, **changes)


def accounting(**changes: object) -> Evidence:
    """The hard case with a trace that says something else of itself."""
    return evidence(trace={**TRACE, **changes})


def check_of(given: Evidence, key: str) -> Check:
    """One check without the others, which take most of the time."""
    check: Check = small_tables(BY_KEY[key])(given)
    assert check.found and check.limit, f"{key}: a check states its figure and its limit"
    return check


def test_limits_are_those_of_a_run_without_records() -> None:
    trace = {**TRACE, "faults_recorded": True, "requests_recorded": True}
    checks = checks_of(Evidence(empty(), trace, {}))
    always = [key for key in CHECKED if key not in (Key.READS, Key.HOOKS)]  # it read no weights; all hooks fit
    assert [(check.key, check.limit) for check in checks] == [(key.value, key.limit) for key in always]


def state_of(given: Evidence, key: str) -> str:
    return check_of(given, key).state


def with_table(name: str, change: Any) -> Evidence:
    tables = hard_case()
    tables[name] = change(tables[name])
    return evidence(tables=tables)


def with_values(name: str, rows: Any, **values: object) -> Evidence:
    """The hard case with other values in rows of a table, which are chosen by a label or by a function of it."""

    def change(table: pd.DataFrame) -> pd.DataFrame:
        for column, value in values.items():
            table.loc[rows(table) if callable(rows) else rows, column] = value
        return table

    return with_table(name, change)


def test_the_hard_case_passes_what_it_can() -> None:
    found = {check.key: check.state for check in checks_of(evidence())}
    # It has no norm, and its ops are so short that tracing them costs more than a hundredth.
    assert found.pop("op_mix") == "failed"
    assert found.pop("tracing_cost") == "warning"
    assert found.pop("even_tokens") == "not checked"  # it generates nothing
    assert found.pop("observer") == "not checked"  # nothing ran untraced
    assert found.pop("footprint") == "not checked"  # its memory was not sampled
    assert not found.keys() & set(FAULTS)  # nobody asked for page faults
    assert set(found.values()) == {"passed"}, found


def read_by_it(**changed: object) -> Evidence:
    """A program that copied all weights into memory, and its reads of them, or others."""
    tables = with_reads(hard_case())
    place, reads = tables["placements"].copy(), tables["reads"].copy()
    place["memory"] = place["memory"].astype("object").mask(place["tensor"].notna(), "copied").astype("category")
    for column, value in changed.items():
        reads[column] = pd.array([value] * len(reads), reads[column].dtype)
    return evidence(tables={**tables, "placements": place, "reads": reads})


def lacking(kind: str) -> Evidence:
    tables = with_footprint(hard_case())
    return evidence(tables={**tables, "footprint": tables["footprint"].query("kind != @kind")})


@pytest.mark.parametrize("lost", [("copies", "work"), ("reads",)])
def test_details_whose_hooks_do_not_fit_are_named(lost: tuple[str, ...]) -> None:
    """Without the hook of reads nothing says which reads brought the weights: that is not checked."""
    given = read_by_it()
    states = {check.key: check for check in checks_of(replace(given, trace={**TRACE, "not_hooked": list(lost)}))}
    assert states["hooks"].state == "warning" and states["hooks"].found == f"without {in_words(lost)}"
    assert ("reads" in states) == ("reads" not in lost)
    assert "hooks" not in {check.key for check in checks_of(given)}


LAST = hard_case()["passes"].index[-1]
FREED_ALONE = with_table("buffers", lambda b: pd.concat([b, b[b["event"] == "free"]]))
NEVER_FREED = with_table("buffers", lambda b: b[:-1])
BROKEN: dict[str, tuple[str, Evidence, str]] = {
    "a record was dropped": ("dropped_events", accounting(dropped=1), "failed"),
    "it does not end": ("trace_complete", accounting(ended=False), "failed"),
    "a graph has no end": ("trace_complete", accounting(open_computes=1), "failed"),
    "unsealed chunks are an early end": ("trace_complete", accounting(unsealed_chunks=1), "failed"),
    "killed": ("trace_complete", evidence(exit_status=-9), "failed"),
    "the program failed": ("trace_complete", evidence(exit_status=1), "failed"),
    "a program of the user's failed": ("trace_complete", evidence(exit_status=1, tokens_asked=None), "warning"),
    "we stopped it": ("trace_complete", evidence(exit_status=130, stopped=True), "passed"),
    "time goes back": ("monotone_time", accounting(not_monotone=1), "failed"),
    "two clocks apart": ("even_clock", accounting(clock_uneven_ns=3 * 10**9), "failed"),
    "zeros": ("zero_records", accounting(zero_records=2), "failed"),
    "a thread lacks spans": ("threads_accounted", accounting(n_ops_short_of_threads=1), "failed"),
    "no run id": ("one_run_id", accounting(run_id=""), "failed"),
    "a file of another run": ("one_run_id", accounting(n_misnamed=1), "failed"),
    "a node without a state": ("nodes_accounted", with_values("ops", 0, state=None), "failed"),
    "a pass of no known kind": ("pass_kinds", with_values("passes", LAST, kind=None), "warning"),
    "a warm-up recorded as a prompt": ("pass_kinds", evidence(warmup=True), "failed"),
    "fewer tokens than asked for": ("tokens_asked", evidence(tokens_asked=2), "warning"),
    "nobody says how many tokens": ("tokens_asked", evidence(tokens_asked=None), "not checked"),
    "a layer is missing": ("layers_agree", evidence(n_layers=2), "failed"),
    "layers are unknown": ("layers_agree", evidence(n_layers=None), "not checked"),
    "a layer that drafts did not run": ("layers_agree", evidence(n_layers=2, n_layers_ahead=1), "passed"),
    "a layer that drafts ran": ("layers_agree", evidence(n_layers=1, n_layers_ahead=1), "passed"),
    "two are missing, one drafts": ("layers_agree", evidence(n_layers=3, n_layers_ahead=1), "failed"),
    "tensors overlap": ("tensors_tile_file", with_values("tensors", 0, size_bytes=1288), "failed"),
    "tensors leave a hole": ("tensors_tile_file", with_values("tensors", 0, size_bytes=40000), "failed"),
    "where tensors begin is unknown": ("tensors_tile_file", evidence(data_begin=()), "not checked"),
    "a buffer was never freed": ("buffers_balance", NEVER_FREED, "warning"),
    "the trace was closed while it held some": ("buffers_balance", replace(NEVER_FREED, stopped=True), "not checked"),
    "the program read all that it copied": ("reads", read_by_it(), "passed"),
    "a read of copied weights is missing": ("reads", read_by_it(got_bytes=1), "failed"),
    "a ring of io_uring may have read some": (
        "reads",
        replace(read_by_it(), trace=TRACE | {"io_uring": True}),
        "warning",
    ),
    "a read failed": ("reads", read_by_it(got_bytes=0), "failed"),
    "memory adds up": ("footprint", evidence(tables=with_footprint(hard_case())), "passed"),
    "a mapping is missing": ("footprint", lacking("model"), "warning"),
    "buffers hold more than there is": ("footprint", lacking("anonymous"), "warning"),
    "the kernel does not say what the process holds": ("footprint", lacking("process"), "not checked"),
    "it freed twice before it was closed": ("buffers_balance", replace(FREED_ALONE, stopped=True), "failed"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_broken_is_seen(case: str) -> None:
    key, given, state = BROKEN[case]
    assert state_of(given, key) == state


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


def test_experts_in_a_model_without_them() -> None:
    assert "MUL_MAT_ID in a model without experts" in check_of(evidence(n_experts=None), "op_mix").found


def test_experts_that_the_metadata_announces_and_no_tensor_holds() -> None:
    tables = hard_case()
    tables["graph_nodes"]["op"] = tables["graph_nodes"]["op"].astype(str).replace("MUL_MAT_ID", "RMS_NORM")
    assert state_of(evidence(tables=tables), "op_mix") == "failed"
    tables["tensors"]["component"] = "ffn_up"
    assert state_of(evidence(tables=tables), "op_mix") == "passed"


def test_a_model_that_only_encodes_is_not_compared_with_counters_of_generated_tokens() -> None:
    changed = with_table("passes", lambda passes: passes.assign(kind="encode"))
    keys = ("passes_agree", "tokens_agree", "tokens_asked")
    assert {state_of(changed, key) for key in keys} == {"not checked"}


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


@pytest.mark.parametrize(
    ("alignment", "gap", "state", "limit"),
    [
        (32, 4095, "passed", 4096),
        (32, 4096, "failed", 4096),
        (16384, 16383, "passed", 16384),
        (16384, 16384, "failed", 16384),
    ],
)
def test_a_gap_is_padding_up_to_the_alignment_of_its_file(alignment: int, gap: int, state: str, limit: int) -> None:
    """The file has `gap` bytes behind its last tensor; the other file of the model keeps to 32."""

    def lengthen(files: pd.DataFrame) -> pd.DataFrame:
        tensors = hard_case()["tensors"]
        end = (tensors["offset"] + tensors["size_bytes"])[tensors["file"] == 1].max()
        return files.assign(size_bytes=[files["size_bytes"].iloc[0], end + gap])

    changed = replace(with_table("files", lengthen), alignment=(32, alignment))
    check = check_of(changed, "tensors_tile_file")
    numbers = {n: f"{n:,}".replace(",", "\u202f") for n in (gap, limit, alignment)}
    assert check.state == state
    assert check.found == f"0 overlaps, largest gap {numbers[gap]} B"
    assert check.limit == f"no overlap, gaps below {numbers[limit]} B"
    detail = f"general.alignment of {changed.tables['files']['path'].iloc[1]} is {numbers[alignment]} B"
    assert check.detail == (detail if alignment > 4096 else "")


def test_a_file_without_tensors_has_no_gap_before_its_data() -> None:
    """The first file of a split model may hold metadata alone, and end before its data section would begin."""

    def alone(tables: dict[str, pd.DataFrame]) -> Evidence:
        files = tables["files"]
        tables["files"] = pd.concat([files, files[-1:].assign(file=2, size_bytes=100)], ignore_index=True)
        return evidence(tables=tables, data_begin=(512, 256, 128), alignment=(32, 32, 32))

    assert state_of(alone(hard_case()), "tensors_tile_file") == "passed"


def test_untouched_tensors_are_listed() -> None:
    off = with_values("ops", lambda ops: ops["node"] == 4, state="off")
    check = check_of(off, "never_touched")
    assert check.state == "passed" and check.found.startswith("1 of 3") and "ffn_gate_exps" in check.detail


def test_an_op_that_ran_and_whose_experts_nobody_saw_is_a_gap() -> None:
    def forget(touches: pd.DataFrame) -> pd.DataFrame:
        return touches[touches["node"] != 4].reset_index(drop=True)

    check = check_of(with_table("touches", forget), "never_touched")
    assert check.state == "warning" and "ffn_gate_exps" in check.detail
    assert check.found == "0 of 3 tensors, 0 B; 1 more were read, which part was not recorded"


def test_what_is_freed_was_allocated_before() -> None:
    never = with_table("buffers", lambda b: b[(b["event"] == "free") | (b["buffer_id"] != 1)])
    assert state_of(never, "buffers_balance") == "failed"
    early = with_table("buffers", lambda b: b.assign(time_ns=b["time_ns"].mask(b["event"] == "free", 1_000)))
    assert state_of(early, "buffers_balance") == "failed"


def test_how_many_tokens_passes_of_several_sequences_gave_is_not_known() -> None:
    def several(passes: pd.DataFrame) -> pd.DataFrame:
        return passes.assign(kind=passes["kind"].astype(object).replace("prompt", "mixed"))

    changed = replace(with_table("passes", several), tokens_asked=None)
    check = check_of(changed, "tokens_asked")
    assert (check.state, check.found) == ("not checked", "not known")
    check = check_of(evidence(tokens_asked=None), "tokens_asked")
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


def test_cost_is_events_times_cost_over_the_threads_time_of_each_pass() -> None:
    """Two passes of 5,000 ns, two threads: 8 spans of 50 ns, 4 barriers of two 20 ns reads, hooks and copies twice.

    One thread waited 100 ns for a processor, and the other 100 ns for it.
    """
    costs = pass_costs(hard_case(), TRACE)
    first, second = (8 * 50 + 4 * 40 + 2 * 190) / 9_800, (8 * 50 + 4 * 40 + 2 * 120) / 9_800
    assert costs["share"].tolist() == pytest.approx([first, second]) and set(costs["phase"]) == {"prompt"}
    assert by_phase(costs) == pytest.approx({"prompt": (first + second) / 2})
    assert overhead_share(hard_case(), TRACE) == pytest.approx((first + second) / 2)


def test_cost_of_generate_passes_is_not_hidden_in_that_of_a_long_prompt() -> None:
    """One prompt pass of 5 s and three generate passes, one of which others delayed."""
    given = generating(prompt_ns=5_000_000_000, times=(100_000, 100_000, 9_000_000))
    trace = TRACE | {"hook_ns": {1: 100.0, 2: 4_000.0, 3: 4_000.0, 4: 4_000.0}, "copy_ns": {}}
    shares = by_phase(pass_costs(given, trace))
    assert shares["prompt"] < 1e-6 and shares["generate"] == pytest.approx((8 * 50 + 4 * 40 + 2 * 4000) / 199_800)
    found = check_of(evidence(tables=given, trace=trace), "tracing_cost")
    assert found.state == "warning" and found.found == "generate 4.28\u202f%, prompt 0.00\u202f%"


def delayed(tables: dict[str, pd.DataFrame], delays: dict[int, list[int]]) -> dict[str, pd.DataFrame]:
    """The passes in which threads waited so long for a processor, one after the other, while the others spun."""
    passes, spans = tables["passes"], tables["spans"].copy()
    last = spans.index.isin(spans.drop_duplicates(["pass_id", "thread"], keep="last").index)
    for pass_id, by_thread in delays.items():
        for thread, delay in enumerate(by_thread):
            here = last & (spans["pass_id"] == pass_id).to_numpy()
            spans.loc[here & (spans["thread"] == thread).to_numpy(), "work_ns"] += delay
            spans.loc[here & (spans["thread"] != thread).to_numpy(), "wait_ns"] += delay
    longer = passes["pass_id"].map({p: sum(by_thread) for p, by_thread in delays.items()}).fillna(0).astype("int64")
    passes = passes.assign(
        end_ns=passes["end_ns"] + longer,
        run_delay_ns=passes["run_delay_ns"] + longer,
        counted_ns=passes["counted_ns"] + longer,
    )
    return {**tables, "passes": passes, "spans": spans}


@pytest.mark.parametrize("delays", [[900, 0], [0, 5_000], [5_000_000, 0], [70_000, 1_000_000]])
def test_the_share_of_tracing_does_not_shrink_on_a_busy_machine(delays: list[int]) -> None:
    quiet = pass_costs(hard_case(), TRACE)
    busy = pass_costs(delayed(hard_case(), {1: delays, 2: delays}), TRACE)
    assert busy["share"].tolist() == pytest.approx(quiet["share"].tolist())
    assert (busy["thread_ns"] - quiet["thread_ns"]).tolist() == [2 * sum(delays)] * 2
    assert max(elapsed(busy).values()) < max(by_phase(busy).values())


def test_of_threads_that_wait_for_processors_all_the_time_it_is_the_work_that_counts() -> None:
    """All wait at once, so that counting each wait for each of them leaves nothing: the share is no lower."""
    tables = hard_case()
    work = tables["spans"].groupby("pass_id")["work_ns"].sum()
    drowned = {
        **tables,
        "passes": tables["passes"].assign(
            run_delay_ns=tables["passes"]["run_delay_ns"].mask(tables["passes"]["pass_id"] > 0, 1_000_000)
        ),
    }
    costs = pass_costs(drowned, TRACE).set_index("pass_id")
    assert (costs["undisturbed_ns"] > 0).all() and (costs["undisturbed_ns"] <= work[costs.index]).all()
    assert (costs["share"].to_numpy() >= pass_costs(tables, TRACE)["share"].to_numpy()).all()
    found = check_of(evidence(tables=drowned), "tracing_cost")
    assert found.state == "warning", "what is surely no more than a tenth does not fail"


def test_what_is_known_of_the_time_of_tracing_outside_passes_stands_beside_the_share() -> None:
    """200 ns before each pass of 4,900 undisturbed ns."""
    trace = TRACE | {"between_ns": {1: 200.0, 2: 200.0}, "begin_cost_ns": 31_000_000.0}
    assert between_share(hard_case(), trace) == pytest.approx(200 / 5_100) and between_share(hard_case(), TRACE) is None
    assert overhead_share(hard_case(), trace) == overhead_share(hard_case(), TRACE)
    found = check_of(evidence(trace=trace), "tracing_cost")
    assert found.found.endswith("; between passes, which this does not limit, 3.92\u202f%")
    assert "to begin the trace takes 31.0 ms and is in no share, nor is to end it" in found.detail
    unknown = check_of(evidence(), "tracing_cost")
    assert "beside it" not in unknown.found and "to begin the trace is in no share" in unknown.detail


def test_each_recorded_page_fault_counts_in_the_cost_of_tracing() -> None:
    tables = generating(prompt_ns=5_000_000_000, times=(10_000_000,) * 3)
    number = int(tables["passes"].loc[tables["passes"]["kind"] == "generate", "pass_id"].iloc[0])
    faults = frame("faults", [dict(fault=i, pass_id=number, begin_ns=0) for i in range(7)])
    others = tables["passes"]["other_faults"].mask(tables["passes"]["pass_id"] == number, 5)
    more = {**tables, "faults": faults, "passes": tables["passes"].assign(other_faults=others)}
    before, after = (pass_costs(t, TRACE).set_index("pass_id")["cost_ns"] for t in (tables, more))
    assert (after - before).to_dict() == {**dict.fromkeys(before.index, 0), number: 12 * FAULT_NS}


def generating(
    prompt_ns: int = 5_000, times: tuple[int, ...] = (5_000,) * 3, **changes: Any
) -> dict[str, pd.DataFrame]:
    """The hard case with one prompt pass and generate passes that take so long, each like its second pass."""
    tables = hard_case()
    passes, spans, ops = tables["passes"], tables["spans"], tables["ops"]
    second = passes["pass_id"] == 2
    more = [passes[passes["pass_id"] < 2], *(passes[second].assign(pass_id=2 + i) for i in range(len(times)))]
    all_spans = pd.concat(more, ignore_index=True)
    long = [5_000 if kind == "load" else prompt_ns for kind in all_spans["kind"][:2]] + list(times)
    begin = [sum(long[:i]) for i in range(len(long))]
    kinds = pd.Categorical(["load", "prompt", *["generate"] * len(times)], dtype=passes["kind"].dtype)
    ends = pd.array([b + n for b, n in zip(begin, long, strict=True)], dtype="Int64")
    all_spans = all_spans.assign(kind=kinds, begin_ns=begin, end_ns=ends).astype({"begin_ns": "int64"})
    tables["passes"] = all_spans.assign(counted_ns=pd.array([None, *long[1:]], dtype="Int64"), **changes)
    for name, table in (("spans", spans), ("ops", ops)):
        own = [
            table[table["pass_id"] == 1],
            *(table[table["pass_id"] == 2].assign(pass_id=2 + i) for i in range(len(times))),
        ]
        tables[name] = pd.concat(own, ignore_index=True).astype({"pass_id": "int32"})
    return tables


def found_of(tables: dict[str, pd.DataFrame], key: str, **trace: Any) -> Check:
    return check_of(evidence(tables=tables, trace=TRACE | trace), key)


@pytest.mark.parametrize("scale", [1, 300_000])  # passes of 0.2 ms and of 60 s
@pytest.mark.parametrize(("share", "state"), [(0.0, "passed"), (0.019, "passed"), (0.03, "warning")])
def test_threads_without_a_processor_are_a_share_of_thread_time(scale: int, share: float, state: str) -> None:
    times = tuple(200_000 * scale for _ in range(3))
    waits = [None, *[int(2 * 200_000 * scale * share)] * 4]
    given = generating(200_000 * scale, times, run_delay_ns=pd.array(waits, dtype="Int64"))
    assert found_of(given, "interference").state == state


def test_many_forced_switches_alone_are_no_interference() -> None:
    """A pass of a minute is interrupted hundreds of times by the kernel's own clock."""
    given = generating(60 * 10**9, (60 * 10**9,) * 3, involuntary_switches=pd.array([0, *[800] * 4], dtype="Int64"))
    assert found_of(given, "interference").state == "passed"


def test_ones_own_threads_are_not_taken_for_other_programs() -> None:
    given = generating(10**9, (10**9,) * 3, run_delay_ns=pd.array([None, *[6 * 10**8] * 4], dtype="Int64"))
    check = found_of(given, "interference")
    assert check.state == "warning" and "other programs or the kernel had the processors" in check.detail
    check = found_of(given, "interference", processors_allowed=1)
    assert check.state == "warning" and check.detail.startswith("2 threads on 1 processor take")
    assert "other programs" not in check.detail


def test_a_pass_that_stood_still_was_stopped_or_waited_for_the_disk() -> None:
    stood = pd.array([None, 0, 6 * 10**9, 0, 0], dtype="Int64")
    given = generating(10**9, (61 * 10**8, 10**8, 10**8), blocked_ns=stood)
    check = found_of(given, "not_stopped")
    assert check.state == "warning" and check.found == "1 pass, 6.00 s together" and "SIGSTOP" in check.detail
    assert found_of(given, "interference").state == "passed"  # nobody else is blamed
    reads = pd.array([0, 0, 10**9, 0, 0], dtype="Int64")
    read = {**given, "passes": given["passes"].assign(read_bytes=reads)}
    assert found_of(read, "not_stopped").state == "passed"
    assert found_of(read, "not_stopped").found.endswith("1 more waited while files were read")
    short = generating(10**9, (10**8,) * 3, blocked_ns=pd.array([None, 0, *[5 * 10**6] * 3], dtype="Int64"))
    assert found_of(short, "not_stopped").state == "passed"
    unknown = generating(blocked_ns=pd.array([None] * 5, dtype="Int64"))
    assert found_of(unknown, "not_stopped").state == "not checked"


@pytest.mark.parametrize(
    ("times", "state"),
    [
        ((100, 110, 90, 100), "passed"),
        ((100, 100, 100, 100, 900), "warning"),  # the mean is 2.6 times the median
        ((1, 100, 100), "warning"),
        ((100, 900), "not checked"),
    ],
)
def test_mean_and_median_of_token_times(times: tuple[int, ...], state: str) -> None:
    assert found_of(generating(times=tuple(1000 * t for t in times)), "even_tokens").state == state


def test_parts_of_a_pass_that_overlap_or_lie_outside_do_not_add_up() -> None:
    assert found_of(hard_case(), "time_accounted").state == "passed"

    def moved(node: int, column: str, by: int) -> dict[str, pd.DataFrame]:
        tables = hard_case()
        ops = tables["ops"]
        at = (ops["pass_id"] == 1) & (ops["node"] == node)
        return {**tables, "ops": ops.assign(**{column: ops[column].mask(at, ops[column] + by)})}

    assert found_of(moved(1, "end_ns", 0), "time_accounted").state == "passed"
    for node, column, by in ((1, "end_ns", 3_000), (4, "end_ns", 10_000), (0, "begin_ns", -10_000)):
        check = found_of(moved(node, column, by), "time_accounted")
        assert check.state == "failed" and "pass 1" in check.detail, (node, column)


@pytest.mark.parametrize(
    ("clock", "by", "state"),
    [("tsc", 40, "passed"), ("tsc", 300, "passed"), ("tsc", 301, "failed"), ("monotonic", 1, "failed")],
)
def test_a_counter_may_be_read_some_ns_early(clock: str, by: int, state: str) -> None:
    tables = hard_case()
    begin = tables["passes"].set_index("pass_id")["begin_ns"][1]
    ops = tables["ops"]
    first = (ops["pass_id"] == 1) & (ops["begin_ns"] == ops.loc[ops["pass_id"] == 1, "begin_ns"].min())
    tables = {**tables, "ops": ops.assign(begin_ns=ops["begin_ns"].mask(first, begin - by))}
    check = found_of(tables, "time_accounted", clock=clock)
    assert check.state == state and f"for {by} ns in pass 1" in check.detail


def test_the_verdict_is_the_worst_state() -> None:
    checks = checks_of(evidence())
    assert verdict_of(checks) == "not usable"
    assert verdict_of(tuple(c for c in checks if c.state == "passed")) == "complete"


def executed(ms: float, **more: Any) -> Execution:
    known = dict(seconds=1.0, prompt_ms=None, prompt_tokens=None, eval_runs=10, others_share=0.0, failure=None)
    return decode(Execution, {**known, "eval_ms": ms, **more})


OBSERVED = {  # the traced execution and the untraced ones, and what the check then says
    "as fast": (executed(1000), [executed(1000)], "passed", "generation 0.0 % slower"),
    "2 % slower": (executed(1019), [executed(1000)], "passed", "generation 1.9 % slower"),
    "a little slower": (executed(1050), [executed(1000)], "warning", "generation 5.0 % slower"),
    "much slower": (executed(1110), [executed(1000)] * 3, "failed", "generation 11.0 % slower"),
    "much slower than the only one": (
        executed(1110),
        [executed(1000)],
        "not checked",
        "not decided: generation 11.0 % slower",
    ),
    "slower beside a neighbour": (
        executed(1110, others_share=0.05),
        [executed(1000)] * 3,
        "not checked",
        "not decided: generation 11.0 % slower",
    ),
    "faster": (executed(800), [executed(1000)], "not checked", "not decided: generation 20.0 % faster (± 20.0 %)"),
    "within what untraced runs differ by": (
        executed(1110),
        [executed(1000), executed(1100), executed(950)],
        "not checked",
        "3 untraced runs",
    ),
    "slower than all of many": (
        executed(1300),
        [executed(1000 + n) for n in range(10)],
        "failed",
        "generation 29.4 % slower",
    ),
    "lost in noise": (
        executed(1000, others_share=0.9),
        [executed(900, others_share=0.9)],
        "not checked",
        "within the noise, which",
    ),
    "killed untraced": (executed(1000), [executed(1, failure="killed by SIGKILL")], "warning", "killed by SIGKILL"),
}


@pytest.mark.parametrize(("traced", "untraced", "state", "said"), OBSERVED.values(), ids=OBSERVED)
def test_the_untraced_program_says_what_tracing_changed(
    traced: Execution, untraced: list[Execution], state: str, said: str
) -> None:
    found = check_of(evidence(control=Control(tuple(untraced), traced, None)), "observer")
    assert found.state == state and said in found.found.replace("\u202f", " ")


def test_a_prompt_that_is_not_decided_leaves_the_tokens_decide() -> None:
    several = tuple(executed(1000 + n, prompt_ms=100.0 + 30 * n, prompt_tokens=5) for n in range(3))
    control = Control(several, executed(1001, prompt_ms=100.0, prompt_tokens=5), None)
    found = check_of(evidence(control=control), "observer")
    assert found.state == "passed" and found.detail == "not decided for the prompt"


def test_kernels_that_were_recorded_are_named_as_what_slows_a_program_down() -> None:
    control = Control((executed(1000),) * 3, executed(1500), None)
    plain = check_of(evidence(control=control), "observer")
    tables = with_device_ops(evidence().tables, "CUDA0")
    of_kernels = check_of(replace(evidence(control=control), tables=tables), "observer")
    assert plain.state == of_kernels.state == "failed" and not plain.detail
    assert of_kernels.detail.startswith("to record kernels makes launching them slower")
