"""The checks that decide what a run may be used for. Each can fail; each states figure and limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracegen.analysis.coverage import tensors_read
from tracegen.model import Check, CheckState
from tracegen.tables import empty

Tables = Mapping[str, pd.DataFrame]

WARN_COST, FAIL_COST = 0.01, 0.10
WARN_SWITCHES_PER_PASS = 1.0
WARN_WAIT_SHARE = 0.5
TOKEN_PASSES = ("prompt", "generate")


@dataclass(frozen=True)
class Evidence:
    """What the checks look at: the tables, what the trace says of itself, llama.cpp's counters, the model.

    `n_layers_ahead` of the `n_layers` predict further tokens: llama.cpp runs them only to draft.
    """

    tables: Tables
    trace: Mapping[str, Any]
    timings: Mapping[str, float | int | None]
    n_layers: int | None = None
    n_layers_ahead: int = 0
    n_experts: int | None = None
    data_begin: tuple[int, ...] = ()
    tokens_asked: int | None = None
    warmup: bool | None = None
    exit_status: int = 0
    stopped: bool = False


def checks_of(evidence: Evidence) -> tuple[Check, ...]:
    """All checks, in the order of DESIGN: evidence, accounting, agreement, model, time."""
    return tuple(check(evidence) for check in _CHECKS)


def all_checks() -> tuple[Check, ...]:
    """Every check as it stands for a run of which nothing was recorded: for its key, title and limit."""
    counts = (
        "dropped",
        "skipped_passes",
        "unsealed_chunks",
        "open_computes",
        "not_monotone",
        "zero_records",
        "clock_uneven_ns",
    )
    trace: dict[str, Any] = dict.fromkeys((*counts, "n_ops_short_of_threads", "n_segments", "n_misnamed"), 0)
    trace |= {"dropped_why": None, "ended": False, "run_id": ""}
    trace |= dict.fromkeys(("event_cost_ns", "clock_read_ns", "pass_cost_ns", "pass_cost_most_ns"), float("nan"))
    return checks_of(Evidence(empty(), trace, {}))


def _check(key: str, title: str, state: CheckState | bool, found: object, limit: str, detail: str = "") -> Check:
    if isinstance(state, bool):
        state = "passed" if state else "failed"
    return Check(key, title, state, str(found), limit, detail)


def _count(number: float) -> str:
    return f"{number:,.0f}".replace(",", "\u2009")


def _dropped(e: Evidence) -> Check:
    dropped, why = int(e.trace["dropped"]), e.trace["dropped_why"] or ""
    return _check("dropped_events", "No event was dropped", dropped == 0, _count(dropped), "0", why)


def _complete(e: Evidence) -> Check:
    """A killed process leaves a readable prefix, and a page made of it must say so."""
    whole = bool(e.trace["ended"]) and e.trace["unsealed_chunks"] == 0 and e.trace["open_computes"] == 0
    found = (
        "closed in order"
        if whole
        else f"ends early: {e.trace['unsealed_chunks']} chunks unsealed, {e.trace['open_computes']} graphs unfinished"
    )
    state: CheckState = "passed" if whole else "failed"
    if whole and e.exit_status and not e.stopped:
        state = "warning" if e.exit_status > 0 else "failed"
        how = f"with exit status {e.exit_status}" if e.exit_status > 0 else f"by signal {-e.exit_status}"
        found += f"; the program ended {how}"
    return _check("trace_complete", "The trace was closed in order", state, found, "closed in order")


def _nodes(e: Evidence) -> Check:
    state = e.tables["ops"]["state"]
    total, known = len(state), int(state.notna().sum())
    if total == 0 and _windowed(e):
        return _check(
            "nodes_accounted", "Every node of every pass is accounted for", "failed",
            f"no pass lay in the window, {_count(e.trace['skipped_passes'])} outside it: ask for another", "all",
        )  # fmt: skip
    counts = state.value_counts()
    detail = ", ".join(f"{_count(n)} {name}" for name, n in counts.items() if n)
    return _check(
        "nodes_accounted", "Every node of every pass is accounted for", total > 0 and known == total,
        f"{_count(known)} of {_count(total)}", "all", detail,
    )  # fmt: skip


def _threads(e: Evidence) -> Check:
    short = int(e.trace["n_ops_short_of_threads"])
    return _check(
        "threads_accounted", "Every thread has a span for every op it took part in", short == 0,
        f"{_count(len(e.tables['spans']))} spans, {_count(short)} ops short of a thread", "0 ops short",
    )  # fmt: skip


def _windowed(e: Evidence) -> bool:
    """Whether passes were left out because they lay outside the window that was asked for."""
    return bool(e.trace["skipped_passes"])


def _only_ggml(e: Evidence) -> bool:
    """Whether graphs ran and nothing of llama.cpp: nothing is known of what the program computed."""
    seen = e.tables["contexts"].empty and e.tables["files"].empty and e.warmup is None
    return seen and not e.tables["passes"].empty and bool(e.tables["passes"]["kind"].isna().all())


_ONLY_GGML = "a program of ggml without llama.cpp: each graph is a pass of its own"


def _passes(e: Evidence) -> Check:
    kinds = e.tables["passes"]["kind"]
    n, runs = int((kinds == "generate").sum()), e.timings.get("eval_runs")
    if runs is None or _windowed(e):
        return _check("passes_agree", "Generate passes agree with llama.cpp", "not checked", _count(n), "n_eval")
    # llama.cpp counts a prompt of one token as a run, and at least one run even when there was none.
    prompt_tokens = e.tables["passes"].loc[kinds == "prompt", "n_tokens"].sum()
    agree = max(n + int(prompt_tokens == 1), 1) == runs
    return _check(
        "passes_agree", "Generate passes agree with llama.cpp's counter", agree, _count(n), f"n_eval = {_count(runs)}"
    )


def _tokens(e: Evidence) -> Check:
    passes = e.tables["passes"]
    n, counted = int(passes.loc[passes["kind"] == "prompt", "n_tokens"].sum()), e.timings.get("prompt_tokens")
    title = "Prompt tokens agree with llama.cpp's counter"
    if counted is None or _windowed(e):
        return _check("tokens_agree", title, "not checked", _count(n), "n_p_eval")
    # A one-token prompt is a single-row batch: llama.cpp counts it under eval.
    agree = n == counted or (n == 1 and counted in (0, 1))
    return _check("tokens_agree", title, agree, _count(n), f"n_p_eval = {_count(counted)}")


def _asked(e: Evidence) -> Check:
    """llama.cpp stops early when the context is full: what was measured is true, but less than was asked."""
    passes = e.tables["passes"]
    n = int(passes["produced_token"].notna().sum())
    title = "As many tokens were generated as asked for"
    if e.tokens_asked is None:
        several = passes["kind"].isin(["mixed", "draft", "verify"]).any()  # one pass may give more than one, or none
        found = "not known" if several or _only_ggml(e) else _count(n)
        return _check("tokens_asked", title, "not checked", found, "the setting `tokens`")
    state: CheckState = "passed" if n == e.tokens_asked else "warning"
    detail = "" if state == "passed" else "llama.cpp stops when its context is full; enlarge the setting `context`"
    return _check("tokens_asked", title, state, _count(n), f"tokens = {_count(e.tokens_asked)}", detail)


def _layers(e: Evidence) -> Check:
    nodes = e.tables["graph_nodes"]
    found = int(nodes["layer"].max()) + 1 if nodes["layer"].notna().any() else 0
    title = "Layers agree with the model's metadata"
    if e.n_layers is None or nodes.empty:
        return _check("layers_agree", title, "not checked", _count(found), "block_count")
    agree = e.n_layers - e.n_layers_ahead <= found <= e.n_layers
    ahead = f", the last {e.n_layers_ahead} only to draft" if e.n_layers_ahead else ""
    return _check("layers_agree", title, agree, _count(found), f"block_count = {e.n_layers}{ahead}")


def _first_op(e: Evidence) -> Check:
    passes = e.tables["passes"].dropna(subset=["graph", "kind"])
    passes = passes[passes["kind"].isin(["prompt", "generate", "warmup"])]
    if passes.empty:
        return _check(
            "first_op", "Each pass begins with the embedding lookup", "not checked",
            "no warm-up, prompt or generate pass", "GET_ROWS",
        )  # fmt: skip
    ops = e.tables["graph_nodes"]
    first = ops[ops["kind"] == "op"].sort_values(["graph", "node"]).drop_duplicates("graph").set_index("graph")["op"]
    found = sorted(set(first.reindex(passes["graph"].astype(int)).dropna().astype(str)))
    return _check(
        "first_op", "Each pass begins with the embedding lookup", found == ["GET_ROWS"], ", ".join(found) or "none",
        "GET_ROWS",
    )  # fmt: skip


def _op_mix(e: Evidence) -> Check:
    """An attention model multiplies, normalises and rotates; a MoE also routes."""
    if e.tables["graph_nodes"].empty:
        limit = "MUL_MAT and a norm; experts are routed"
        return _check("op_mix", "The operations are those of the architecture", "not checked", "no graph", limit)
    if _only_ggml(e):
        title, limit = "The operations are those of the architecture", "those of a language model"
        return _check("op_mix", title, "not checked", "no model", limit, _ONLY_GGML)
    present = set(e.tables["graph_nodes"].loc[e.tables["graph_nodes"]["kind"] == "op", "op"].astype(str))
    wanted = {"MUL_MAT"} | ({"MUL_MAT_ID", "ARGSORT"} if e.n_experts else set())
    wanted_norm = {"RMS_NORM", "NORM"}
    missing = sorted(wanted - present) + ([] if wanted_norm & present else ["RMS_NORM or NORM"])
    extra = [] if e.n_experts or "MUL_MAT_ID" not in present else ["MUL_MAT_ID in a model without experts"]
    problems = [f"no {name}" for name in missing] + extra
    return _check(
        "op_mix", "The operations are those of the architecture", not problems,
        "; ".join(problems) or f"{len(present)} kinds of op", "MUL_MAT and a norm; experts are routed",
    )  # fmt: skip


def _offsets(e: Evidence) -> Check:
    title = "File offsets lie inside the model's tensors"
    if e.tables["tensors"].empty:
        return _check("offsets_in_tensors", title, "not checked", "no memory map", "all")
    place = e.tables["placements"]
    place = place[place["file"].notna() | (place["memory"].isin(["disk", "copied"]))]
    tensors = e.tables["tensors"].set_index("tensor")
    inside = place["tensor"].notna()
    known = place[inside]
    end = known["origin_offset"] + known["size_bytes"]
    limit = tensors["offset"].add(tensors["size_bytes"]).reindex(known["tensor"].astype(int)).to_numpy()
    bad = int((~inside).sum()) + int((end.to_numpy(dtype="int64") > limit).sum())
    return _check(
        "offsets_in_tensors", title, bad == 0, f"{_count(len(place))} places, {_count(bad)} outside", "0 outside"
    )


def _tiles(e: Evidence) -> Check:
    title = "Tensors tile their file"
    tensors = e.tables["tensors"]
    if tensors.empty or not e.data_begin:
        return _check("tensors_tile_file", title, "not checked", "no memory map", "no overlap, gaps are padding")
    worst, overlaps = 0, 0
    sizes = e.tables["files"]["size_bytes"].to_list()
    for number, (size, data_begin) in enumerate(zip(sizes, e.data_begin, strict=True)):
        group = tensors[tensors["file"] == number].sort_values("offset")
        begin = group["offset"].to_numpy()
        gaps = np.append(begin, size) - np.insert(begin + group["size_bytes"].to_numpy(), 0, data_begin)
        overlaps += int((gaps < 0).sum())
        worst = max(worst, int(gaps.max()))
    return _check(
        "tensors_tile_file", title, overlaps == 0 and worst < 4096, f"{overlaps} overlaps, largest gap {worst} B",
        "no overlap, gaps below 4\u2009096 B",
    )  # fmt: skip


def _monotone(e: Evidence) -> Check:
    n = int(e.trace["not_monotone"])
    return _check("monotone_time", "Time runs forward on every thread", n == 0, _count(n), "0 steps back")


def _even(e: Evidence) -> Check:
    """Times of the ops in a pass during which the machine slept cannot be told."""
    apart = int(e.trace["clock_uneven_ns"])
    return _check(
        "even_clock", "The clock of the events went along with the system's", apart == 0,
        "evenly" if apart == 0 else f"{apart / 1e9:,.2f} s apart", "10 ms and 1 % between two moments",
        "" if apart == 0 else "the machine slept, or its time stamp counter stood; ops of that pass are timed wrongly",
    )  # fmt: skip


def _zero(e: Evidence) -> Check:
    n = int(e.trace["zero_records"])
    return _check("zero_records", "No empty records", n == 0, _count(n), "0")


def _untouched(e: Evidence) -> Check:
    """Weights that no token used are a finding; that an op read one and nobody saw what of it, is a gap."""
    title = "Weights that no token used are listed"
    tensors, passes = e.tables["tensors"], e.tables["passes"]
    ids = passes.loc[passes["kind"].isin(TOKEN_PASSES), "pass_id"]
    if tensors.empty or ids.empty:
        return _check("never_touched", title, "not checked", "no token passes or no memory map", "a list")
    used, read = tensors_read(e.tables, ids)
    never = tensors[~tensors["tensor"].isin(used | read)]
    gaps = tensors[tensors["tensor"].isin(read)]
    found = f"{len(never)} of {len(tensors)} tensors, {_count(never['size_bytes'].sum())} B"
    if len(gaps):
        detail = f"ops read these, and which rows or experts was not recorded: {_some(gaps['name'])}"
        found += f"; {_count(len(gaps))} more read, nobody saw what of them"
        return _check("never_touched", title, "warning", found, "a list, and no gap", detail)
    return _check("never_touched", title, "passed", found, "a list, and no gap", _some(never["name"]))


def _some(names: pd.Series) -> str:
    return ", ".join(names.head(8)) + (" …" if len(names) > 8 else "")


def _buffers(e: Evidence) -> Check:
    events = e.tables["buffers"]["event"]
    begun, ended = int((events == "alloc").sum()), int((events == "free").sum())
    title = "Allocations and frees balance"
    if begun == 0:
        return _check("buffers_balance", title, "not checked", "no buffers recorded", "equal")
    found = f"{_count(begun)} allocated, {_count(ended)} freed"
    if e.stopped and ended <= begun:  # its trace was closed while it held them
        return _check("buffers_balance", title, "not checked", f"{found} until the trace was closed", "equal")
    state: CheckState = "passed" if begun == ended else "warning"
    return _check("buffers_balance", title, state, found, "equal")


def _one_run(e: Evidence) -> Check:
    """The reader refuses segments whose headers differ; a file may still have been given another run's name."""
    misnamed = int(e.trace["n_misnamed"])
    return _check(
        "one_run_id", "All files carry one run id", bool(e.trace["run_id"]) and misnamed == 0,
        f"{e.trace['n_segments']} files of {str(e.trace['run_id'])[:8]}, {misnamed} of another name",
        "one, in header and name",
    )  # fmt: skip


