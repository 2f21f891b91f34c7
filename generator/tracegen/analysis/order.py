"""In which order the operations of a pass touched the mapped files: the steps from one byte range to the next.

An access is one contiguous range of a mapped file that an operand of an op covered: a tensor, rows of it, or
neighbouring experts. Accesses stand in order of their op, then of the op's operands, then of the file. Inside an op
that several threads share, each thread has a part of the range, so that the order of single bytes is not known. A step
leads from the end of an access to the start of the next one of the same pass; its distance is the number of bytes
between.

Whether an access reached the disk is another question: the range may have been in memory already.
"""

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.axis import on_axis
from tracegen.analysis.passes import measured

TOLERANCES = (0, 4096, 131072, 2097152)  # bytes that may lie between two accesses that still count as one read
KINDS = ("contiguous", "forward", "backward", "overlapping")

_ACCESS = ("pass_id", "node", "slot", "tensor", "layer", "component", "file", "begin", "end")


def disk_accesses(tables: Tables, used: pd.DataFrame) -> pd.DataFrame:
    """The accesses of measured passes to mapped files, in their order.

    `used` is the result of `accesses.ranges`. Columns: pass_id, node, slot, tensor, layer, component, file, begin, end
    (bytes on the disk axis, end exclusive). Copied weights are left out, and so are load, warm-up, empty ranges, and
    ranges of a file that the table `files` does not name: they have no place on the axis.
    """
    of_disk = (used["memory"] == "disk").to_numpy(bool) & (used["end"] > used["begin"]).to_numpy(bool)
    known = used["file"].isin(tables["files"]["file"]).to_numpy(bool)
    rows = used[of_disk & known & used["pass_id"].isin(measured(tables)["pass_id"]).to_numpy(bool)]
    rows = on_axis(tables, rows)
    return rows[list(_ACCESS)].sort_values(["pass_id", "node", "slot", "begin"], ignore_index=True)


def steps(accesses: pd.DataFrame) -> pd.DataFrame:
    """The steps between consecutive accesses of a pass: pass_id, kind, gap_bytes, same_file, layers.

    gap_bytes is the start of the access less the end of the one before. kind is `contiguous` (the gap is 0 and both lie
    in one file), `overlapping` (both share at least one byte), `forward` or `backward`. `layers` is by how many layers
    the step goes up (negative: down), null where one of the two belongs to no layer. `accesses` is the result of
    `disk_accesses`.
    """
    before = accesses.shift()
    within = (accesses["pass_id"] == before["pass_id"]).to_numpy(bool)
    now, last = accesses[within], before[within]
    gap = now["begin"].to_numpy("int64") - last["end"].to_numpy("int64")
    same = now["file"].to_numpy() == last["file"].to_numpy()
    overlap = (gap < 0) & (now["end"].to_numpy("int64") > last["begin"].to_numpy("int64"))
    kind = np.select([overlap, (gap == 0) & same, gap >= 0], ["overlapping", "contiguous", "forward"], "backward")
    return pd.DataFrame(
        {
            "pass_id": now["pass_id"].to_numpy(),
            "kind": pd.Categorical(kind, categories=list(KINDS)),
            "gap_bytes": gap,
            "same_file": same,
            "layers": (now["layer"].astype("Int64") - last["layer"].astype("Int64")).array,
        }
    )


def is_sequential(steps_: pd.DataFrame, tolerance: int) -> np.ndarray:
    """Which steps go on at the end of the access before, or at most `tolerance` bytes behind it; one bool per step.

    A step into another file, one that goes back, and one into the same bytes again are not sequential.
    """
    gap = steps_["gap_bytes"].to_numpy("int64")
    return steps_["same_file"].to_numpy(bool) & (gap >= 0) & (gap <= tolerance)


