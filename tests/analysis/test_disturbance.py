"""What stalls: not the passes in which another backend computed all the while."""

import pandas as pd
import pytest

from tests.builders import scaled_case
from tracegen.analysis.disturbance import disturbance
from tracegen.analysis.passes import measured
from tracegen.contract import tables as contract

LASTS = 50_000_000


@pytest.mark.parametrize(
    ("backend", "proof", "stopped"), [("GPU0", "synchronise", 0), ("GPU0", "none", 1), (None, "", 1)]
)
def test_a_pass_that_waits_for_another_backend_does_not_stall(backend: str | None, proof: str, stopped: int) -> None:
    tables = scaled_case(1, 1, n_prompt=0)
    number = int(measured(tables)["pass_id"].iloc[-1])
    passes = tables["passes"]
    here = (passes["pass_id"] == number).to_numpy(bool)
    begin = int(passes.loc[here, "begin_ns"].iloc[0])
    passes.loc[here, "end_ns"] = begin + LASTS
    nothing = {name: pd.array([0] * len(passes), "Int64") for name in ("major_faults", "read_bytes")}
    blocked = pd.array([LASTS if one else 0 for one in here], "Int64")
    split = dict(pass_id=number, split=0, backend=backend, n_nodes=1, begin_ns=begin + 1_000, end_ns=begin + LASTS)
    splits = [split | dict(by_op=False, proof=proof)] if backend else []
    tables = {
        **tables,
        "passes": passes.assign(blocked_ns=blocked, **nothing),
        "splits": contract.frame("splits", splits),
    }
    found = disturbance(tables)
    assert found.n_stopped == found.n_blocked == stopped
