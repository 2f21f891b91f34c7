"""What threads compute, by kind of operation and type of weight, and whether memory bandwidth bounds it."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from tracegen.analysis import bandwidth
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Cause, Phase
from tracegen.contract.quantities import known

LEAST = 0.05  # of the time of the phase: less is not a cause of its own
FASTER = 1.5  # times the rate: the same operation with weights of another type shows that memory does not bound it


def causes(of: Analyses, phase: Phase) -> Iterator[Cause]:
    """A cause for each kind of operation and type of weight that computes for `LEAST` of the time.

    memory-bandwidth: bytes that surely came from memory reach `bandwidth.NEAR` of its rate; else kernel. Numbers:
    bytes_per_second, of_memory (its share of memory's rate, where that was measured), and faster_bytes_per_second of
    the same operation with another type (name `faster`), where that is `FASTER` times as fast.
    """
    layers = of.operation_rates
    rows = layers[(layers["phase"] == phase.name).to_numpy(bool)]
    if rows.empty:
        return
    machine = of.machine(phase.name)
    table = bandwidth.summed(rows, ["op", "dtype"], machine)
    for row in table.to_dict("records"):
        ns = float(row["working_ns"])
        if ns < LEAST * phase.whole_ns:
            continue
        numbers, names = {}, {"op": str(row["op"])}
        if known(row["dtype"]):
            names["dtype"] = str(row["dtype"])
        if known(row["bytes_per_second"]):
            numbers["bytes_per_second"] = float(row["bytes_per_second"])
            if machine.memory_rate:
                numbers["of_memory"] = numbers["bytes_per_second"] / machine.memory_rate
            _compare(table, row, numbers, names)
        bound = row["bound"] == "memory"
        yield phase.cause("memory-bandwidth" if bound else "kernel", ns, numbers, names)


def _compare(
    table: pd.DataFrame, row: Mapping[Hashable, Any], numbers: dict[str, float], names: dict[str, str]
) -> None:
    """Add the fastest other type of weights of the same operation, where that is `FASTER`."""
    others = table[
        (table["op"] == row["op"]).to_numpy(bool)
        & table["dtype"].notna().to_numpy(bool)
        & (table["dtype"] != row["dtype"]).to_numpy(bool)
        & (table["weight_bytes"] >= 0.05 * row["weight_bytes"]).to_numpy(bool)
    ].dropna(subset=["bytes_per_second"])
    if len(others) and "dtype" in names:
        best = others.loc[others["bytes_per_second"].astype(float).idxmax()]
        if best["bytes_per_second"] >= FASTER * numbers["bytes_per_second"]:
            names["faster"] = str(best["dtype"])
            numbers["faster_bytes_per_second"] = float(best["bytes_per_second"])