def by_pass(tables: Tables, accesses: pd.DataFrame) -> pd.DataFrame:
    """How each measured pass went through the mapped files; a row for each pass, 0 where it touched nothing there.

    Columns: pass_id, kind, n_accesses, touched_bytes (a byte counts as often as it was accessed), n_contiguous,
    n_forward, n_backward, n_overlapping (steps), distance_bytes (sum of the distances of steps, either way),
    n_layers_down (steps to an earlier layer), and for each of `TOLERANCES` reads_T: the accesses that remain when each
    that follows sequentially, with a tolerance of T bytes, is joined with the one before.
    """
    passes = measured(tables)[["pass_id", "kind"]]
    moves = steps(accesses)
    sizes = (accesses["end"] - accesses["begin"]).groupby(accesses["pass_id"])
    columns = {"n_accesses": sizes.size(), "touched_bytes": sizes.sum()}
    of = moves["pass_id"]
    columns |= {f"n_{kind}": (moves["kind"] == kind).groupby(of).sum() for kind in KINDS}
    columns["distance_bytes"] = moves["gap_bytes"].abs().groupby(of).sum()
    columns["n_layers_down"] = (moves["layers"] < 0).fillna(False).groupby(of).sum()
    for tolerance in TOLERANCES:
        joined = pd.Series(is_sequential(moves, tolerance)).groupby(of.to_numpy()).sum()
        columns[f"reads_{tolerance}"] = columns["n_accesses"].sub(joined, fill_value=0)
    counted = {name: passes["pass_id"].map(values).fillna(0).astype("int64") for name, values in columns.items()}
    return passes.assign(**counted).reset_index(drop=True)


def by_phase(passes: pd.DataFrame) -> pd.DataFrame:
    """The passes of `by_pass` summed by kind, prompt before generate: kind, n_passes and the sums of other columns."""
    sums = passes.drop(columns="pass_id").groupby("kind", observed=True).sum()
    sums.insert(0, "n_passes", passes.groupby("kind", observed=True).size())
    return sums.reset_index().astype({"kind": "object"})


def path(tables: Tables, accesses: pd.DataFrame, pass_id: int) -> pd.DataFrame:
    """The accesses of one pass in time: begin_ns, end_ns (since the start of the pass), begin, end, tensor, component.

    The times are those of the op, of a fused one those of the op that computed it; an op whose time is not known is
    left out. begin and end are bytes on the disk axis.
    """
    ops = tables["ops"][(tables["ops"]["pass_id"] == pass_id).to_numpy(bool)]
    kernel = ops["fused_into"].fillna(ops["node"]).astype("int64").rename("kernel")
    computed = ops.set_index("node")[["begin_ns", "end_ns"]]
    times = ops[["node"]].assign(kernel=kernel).join(computed, on="kernel").drop(columns="kernel").dropna()
    passes = tables["passes"]
    start = int(passes.loc[passes["pass_id"] == pass_id, "begin_ns"].iloc[0])
    rows = accesses[accesses["pass_id"] == pass_id].merge(times, on="node")
    rows = rows.assign(begin_ns=rows["begin_ns"] - start, end_ns=rows["end_ns"] - start)
    return rows[["begin_ns", "end_ns", "begin", "end", "tensor", "component"]]


def reads(passes: pd.DataFrame) -> pd.DataFrame:
    """What joining neighbours makes of the accesses of some passes, rows of `by_pass`; a row for each of `TOLERANCES`.

    Columns: tolerance_bytes, reads (median of a pass), sequential_share (joined steps over all steps; null without a
    step), mean_bytes (touched bytes over reads).
    """
    n_steps = int(passes[[f"n_{kind}" for kind in KINDS]].to_numpy().sum())
    rows = []
    for tolerance in TOLERANCES:
        joined = passes[f"reads_{tolerance}"]
        n = int(joined.sum())
        share = (int(passes["n_accesses"].sum()) - n) / n_steps if n_steps else None
        rows.append((tolerance, joined.median(), share, int(passes["touched_bytes"].sum()) / n if n else None))
    columns = ["tolerance_bytes", "reads", "sequential_share", "mean_bytes"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[1:], "Float64"))
