"""Where the time of each pass goes: exclusive parts that add up to it, to the nanosecond."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.backends import elsewhere_ns
from tracegen.analysis.behind import behind
from tracegen.analysis.disk_waits import placed
from tracegen.analysis.own_reads import as_faults
from tracegen.analysis.passes import measured
from tracegen.analysis.under_way import UnderWay
from tracegen.analysis.work import computed_ns

# Part of a pass -> what pages call it. The parts of a pass add up to its duration.
PARTS: Mapping[str, str] = {
    "computing_ns": "computing",
    "disk_ns": "waiting for the disk",
    "behind_ns": "waiting for a thread that waits for the disk",
    "paging_ns": "page faults with no read under way",
    "processor_ns": "waiting for a processor",
    "barrier_ns": "other waiting at barriers",
    "elsewhere_ns": "other backends",
    "outside_ns": "outside operations",
}
WEIGHT_OPS = ("MUL_MAT", "MUL_MAT_ID", "GET_ROWS")
COLUMNS = ("pass_id", "part", "tensor", "op", "component", "dtype", "thread_ns")
_FAULTS, _OPS = ["pass_id", "part", "tensor"], ["pass_id", "part", "op", "component", "dtype"]


def attribution(tables: Tables) -> pd.DataFrame:
    """The time of each measured pass in exclusive parts, and what each was for.

    Columns: pass_id, part (a key of PARTS), tensor (that a page fault was for; null: none, or between tensors), op and
    component (of what was computed), dtype (of the weights that it multiplied or looked up; null: none), thread_ns (sum
    over threads). The rows of a pass add up to its duration times its threads; divided by these they are wall time.

    - computing_ns: work of operations, page faults of model files and time without a processor left out;
    - disk_ns: page faults of model files inside operations, while a read of the model's devices was under way; reads
      that the thread makes itself count as such (`own_reads.as_faults`);
    - behind_ns: waiting in and after operations that would not have been if no thread had had such a page fault there,
      by the tensor that the page fault of the other thread was for (see `behind.behind`);
    - paging_ns: page faults of model files, and waiting behind them, while no read was under way: the kernel made room
      for pages, or mapped some that were in memory;
    - processor_ns: a thread could have gone on but had no processor, or waited behind such a thread (see `Behind`);
    - barrier_ns: other waiting of a thread for others, inside operations and after them;
    - elsewhere_ns: this program handed splits over to another backend, or waited for it (`backends.elsewhere_ns`);
    - outside_ns: the rest of the duration. A single thread waits for no other: what lies between its operations is
      here.

    Page faults of a pass that read nothing are never `disk_ns`; where no request was recorded, those of other passes
    all are. Passes without an end or without recorded page faults are left out.
    """
    tables = as_faults(tables)
    waits = behind(tables)
    spans = tables["spans"].assign(behind_ns=waits.ns + waits.processor_ns, late_ns=waits.late_ns)
    spans["processor_ns"] = spans["preempted_ns"].fillna(0).astype("int64") + waits.late_ns + waits.processor_ns
    spans = spans[spans["fault_ns"].notna().to_numpy(bool)]
    passes = measured(tables).dropna(subset=["duration_ns"]).set_index("pass_id")
    spans = spans[spans["pass_id"].isin(passes.index).to_numpy(bool)]
    elsewhere = elsewhere_ns(tables["splits"])
    n_threads = _with_others(spans.groupby("pass_id")["thread"].nunique(), elsewhere, tables)
    n_threads = n_threads[n_threads.index.isin(passes.index)]
    whole = passes["duration_ns"].reindex(n_threads.index).astype("int64") * n_threads
    table = pd.concat([*_faulted(tables, waits.for_fault_ns), _computed(tables, spans), *_waited(spans)])
    table = table[table["pass_id"].isin(whole.index).to_numpy(bool)]
    left = whole.sub(table.groupby("pass_id")["thread_ns"].sum(), fill_value=0.0).rename("thread_ns")
    others = (elsewhere.reindex(left.index, fill_value=0) * n_threads).clip(upper=left).rename("thread_ns")
    parts = {"elsewhere_ns": others[others > 0], "outside_ns": left - others}
    table = pd.concat([table, *(ns.reset_index().assign(part=part) for part, ns in parts.items())])
    table = table.astype({"tensor": "Int64"}).reindex(columns=list(COLUMNS))
    return table.sort_values(["pass_id", "part"], kind="stable", ignore_index=True)


def _with_others(n_threads: pd.Series, elsewhere: pd.Series, tables: Tables) -> pd.Series:
    """The threads of each pass; one of those in which no operation was timed, as another backend computed them.

    Those are left out with all others where page faults were recorded of none.
    """
    spans = tables["spans"]
    unknown = len(spans) > 0 and spans["fault_ns"].isna().all()
    alone = elsewhere.index[:0] if unknown else elsewhere.index.difference(pd.Index(spans["pass_id"]))
    every: pd.Series = pd.concat([n_threads, pd.Series(1, alone)]).sort_index().rename_axis("pass_id")
    return every


def by_pass(tables: Tables, rows: pd.DataFrame | None = None) -> pd.DataFrame:
    """The parts of the time of each measured pass, in the mean over its threads: wall time, ns (float64).

    Columns: pass_id, duration_ns, n_threads, n_faults and waited_ns (page faults of model files in its operations,
    and their time, summed over threads), and PARTS. `rows`: the result of `attribution`, if the caller has it already.
    """
    rows = attribution(tables) if rows is None else rows
    sums = rows.groupby(["pass_id", "part"])["thread_ns"].sum().unstack("part", fill_value=0)
    sums = sums.reindex(columns=list(PARTS), fill_value=0.0)
    spans, faults = tables["spans"], tables["faults"]
    in_ops = faults[faults["node"].notna().to_numpy(bool)]
    of_spans = spans.dropna(subset=["fault_ns"]).groupby("pass_id")
    n_threads = _with_others(of_spans["thread"].nunique(), elsewhere_ns(tables["splits"]), tables).reindex(sums.index)
    about = {
        "duration_ns": (sums.sum(axis=1) / n_threads).round().astype("int64"),
        "n_threads": n_threads,
        "n_faults": in_ops.groupby("pass_id").size().reindex(sums.index, fill_value=0),
        "waited_ns": of_spans["fault_ns"].sum().reindex(sums.index).fillna(0).astype("int64"),
    }
    table = pd.DataFrame(about).join(sums.div(n_threads, axis=0))
    return table.rename_axis("pass_id").reset_index()


def without_unknown(tables: Tables) -> Tables:
    """The tables as if there had been no page fault where none was recorded: what there was counts as computing."""
    spans = tables["spans"]
    return tables if spans["fault_ns"].notna().all() else {**tables, "spans": spans.fillna({"fault_ns": 0})}


def _faulted(tables: Tables, behind_ns: np.ndarray) -> list[pd.DataFrame]:
    """The rows of page faults: of the threads that had them, and of those that waited behind them."""
    every = placed(tables)
    inside = every["node"].notna().to_numpy(bool)
    faults = every[inside].reset_index(drop=True)
    took, begin = (faults[name].to_numpy("int64") for name in ("waited_ns", "begin_ns"))
    behind_ns = behind_ns[tables["faults"]["pass_id"].isin(measured(tables)["pass_id"]).to_numpy(bool)][inside]
    under_way = UnderWay(tables)
    read = under_way.ns(begin, begin + took) if under_way.recorded else took
    nothing_read = (tables["passes"].set_index("pass_id")["read_bytes"] == 0).fillna(False)
    read = np.where(faults["pass_id"].map(nothing_read).to_numpy(bool), 0, read)
    share = read / np.maximum(took, 1)
    parts = {"disk_ns": read, "behind_ns": behind_ns * share}
    parts["paging_ns"] = took - read + behind_ns * (1 - share)
    kept = faults[["pass_id", "tensor"]].astype({"pass_id": "int64"})
    return [_summed(kept.assign(part=part, thread_ns=ns), _FAULTS) for part, ns in parts.items()]


def _computed(tables: Tables, spans: pd.DataFrame) -> pd.DataFrame:
    """The rows of what threads computed, by operation and component."""
    graph = tables["passes"].set_index("pass_id")["graph"]
    nodes = tables["graph_nodes"][["graph", "node", "op", "component"]].astype({"graph": "Int64", "node": "Int64"})
    rows = spans.assign(thread_ns=computed_ns(spans), graph=spans["pass_id"].map(graph), part="computing_ns")
    rows = rows.astype({"graph": "Int64", "node": "Int64"}).merge(nodes, on=["graph", "node"], how="left")
    rows = rows.merge(_weight_types(tables), on=["graph", "node"], how="left")
    return _summed(rows.astype({**dict.fromkeys(("op", "component", "dtype"), "object"), "pass_id": "int64"}), _OPS)


def _weight_types(tables: Tables) -> pd.DataFrame:
    """The type of the weights of each node that multiplies or looks up some: graph, node, dtype."""
    nodes, edges = tables["graph_nodes"], tables["graph_edges"]
    keys, weights = ["graph", "node"], set(tables["tensors"]["name"].astype(str))
    first = edges[(edges["slot"] == "src0").to_numpy(bool)][["graph", "source", "target"]]
    leaves = nodes[nodes["name"].astype(str).isin(weights).to_numpy(bool)][[*keys, "dtype"]]
    found = first.rename(columns={"source": "node"}).merge(leaves, on=keys).drop(columns="node")
    users = nodes[nodes["op"].astype(str).isin(WEIGHT_OPS).to_numpy(bool)][keys]
    return found.rename(columns={"target": "node"}).merge(users, on=keys).astype(dict.fromkeys(keys, "Int64"))


def _waited(spans: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of threads that waited for a processor, and for others: a single thread waits for none."""
    several = spans.groupby(["pass_id", "node"], sort=False)["thread"].transform("size").to_numpy() > 1
    waited = spans["barrier_ns"].to_numpy("int64") + np.where(several, spans["wait_ns"].to_numpy("int64"), 0)
    late = np.where(several, spans["late_ns"], 0)
    parts = {"processor_ns": spans["processor_ns"], "barrier_ns": waited - spans["behind_ns"] - late}
    rows = pd.DataFrame({"pass_id": spans["pass_id"].to_numpy("int64")})
    return [_summed(rows.assign(part=part, thread_ns=ns.to_numpy()), ["pass_id", "part"]) for part, ns in parts.items()]


def _summed(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    table: pd.DataFrame = rows.groupby(keys, dropna=False, sort=False)["thread_ns"].sum().reset_index()
    return table[(table["thread_ns"] != 0).to_numpy(bool)].astype({"thread_ns": "float64"})
