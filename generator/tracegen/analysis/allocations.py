"""What the program has allocated and not freed, by size and by the calls that asked for it."""

import re
from dataclasses import dataclass

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.footprint import WHILE

_SAMPLE = "sample"
# Functions between a program and malloc: the C++ library's own, ggml's for aligned memory, and the tracer's.
_BETWEEN = re.compile(r"^(_Zn[wa]|_ZNSt|_ZNKSt|_ZSt|ggml_aligned_malloc@)|@libtensor-trace\.so|^libtensor-trace\.so\+")
_LINKED = re.compile(r"_ZN?K?(?=\d)")


def looked_at(tables: Tables) -> tuple[int, int] | None:
    """The first and the last sample with allocations while the program computed, or else at a load; None: none."""
    samples = tables["footprint"].drop_duplicates(_SAMPLE).set_index(_SAMPLE)["occasion"].astype(str)
    known = samples[samples.index.isin(tables["allocations"][_SAMPLE].unique()) & samples.ne("end").to_numpy(bool)]
    computing = known[known.isin(WHILE).to_numpy(bool)]
    found = (computing if len(computing) else known).index
    return (int(found.min()), int(found.max())) if len(found) else None


def by_size(tables: Tables) -> pd.DataFrame:
    """Blocks that lived at the last sample, smallest first: size_class, n_live, live_bytes, grown_bytes.

    `grown_bytes`: how much more than at the first sample while the program computed; less is negative. A class of which
    all blocks are freed by then has a row.
    """
    return _grown(tables, "size", "size_class").sort_values("size_class", kind="stable", ignore_index=True)


def by_calls(tables: Tables) -> pd.DataFrame:
    """Large blocks that lived at the last sample, by the calls that asked for them, those with most bytes first.

    Columns: calls, n_live, live_bytes, grown_bytes (as of `by_size`), n_all. Calls without a live block have no row.
    """
    table = _grown(tables, "calls", "calls")
    table = table[(table["live_bytes"] > 0).to_numpy(bool)]
    return table.sort_values("live_bytes", ascending=False, kind="stable", ignore_index=True)


def _grown(tables: Tables, kind: str, by: str) -> pd.DataFrame:
    rows, ends = tables["allocations"], looked_at(tables)
    rows = rows[rows["kind"].eq(kind).to_numpy(bool)]
    columns = [by, "n_live", "live_bytes", *(["n_all"] if kind == "calls" else [])]
    first, last = (rows[rows[_SAMPLE].eq(at).to_numpy(bool)] for at in ends or (-1, -1))
    table = last[columns].merge(first[[by, "live_bytes"]], on=by, how="outer", suffixes=("", "_first"))
    numbers = [*columns[1:], "live_bytes_first"]
    table[numbers] = table[numbers].astype("Int64").fillna(0).astype("int64")
    table["grown_bytes"] = table["live_bytes"] - table.pop("live_bytes_first")
    return table


@dataclass(frozen=True)
class Asked:
    """Who asked for large blocks: the function, and what called it, as far as names are known."""

    function: str
    called_by: str
    library: str


def asked(calls: str) -> Asked:
    """The first function of the program itself in these calls, without what only hands memory on, and its caller."""
    frames = calls.split(" < ")
    own = [frame for frame in frames if not _BETWEEN.search(frame)] or frames
    named = [frame for frame in own if "@" in frame] or own
    function, _, library = named[0].partition("@")
    return Asked(readable(function), readable(named[1].partition("@")[0]) if len(named) > 1 else "", library)


def readable(symbol: str) -> str:
    """A name as C++ has it, without parameters and template arguments; or as the linker has it, if it is not simple."""
    linked = _LINKED.match(symbol)
    parts, at = list[str](), linked.end() if linked else 0
    while linked and (length := re.match(r"\d{1,3}", symbol[at:])):
        begin = at + length.end()
        at = begin + int(length[0])
        parts.append(symbol[begin:at])
    if parts and re.match(r"C[12]", symbol[at:]):
        parts.append(parts[-1])  # a constructor
    return "::".join(parts) or symbol