def _checksums(e: Evidence) -> Check:
    n = int(e.trace["unsealed_chunks"])
    return _check(
        "checksums", "Checksums hold", "passed" if n == 0 else "warning",
        "all chunks sealed and right" if n == 0 else f"{n} chunks were never sealed", "all",
    )  # fmt: skip


def overhead_share(tables: Tables, trace: Mapping[str, Any]) -> float | None:
    """Tracing cost as a share of the passes' time: (events x their cost + passes x theirs) / (time x threads).

    An event costs what it did beside other work when the run began; copying rows or experts about as much
    (`make bench` measures both). A pass costs what its hooks usually took in this run: while one thread is in them
    the others wait, so they count for all threads.
    """
    passes, spans = tables["passes"], tables["spans"]
    cost = float(trace["event_cost_ns"])
    ids = passes.loc[passes["graph"].notna(), "pass_id"]
    timed = passes[passes["pass_id"].isin(ids)]
    total = float((timed["end_ns"] - timed["begin_ns"]).sum())
    threads = int(spans["thread"].max()) + 1 if len(spans) else 0
    if not total or not threads or np.isnan(cost) or np.isnan(float(trace["pass_cost_ns"])):
        return None
    barriers = int((spans["barrier_ns"] > 0).sum())
    spent = (len(spans) + int(trace["n_copies"])) * cost + barriers * 2 * float(trace["clock_read_ns"])
    spent += len(timed) * float(trace["pass_cost_ns"]) * threads
    return spent / (total * threads)


