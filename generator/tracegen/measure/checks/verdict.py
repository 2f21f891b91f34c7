"""The checks that decide the verdict of a run. Each states its finding and its limit."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from tracegen.analysis import explicit_reads
from tracegen.analysis.coverage import tensors_read
from tracegen.analysis.passes import measured
from tracegen.contract.check_keys import FOOTPRINT_SLACK, FOOTPRINT_SLACK_BYTES, PADDING, Key
from tracegen.contract.details import in_words
from tracegen.contract.model import Check, CheckState
from tracegen.contract.quantities import count, counted
from tracegen.contract.quantities import size as quantity
from tracegen.contract.tables import FOOTPRINT_KINDS, small_tables
from tracegen.measure.checks import disk, requests, times
from tracegen.measure.checks.evidence import Evidence, check


@small_tables
def checks_of(evidence: Evidence) -> tuple[Check, ...]:
    """All checks, in this order: evidence, accounting, agreement, model, page faults, requests, time.

    Those of page faults and of requests are left out when nobody asked for these, that of reads where the program read
    no weights into memory itself or its reads are not hooked, and that of hooks where all fit.
    """
    lost = evidence.trace.get("not_hooked") or ()
    left_out = {_reads} if "reads" in lost or explicit_reads.missing(evidence.tables) is None else set()
    left_out |= set() if lost else {_hooks}
    for name, checks in (("faults", disk.CHECKS), ("requests", requests.CHECKS)):
        if not evidence.trace.get(f"{name}_recorded") and not evidence.trace.get(f"{name}_refused"):
            left_out |= set(checks)
    return tuple(run_check(evidence) for run_check in _CHECKS if run_check not in left_out)


def _dropped(e: Evidence) -> Check:
    dropped, why = int(e.trace["dropped"]), e.trace["dropped_why"] or ""
    return check(Key.DROPPED_EVENTS, dropped == 0, count(dropped), why)


def _complete(e: Evidence) -> Check:
    """Whether the trace was closed in order: a killed process leaves a readable prefix, and its pages must say so.

    A program that was asked for tokens and ended with an error did not do what its run is for.
    """
    whole = bool(e.trace["ended"]) and e.trace["unsealed_chunks"] == 0 and e.trace["open_computes"] == 0
    finding = (
        "closed in order"
        if whole
        else f"ends early: {e.trace['unsealed_chunks']} chunks unsealed, {e.trace['open_computes']} graphs unfinished"
    )
    state: CheckState = "passed" if whole else "failed"
    if whole and e.exit_status and not e.stopped:
        state = "warning" if e.exit_status > 0 and e.tokens_asked is None else "failed"
        how = f"with exit status {e.exit_status}" if e.exit_status > 0 else f"by signal {-e.exit_status}"
        finding += f"; the program ended {how}"
    return check(Key.TRACE_COMPLETE, state, finding)


def _unchanged(e: Evidence) -> Check:
    """Whether the model files of now are those that the program read: if not, no hash and no place is theirs."""
    names = ", ".join(e.changed[:4])
    return check(
        Key.MODEL_UNCHANGED, not e.changed, f"{count(len(e.changed))} of {count(len(e.tables['files']))}", names
    )


def _hooks(e: Evidence) -> Check:
    """Which details are not recorded, because their hooks do not fit the llama.cpp that ran."""
    finding = f"without {in_words(tuple(e.trace['not_hooked']))}"
    why = "`tracegen llama-cpp hook DIR --check` says which line of llama.cpp they need"
    return check(Key.HOOKS, "warning", finding, why)


def _nodes(e: Evidence) -> Check:
    state = e.tables["ops"]["state"]
    total, known = len(state), int(state.notna().sum())
    if _only_loaded(e):
        return check(Key.NODES_ACCOUNTED, "not checked", _FAILED_EARLY)
    if total == 0 and _windowed(e):
        outside = count(e.trace["skipped_passes"])
        finding = f"no pass lay in the window and {outside} outside it: choose another one"
        return check(Key.NODES_ACCOUNTED, "failed", finding)
    counts = state.value_counts()
    detail = ", ".join(f"{count(n)} {name}" for name, n in counts.items() if n)
    return check(Key.NODES_ACCOUNTED, total > 0 and known == total, f"{count(known)} of {count(total)}", detail)


def _only_loaded(e: Evidence) -> bool:
    """Whether the program failed while it loaded the model, or between that and its first pass."""
    return bool(e.exit_status) and e.tables["ops"].empty and bool(e.tables["passes"]["kind"].eq("load").all())


_FAILED_EARLY = "the program failed before its first pass"


def _threads(e: Evidence) -> Check:
    short = int(e.trace["n_ops_short_of_threads"])
    finding = f"{count(len(e.tables['spans']))} spans, {count(short)} operations lack that of a thread"
    return check(Key.THREADS_ACCOUNTED, short == 0, finding)


def _windowed(e: Evidence) -> bool:
    """Whether passes were left out because they lay outside the recorded window."""
    return bool(e.trace["skipped_passes"])


def _only_ggml(e: Evidence) -> bool:
    """Whether the program ran graphs of ggml without llama.cpp: the trace names no model and no kind of pass."""
    no_model = e.tables["contexts"].empty and e.tables["files"].empty and e.warmup is None
    return no_model and not e.tables["passes"].empty and bool(e.tables["passes"]["kind"].isna().all())


def _encodes(e: Evidence) -> bool:
    """Whether the model only encodes: each token sees all others, as in a diffusion model, and none is generated."""
    return set(e.tables["passes"]["kind"].dropna()) - {"load", "warmup"} == {"encode"}


_ENCODES = "the model sees all tokens at once: its passes encode, and generate no token"
_ONLY_GGML = "a program that uses ggml without llama.cpp: each graph is a pass"


def _passes(e: Evidence) -> Check:
    kinds = e.tables["passes"]["kind"]
    n, runs = int((kinds == "generate").sum()), e.timings.get("eval_runs")
    if runs is None or _windowed(e) or _encodes(e):
        return check(Key.PASSES_AGREE, "not checked", count(n), _ENCODES if _encodes(e) else "")
    # llama.cpp counts a prompt of one token as a run, and at least one run even when there was none.
    prompt_tokens = e.tables["passes"].loc[kinds == "prompt", "n_tokens"].sum()
    agree = max(n + int(prompt_tokens == 1), 1) == runs
    return check(Key.PASSES_AGREE, agree, count(n), limit=f"n_eval = {count(runs)}")


def _tokens(e: Evidence) -> Check:
    passes = e.tables["passes"]
    n, counted = int(passes.loc[passes["kind"] == "prompt", "n_tokens"].sum()), e.timings.get("prompt_tokens")
    if counted is None or _windowed(e) or _encodes(e):
        return check(Key.TOKENS_AGREE, "not checked", count(n), _ENCODES if _encodes(e) else "")
    # A one-token prompt is a single-row batch: llama.cpp counts it under eval.
    agree = n == counted or (n == 1 and counted in (0, 1))
    return check(Key.TOKENS_AGREE, agree, count(n), limit=f"n_p_eval = {count(counted)}")


def _tokens_asked(e: Evidence) -> Check:
    """Whether the run gave as many tokens as the setting says; llama.cpp stops early when the context is full."""
    passes = e.tables["passes"]
    n = int(passes["produced_token"].notna().sum())
    if e.tokens_asked is None or _encodes(e):
        several = passes["kind"].isin(["mixed", "draft", "verify"]).any()  # one pass may give more than one, or none
        finding = "not known" if several or _only_ggml(e) else count(n)
        detail = _ENCODES if _encodes(e) else ""
        return check(Key.TOKENS_ASKED, "not checked", finding, detail)
    state: CheckState = "passed" if n == e.tokens_asked else "warning"
    detail = "" if state == "passed" else "llama.cpp stops when its context is full; enlarge the setting `context`"
    return check(Key.TOKENS_ASKED, state, count(n), detail, limit=f"tokens = {count(e.tokens_asked)}")


def _layers(e: Evidence) -> Check:
    nodes = e.tables["graph_nodes"]
    n_layers = int(nodes["layer"].max()) + 1 if nodes["layer"].notna().any() else 0
    if e.n_layers is None or nodes.empty:
        return check(Key.LAYERS_AGREE, "not checked", count(n_layers))
    agree = e.n_layers - e.n_layers_ahead <= n_layers <= e.n_layers
    ahead = f", of which the last {e.n_layers_ahead} only draft" if e.n_layers_ahead else ""
    return check(Key.LAYERS_AGREE, agree, count(n_layers), limit=f"block_count = {e.n_layers}{ahead}")


def _first_op(e: Evidence) -> Check:
    passes = e.tables["passes"].dropna(subset=["graph", "kind"])
    passes = passes[passes["kind"].isin(["prompt", "generate", "warmup"])]
    if passes.empty:
        return check(Key.FIRST_OP, "not checked", "no warm-up, prompt or generate pass")
    ops = e.tables["graph_nodes"]
    first = ops[ops["kind"] == "op"].sort_values(["graph", "node"]).drop_duplicates("graph").set_index("graph")["op"]
    first_ops = sorted(set(first.reindex(passes["graph"].astype(int)).dropna().astype(str)))
    return check(Key.FIRST_OP, first_ops == ["GET_ROWS"], ", ".join(first_ops) or "none")


def _op_mix(e: Evidence) -> Check:
    """A language model multiplies and normalises; one with experts also selects experts."""
    if e.tables["graph_nodes"].empty:
        return check(Key.OP_MIX, "not checked", "no graph")
    if _only_ggml(e):
        return check(Key.OP_MIX, "not checked", "no model", _ONLY_GGML, limit="those of a language model")
    present = set(e.tables["graph_nodes"].loc[e.tables["graph_nodes"]["kind"] == "op", "op"].astype(str))
    if present == {"MUL_MAT"}:  # an imported trace of a recorder that knew no other
        return check(Key.OP_MIX, "not checked", "MUL_MAT only")
    parts = e.tables["tensors"]["component"].astype(str)
    experts = bool(e.n_experts) and (parts.empty or bool(parts.str.startswith("expert_").any()))  # else only announced
    wanted = {"MUL_MAT"} | ({"MUL_MAT_ID", "ARGSORT"} if experts else set())
    wanted_norm = {"RMS_NORM", "NORM"}
    missing = sorted(wanted - present) + ([] if wanted_norm & present else ["RMS_NORM or NORM"])
    extra = [] if experts or "MUL_MAT_ID" not in present else ["MUL_MAT_ID in a model without experts"]
    problems = [f"no {name}" for name in missing] + extra
    return check(Key.OP_MIX, not problems, "; ".join(problems) or f"{len(present)} kinds of operation")


def _offsets(e: Evidence) -> Check:
    if e.tables["tensors"].empty:
        return check(Key.OFFSETS_IN_TENSORS, "not checked", "no memory map")
    place = e.tables["placements"]
    place = place[place["file"].notna() | (place["memory"].isin(["disk", "copied"]))]
    tensors = e.tables["tensors"].set_index("tensor")
    inside = place["tensor"].notna()
    known = place[inside]
    end = known["origin_offset"] + known["size_bytes"]
    limit = tensors["offset"].add(tensors["size_bytes"]).reindex(known["tensor"].astype(int)).to_numpy()
    bad = int((~inside).sum()) + int((end.to_numpy(dtype="int64") > limit).sum())
    finding = f"{count(len(place))} places, {count(bad)} outside"
    return check(Key.OFFSETS_IN_TENSORS, bad == 0, finding, limit="0 outside")


def _tiles(e: Evidence) -> Check:
    """Tensors do not overlap, and gaps between them are padding: smaller than the file's alignment, or than a page."""
    tensors, files = e.tables["tensors"], e.tables["files"]
    if tensors.empty or not e.data_begin:
        return check(Key.TENSORS_TILE_FILE, "not checked", "no memory map")
    overlaps, largest, limit_bytes, why = 0, 0, PADDING, ""
    columns = (files["file"], files["path"], files["size_bytes"], e.data_begin, e.alignment)
    for number, path, size, data_begin, alignment in zip(*columns, strict=True):
        gaps = _gaps(tensors[tensors["file"] == number], data_begin, size)
        overlaps += int((gaps < 0).sum())
        allowed = max(PADDING, alignment)
        if gaps.max() / allowed > largest / limit_bytes:  # report the file whose gap comes closest to its limit
            largest, limit_bytes = int(gaps.max()), allowed
            why = f"general.alignment of {path} is {count(alignment)} B" if alignment > PADDING else ""
    finding = f"{overlaps} overlaps, largest gap {count(largest)} B"
    limit = f"no overlap, gaps below {count(limit_bytes)} B"
    return check(Key.TENSORS_TILE_FILE, overlaps == 0 and largest < limit_bytes, finding, why, limit=limit)


