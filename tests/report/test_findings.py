"""Findings as numbers: each against plain loops over the tables, none where a check failed, and which one answers."""

import json
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.test_attribution import by_hand
from tests.builders import a_moe_run, a_run, scaled_case, with_device_ops, with_faults, with_off_cpu
from tests.builders.runs import with_facts, with_groups
from tests.recompute.plain import access, experts, memory, reuse
from tests.recompute.plain.rows import Rows
from tests.recompute.plain.touched import Access, accesses
from tests.report.rendered import CASES, disk_case, same_analyses
from tests.site_project import stored
from tracegen.charts import theme
from tracegen.contract import quantities as q
from tracegen.contract.check_keys import CHECKED
from tracegen.contract.model import Check
from tracegen.contract.tables import frame
from tracegen.report.document.amount import Amount
from tracegen.report.figures.bandwidth import BANDWIDTH
from tracegen.report.figures.caches import CACHE_RATES, MIDDLE, TARGET, WORKING_SET
from tracegen.report.figures.context import Context
from tracegen.report.figures.device_ops import DEVICE_OPS
from tracegen.report.figures.disk import DISK
from tracegen.report.figures.disk_waits import DISK_SPLIT
from tracegen.report.figures.expert_shares import EXPERTS_LOAD
from tracegen.report.figures.file_tokens import FILE_TOKENS
from tracegen.report.figures.heatmap import HEATMAP
from tracegen.report.figures.tensors import TENSOR_GROUPS
from tracegen.report.figures.times import COMPONENTS
from tracegen.report.figures.waiting import WAITING_KINDS
from tracegen.report.findings.answer import answer as answered
from tracegen.report.findings.finding import Finding, Kind, Scope
from tracegen.report.findings.found import WAITS, answer, findings, ordered, waiting

RUN, TABLES = disk_case()
TABLES["passes"] = TABLES["passes"].assign(read_bytes=pd.array([8192] * len(TABLES["passes"]), "Int64"))
PASSES = TABLES["passes"].set_index("pass_id").to_dict("index")


@pytest.fixture(scope="module")
def context() -> Context:
    return Context(RUN, TABLES)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    folder = stored(tmp_path_factory.mktemp("run"), RUN, TABLES).folder
    assert folder is not None
    return Rows(folder)


@pytest.fixture(scope="module")
def measured(rows: Rows) -> list[Access]:
    return list(accesses(rows, rows.measured))


def one(context: Context, part: Any, scope: Scope | None = None) -> Finding:
    of = [f for f in findings(context) if f.part is part and scope in (None, f.scope)]
    (found,) = [f for f in of if "wait for each other" not in f.text]
    return found


# Numbers

LOOKED_UP = {"token_embd.weight": "rows of token_embd.weight"}


