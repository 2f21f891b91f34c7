"""What pages say of waiting for the disk, and of a run whose passes read nothing."""

from typing import Any

import pandas as pd
import pytest

from tests.builders import a_moe_run, a_run, scaled_case, with_faults
from tests.report.rendered import said_of
from tracegen.analysis import attribution, disk_waits, expert_waits
from tracegen.charts import theme
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.disk_waits import DISK_EXPERTS, DISK_MAP, DISK_SPLIT, DISK_TENSORS
from tracegen.report.figures.figure import Figure, Table
from tracegen.report.figures.timeline import TIMELINE
from tracegen.report.findings.found import findings

TABLES = with_faults(scaled_case(3, 2, threads=2))
EXPERTS = with_faults(scaled_case(3, 2, moe=True, copied=False))


def ids_of(tables: dict[str, pd.DataFrame], kind: str) -> pd.Series:
    """The numbers of the passes of a kind."""
    return tables["passes"].loc[(tables["passes"]["kind"] == kind).to_numpy(bool), "pass_id"]


def answer(part: Figure | Table, tables: dict[str, pd.DataFrame]) -> tuple[Amount, ...]:
    run = a_moe_run(host=dict(page_bytes=4096), trace=dict(faults_recorded=True))
    return part.content(Context(run, tables)).answer


@pytest.mark.parametrize("recorded", [True, False])
def test_the_timeline_of_a_pass_without_a_page_fault_says_so(recorded: bool) -> None:
    run = a_run(host=dict(page_bytes=4096), trace=dict(faults_recorded=recorded))
    shown = said_of(TIMELINE, {**TABLES, "faults": TABLES["faults"].iloc[:0]}, run)
    assert ("No operation has a page fault of the model file." in shown) == recorded
    assert ("Work includes waiting for the disk." in shown) != recorded
    assert "Dark regions are page faults" in said_of(TIMELINE, TABLES, run)


@pytest.mark.parametrize(("read_bytes", "nothing"), [(0, True), (4096, False), (None, False)])
def test_a_run_whose_passes_read_nothing_says_so(read_bytes: Any, nothing: bool) -> None:
    read = pd.array([read_bytes] * len(TABLES["passes"]), "Int64")
    tables = {**TABLES, "passes": TABLES["passes"].assign(read_bytes=read)}
    run = a_run(host=dict(page_bytes=4096), trace=dict(faults_recorded=True))
    assert ("of the time of generate passes waiting for the disk" in said_of(DISK_SPLIT, tables, run)) != nothing
    assert ("of the time in page faults with no read under way" in said_of(DISK_SPLIT, tables, run)) == nothing
    found = " ".join(finding.text for finding in findings(Context(run, tables)) if finding.scope == "generation")
    assert ("Page faults with no read under way take" in found) == nothing != ("waiting for the disk" in found)


def test_the_answer_of_waiting_is_a_share_of_generate_passes() -> None:
    read = {**TABLES, "passes": TABLES["passes"].assign(read_bytes=4096)}
    rows = attribution.by_pass(read)
    rows = rows[rows["pass_id"].isin(ids_of(TABLES, "generate"))]
    waited, *more = answer(DISK_SPLIT, read)
    whole, disk, behind, paging = (rows[name].sum() for name in ("duration_ns", "disk_ns", "behind_ns", "paging_ns"))
    assert waited.value == pytest.approx((disk + behind) / whole) and disk > 0
    assert waited.words == "of the time of generate passes waiting for the disk"
    shares = [
        share for share, of in ((behind / (disk + behind), behind), (paging / whole, paging)) if of >= 0.001 * whole
    ]
    assert [amount.value for amount in more] == [pytest.approx(share) for share in shares]


def test_operations_without_a_page_fault_are_not_said_to_wait_for_the_disk() -> None:
    spans = TABLES["spans"].assign(fault_ns=0)
    (none,) = answer(DISK_SPLIT, {**TABLES, "faults": TABLES["faults"].iloc[:0], "spans": spans})
    assert none.words == "of the time of generate passes computing"


def test_the_answer_of_tensors_is_the_group_and_the_tensor_with_most_waiting() -> None:
    table = disk_waits.by_tensor(EXPERTS)
    named, whole = table.dropna(subset=["component"]), table["waited_ns"].sum()
    groups = named.groupby(named["component"].astype(str).map(theme.group))["waited_ns"].sum() / whole
    group, tensor, use = answer(DISK_TENSORS, EXPERTS)
    assert group.value == groups.max() and group.words.endswith(f" for {groups.idxmax()}")
    assert (tensor.value, tensor.words) == (named["share"].max(), f"for {named['name'].iloc[0]}")
    assert use.value == named["op_share"].iloc[0]
    faults = EXPERTS["faults"][EXPERTS["faults"]["pass_id"].isin(ids_of(EXPERTS, "generate"))]
    one = faults.sort_values("duration_ns").tail(1)
    assert [amount.number for amount in answer(DISK_TENSORS, {**EXPERTS, "faults": one})] == ["100 %", "100 %"]


def test_the_answer_of_experts_is_their_share_and_how_many_have_half_of_it() -> None:
    table = expert_waits.by_expert(EXPERTS)
    share, half = answer(DISK_EXPERTS, EXPERTS)
    assert share.value == table["share"].sum()
    most = table["waited_ns"].cumsum() * 2 >= table["waited_ns"].sum()
    assert (half.value, half.words) == (most.argmax() + 1, f"of {len(table)} experts for half of that")


def test_the_answer_of_the_map_is_the_share_of_regions_with_page_faults() -> None:
    (share,) = answer(DISK_MAP, TABLES)
    assert 0 < share.value <= 1 and share.words.startswith("of the regions of the file")
    assert answer(DISK_MAP, {**TABLES, "faults": TABLES["faults"].iloc[:0]}) == ()
