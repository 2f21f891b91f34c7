"""The checks of recorded requests of the model's devices: none lost, as many bytes as the device counts."""

from tracegen.contract.check_keys import REQUESTS_SLACK, REQUESTS_SLACK_OF_PASS, Key
from tracegen.contract.model import Check, CheckState
from tracegen.contract.quantities import count, counted
from tracegen.measure.checks.evidence import Evidence, check

NOT_RECORDED = "requests were not recorded"


def recorded(e: Evidence) -> Check:
    """Whether the kernel had room for each event, and the model files have places on their devices."""
    refused, unplaced = e.trace["requests_refused"], e.trace["requests_unplaced"]
    if not e.trace["requests_recorded"]:
        state: CheckState = "warning" if refused else "not checked"
        return check(Key.REQUESTS_RECORDED, state, NOT_RECORDED, refused or "")
    lost, open_ = int(e.trace["requests_lost"]), int(e.tables["requests"]["duration_ns"].isna().sum())
    found = f"{counted(lost, 'event', 'events')} lost, {counted(open_, 'request', 'requests')} without an end"
    if unplaced:
        why = f"no place on the device is known for a model file: {unplaced}"
        return check(Key.REQUESTS_RECORDED, "failed" if lost else "warning", found, why)
    return check(Key.REQUESTS_RECORDED, lost == 0, found)


def agree(e: Evidence) -> Check:
    """Whether the requests that ended in each load and pass hold as many bytes as the device counted meanwhile."""
    device = e.tables["device"].groupby("pass_id")["read_bytes"].sum()
    passes = e.tables["passes"].dropna(subset=["end_ns"])
    passes = passes[passes["pass_id"].isin(device.index).to_numpy(bool)]
    if not e.trace["requests_recorded"] or e.trace["requests_unplaced"] or passes.empty:
        return check(Key.REQUESTS_AGREE, "not checked", NOT_RECORDED)
    requests = e.tables["requests"].dropna(subset=["duration_ns"])
    end = (requests["issue_ns"] + requests["duration_ns"]).to_numpy("int64")
    order = end.argsort(kind="stable")
    sums = requests["size_bytes"].to_numpy()[order].cumsum()
    until = [
        (lambda n: int(sums[n - 1]) if n else 0)(int(end[order].searchsorted(moment)))
        for moment in passes[["begin_ns", "end_ns"]].to_numpy("int64").ravel()
    ]
    recorded_bytes = sum(until[1::2]) - sum(until[::2])
    counted_bytes = int(device[passes["pass_id"]].sum())
    apart = abs(counted_bytes - recorded_bytes)
    allowed = max(REQUESTS_SLACK * counted_bytes, REQUESTS_SLACK_OF_PASS * len(passes))
    found = f"{count(recorded_bytes)} bytes recorded, {count(counted_bytes)} counted"
    return check(Key.REQUESTS_AGREE, "passed" if apart <= allowed else "warning", found)


CHECKS = (recorded, agree)
