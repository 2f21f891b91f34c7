"""Requests of the device for the tables of a run that recorded none."""

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract

Tables = dict[str, pd.DataFrame]
PAGE = 4096


def with_requests(tables: Tables, seed: int = 1) -> Tables:
    """The tables with some reads at random before, between and in most passes and loads.

    Most are of whole pages of a model file, some of other bytes of the device; one has no end. They are issued one
    after the other, and last so long that several are under way at a time.
    """
    random = np.random.default_rng(seed)
    files = tables["files"].to_dict("records")
    passes = tables["passes"].dropna(subset=["end_ns"]).sort_values("begin_ns").to_dict("records")
    rows: list[dict[str, object]] = []
    for before, now in zip([None, *passes], passes, strict=False):
        begin, end = (int(now[name]) for name in ("begin_ns", "end_ns"))
        between = int(before["end_ns"]) if before else begin - 100
        when = [(int(random.integers(between, begin)), None)] if between < begin else []
        for _ in range(int(random.integers(0, 8))):
            when.append((int(random.integers(begin, end)), now["pass_id"]))
        for issue, pass_id in sorted(when, key=lambda row: row[0]):
            rows.append(
                _request(random, files)
                | dict(pass_id=pass_id, issue_ns=issue, duration_ns=int(random.integers(1, end - begin)))
            )
    if rows:
        rows[len(rows) // 2]["duration_ns"] = None
    return {**tables, "requests": contract.frame("requests", [row | {"request": i} for i, row in enumerate(rows)])}


def _request(random: np.random.Generator, files: list[dict[str, object]]) -> dict[str, object]:
    """A read of up to 32 pages: of a file, which may end before it, or of something else."""
    size = PAGE * int(random.integers(1, 33))
    row: dict[str, object] = dict(device="254:0", size_bytes=size, kind=str(random.choice(["read", "ahead"])))
    if random.random() < 0.2:
        return row | dict(place=(1 << 40) + PAGE * int(random.integers(100)), file=None, offset=None, file_bytes=0)
    number = int(random.integers(len(files)))
    length = int(str(files[number]["size_bytes"]))
    offset = PAGE * int(random.integers(-(-length // PAGE)))
    return row | dict(
        place=(number + 1 << 30) + offset, file=number, offset=offset, file_bytes=min(size, length - offset)
    )
