"""Which operation used first what a read of the program brought."""

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.explicit_reads import ASKED_ONLY

COLUMNS = ["read", "pass_id", "node", "op", "component", "after_ns"]
BY = ["kind", "call", "phase", "op", "component"]


def first_uses(tables: Tables, used: pd.DataFrame) -> pd.DataFrame:
    """A row for each read that brought bytes of a tensor: COLUMNS, in the order of the reads.

    The operation is the first on that tensor that began when the read had ended; null: none followed. `after_ns`: so
    long after that end it began. A read of several tensors counts for that in its middle. `used`: the result of
    `accesses.ranges`.
    """
    reads = tables["reads"]
    reads = reads[~reads["call"].isin(ASKED_ONLY).to_numpy(bool) & (reads["got_bytes"] > 0).to_numpy(bool)]
    reads = reads.dropna(subset=["tensor"])[["read", "tensor", "end_ns"]].astype("int64")
    begins = tables["ops"].dropna(subset=["begin_ns"])[["pass_id", "node", "begin_ns"]].astype("int64")
    uses = used.dropna(subset=["tensor"])[["pass_id", "node", "tensor"]].astype("int64").drop_duplicates()
    uses = uses.merge(begins, on=["pass_id", "node"])
    found = pd.merge_asof(
        reads.sort_values("end_ns", kind="stable"),
        uses.sort_values("begin_ns", kind="stable"),
        left_on="end_ns",
        right_on="begin_ns",
        by="tensor",
        direction="forward",
    )
    graphs = tables["passes"][["pass_id", "graph"]].dropna().astype("int64")
    nodes = tables["graph_nodes"][["graph", "node", "op", "component"]]
    found = found.astype({"pass_id": "Int64", "node": "Int64"})
    found = found.merge(graphs.astype("Int64"), on="pass_id", how="left")
    found = found.merge(nodes.astype({"graph": "Int64", "node": "Int64"}), on=["graph", "node"], how="left")
    found["after_ns"] = found["begin_ns"].astype("Int64") - found["end_ns"]
    return found.sort_values("read", kind="stable", ignore_index=True)[COLUMNS]


def by_operation(tables: Tables, used: pd.DataFrame) -> pd.DataFrame:
    """The reads by the operation that used them first, those with most bytes first.

    Columns: BY (kind: of the pass in which the read began, null: in none; phase: of the pass that used it, null: no
    operation did), n_reads, got_bytes, after_ns (median).
    """
    kinds = tables["passes"].set_index("pass_id")["kind"].astype("object")
    rows = tables["reads"][["read", "pass_id", "call", "got_bytes"]].rename(columns={"pass_id": "during"})
    rows = rows.merge(first_uses(tables, used), on="read")
    rows = rows.assign(
        kind=rows["during"].map(kinds).astype("object"),
        phase=rows["pass_id"].map(kinds).astype("object"),
        call=rows["call"].astype("object"),
        op=rows["op"].astype("object"),
        component=rows["component"].astype("object"),
    )
    groups = rows.groupby(BY, dropna=False, sort=False)
    table = groups.agg(
        n_reads=("read", "size"), got_bytes=("got_bytes", "sum"), after_ns=("after_ns", "median")
    ).reset_index()
    return table.sort_values("got_bytes", ascending=False, kind="stable", ignore_index=True)