def _gaps(tensors: pd.DataFrame, data_begin: int, size: int) -> np.ndarray:
    """Bytes before, between and after the tensors of a file, int64; negative where they overlap or exceed the file.

    A file without tensors may end before its data section: that is not a gap.
    """
    placed = tensors.sort_values(["offset", "size_bytes"])
    begin = placed["offset"].to_numpy("int64")
    end = begin + placed["size_bytes"].to_numpy("int64")
    if len(begin) == 0:
        return np.array([max(size - data_begin, 0)])
    gaps: np.ndarray = np.append(begin, size) - np.insert(end, 0, data_begin)
    return gaps


def _none(key: Key, counted: str) -> Callable[[Evidence], Check]:
    """The check that passes where a count of the reader is 0."""
    return lambda e: check(key, int(e.trace[counted]) == 0, count(e.trace[counted]))


def _even(e: Evidence) -> Check:
    """If the machine sleeps during a pass, the clock of the events stops and the times in that pass are wrong."""
    apart = int(e.trace["clock_uneven_ns"])
    finding = f"{apart / 1e9:,.2f} s apart" if apart else "0 s apart"
    why = "the machine slept, or its time stamp counter stopped; times in that pass are wrong" if apart else ""
    return check(Key.EVEN_CLOCK, apart == 0, finding, why)


