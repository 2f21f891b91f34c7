"""What each pass waited for and read of each piece of the model files."""

import pandas as pd

from tracegen.analysis import axis, disk_waits
from tracegen.analysis.accesses import Tables
from tracegen.analysis.pieces import bytes_in


def reads_by_piece(tables: Tables, cut: pd.DataFrame) -> pd.DataFrame:
    """Bytes of each piece that devices were asked for in each pass, warm-up too: pass_id, piece, read_bytes.

    `cut` is the result of `pieces.pieces`. A byte that was read twice counts twice; bytes of no piece are left out.
    """
    requests = tables["requests"].dropna(subset=["pass_id", "file"])
    low = axis.places(tables, requests)
    high = low + requests["file_bytes"].fillna(0).to_numpy("int64")
    asked = pd.DataFrame({"pass_id": requests["pass_id"], "begin": low, "end": high})
    found = bytes_in(asked, cut)
    return found[found["bytes"] > 0].rename(columns={"place": "piece", "bytes": "read_bytes"})


def by_piece(tables: Tables, cut: pd.DataFrame, *, waits: bool, reads: bool) -> pd.DataFrame:
    """Both for each piece that a pass waited for or read: pass_id, piece, waited_ns (sum over threads), read_bytes.

    A column that is not wanted, because it was not recorded, is null (Int64).
    """
    keys = ["pass_id", "piece"]
    waited = disk_waits.by_piece(tables, cut) if waits else pd.DataFrame(columns=[*keys, "waited_ns"], dtype="int64")
    read = reads_by_piece(tables, cut) if reads else pd.DataFrame(columns=[*keys, "read_bytes"], dtype="int64")
    table = waited.merge(read, on=keys, how="outer").sort_values(keys, ignore_index=True)
    for name, wanted in (("waited_ns", waits), ("read_bytes", reads)):
        table[name] = table[name].astype("Int64").fillna(0) if wanted else pd.array([pd.NA] * len(table), "Int64")
    return table
