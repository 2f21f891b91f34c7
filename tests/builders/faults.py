"""Page faults for the tables of a run that recorded none."""

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import ranges
from tracegen.contract import tables as contract

Tables = dict[str, pd.DataFrame]

OTHERS = ("other_faults", "other_fault_ns", "lost_faults")


def with_faults(tables: Tables, seed: int = 1) -> Tables:
    """The tables with page faults at random in most spans of operations that read the mapped file.

    They are on bytes that the operation touches, and together never longer than the work. The process counts them, and
    two more in each pass that no recording thread had.
    """
    random = np.random.default_rng(seed)
    spans = tables["spans"]
    touched = ranges(tables)
    touched = touched[(touched["memory"] == "disk").to_numpy(bool)]
    of_op = {key: rows.to_dict("records") for key, rows in touched.groupby(["pass_id", "node"])}
    rows: list[dict[str, object]] = []
    fault_ns = []
    for span in spans.to_dict("records"):
        left, total = int(span["work_ns"]), 0
        places = of_op.get((span["pass_id"], span["node"]), [])
        for _ in range(int(random.integers(0, 4)) if places else 0):
            took = int(random.integers(0, left // 2 + 1))
            place = places[int(random.integers(len(places)))]
            kind = str(random.choice(["minor", "major"]))
            rows.append(
                dict(
                    pass_id=span["pass_id"],
                    node=span["node"],
                    thread=span["thread"],
                    file=place["file"],
                    offset=int(random.integers(int(place["begin"]), int(place["end"]))),
                    kind=kind,
                    begin_ns=span["begin_ns"] + total,
                    duration_ns=took,
                )
            )
            left, total = left - took, total + took
        fault_ns.append(total)
    rows.sort(key=lambda row: int(str(row["begin_ns"])))
    faults = contract.frame("faults", [row | {"fault": i} for i, row in enumerate(rows)])
    passes = tables["passes"]
    n_faults = faults.groupby("pass_id").size().reindex(passes["pass_id"], fill_value=0).to_numpy("int64")
    passes = passes.assign(
        minor_faults=pd.array(n_faults + 2, dtype="Int64"),
        major_faults=pd.array(np.zeros(len(passes), np.int64), dtype="Int64"),
        **{name: pd.array(np.zeros(len(passes), np.int64), dtype="Int64") for name in OTHERS},
    )
    spans = spans.assign(fault_ns=pd.array(fault_ns, dtype="Int64"))
    return {**tables, "passes": passes, "spans": spans, "faults": faults, **_storage(tables, random)}


def with_barriers(tables: Tables) -> Tables:
    """The tables with the waits of `barrier_ns`: each span that waits inside waits once, after a third of its work."""
    rows = [
        dict(
            pass_id=span["pass_id"],
            node=span["node"],
            thread=span["thread"],
            barrier=0,
            begin_ns=span["begin_ns"] + span["work_ns"] // 3,
            duration_ns=span["barrier_ns"],
        )
        for span in tables["spans"].to_dict("records")
        if span["barrier_ns"]
    ]
    return {**tables, "barriers": contract.frame("barriers", rows)}


def with_off_cpu(tables: Tables, seed: int = 1) -> Tables:
    """The tables with a preemption at the end of most spans, before which are their page faults and their barrier.

    The kernel counts what is recorded, and 100 ns more in each pass.
    """
    random = np.random.default_rng(seed)
    spans = tables["spans"]
    fault_ns = spans["fault_ns"].fillna(0).to_numpy("int64")
    work, barrier = (spans[name].to_numpy("int64") for name in ("work_ns", "barrier_ns"))
    took = (np.minimum(work - fault_ns, work - work // 3) * random.random(len(spans))).astype(np.int64)
    rows = spans.assign(begin_ns=spans["begin_ns"] + work + barrier - took, duration_ns=took)[took > 0]
    rows = rows.sort_values("begin_ns", kind="stable")[["pass_id", "node", "thread", "begin_ns", "duration_ns"]]
    rows = rows.assign(slept=False, off_cpu=np.arange(len(rows), dtype=np.int32), node=rows["node"].astype("Int32"))
    table = contract.frame("off_cpu", {name: rows[name].array for name in rows})
    passes = tables["passes"]
    delay = table.groupby("pass_id")["duration_ns"].sum().reindex(passes["pass_id"], fill_value=0).to_numpy("int64")
    passes = passes.assign(run_delay_ns=pd.array(delay + 100, dtype="Int64"))
    spans = spans.assign(preempted_ns=pd.array(took, dtype="Int64"))
    return {**tables, "passes": passes, "spans": spans, "off_cpu": table}


def _storage(tables: Tables, random: np.random.Generator) -> Tables:
    """What a device did in each pass and load, and how much of each file was in memory after it."""
    passes, files = tables["passes"].dropna(subset=["end_ns"]), tables["files"]
    counted = (passes["end_ns"] - passes["begin_ns"]).to_numpy("int64") + 100
    n = len(passes)
    reads = random.integers(0, 50, n)
    device = contract.frame(
        "device",
        {
            "pass_id": passes["pass_id"].to_numpy("int32"),
            "device": ["vda"] * n,
            "n_reads": reads,
            "read_bytes": reads * random.integers(512, 1 << 17, n),
            "read_ns": reads * 80_000,
            "n_writes": np.zeros(n, np.int64),
            "written_bytes": np.zeros(n, np.int64),
            "busy_ns": (counted * random.random(n)).astype(np.int64),
            "in_flight": np.zeros(n, np.int64),
            "counted_ns": counted,
        },
    )
    rows = [
        dict(
            pass_id=p,
            file=f,
            cached_pages=int(random.integers(0, size // 4096 + 1)),
            dirty_pages=0,
            evicted_pages=7,
            recently_evicted_pages=3,
        )
        for p in passes["pass_id"]
        for f, size in zip(files["file"], files["size_bytes"], strict=True)
    ]
    return {"device": device, "cache": contract.frame("cache", rows)}