def _untouched(e: Evidence) -> Check:
    """Tensors that no token touched; a warning where the trace does not say which rows or experts an op read."""
    tensors, ids = e.tables["tensors"], measured(e.tables)["pass_id"]
    if tensors.empty or ids.empty:
        return check(Key.NEVER_TOUCHED, "not checked", "no measured passes or no memory map")
    used, read = tensors_read(e.tables, ids)
    never = tensors[~tensors["tensor"].isin(used | read)]
    gaps = tensors[tensors["tensor"].isin(read)]
    finding = f"{len(never)} of {len(tensors)} tensors, {count(never['size_bytes'].sum())} B"
    if len(gaps):
        detail = f"operations read these; which rows or experts was not recorded: {_some(gaps['name'])}"
        finding += f"; {count(len(gaps))} more were read, which part was not recorded"
        return check(Key.NEVER_TOUCHED, "warning", finding, detail, limit="a list, and no gap")
    return check(Key.NEVER_TOUCHED, "passed", finding, _some(never["name"]), limit="a list, and no gap")


def _some(names: pd.Series) -> str:
    return ", ".join(names.head(8)) + (" …" if len(names) > 8 else "")


def _buffers(e: Evidence) -> Check:
    buffers = e.tables["buffers"]
    events = buffers["event"]
    n_allocated, n_freed = int((events == "alloc").sum()), int((events == "free").sum())
    if n_allocated + n_freed == 0:
        return check(Key.BUFFERS_BALANCE, "not checked", "no buffers recorded")
    when = {event: buffers[events == event].set_index("buffer_id")["time_ns"] for event in ("alloc", "free")}
    allocated = when["alloc"].reindex(when["free"].index)
    wrong = int((allocated.isna() | (allocated > when["free"]) | when["free"].index.duplicated()).sum())
    finding = f"{count(n_allocated)} allocated, {count(n_freed)} freed"
    if wrong:
        return check(Key.BUFFERS_BALANCE, "failed", f"{finding}, {count(wrong)} of them while not allocated")
    if e.stopped:  # the trace was closed while buffers were still allocated
        return check(Key.BUFFERS_BALANCE, "not checked", f"{finding} until the trace was closed")
    return check(Key.BUFFERS_BALANCE, "passed" if n_allocated == n_freed else "warning", finding)


