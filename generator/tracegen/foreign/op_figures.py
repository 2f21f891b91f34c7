"""The figures of the known faults of traces that list operations; `faults.txt` says what they mean."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tracegen.contract.naming import layer_of
from tracegen.foreign.companions import Companions
from tracegen.foreign.distinct import RestoredRun
from tracegen.foreign.faults import Figures
from tracegen.foreign.ops import PHASES, Described, OpTrace, fills

Tables = Mapping[str, pd.DataFrame]


def figures_of(
    trace: OpTrace, run: RestoredRun, tables: Tables, companions: Companions, shift: int | None, cut_at: int | None
) -> Figures:
    """All figures but `later`. `shift`: see `weights_of`; `cut_at`: the byte where a record is cut, None: nowhere."""
    described, often = trace.described, np.bincount(trace.which, minlength=len(trace.described))
    ops = {each.op for each in described}
    first = sorted({described[number].op for number in trace.which[run.passes.begin]})
    kinds = Counter("unknown" if kind is None else kind for kind in run.passes.kinds)
    joined = sum(dump is not None for dump in run.dump)
    return {
        "cut_at": cut_at or 0,
        **_last_pass(run),
        "back": int((np.diff(trace.time_ns) < 0).sum()),
        "n_records": len(trace),
        "n_passes": len(run.passes.begin),
        "n_graphs": len(run.graphs),
        "only_products": run.only_products,
        "dumped": any(graph.dumped for graph in run.graphs),
        "undumped": not any(graph.dumped for graph in run.graphs),
        **_lacking(tables),
        "normalises": bool({"RMS_NORM", "NORM"} & ops) and "GET_ROWS" in ops,
        "n_ops": len(ops),
        "ops": ", ".join(sorted(ops)[:8]),
        "looks_up": first == ["GET_ROWS"],
        "first": ", ".join(first),
        "kinds": ", ".join(f"{n} {'warm-up' if kind == 'warmup' else kind}" for kind, n in kinds.items()),
        "unknown": kinds["unknown"],
        "partial": run.passes.partial,
        **_claims(trace, run, _layers(described, often)),
        **_names(described, often, trace.room),
        **_operands(described, often, trace, run),
        **_sizes(described, trace, tables),
        "n_threads": len(np.unique(trace.thread)) if trace.thread_bits <= 16 else 0,
        **_distances(described),
        **_places(tables, companions, shift),
        **_tensors(tables, companions),
        "n_dumps": len(companions.dumps),
        "no_dump": not companions.dumps,
        "joined": joined,
        "unjoined": len(run.dump) - joined,
    }


def _last_pass(run: RestoredRun) -> Figures:
    """How many operations the last pass has, and the graph that it begins but does not finish: 0, if there is none."""
    last = run.ops[run.graph[-1]]
    whole = (len(ops) for ops in run.ops if len(ops) > len(last) and ops[: len(last)] == last)
    return {"n_last": len(last), "whole_pass": next(whole, 0)}


def _lacking(tables: Tables) -> Figures:
    """Which nodes the trace says nothing of; only a dump of the graph lists those that were not recorded."""
    state = tables["ops"]["state"]
    lacking = tables["ops"].loc[state.isna(), ["pass_id", "node"]].merge(tables["passes"][["pass_id", "graph"]])
    lacking = lacking.merge(tables["graph_nodes"][["graph", "node", "op"]])
    ops, per_pass = Counter(lacking["op"].astype(str)), lacking.groupby("pass_id").size()
    op, n = max(ops.items(), key=lambda item: item[1], default=("", 0))
    alike = len(ops) == 1 and len(per_pass) == len(tables["passes"]) and per_pass.nunique() == 1
    return {
        "n_nodes": len(state),
        "n_ran": int(state.notna().sum()),
        "lacking": len(lacking),
        "lacking_op": op,
        "lacking_each": int(per_pass.max()) if alike else 0,
        "lacking_some": 0 if alike else n,
        "products_lacking": op == "MUL_MAT",
    }


def _claims(trace: OpTrace, run: RestoredRun, layers: str) -> Figures:
    """Phase and token number as claimed, against the passes that were found; `layers` says what was found of these."""
    if (trace.phase < 0).all() and (trace.token < 0).all() and not layers:
        return {"claims": "", "n_claims": 0}
    lengths = (run.passes.end - run.passes.begin).tolist()
    kind = np.repeat(np.array([k or "" for k in run.passes.kinds], object), lengths)
    part = slice(int(run.passes.begin[0]), int(run.passes.end[-1]))
    phase, token = trace.phase[part], trace.token[part]
    findings: list[str] = []
    if len(lengths) > 1 and len(np.unique(token)) == 1:
        of_phase = f"phase {PHASES[int(phase[0])]} and " if phase[0] >= 0 and len(np.unique(phase)) == 1 else ""
        findings.append(f"all {len(token):,} records claim {of_phase}token {int(token[0])}")
    right = {"prompt": 0, "generate": 1}
    belong = {"warmup": "to the warm-up", "prompt": "to the prompt", "generate": "to generated tokens"}
    for name in dict.fromkeys(k for k in run.passes.kinds if k):
        for number, claimed in enumerate(PHASES):
            n = int((phase[kind == name] == number).sum())
            if n and right.get(name) != number:
                findings.append(f"{n:,} records that claim {claimed} belong {belong[name]}")
    return {"claims": "; ".join([*findings, *([layers] if layers else [])]), "n_claims": len(phase)}


def _layers(described: Sequence[Described], often: np.ndarray) -> str:
    """How many claimed layers are not among those in the names of results and weights; empty: none."""
    wrong = total = 0
    for each, n in zip(described, often.tolist(), strict=True):
        names = [each.name, *(operand.name for operand in each.operands if operand.name.startswith("blk."))]
        stated = {layer for name in names if (layer := layer_of(name)) is not None}
        if each.claimed_layer is not None and stated:
            total += n
            wrong += n if each.claimed_layer not in stated else 0
    return f"{wrong:,} of {total:,} records claim another layer than their names" if wrong else ""


def _names(described: Sequence[Described], often: np.ndarray, room: tuple[int, int]) -> Figures:
    """Names that fill the room that the recorder had for them."""
    results = np.array([fills(each.name, room[0]) for each in described])
    operands = np.array([sum(fills(operand.name, room[1]) for operand in each.operands) for each in described])
    named = any(each.operands and each.operands[0].name for each in described)
    return {
        "nameless": not any(room) and not named,
        "narrow_names": any(room),
        "cut_names": int(often @ (results + operands)),
        "cut_results": int(often @ results),
        "cut_operands": int(often @ operands),
        "result_room": room[0],
        "operand_room": room[1],
    }


def _operands(described: Sequence[Described], often: np.ndarray, trace: OpTrace, run: RestoredRun) -> Figures:
    """Operations with as many operands as there is room for; dumps of all graphs tell how many were lost."""
    few, dumped = trace.most_operands >= 4, all(graph.dumped for graph in run.graphs)
    full = [few and len(each.operands) >= trace.most_operands for each in described]
    n = int(often[full].sum())
    lost = sum(
        max(len(graph.nodes[at].operands) - len(each.operands), 0)
        for graph, ops in ((run.graphs[number], run.ops[number]) for number in (run.graph if dumped and n else ()))
        for at, each in zip(graph.at, ops, strict=True)
    )
    return {
        "most_operands": trace.most_operands,
        "few_operands": few,
        "full": n,
        "full_ops": ", ".join(sorted({each.op for each, is_full in zip(described, full, strict=True) if is_full})),
        "full_undumped": bool(n) and not dumped,
        "lost": lost,
    }


def _sizes(described: Sequence[Described], trace: OpTrace, tables: Tables) -> Figures:
    """Sizes of 32 bits wrap at 4 GiB: a weight that is larger in the list of tensors has a wrong size here."""
    tensors, narrow = tables["tensors"], trace.size_bits <= 32
    large = set(tensors.loc[tensors["size_bytes"] >= 1 << 32, "name"].astype(str)) if narrow else set()
    wrapped = sorted({operand.name for each in described for operand in each.operands if operand.name in large})
    return {"narrow_sizes": narrow, "n_wrapped": len(wrapped), "wrapped": ", ".join(wrapped[:4])}


def _distances(described: Sequence[Described]) -> Figures:
    """If "disk" lies in one file mapping, address and place differ by the same number everywhere."""
    apart = [
        operand.address - operand.place
        for each in described
        for operand in each.operands
        if operand.memory == "disk" and operand.place is not None and operand.address
    ]
    distances = len(set(apart))
    return {"n_on_disk": len(apart), "distances": distances, "one_mapping": distances == 1}


def _places(tables: Tables, companions: Companions, shift: int | None) -> Figures:
    """Places in the file, and how many of them no tensor holds."""
    place, tensors = tables["placements"], tables["tensors"].set_index("tensor")
    place = place[(place["memory"] == "disk").fillna(False).to_numpy(bool)]
    inside = place[place["tensor"].notna().to_numpy()]
    of = tensors.reindex(inside["tensor"].astype(int))
    end = inside["origin_offset"].to_numpy("int64") + inside["size_bytes"].to_numpy("int64")
    beyond = int((end > (of["offset"] + of["size_bytes"]).to_numpy()).sum())
    listed = companions.model is not None or companions.map is not None
    return {
        "unlisted": tensors.empty,
        "n_places": len(place),
        "outside": len(place) - len(inside) + beyond,
        "disagreeing": shift is None and listed and len(place) > 0,
        "shift": shift or 0,
    }


def _tensors(tables: Tables, companions: Companions) -> Figures:
    """Tensors that reach into the next one, and sizes of the list that did."""
    ordered = tables["tensors"].sort_values(["file", "offset"])
    begin, size = ordered["offset"].to_numpy("int64"), ordered["size_bytes"].to_numpy("int64")
    same = ordered["file"].to_numpy()[1:] == ordered["file"].to_numpy()[:-1]
    return {
        "n_tensors": len(ordered),
        "overlaps": int(((begin[1:] < begin[:-1] + size[:-1]) & same).sum()),
        "inflated": companions.map.n_inflated if companions.map is not None and companions.model is None else 0,
    }
