"""What each pass waited for and read of each tensor and expert, for the token panel and the explorer of the file."""

from typing import Any

import numpy as np
import pandas as pd

from tracegen.analysis import disk_waits
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.packing import packed
from tracegen.report.figures.context import Context


def recorded(context: Context) -> dict[str, bool]:
    """Which of the two the run recorded, by column of `pass_disk`."""
    reads = context.run.has_requests and not context.refusal((needs.PLACES, needs.REQUESTS))
    return {"waited_ns": disk_waits.recorded(context.tables), "read_bytes": reads}


def pass_disk(context: Context) -> pd.DataFrame:
    """The result of `disk_waits.by_piece`, of which a column that was not recorded is null."""
    has = recorded(context)
    return context.once(
        "pass disk",
        lambda: disk_waits.by_piece(context.tables, context.pieces, waits=has["waited_ns"], reads=has["read_bytes"]),
    )


def packed_disk(context: Context, pass_ids: np.ndarray) -> list[str | None]:
    """For each of the passes, which ascend, its numbers: tensor (the gap to the one before), expert, ns, bytes read.

    None where the run recorded neither.
    """
    if not any(recorded(context).values()):
        return [None] * len(pass_ids)
    rows = pass_disk(context)
    rows = rows[rows["pass_id"].isin(pass_ids)]
    cut = context.pieces.iloc[rows["piece"].to_numpy("int64")].reset_index(drop=True)
    first = ~rows["pass_id"].duplicated().to_numpy(bool)
    tensor = cut["tensor"].to_numpy("int64")
    gap = np.where(first, tensor, np.diff(tensor, prepend=0))
    columns = {"gap": gap, "expert": cut["expert"], "waited": rows["waited_ns"].array, "read": rows["read_bytes"].array}
    flat = pd.DataFrame({name: pd.array(values, "Int64") for name, values in columns.items()})
    numbers = pd.Series(flat.to_numpy("object").ravel(), dtype="Int64")
    ends = np.searchsorted(rows["pass_id"].to_numpy("int64"), pass_ids, "right")
    return list(packed(numbers, len(columns) * ends))


def disk_tensors(context: Context) -> dict[str, list[Any]]:
    """The tensors that any pass waited for or read, by number: name, file, offset in it."""
    rows = pass_disk(context)
    numbers = context.pieces["tensor"].iloc[rows["piece"].to_numpy("int64")].unique()
    tensors = context.tables["tensors"]
    tensors = tensors[tensors["tensor"].isin(numbers)]
    columns = (tensors[name] for name in ("tensor", "name", "file", "offset"))
    return {str(t): [q.printable(name), int(f), int(at)] for t, name, f, at in zip(*columns, strict=True)}