def _reads(e: Evidence) -> Check:
    """Where the program read weights into memory itself, its recorded reads have each byte of them, and none failed.

    Reads through a ring of io_uring are no calls, and so are not recorded.
    """
    reads, missing = e.tables["reads"], explicit_reads.missing(e.tables) or 0
    ends = reads["file"].map(e.tables["files"].set_index("file")["size_bytes"])
    wanted = ~reads["call"].isin(explicit_reads.ASKED_ONLY) & (reads["size_bytes"] > 0) & (reads["offset"] < ends)
    failed = int((wanted & (reads["got_bytes"] == 0)).sum())  # behind the end of the file nothing is read
    finding = f"{quantity(missing)} missing, {counted(failed, 'call')} of {count(len(reads))} failed"
    if e.trace.get("io_uring"):
        finding += "; the program uses io_uring, and what it reads through that is not recorded"
    state: CheckState = "failed" if missing else "warning" if failed or e.trace.get("io_uring") else "passed"
    return check(Key.READS, state, finding)


def _footprint(e: Evidence) -> Check:
    """The kernel's counter of the process beside the sum of its mappings, and what lies within memory of no file."""
    rows = e.tables["footprint"]
    if rows.empty:
        return check(Key.FOOTPRINT, "not checked", "the memory of the process was not sampled")
    size = rows.groupby(["sample", rows["kind"].astype("object")])["resident_bytes"].sum().unstack()
    size = size.reindex(columns=list(FOOTPRINT_KINDS), fill_value=0).fillna(0)
    whole, within = size.pop("process"), size.pop("buffer") + size.pop("saved")
    compared = whole > 0  # else the kernel did not say it
    if not compared.any():
        return check(Key.FOOTPRINT, "not checked", "the kernel does not say what the process holds")
    apart = (size.sum(axis=1) - whole).abs()[compared]
    allowed = np.maximum(FOOTPRINT_SLACK * whole[compared], FOOTPRINT_SLACK_BYTES)
    more = (within - size["anonymous"]).clip(lower=0)[compared]
    holds = bool((apart <= allowed).all() and (more <= allowed).all())
    finding = f"{quantity(max(apart.max(), more.max()))} apart at most, in {counted(len(apart), 'sample')}"
    return check(Key.FOOTPRINT, "passed" if holds else "warning", finding)  # it says nothing of times


