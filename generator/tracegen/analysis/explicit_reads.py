"""Reads of model files that the program made itself: how much, by which call, and what of it more than once."""

import pandas as pd

from tracegen.analysis import asked_ahead
from tracegen.analysis.accesses import Tables
from tracegen.analysis.coverage import union

ASKED_ONLY = ("madvise", "fadvise", "readahead")  # calls that return before anything is read
COLUMNS = (
    "kind",
    "call",
    "direct",
    "n_calls",
    "asked_bytes",
    "got_bytes",
    "file_bytes",
    "took_ns",
    *asked_ahead.COLUMNS,
)


def by_call(tables: Tables, used: pd.DataFrame | None = None) -> pd.DataFrame:
    """A row for each kind of pass and call: load first, then in the order in which they began.

    Columns: kind (of the pass; null: between passes), call, direct (past the page cache), n_calls, asked_bytes,
    got_bytes, file_bytes (different bytes of the file among them), took_ns (at least one of these calls ran); of what
    was only asked for, in_time_bytes, late_bytes and unused_bytes (see `asked_ahead.outcome`), else null.
    `used`: the result of `accesses.ranges`, if the caller has it already.
    """
    kinds = tables["passes"].set_index("pass_id")["kind"].astype("object")
    rows = tables["reads"].astype({"call": "object"})
    rows = rows.assign(kind=rows["pass_id"].map(kinds.to_dict()).astype("object"))
    only_asked = rows["call"].isin(ASKED_ONLY).to_numpy(bool)
    ahead = asked_ahead.outcome(tables, rows[only_asked], used) if only_asked.any() else None
    rows[[*asked_ahead.COLUMNS]] = pd.NA
    if ahead is not None:
        rows.loc[only_asked, [*asked_ahead.COLUMNS]] = ahead.to_numpy(object)
    found = []
    for (kind, call, direct), of in rows.groupby(["kind", "call", "direct"], dropna=False, sort=False):
        file, ran = union(_ranges(of), "file"), union(_times(of), "file")
        found.append(
            dict(
                kind=kind if isinstance(kind, str) else None,
                call=call,
                direct=bool(direct),
                n_calls=int(of["n_calls"].sum()),
                asked_bytes=int(of["size_bytes"].sum()),
                got_bytes=int(of["got_bytes"].sum()),
                file_bytes=int((file["end"] - file["begin"]).sum()),
                took_ns=int((ran["end"] - ran["begin"]).sum()),
                **{name: of[name].sum() if of[name].notna().all() else None for name in asked_ahead.COLUMNS},
            )
        )
    return pd.DataFrame(found, columns=list(COLUMNS)).astype(dict.fromkeys(asked_ahead.COLUMNS, "Int64"))


def _ranges(reads: pd.DataFrame) -> pd.DataFrame:
    """What was read of each file (-1: not known): file, begin, end, in bytes."""
    begin = reads["offset"]
    return pd.DataFrame({"file": reads["file"].fillna(-1), "begin": begin, "end": begin + reads["got_bytes"]})


def _times(reads: pd.DataFrame) -> pd.DataFrame:
    """When calls ran, as ranges of one file, from the first call on: ns."""
    begin = reads["begin_ns"].min()
    return pd.DataFrame({"file": 0, "begin": reads["begin_ns"] - begin, "end": reads["end_ns"] - begin})


def missing(tables: Tables) -> int | None:
    """Bytes of copied weights that no read of the program brought; None where it cannot be said.

    That is where the program read no weights itself, as it copied them from a mapping, or where a file is not known. Of
    a file of which it read no weight, nothing is missing.
    """
    reads = tables["reads"][~tables["reads"]["call"].isin(ASKED_ONLY).to_numpy(bool)]
    if reads["tensor"].isna().all() or reads["file"].isna().any():
        return None
    place = tables["placements"]
    copied = place.loc[place["memory"].eq("copied").to_numpy(bool), "tensor"].dropna().unique()
    of_files = reads.loc[reads["tensor"].notna(), "file"].unique()
    weights = tables["tensors"]
    weights = weights[(weights["tensor"].isin(copied) & weights["file"].isin(of_files)).to_numpy(bool)]
    brought, left = union(_ranges(reads), "file"), 0
    for of in weights.to_dict("records"):
        begin, end = int(of["offset"]), int(of["offset"] + of["size_bytes"])
        mine = brought[brought["file"].eq(of["file"]).to_numpy(bool)]
        inside = mine["end"].clip(upper=end) - mine["begin"].clip(lower=begin)
        left += end - begin - int(inside.clip(lower=0).sum())
    return left
