"""Peaks of buffers, by what they hold and whose memory they take: sums by hand."""

import pandas as pd

from tests.builders import a_run, scaled_case
from tracegen.analysis import buffers
from tracegen.contract.tables import empty, frame
from tracegen.report.figures.buffers import BUFFER_PEAKS
from tracegen.report.figures.context import Context

ROWS = (  # number, begin, end, name, backend, usage, bytes
    (1, 0, 90, "Vulkan0", "Vulkan0", "weights", 100),
    (2, 10, 50, "Vulkan0", "Vulkan0", "compute", 7),
    (3, 50, 90, "Vulkan0", "Vulkan0", "compute", 9),  # begins when the one before ends
    (4, 10, 90, "Vulkan_Host", "Vulkan0", "compute", 5),
    (5, 10, 90, "CPU", None, "compute", 3),
    (6, 20, 90, "CPU", "CPU", "compute", 2),
    (7, 0, 90, "CPU_Mapped", None, "mapped", 1_000),  # no memory of its own
)


def tables() -> dict[str, pd.DataFrame]:
    rows = [
        dict(buffer_id=number, event=event, time_ns=time, name=name, backend=backend, usage=usage, size_bytes=size)
        | dict(address=number << 20)
        for number, begin, end, name, backend, usage, size in ROWS
        for event, time in (("alloc", begin), ("free", end))
    ]
    return {**empty(), "buffers": frame("buffers", rows)}


def test_peaks_by_what_a_buffer_holds_and_whose_memory_it_takes() -> None:
    found = buffers.peaks_by_place(tables())
    assert found.to_numpy().tolist() == [
        ["weights", "Vulkan0", 100, 1],
        ["compute", "Vulkan0", 9, 2],
        ["compute", "CPU", 5, 2],
        ["compute", "CPU, pinned", 5, 1],
    ]
    whole = buffers.peaks(tables()).set_index("group")
    assert whole["peak_bytes"].to_dict() == {"weights": 100, "compute": 9 + 5 + 5}
    assert buffers.peaks_by_place(empty()).empty


def test_the_table_names_the_memory_only_where_there_is_more_than_one() -> None:
    alone = BUFFER_PEAKS.content(Context(a_run(), scaled_case(1, 1)))
    assert "Memory of" not in [head.label for head in alone.head] and "pinned" not in alone.caption.lower()
    both = BUFFER_PEAKS.content(Context(a_run(), {**scaled_case(1, 1), "buffers": tables()["buffers"]}))
    assert "Memory of" in [head.label for head in both.head] and "Pinned memory" in both.caption


def test_a_buffer_in_which_a_pass_computes_stays_one_where_weights_are_copied_into_it() -> None:
    """As the scheduler does for a device that computes layers of the CPU."""
    tables = scaled_case(1, 1)
    rows = tables["placements"].copy()
    compute = tables["buffers"].loc[tables["buffers"]["usage"].eq("compute").to_numpy(bool), "buffer_id"].iloc[0]
    rows.loc[rows["buffer_id"].eq(compute).fillna(False).to_numpy(bool), "memory"] = "copied"
    groups = buffers.buffer_groups({**tables, "placements": rows})
    assert groups[int(compute)] == "compute" == buffers.buffer_groups(tables)[int(compute)]
    moved = tables["buffers"].assign(backend="CPU")
    moved.loc[moved["buffer_id"].eq(compute).to_numpy(bool), "backend"] = "Vulkan0"
    assert not Context(a_run(), {**tables, "placements": rows, "buffers": moved}).copies_in
