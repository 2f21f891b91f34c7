"""What servers computed for a run, from their own traces: joined by time and names, beside what devices recorded."""

import pandas as pd
import pytest

from tests.builders import scaled_case, with_device_ops
from tracegen.contract.tables import frame
from tracegen.readers.native.server_ops import server_ops


def client() -> dict[str, pd.DataFrame]:
    """A run in which another backend got all of each pass, and a server answered when it was done."""
    tables = scaled_case(3, 2)
    passes = tables["passes"].dropna(subset=["graph", "end_ns"])
    splits = [
        dict(pass_id=p["pass_id"], split=0, backend="RPC0[a:1]", n_nodes=1, by_op=False, proof="reply")
        | dict(begin_ns=p["begin_ns"] - 5, end_ns=p["end_ns"] + 5)
        for p in passes.to_dict("records")
    ]
    ops = tables["ops"].assign(split=pd.array([0] * len(tables["ops"]), "Int32"))
    return {**tables, "ops": ops, "splits": frame("splits", splits)}


def computed(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The operations that took time, in order."""
    ops = tables["ops"][tables["ops"]["state"].eq("executed").to_numpy(bool)]
    return ops.sort_values(["pass_id", "node"], ignore_index=True)


def handed_over(tables: dict[str, pd.DataFrame], pass_id: int | None = None) -> int:
    """How many operations a server was given: which of them it fuses, only the server knows."""
    ops = tables["ops"][tables["ops"]["state"].isin(["executed", "fused"]).to_numpy(bool)]
    return len(ops if pass_id is None else ops[ops["pass_id"] == pass_id])


def test_each_operation_of_the_server_is_that_of_its_name() -> None:
    found, lost = server_ops(client(), [scaled_case(3, 2)])
    expected = computed(client())
    assert lost == 0 and len(found) == len(expected) > 20
    assert found[["pass_id", "node"]].to_numpy().tolist() == expected[["pass_id", "node"]].to_numpy().tolist()
    assert found["begin_ns"].tolist() == expected["begin_ns"].tolist() and found["exact"].all()
    assert set(found["device"]) == {"RPC0[a:1]"}
    for _, of in found.groupby("pass_id"):
        assert of["part"].tolist() == list(range(len(of)))


def test_what_a_server_did_not_record_is_counted() -> None:
    """A pass that its trace lacks, and operations without times."""
    server = scaled_case(3, 2)
    ops, gone = server["ops"].copy(), int(server["passes"]["pass_id"].iloc[-1])
    server["passes"] = server["passes"][server["passes"]["pass_id"] != gone]
    first = computed(server).iloc[0]
    at = (ops["pass_id"] == first["pass_id"]) & (ops["node"] == first["node"])
    ops.loc[at.to_numpy(bool), ["begin_ns", "end_ns"]] = pd.NA
    found, lost = server_ops(client(), [{**server, "ops": ops}])
    without = int((computed(client())["pass_id"] == gone).sum())
    assert without > 0 and lost == handed_over(client(), gone) + 1
    assert len(found) == len(computed(client())) - without - 1


@pytest.mark.parametrize("later_ns", [0, 10**12])
def test_other_graphs_and_other_times_say_nothing(later_ns: int) -> None:
    """A server of another model; or one of another machine, whose clock began at another time."""
    server = scaled_case(3, 2, moe=later_ns == 0)
    moved = {name: server["passes"][name] + later_ns for name in ("begin_ns", "end_ns")}
    found, lost = server_ops(client(), [{**server, "passes": server["passes"].assign(**moved)}])
    assert found.empty and lost == handed_over(client())
    assert server_ops(client(), [])[1] == lost


def test_what_devices_recorded_stays() -> None:
    tables = with_device_ops(client(), "Vulkan0")
    found, _ = server_ops(tables, [scaled_case(3, 2)])
    assert set(found["device"]) == {"Vulkan0", "RPC0[a:1]"} and len(found) == 2 * len(tables["device_ops"])
    assert not found.duplicated(["pass_id", "part"]).any()
    nothing, _ = server_ops(tables, [])
    assert len(nothing) == len(tables["device_ops"])


def test_a_run_without_a_server_has_nothing_to_join() -> None:
    found, lost = server_ops(scaled_case(1, 1), [scaled_case(1, 1)])
    assert found.empty and lost == 0