def _cost(e: Evidence) -> Check:
    share = overhead_share(e.tables, e.trace)
    limit = f"\u2264 {WARN_COST:.0%}; over {FAIL_COST:.0%} fails"
    title = "Tracing costs little of the passes' time"
    if share is None:
        return _check("tracing_cost", title, "not checked", "not measured, or every pass ran a new graph", limit)
    state: CheckState = "passed" if share <= WARN_COST else "warning" if share <= FAIL_COST else "failed"
    detail = (
        f"{e.trace['event_cost_ns']:.1f} ns per event, measured when the run began; "
        f"{e.trace['pass_cost_ns'] / 1e3:.1f} \u00b5s per pass, the lower quartile of those whose graph was "
        f"known, timed in the run; of a single pass at most {e.trace['pass_cost_most_ns'] / 1e3:.1f} \u00b5s"
    )
    return _check("tracing_cost", title, state, f"{share:.2%}", limit, detail)


def _interference(e: Evidence) -> Check:
    title = "Other programs did not interfere"
    passes, spans = e.tables["passes"], e.tables["spans"]
    chosen = passes[passes["kind"].isin(TOKEN_PASSES)]
    if chosen.empty or chosen["involuntary_switches"].isna().all():
        return _check("interference", title, "not checked", "not recorded", "\u2264 1 involuntary switch a pass")
    per_pass = float(chosen["involuntary_switches"].mean())
    mine = spans["pass_id"].isin(chosen["pass_id"])
    work, barrier, wait = (int(spans.loc[mine, name].sum()) for name in ("work_ns", "barrier_ns", "wait_ns"))
    waited = (barrier + wait) / (work + barrier + wait) if work + barrier + wait else 0.0
    calm = per_pass <= WARN_SWITCHES_PER_PASS and waited <= WARN_WAIT_SHARE
    return _check(
        "interference", title, "passed" if calm else "warning",
        f"{per_pass:.2f} involuntary switches a pass, {waited:.0%} of thread time waiting",
        f"\u2264 {WARN_SWITCHES_PER_PASS:.0f} a pass, \u2264 {WARN_WAIT_SHARE:.0%} waiting",
    )  # fmt: skip


