"""Which operation used a read first: each read beside all operations, one by one."""

import pandas as pd
import pytest

from tests.builders import scaled_case, with_reads
from tracegen.analysis import accesses, first_use
from tracegen.contract.tables import frame


def case() -> dict[str, pd.DataFrame]:
    """The load reads each tensor; the first token reads two of them again, one of them at its end."""
    tables = with_reads(scaled_case(2, 3, moe=True))
    reads = tables["reads"]
    token = tables["passes"].query("kind == 'generate'").iloc[0]
    begin, end = int(token["begin_ns"]), int(token["end_ns"])
    n = len(reads)
    again = pd.DataFrame([reads.iloc[0], reads.iloc[n - 1]])
    again = again.assign(
        read=[n, n + 1], pass_id=int(token["pass_id"]), begin_ns=[begin, end - 3], end_ns=[begin + 1, end]
    )
    both = pd.concat([reads, again])
    return {**tables, "reads": frame("reads", {name: both[name] for name in both.columns})}


def test_each_read_beside_all_operations() -> None:
    tables = case()
    used = accesses.ranges(tables)
    found = first_use.first_uses(tables, used).set_index("read")
    ops = tables["ops"].dropna(subset=["begin_ns"]).sort_values("begin_ns", kind="stable")
    touched: dict[int, set[tuple[int, int]]] = {}
    for row in used.dropna(subset=["tensor"]).itertuples():
        touched.setdefault(int(row.tensor), set()).add((int(row.pass_id), int(row.node)))
    for read in tables["reads"].to_dict("records"):
        mine = touched.get(int(read["tensor"]), set())
        after = [op for op in ops.itertuples() if (op.pass_id, op.node) in mine and op.begin_ns >= read["end_ns"]]
        row = found.loc[read["read"]]
        if not after:
            assert pd.isna(row["node"]) and pd.isna(row["after_ns"])
        else:
            assert row["after_ns"] == after[0].begin_ns - read["end_ns"]
            same = [op for op in after if op.begin_ns == after[0].begin_ns]
            assert (row["pass_id"], row["node"]) in [(op.pass_id, op.node) for op in same]
    assert len(found) == len(tables["reads"]) and found["node"].notna().any()


def test_sums_by_operation_are_those_of_the_reads() -> None:
    tables = case()
    used = accesses.ranges(tables)
    table, each = first_use.by_operation(tables, used), first_use.first_uses(tables, used)
    assert table["n_reads"].sum() == len(tables["reads"])
    assert table["got_bytes"].sum() == tables["reads"]["got_bytes"].sum()
    assert set(table["kind"]) == {"load", "generate"}
    never = table[table["op"].isna().to_numpy(bool)]
    assert never["n_reads"].sum() == each["node"].isna().sum() and never["after_ns"].isna().all()


@pytest.mark.parametrize("call", ["madvise", "readahead"])
def test_what_was_only_asked_for_is_left_out(call: str) -> None:
    tables = case()
    only = {**tables, "reads": tables["reads"].assign(call=call)}
    assert first_use.by_operation(only, accesses.ranges(tables)).empty


def test_where_no_operation_has_a_time_none_is_named() -> None:
    tables = case()
    bare = {**tables, "ops": frame("ops")}
    found = first_use.by_operation(bare, accesses.ranges(tables))
    assert found["op"].isna().all() and found["n_reads"].sum() == len(tables["reads"])