@pytest.mark.parametrize("only", ["", "token_embd.weight", "blk.0."])
@pytest.mark.parametrize(("kind", "scope"), [("generate", "generation"), ("prompt", "prompt")])
def test_findings_of_waiting_for_the_disk_equal_sums_of_page_faults(
    kind: str, scope: Scope, only: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`only`: all page faults are on tensors of such names. Half of the passes wait long enough to be named."""
    about = [tensor for tensor in TABLES["tensors"].to_dict("records") if tensor["name"].startswith(only)]
    placed = []
    for n, fault in enumerate(TABLES["faults"].to_dict("records")):
        tensor = about[n % len(about)]
        placed.append((fault | {"file": tensor["file"], "offset": tensor["offset"]}, tensor))
    by_pass, waited_for = by_hand(TABLES)
    split = {p: parts for p, parts in by_pass.items() if PASSES[p]["kind"] == kind}
    cost = {p: parts["disk_ns"] + parts["behind_ns"] for p, parts in split.items()}
    lasts = {p: PASSES[p]["end_ns"] - PASSES[p]["begin_ns"] for p in split}
    monkeypatch.setattr(waiting, "CONCERNED", median(cost[p] / lasts[p] for p in split) - 1e-9)
    waits = {p for p in split if cost[p] >= waiting.CONCERNED * lasts[p]}
    shown_by = DISK_SPLIT if scope == "generation" else FILE_TOKENS
    found = one(Context(RUN, {**TABLES, "faults": frame("faults", [f for f, _ in placed])}), shown_by, scope)
    of = waits
    of_waiting, *others = found.amounts
    assert of_waiting.value == pytest.approx(sum(cost[p] for p in of) / sum(lasts[p] for p in of))
    assert found.effect == pytest.approx(sum(cost.values()) / sum(lasts.values()))
    expected: list[tuple[str, float]] = []
    for name in (
        lambda tensor: LOOKED_UP.get(tensor["name"], tensor["name"]),
        lambda tensor: theme.GROUP_OF[tensor["component"]],
    ):
        by: dict[str, float] = defaultdict(float)
        for fault, tensor in placed:
            by[name(tensor)] += waited_for[fault["fault"]] if fault["pass_id"] in waits else 0
        most, whole = max(by, key=lambda what: by[what]), sum(by.values())
        expected += [(most, by[most] / whole)] if by[most] >= waiting.MOSTLY * whole > 0 else []
    paging = sum(split[p]["paging_ns"] for p in waits) / sum(lasts[p] for p in waits)
    expected = expected[:1] + ([("", paging)] if paging >= waiting.LEAST else [])
    shares = [(a.words, a.value) for a in others if a.unit == "share"]
    assert shares == [(words, pytest.approx(share)) for words, share in expected]
    assert all(a.number in found.text + found.otherwise for a in found.amounts)


@pytest.mark.parametrize(
    ("ops", "words"),
    [
        (("GET_ROWS",), "rows of token_embd.weight"),
        (("GET_ROWS", "MUL_MAT"), "token_embd.weight (tied: the output matrix too)"),
        (("MUL_MAT",), "token_embd.weight"),
    ],
)
def test_a_tied_embedding_is_called_the_matrix_of_the_output_too(ops: tuple[str, ...], words: str) -> None:
    context = Context(RUN, TABLES)
    (tensor,) = TABLES["tensors"].loc[TABLES["tensors"]["name"] == "token_embd.weight", "tensor"]
    rows = [{"pass_id": 7, "tensor": tensor, "op": op} for op in ops]
    others = [{"pass_id": 8, "tensor": tensor, "op": "MUL_MAT"}, {"pass_id": 7, "tensor": None, "op": "ADD"}]
    vars(context)["accessed"] = pd.DataFrame([*rows, *others]).astype({"tensor": "Int64"})
    assert waiting._tensor(context, tensor, {7}) == words


@pytest.mark.parametrize(("n_quiet", "quick", "said"), [(8, True, True), (4, True, False), (8, False, False)])
def test_how_long_tokens_take_that_do_not_wait(n_quiet: int, quick: bool, said: bool) -> None:
    """Stated only of several tokens that are quicker: the others are tokens that something else disturbed."""
    tables = with_faults(scaled_case(10, 1))
    tables["passes"] = tables["passes"].assign(read_bytes=pd.array([8192] * len(tables["passes"]), "Int64"))
    context = Context(a_moe_run(), tables)
    split = pd.DataFrame(
        {
            "pass_id": context.of_kind(context.measured, "generate")["pass_id"].head(10).tolist(),
            "duration_ns": [(100 if quick else 900) if n < n_quiet else 500 for n in range(10)],
            "disk_ns": [0 if n < n_quiet else 400 for n in range(10)],
            "behind_ns": [0] * 10,
            "paging_ns": [0] * 10,
        }
    )
    found = waiting._of_phase(context, split, "generation")
    assert [a.value for a in found.amounts if a.unit == "ns"] == ([500.0, 100.0] if said else [])
    assert ("one that does not 100 ns" in found.text.replace("\u202f", " ")) == said


def test_how_long_a_token_would_take_that_does_not_wait() -> None:
    split = pd.DataFrame({"pass_id": [1, 2], "duration_ns": [500, 700], "disk_ns": [200, 300], "behind_ns": [50, 0]})
    found = waiting._of_phase(Context(RUN, TABLES), split.assign(paging_ns=[50, 0]), "generation")
    assert [a.value for a in found.amounts if a.unit == "ns"] == [(200 + 400) / 2, 600.0]
    assert "Without both, a token would take 300 ns instead of 600 ns" in found.otherwise.replace("\u202f", " ")


def test_page_faults_of_passes_that_read_nothing_are_no_waiting_for_the_disk() -> None:
    none = TABLES["passes"].assign(read_bytes=TABLES["passes"]["read_bytes"] * 0)
    found = one(Context(RUN, {**TABLES, "passes": none}), DISK_SPLIT, "generation")
    assert found.kind == "time" and found.text.startswith("Page faults with no read under way take")
    split = by_hand({**TABLES, "passes": none})[0]
    of = [p for p in split if PASSES[p]["kind"] == "generate"]
    whole = sum(PASSES[p]["end_ns"] - PASSES[p]["begin_ns"] for p in of)
    assert found.effect == found.amounts[0].value == pytest.approx(sum(split[p]["paging_ns"] for p in of) / whole)


def test_what_was_read_where_page_faults_were_not_recorded() -> None:
    run = with_facts(RUN, trace={"faults_recorded": False})
    read = [p["read_bytes"] for p in PASSES.values() if p["kind"] == "generate"]
    unrecorded = {**TABLES, "spans": TABLES["spans"].assign(fault_ns=pd.array([pd.NA] * len(TABLES["spans"]), "Int64"))}
    found = one(Context(run, unrecorded), DISK, "generation")
    assert found.amounts == (Amount(float(sum(read)), "bytes"),)
    assert found.population == f"{sum(n > 0 for n in read)} of {len(read)} tokens"


def test_findings_of_computing_and_barriers_equal_sums_of_spans(context: Context, rows: Rows) -> None:
    """Waiting for the disk is not computing: work without page faults, in the mean over the threads of a pass."""
    found = one(context, BANDWIDTH)
    kinds: dict[str, float] = defaultdict(float)
    parts_of: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    nodes = {(n["graph"], n["node"]): n for n in rows["graph_nodes"]}
    generate = rows.of_kind("generate")
    whole = sum(p["end_ns"] - p["begin_ns"] for p in generate)
    for p in generate:
        spans = [s for s in rows["spans"] if s["pass_id"] == p["pass_id"]]
        for s in spans:
            node = nodes[p["graph"], s["node"]]
            work = (s["work_ns"] - (s["fault_ns"] or 0)) / len({s["thread"] for s in spans}) / whole
            kinds[node["op"]] += work
            parts_of[node["op"]][theme.GROUP_OF[node["component"]]] += work
    op, share = max(kinds.items(), key=lambda of: of[1])
    assert found.text.startswith(f"Computing {op} takes") and found.amounts[0].value == pytest.approx(share)
    group, most = max(parts_of[op].items(), key=lambda of: of[1])
    several = len(parts_of[op]) > 1
    assert (f"of that is for {group}." in found.text) == several
    assert [a.value for a in found.amounts[1:]] == ([pytest.approx(most / share)] if several else [])
    shown = [row[3].bar for row in BANDWIDTH.content(context).rows if row[0].text == op]
    assert sum(bar or 0 for bar in shown) == pytest.approx(share), "the table that it cites has it"
    waited = next(f for f in findings(context) if f.text.startswith("The ") and "wait for each other" in f.text)
    split = [parts for p, parts in by_hand(TABLES)[0].items() if PASSES[p]["kind"] == "generate"]
    lasted = sum(p["end_ns"] - p["begin_ns"] for p in generate)
    assert waited.amounts[0].value == pytest.approx(sum(parts["barrier_ns"] for parts in split) / lasted)
    apart = any(parts["behind_ns"] + parts["paging_ns"] + parts["processor_ns"] for parts in split)
    assert waited.text.endswith(", not counting waits for the disk.") == apart
    assert waited.part == (DISK_SPLIT if apart else WAITING_KINDS)


@pytest.mark.parametrize(("cores", "said"), [(1, ": 2 threads share 1 processor."), (2, "."), (None, ".")])
def test_the_finding_of_waiting_for_a_processor_equals_sums_by_hand(cores: int | None, said: str) -> None:
    tables = with_off_cpu(TABLES)
    context = Context(with_facts(RUN, host={"cores": cores}), tables)
    n_threads = tables["spans"]["thread"].nunique()
    (found,) = (f for f in findings(context) if f.text.startswith("Waiting for a processor"))
    split = [parts for p, parts in by_hand(tables)[0].items() if PASSES[p]["kind"] == "generate"]
    lasted = sum(p["end_ns"] - p["begin_ns"] for p in PASSES.values() if p["kind"] == "generate")
    assert found.effect == pytest.approx(sum(parts["processor_ns"] for parts in split) / lasted)
    assert found.text.endswith(said.replace("2", str(n_threads), 1)) and found.part == DISK_SPLIT
    computed = next(f for f in findings(context) if f.part == BANDWIDTH)
    without = next(f for f in findings(Context(RUN, TABLES)) if f.part == BANDWIDTH)
    assert computed.effect < without.effect, "what has no processor computes nothing"
    assert any(f.text.endswith(", not counting waits for the disk or for a processor.") for f in findings(context))


def test_other_backends_are_named_with_their_shares_of_the_time() -> None:
    """The longest first; one that was only handed its splits is not named. A name is text, whatever it holds.

    One that was waited for computed in that time, and maybe before; where it is not known when that was, at most.
    """
    generate = {p: passed for p, passed in PASSES.items() if passed["kind"] == "generate"}
    shares = {  # proof, and when the program waited for it and it was done, as shares of the pass
        "GPU{0}": ("synchronise", 0.05, 0.3),
        "GPU%s1": ("blocking", 0.0, 0.5),
        "RPC0": ("none", 0.1, 0.9),
        "GPU2": ("synchronise", None, 0.2),
        "GPU3": ("synchronise", 0.001, 0.1),
    }
    splits = [
        dict(pass_id=number, split=i, backend=name, n_nodes=1, begin_ns=passed["begin_ns"], by_op=False, proof=proof)
        | {
            column: None if share is None else passed["begin_ns"] + int(share * (passed["end_ns"] - passed["begin_ns"]))
            for column, share in (("waiting_ns", waited), ("end_ns", done))
        }
        for number, passed in generate.items()
        for i, (name, (proof, waited, done)) in enumerate(shares.items())
    ]
    tables = {**TABLES, "splits": frame("splits", splits)}
    (found,) = (f for f in findings(Context(RUN, tables)) if "computes" in f.text)
    assert found.text == (
        "GPU%s1 computes 50.0 % of the time of generated tokens, GPU{0} 25.0 % to 30.0 %, GPU2 at most 20.0 %, "
        "GPU3 10.0 %."
    )
    assert [of.value for of in found.amounts] == pytest.approx([0.5, 0.25, 0.3, 0.2, 0.1], rel=1e-2)
    assert found.effect == pytest.approx(1.1, rel=1e-3) and found.part is COMPONENTS


def test_of_many_backends_the_first_are_named_and_the_others_summed() -> None:
    shares = (0.4, 0.2, 0.1, 0.04, 0.03, 0.03)
    generate = {p: of for p, of in PASSES.items() if of["kind"] == "generate"}
    rows = [
        dict(pass_id=p, split=i, backend=f"RPC{i}", n_nodes=1, begin_ns=of["begin_ns"], by_op=False, proof="blocking")
        | dict(waiting_ns=of["begin_ns"], end_ns=of["begin_ns"] + int(share * (of["end_ns"] - of["begin_ns"])))
        for p, of in generate.items()
        for i, share in enumerate(shares)
    ]
    context = Context(RUN, {**TABLES, "splits": frame("splits", rows)})
    (found,) = (f for f in findings(context) if "computes" in f.text)
    assert found.text == (
        "RPC0 computes 40.0 % of the time of generated tokens, RPC1 20.0 %, RPC2 10.0 %, 3 others together 10.0 %."
    )
    assert context.others == "RPC0, RPC1, RPC2 and 3 others"


def test_a_device_with_times_of_operations_is_busy_as_long_as_these_take() -> None:
    tables = with_device_ops(TABLES, "GPU0")
    generate = [p for p, passed in PASSES.items() if passed["kind"] == "generate"]
    ends = {p: (PASSES[p]["begin_ns"], PASSES[p]["end_ns"]) for p in generate}
    splits = [
        dict(pass_id=p, split=0, backend="GPU0", n_nodes=1, begin_ns=b, submitted_ns=b, end_ns=e, by_op=False)
        | dict(proof="synchronise")
        for p, (b, e) in ends.items()
    ]
    context = Context(RUN, {**tables, "splits": frame("splits", splits)})
    (found,) = (f for f in findings(context) if "computes" in f.text)
    busy, ops = 0, tables["ops"].dropna(subset=["begin_ns"])
    for p, (begin, end) in ends.items():
        line = np.zeros(end - begin, bool)
        for row in ops[(ops["pass_id"] == p).to_numpy(bool)].itertuples():
            line[row.begin_ns - begin : row.end_ns - begin] = True
        busy += int(line.sum())
    assert found.amounts[0].value == pytest.approx(busy / sum(e - b for b, e in ends.values()))
    assert re.fullmatch(
        r"GPU0 computes [\d.]+ % of the time of generated tokens; \w+ takes [\d.]+ % of that\.", found.text
    )
    assert found.part is DEVICE_OPS


def test_of_a_program_that_recording_slowed_down_only_the_devices_own_time_is_said() -> None:
    """An untraced control has found that: the share of the program's time would be that of the slower one."""
    tables = with_device_ops(TABLES, "CUDA0")
    splits = [
        dict(pass_id=p, split=0, backend="CUDA0", n_nodes=1, by_op=False, proof="synchronise")
        | dict(begin_ns=of["begin_ns"], submitted_ns=of["begin_ns"], end_ns=of["end_ns"])
        for p, of in PASSES.items()
        if of["kind"] == "generate"
    ]
    slower = Check("observer", "Speed agrees", "failed", "46 % slower", "10 %")
    run = a_run(checks=(slower,))
    said = [f for f in findings(Context(run, {**tables, "splits": frame("splits", splits)})) if "CUDA0" in f.text]
    assert len(said) == 1 and said[0].part is DEVICE_OPS
    assert re.fullmatch(
        r"\w+ takes [\d.]+ % of the time in which CUDA0 computes for generated tokens\. Recording that slowed the "
        r"program down, so that its share of the whole time is not said\.",
        said[0].text,
    )


@pytest.mark.parametrize("recorded", [True, False])
def test_computing_leaves_out_waiting_whether_page_faults_were_recorded_or_not(recorded: bool) -> None:
    spans = TABLES["spans"]
    if not recorded:
        spans = spans.assign(fault_ns=pd.array([pd.NA] * len(spans), "Int64"))
    found = one(Context(RUN, {**TABLES, "spans": spans}), BANDWIDTH)
    op = found.text.split()[1]
    nodes = {(n["graph"], n["node"]): n["op"] for n in TABLES["graph_nodes"].to_dict("records")}
    generate = {p: passed for p, passed in PASSES.items() if passed["kind"] == "generate"}
    whole = sum(passed["end_ns"] - passed["begin_ns"] for passed in generate.values())
    threads = {p: len(set(TABLES["spans"].query("pass_id == @p")["thread"])) for p in generate}
    worked = sum(
        (s["work_ns"] - (0 if pd.isna(s["fault_ns"]) else s["fault_ns"])) / threads[s["pass_id"]]
        for s in spans.to_dict("records")
        if s["pass_id"] in generate and nodes[generate[s["pass_id"]]["graph"], s["node"]] == op
    )
    assert found.amounts[0].value == pytest.approx(worked / whole)


def test_findings_of_weights_equal_sums_of_accesses(context: Context, rows: Rows, measured: list[Access]) -> None:
    sums = {p["pass_id"]: dict.fromkeys(("disk", "copied", "buffer"), 0) for p in rows.of_kind("generate")}
    for a in measured:
        if a.pass_id in sums:
            sums[a.pass_id][a.memory] += a.n_bytes
    touched = median(of["disk"] + of["copied"] for of in sums.values())
    found = one(context, TENSOR_GROUPS, "generation")
    assert found.amounts[0].value == touched and found.effect == found.amounts[1].value == touched / rows.disk_bytes
    weights = sum(t["size_bytes"] for t in rows["tensors"])
    unused = weights - memory.touched_bytes(measured)
    never = one(context, TENSOR_GROUPS, "measured passes")
    assert tuple(a.value for a in never.amounts) == (unused, unused / weights)
    copied, mapped = (median(of[kind] for of in sums.values()) for kind in ("copied", "disk"))
    copies = one(context, HEATMAP)
    assert tuple(a.value for a in copies.amounts) == (copied, mapped)
    assert copies.effect == copied / (copied + mapped)


def test_the_finding_of_enough_memory_equals_distances_of_plain_lru(
    context: Context, rows: Rows, measured: list[Access]
) -> None:
    size = access.granule_bytes(rows)
    distances = access.lru_distances(access.uses(rows, measured, size))
    enough = size * next(n for n in range(10**6) if sum(d < n for d in distances) >= 0.9 * len(distances))
    found = one(context, CACHE_RATES)
    assert found.amounts[0] == Amount(enough, "bytes") and found.effect == min(enough / rows.disk_bytes, 1)


def test_what_the_next_token_needs(tmp_path: Path) -> None:
    tables = scaled_case(MIDDLE + 1, 1, moe=True)
    folder = stored(tmp_path, a_moe_run(), tables).folder
    assert folder is not None
    rows = Rows(folder)
    used = list(accesses(rows, rows.measured))
    pass_ids = [p["pass_id"] for p in access.shown_passes(access.order(rows, used))]
    (alone,) = [row for row in reuse.working_set(rows, used, pass_ids) if row["n_passes"] == 1]
    new = one(Context(a_moe_run(), tables), WORKING_SET)
    assert [a.value for a in new.amounts[:2]] == pytest.approx([alone["new_bytes"], alone["bytes"]])
    assert new.effect == pytest.approx(alone["new_bytes"] / alone["bytes"])


def test_experts_that_are_chosen_most_and_never(context: Context, rows: Rows) -> None:
    largest: dict[int, float] = defaultdict(float)
    for row in experts.ranked(rows):
        largest[row["layer"]] = max(largest[row["layer"]], row["share"])
    counts = experts.counts(rows)
    never = sum(row["n_tokens"] == 0 for row in counts)
    found = one(context, EXPERTS_LOAD)
    assert found.amounts[0].value == pytest.approx(median(largest.values()))
    assert found.amounts[-1] == Amount(never, "", f"of {len(counts)} experts in {len(largest)} layers never chosen")
    assert f"{never} of {len(counts)} experts in {len(largest)} layers were never chosen." in found.text


# What must not be said


@pytest.mark.parametrize("check", [key.value for key in CHECKED])
def test_no_finding_stands_whose_figure_a_failed_check_makes_false(context: Context, check: str) -> None:
    failed = replace(RUN, checks=(Check(check, "A check", "failed", "17", "0"),))
    again = same_analyses(context, failed)
    stands = {(f.text, f.scope, f.part.key) for f in findings(again)}
    for finding in findings(context):
        if again.refusal(finding.part.needs):
            assert (finding.text, finding.scope, finding.part.key) not in stands, (check, finding.text)


@pytest.mark.parametrize("name", CASES)
def test_data_of_findings_are_json_with_exact_numbers(name: str) -> None:
    for finding in findings(Context(a_moe_run() if name == "experts" else a_run(), dict(CASES[name]))):
        data = json.loads(json.dumps(finding.data, allow_nan=False))
        assert [a["value"] for a in data["amounts"]] == [a.value for a in finding.amounts]
        assert data["text"] == finding.text and finding.text.endswith(".") and "\n" not in finding.text
        assert not pd.isna(finding.effect) and 0 <= finding.effect <= 1


NUMBER = re.compile(r"(?<![\w.])\d[\d.,\u202f]*(?: (?:%|[KMGT]?i?B\b|ns|µs|ms|s\b))?")
WHOLE = re.compile(r"\d[\d\u202f]*")  # counts of tokens, threads, experts and layers


@pytest.mark.parametrize("name", CASES)
def test_each_number_of_a_sentence_is_one_of_its_amounts(name: str) -> None:
    """But for counts, the target of a hit rate, and names; a sentence has at most 30 words."""
    for finding in findings(Context(a_moe_run() if name == "experts" else a_run(), dict(CASES[name]))):
        numbers = {a.number for a in finding.amounts} | {q.percent(TARGET)}
        said = [n.strip(".,") for n in NUMBER.findall(finding.text.replace("\u202f%", " %"))]
        assert not [n for n in said if n not in numbers and not WHOLE.fullmatch(n)], (finding.text, numbers)
        assert all(len(sentence.split()) <= 30 for sentence in finding.text.split(". ")), finding.text


# Which one answers

MADE = st.builds(
    lambda kind, scope, effect: Finding(
        kind=kind,
        text="It.",
        amounts=(Amount(effect, "share"),),
        scope=scope,
        population="",
        effect=effect,
        part=HEATMAP,
    ),
    st.sampled_from(Kind.__args__),
    st.sampled_from(Scope.__args__),
    st.sampled_from([0.0, 0.01, 0.02, 0.3, 0.5, 1.0]),
)


@given(st.lists(MADE, max_size=9))
def test_waiting_answers_then_time_then_what_is_largest_and_kinds_take_turns(every_finding: list[Finding]) -> None:
    first, *others = every = ordered(every_finding) or [None]
    assert sorted(map(id, every)) == sorted(map(id, every_finding)) or not every_finding
    if first is None:
        return
    waits = [f for f in every_finding if f.kind == "waiting" and f.effect >= WAITS]
    if waits:
        assert first in waits and (first.scope == "generation" or all(f.scope != "generation" for f in waits))
    else:
        of = [f for f in every_finding if f.kind == "time"] or every_finding
        assert first in of and first.effect == max(f.effect for f in of)
    n: dict[str, int] = defaultdict(int, {first.kind: 1})
    turns = []
    for finding in others:
        turns.append((n[finding.kind], -finding.effect))
        n[finding.kind] += 1
    assert turns == sorted(turns)


def test_the_answer_alone_is_the_first_of_all(context: Context) -> None:
    for asked in ("", "waiting", "time", "bytes", "memory", "experts"):
        run = with_groups(context.run, settings={"asks": asked})
        context = replace(context, run=run)
        first, every = answer(context), findings(context)
        assert (first and first.text) == (every[0].text if every else None)
        assert not asked or every[0].kind == asked or all(finding.kind != asked for finding in every)


@pytest.mark.parametrize("asked", ["", "time", "bytes"])
def test_what_answers_is_said_first_and_bytes_follow_what_takes_time(asked: str) -> None:
    run = with_groups(a_run(), settings={"asks": asked})
    of_run = Context(run, scaled_case(4, 2))
    found = findings(of_run)
    whole = answered(of_run, found)
    assert whole is not None and whole.brief.startswith(found[0].text)
    assert found[0].kind == (asked or "time")
    if found[0].kind == "time":
        assert whole.brief == f"{found[0].text} {one(of_run, TENSOR_GROUPS, 'generation').text}"


def finding(kind: Kind, effect: float, scope: Scope = "generation") -> Finding:
    amount = Amount(effect, "share", "of it")
    return Finding(kind=kind, text="X.", amounts=(amount,), scope=scope, population="n", effect=effect, part=HEATMAP)


def test_findings_are_ordered_by_waiting_time_and_effect() -> None:
    time, more, prompt, waits, little = (
        finding("time", 0.6),
        finding("bytes", 0.9),
        finding("waiting", 0.9, "prompt"),
        finding("waiting", 0.02),
        finding("waiting", 0.019),
    )
    assert ordered([more, time, little]) == [time, more, little]
    assert ordered([time, prompt, waits]) == [waits, time, prompt]
    assert ordered([more, time, waits], "bytes") == [more, time, waits], "what is asked for answers"
    assert ordered([time, waits], "experts") == [waits, time], "unless the run has no such finding"
    assert ordered([more]) == [more] and ordered([]) == []


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(1001, 2000)), min_size=1, max_size=12))
def test_a_pass_with_much_of_the_waiting_is_named_with_the_share_without_it(times: list[tuple[int, int]]) -> None:
    cost, duration = (pd.Series(column, dtype="float64") for column in zip(*times, strict=True))
    said = waiting._one_pass(cost, duration, "token")
    whole, most = sum(cost), max(cost)
    assert bool(said) == (most > whole / 5 and most > 2 * whole / len(times))
    if said:
        ((text, (of, without)),) = said
        left = list(times)
        left.remove(next(one for one in times if one[0] == most))
        assert of.value == most / whole
        assert without.value == pytest.approx(sum(n for n, _ in left) / sum(ns for _, ns in left))
        assert of.text in text and without.text in text