def _kinds(e: Evidence) -> Check:
    """Warm-up asked for is there, and none that was switched off; what has no kind is told.

    Where nobody said whether there should be one, or a window left it out, only the unknown kinds count.
    """
    kinds = e.tables["passes"]["kind"]
    title = "Load and warm-up are told from tokens"
    if _only_ggml(e):
        found = f"no loads and no contexts, {_count(len(kinds))} graphs"
        return _check("pass_kinds", title, "not checked", found, "0 unknown", _ONLY_GGML)
    n = int((kinds == "warmup").sum())
    unknown = int(kinds.isna().sum())
    asked = None if _windowed(e) else e.warmup
    wrong = asked is not None and (n > 0) != asked
    state: CheckState = "failed" if wrong else "warning" if unknown else "passed"
    return _check(
        "pass_kinds", title, state,
        f"{int((kinds == 'load').sum())} load, {n} warm-up, {unknown} unknown",
        "0 unknown" if asked is None else "warm-up on" if asked else "warm-up off",
        "a graph that evaluates no tokens, as when the KV cache is shifted, is of no known kind" if unknown else "",
    )  # fmt: skip


_CHECKS = (
    _complete, _dropped, _one_run, _checksums, _zero, _monotone, _even, _nodes, _threads, _kinds, _passes, _tokens,
    _asked, _layers, _first_op, _op_mix, _offsets, _tiles, _untouched, _buffers, _cost, _interference,
)  # fmt: skip
