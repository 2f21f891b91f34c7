"""The known faults of traces that list operations: which of them this one has."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracegen.contract.model import Check
from tracegen.contract.naming import layer_of
from tracegen.foreign.companions import Companions
from tracegen.foreign.distinct import RestoredRun
from tracegen.foreign.faults import found
from tracegen.foreign.ops import PHASES, Described, OpTrace

Tables = Mapping[str, pd.DataFrame]


def checks(
    trace: OpTrace, run: RestoredRun, tables: Tables, companions: Companions, shift: int | None
) -> list[Check | None]:
    """What was found of each fault, in the order of the verdict; None where a fault cannot be in this trace."""
    described = [trace.describe(number) for number in range(int(trace.which.max()) + 1)]
    often = np.bincount(trace.which, minlength=len(described))
    return [
        _monotone(trace),
        _nodes(run, tables),
        _op_times(run),
        _op_names(described),
        _first_op(described, run, trace),
        _kinds(run),
        _claims(trace, run, _layers(described, often)),
        _names(described, often, trace, run),
        _operands(described, often, trace, run),
        _sizes(described, trace, tables),
        _threads(trace),
        _disk(described),
        _offsets(tables, companions, shift),
        _tiles(tables, companions),
        _graphs(run, companions),
    ]


def complete(run: RestoredRun, cut_at: int | None) -> Check:
    """Whether a record is cut, or the last pass ends before the others of its graph do."""
    if cut_at is not None:
        return found("trace_complete", False, f"the record at byte {cut_at:,} is cut", "the file was copied in part")
    last = run.ops[run.graph[-1]]
    for graph, ops in enumerate(run.ops):
        if graph != run.graph[-1] and len(ops) > len(last) and ops[: len(last)] == last:
            finding = f"the last pass has {len(last):,} of the {len(ops):,} operations of its graph"
            return found("trace_complete", False, finding, "recording ended inside of it, or its file was full")
    return found("trace_complete", "not checked", "no record is cut", "such a trace has no mark of its end")


def later(n_later: int) -> Check:
    """Whether records lie behind the first empty one."""
    detail = "data end at the first empty record; what lies behind is not read" if n_later else ""
    return found("zero_records", n_later == 0, f"{n_later:,} records behind an empty one", detail)


def _monotone(trace: OpTrace) -> Check:
    back = int((np.diff(trace.time_ns) < 0).sum())
    return found("monotone_time", back == 0, f"{back:,}")


def _nodes(run: RestoredRun, tables: Tables) -> Check:
    """Which nodes the trace says nothing of; only a dump of the graph lists those that were not recorded."""
    if run.only_products:
        return found(
            "nodes_accounted",
            False,
            "MUL_MAT only: no other operation is in the trace",
            "the recorder saw no other; their times and bytes are in no sum",
        )
    if not any(graph.dumped for graph in run.graphs):
        finding = f"{int(tables['ops']['state'].notna().sum()):,} recorded"
        return found(
            "nodes_accounted",
            "not checked",
            finding,
            "without a dump of the graph (token_00000.dot beside the trace) nobody can say which nodes are missing",
        )
    state = tables["ops"]["state"]
    lacking = state.isna().to_numpy()
    if not lacking.any():
        return found("nodes_accounted", True, f"{len(state):,} of {len(state):,}")
    passes = tables["ops"].loc[lacking, ["pass_id", "node"]].merge(tables["passes"][["pass_id", "graph"]], on="pass_id")
    nodes = passes.merge(tables["graph_nodes"][["graph", "node", "op"]], on=["graph", "node"])
    per_pass = nodes.groupby("pass_id").size()
    ops = Counter(nodes["op"].astype(str))
    most, n = ops.most_common(1)[0]
    every = int(per_pass.max())
    if len(per_pass) == len(tables["passes"]) and per_pass.nunique() == 1 and len(ops) == 1:
        finding = f"{every:,} {most} are missing in each of {len(per_pass):,} passes"
    else:
        finding = f"{int(lacking.sum()):,} of {len(state):,} are missing, {n:,} of them {most}"
    return found(
        "nodes_accounted",
        False,
        finding,
        "probably llama.cpp repacked these weights into memory of its own, where such a recorder does not see the "
        "operations that read them; their times and bytes are in no sum"
        if most == "MUL_MAT"
        else "",
    )


def _op_times(run: RestoredRun) -> Check:
    n = len(run.passes.begin)
    return found(
        "op_times",
        "warning",
        "begins only: the time of an operation is the gap to the next record",
        f"a gap holds whatever followed the operation too; the last operation of each of {n:,} passes, and the pass "
        "itself, have no end",
    )


def _op_names(described: list[Described]) -> Check:
    """A language model normalises: without a norm the names come from another table."""
    ops = {each.op for each in described}
    if ops == {"MUL_MAT"}:
        return found(
            "op_names", "warning", "MUL_MAT only", "the recorder knew no other operation; all others are missing"
        )
    good = bool({"RMS_NORM", "NORM"} & ops) and "GET_ROWS" in ops
    finding = f"{len(ops)} names, those of January 2026" if good else f"no norm among {', '.join(sorted(ops)[:8])}"
    return found("op_names", good, finding, "" if good else "the names come from another table than the numbers")


def _first_op(described: list[Described], run: RestoredRun, trace: OpTrace) -> Check:
    first = sorted({described[number].op for number in trace.which[run.passes.begin]})
    if first == ["MUL_MAT"] and {each.op for each in described} == {"MUL_MAT"}:
        return found("first_op", "not checked", "MUL_MAT", "the recorder knew no other operation")
    return found("first_op", first == ["GET_ROWS"], ", ".join(first))


def _kinds(run: RestoredRun) -> Check:
    kinds = Counter("unknown" if kind is None else kind for kind in run.passes.kinds)
    finding = "inferred: " + ", ".join(f"{n} {'warm-up' if kind == 'warmup' else kind}" for kind, n in kinds.items())
    detail = "inferred from the numbers of token rows; the load was not recorded"
    if run.passes.partial:
        detail += f"; {run.passes.partial:,} records before the first pass belong to one that began earlier: left out"
    unknown = kinds.get("unknown", 0)
    if unknown:
        detail += (
            "; a first pass of one or two tokens before a pass of one token is a warm-up or a short prompt, and "
            "nothing in the trace tells which"
        )
    return found("pass_kinds", "warning" if unknown else "passed", finding, detail)


def _claims(trace: OpTrace, run: RestoredRun, layers: str) -> Check | None:
    """Phase and token number as claimed, against the passes that were found; `layers` says what was found of these."""
    if (trace.phase < 0).all() and (trace.token < 0).all() and not layers:
        return None
    lengths = (run.passes.end - run.passes.begin).tolist()
    kind = np.repeat(np.array([k or "" for k in run.passes.kinds], object), lengths)
    part = slice(int(run.passes.begin[0]), int(run.passes.end[-1]))
    phase, token = trace.phase[part], trace.token[part]
    findings: list[str] = []
    one_value = len(np.unique(phase)) == 1 and len(np.unique(token)) == 1 and len(lengths) > 1
    right = {"prompt": 0, "generate": 1}
    for name in dict.fromkeys(k for k in run.passes.kinds if k):
        at = kind == name
        for number, claimed in enumerate(PHASES):
            n = int((phase[at] == number).sum())
            if n and right.get(name) != number:
                of = {"warmup": "to the warm-up", "prompt": "to the prompt", "generate": "to generated tokens"}[name]
                findings.append(f"{n:,} records that claim {claimed} belong {of}")
    if one_value:
        findings.insert(0, f"all {len(phase):,} records claim phase {PHASES[int(phase[0])]} and token {int(token[0])}")
    elif len(np.unique(token)) == 1 and len(lengths) > 1:
        findings.insert(0, f"all {len(token):,} records claim token {int(token[0])}")
    if layers:
        findings.append(layers)
    if not findings:
        return found("claims_agree", True, f"0 of {len(phase):,} records differ")
    return found(
        "claims_agree",
        "warning",
        "; ".join(findings),
        "what was found is used; the claims stand in the columns claimed_phase and claimed_token_id of passes",
    )


def _layers(described: list[Described], often: np.ndarray) -> str:
    """How many claimed layers are not among those in the names of results and weights; empty: none."""
    wrong = total = 0
    for each, n in zip(described, often.tolist(), strict=True):
        names = [each.name, *(operand.name for operand in each.operands if operand.name.startswith("blk."))]
        stated = {layer for name in names if (layer := layer_of(name)) is not None}
        if each.claimed_layer is not None and stated:
            total += n
            wrong += n if each.claimed_layer not in stated else 0
    return f"{wrong:,} of {total:,} records claim another layer than their names" if wrong else ""


def _names(described: list[Described], often: np.ndarray, trace: OpTrace, run: RestoredRun) -> Check | None:
    if not any(trace.room):
        if not any(each.operands and each.operands[0].name for each in described):
            return found("names_whole", "warning", "no names at all", "operations and tensors cannot be told by name")
        return None
    results = operands = 0
    for each, n in zip(described, often.tolist(), strict=True):
        results += n * (0 < trace.room[0] <= len(each.name.encode()))
        operands += n * sum(0 < trace.room[1] <= len(o.name.encode()) for o in each.operands)
    if not results + operands:
        return found("names_whole", True, f"0 of {len(trace):,} operations have a cut name")
    restored = "; whole names were taken from the dump of the graph" if any(g.dumped for g in run.graphs) else ""
    return found(
        "names_whole",
        "warning",
        f"{results:,} results have {trace.room[0]} characters and {operands:,} operands {trace.room[1]}: may be cut",
        f"the recorder had no room for more{restored}",
    )


def _operands(described: list[Described], often: np.ndarray, trace: OpTrace, run: RestoredRun) -> Check | None:
    if not trace.most_operands or trace.most_operands < 4:
        return None
    full = [len(each.operands) >= trace.most_operands for each in described]
    n = int(often[full].sum())
    if not n:
        return found("operands_whole", True, f"0 of {len(trace):,}")
    names = ", ".join(sorted({each.op for each, is_full in zip(described, full, strict=True) if is_full}))
    if all(graph.dumped for graph in run.graphs):
        return _lost_operands(run, trace, names, n)
    return found(
        "operands_whole",
        "warning",
        f"{n:,} operations have {trace.most_operands}: {names}",
        f"the recorder had room for {trace.most_operands}; a fifth operand, as attention sinks, would be lost",
    )


def _lost_operands(run: RestoredRun, trace: OpTrace, names: str, n: int) -> Check:
    """With dumps of all graphs it is known how many operands were lost."""
    lost = sum(
        max(len(graph.nodes[at].operands) - len(each.operands), 0)
        for number in run.graph
        for graph, ops in [(run.graphs[number], run.ops[number])]
        for at, each in zip(graph.at, ops, strict=True)
    )
    finding = f"{n:,} operations have {trace.most_operands} ({names}); {lost:,} operands more stand in the dumps"
    detail = (
        "weights that only a lost operand reads (as attention sinks) look as if nothing touched them" if lost else ""
    )
    return found("operands_whole", "warning" if lost else "passed", finding, detail)


def _sizes(described: list[Described], trace: OpTrace, tables: Tables) -> Check | None:
    """Sizes of 32 bits wrap at 4 GiB: a weight that is larger in the list of tensors has a wrong size here."""
    if trace.size_bits > 32:
        return None
    tensors = tables["tensors"]
    large = set(tensors.loc[tensors["size_bytes"] >= 1 << 32, "name"].astype(str))
    wrapped = {operand.name for each in described for operand in each.operands if operand.name in large}
    if not wrapped:
        return found("sizes_whole", True, "0")
    return found(
        "sizes_whole", "failed", f"{len(wrapped)} weights are larger than 4 GiB", ", ".join(sorted(wrapped)[:4])
    )


def _threads(trace: OpTrace) -> Check | None:
    if trace.thread_bits > 16:
        return None
    n = len(np.unique(trace.thread))
    return found(
        "threads_known",
        "warning",
        f"{n} number{'' if n == 1 else 's'} of 16 bits",
        "only the last 16 bits of a thread's number were kept, and only one thread recorded; no waiting is known",
    )


def _disk(described: list[Described]) -> Check | None:
    """If "disk" lies in one file mapping, address and place differ by the same number everywhere."""
    apart = Counter(
        operand.address - operand.place
        for each in described
        for operand in each.operands
        if operand.memory == "disk" and operand.place is not None and operand.address
    )
    if not apart:
        return None
    n = sum(apart.values())
    if len(apart) == 1:
        return found(
            "disk_known",
            "warning",
            f"{n:,} places at one distance from their addresses, as in one mapping",
            "the trace says which memory held weights, not that it was the mapped file; a file that was read whole "
            "into one buffer would look the same",
        )
    return found(
        "disk_known",
        "warning",
        f"{n:,} places at {len(apart)} distances from their addresses",
        "`disk` stood for buffers of weights in such builds; some of these may be copies in memory, or several files",
    )


def _offsets(tables: Tables, companions: Companions, shift: int | None) -> Check:
    place = tables["placements"]
    place = place[(place["memory"] == "disk").fillna(False).to_numpy(bool)]
    if tables["tensors"].empty:
        return found(
            "offsets_in_tensors",
            "not checked",
            f"{len(place):,} places, no list of tensors",
            "put the GGUF file or its list of tensors beside the trace, or name it with --model",
        )
    inside = place[place["tensor"].notna().to_numpy()]
    tensors = tables["tensors"].set_index("tensor")
    of = tensors.reindex(inside["tensor"].astype(int))
    end = inside["origin_offset"].to_numpy("int64") + inside["size_bytes"].to_numpy("int64")
    beyond = int((end > (of["offset"] + of["size_bytes"]).to_numpy()).sum())
    bad = len(place) - len(inside) + beyond
    detail = ""
    listed = companions.model is not None or (companions.map is not None and len(place) > 0)
    if shift is None and listed and len(place):
        return found(
            "offsets_in_tensors",
            False,
            "the trace and the list of tensors disagree on where tensors lie",
            "another model, or a list of another file; import again with the model's own file",
        )
    if shift:
        detail = (
            f"the list counts offsets from byte {shift:,} of the file, where its data begin; the trace from the file's "
            "begin"
        )
    return found("offsets_in_tensors", bad == 0, f"{len(place):,} places, {bad:,} outside", detail)


def _tiles(tables: Tables, companions: Companions) -> Check | None:
    if tables["tensors"].empty:
        return None
    ordered = tables["tensors"].sort_values(["file", "offset"])
    begin, size = ordered["offset"].to_numpy("int64"), ordered["size_bytes"].to_numpy("int64")
    same = ordered["file"].to_numpy()[1:] == ordered["file"].to_numpy()[:-1]
    overlaps = int(((begin[1:] < begin[:-1] + size[:-1]) & same).sum())
    inflated = companions.map.n_inflated if companions.map is not None and companions.model is None else 0
    if inflated and not overlaps:
        return found(
            "tensors_tile_file",
            "warning",
            f"{inflated:,} sizes of the list reached into the next tensor",
            "they are those of unpacked numbers; the size that fits between two tensors was taken instead. The size of "
            "the last tensor, and of the file, is not known unless the trace has it",
        )
    return found("tensors_tile_file", overlaps == 0, f"{overlaps:,} overlaps")


def _graphs(run: RestoredRun, companions: Companions) -> Check:
    if run.only_products:
        return found(
            "graphs_joined", False, "MUL_MAT only: no graph can be put together", "each operation stands alone"
        )
    taken = [dump for dump in run.dump if dump is not None]
    without = len(run.dump) - len(taken)
    if not companions.dumps:
        return found(
            "graphs_joined",
            "warning",
            f"no dump; {len(run.graphs):,} different graphs were put together from names",
            "nodes that compute nothing (views) are known only where an operation names one; types and shapes of "
            "results are not known",
        )
    finding = f"{len(companions.dumps):,} dumps, {len(taken):,} of {len(run.dump):,} different graphs found in them"
    passes = len(run.graph)
    detail = (
        f"a dump counts how often a graph was built, not tokens: {passes:,} passes evaluated {len(run.graphs):,} graphs"
    )
    return found("graphs_joined", "warning" if without else "passed", finding, detail)