def _one_run(e: Evidence) -> Check:
    """All headers and file names carry one run id; the reader compares the headers, so names are compared here."""
    misnamed = int(e.trace["n_misnamed"])
    run_id, n = str(e.trace["run_id"]), e.trace["n_segments"]
    finding = f"{n} files of run {run_id[:8]}, {misnamed} with a name of another run"
    return check(Key.ONE_RUN_ID, bool(run_id) and misnamed == 0, finding)


def _kinds(e: Evidence) -> Check:
    """A warm-up pass exists if and only if the setting asks for one; passes of unknown kind are counted.

    The warm-up is not compared if the setting is not known, or if a window may have left the pass out.
    """
    kinds = e.tables["passes"]["kind"]
    if _only_ggml(e):
        finding = f"no loads and no contexts, {count(len(kinds))} graphs"
        return check(Key.PASS_KINDS, "not checked", finding, _ONLY_GGML)
    if _only_loaded(e):
        return check(Key.PASS_KINDS, "not checked", _FAILED_EARLY)
    n = int((kinds == "warmup").sum())
    unknown = int(kinds.isna().sum())
    expected = None if _windowed(e) else e.warmup
    wrong = expected is not None and (n > 0) != expected
    state: CheckState = "failed" if wrong else "warning" if unknown else "passed"
    finding = f"{int((kinds == 'load').sum())} load, {n} warm-up, {unknown} unknown"
    limit = "0 unknown" if expected is None else "warm-up on" if expected else "warm-up off"
    why = "a graph that evaluates no tokens, for example a shift of the KV cache, has no known kind" if unknown else ""
    return check(Key.PASS_KINDS, state, finding, why, limit=limit)


_CHECKS = (
    _complete,
    _dropped,
    _one_run,
    _unchanged,
    _none(Key.ZERO_RECORDS, "zero_records"),
    _none(Key.MONOTONE_TIME, "not_monotone"),
    _even,
    _hooks,
    _nodes,
    _threads,
    _kinds,
    _passes,
    _tokens,
    _tokens_asked,
    _layers,
    _first_op,
    _op_mix,
    _offsets,
    _tiles,
    _untouched,
    _buffers,
    _reads,
    _footprint,
    *disk.CHECKS,
    *requests.CHECKS,
    times.parts,
    times.cost,
    times.observer,
    times.interference,
    times.stopped,
    times.skew,
)

_OF_TABLES = (_layers, _op_mix, _untouched, times.skew)  # those that tables of any origin allow


def checks_of_import(evidence: Evidence, found: Sequence[Check]) -> tuple[Check, ...]:
    """The checks of an imported run, in the order of `Key`: those of its reader, then general ones of its tables.

    A general check that the reader made itself is left out.
    """
    by_key = {Key(check.key): check for check in (*(run_check(evidence) for run_check in _OF_TABLES), *found)}
    if Key.NODES_ACCOUNTED in by_key and by_key[Key.NODES_ACCOUNTED].state == "failed":
        # what the missing operations read is not untouched
        why = "operations are missing, and what they read would be listed"
        known = by_key[Key.NEVER_TOUCHED]
        by_key[Key.NEVER_TOUCHED] = replace(known, state="not checked", found="not known", detail=why)
    return tuple(by_key[key] for key in Key if key in by_key)
