"""The model file by token, with time: the parts of the file, and what each row of passes touched, waited for and read.

A picture of it has few rows and narrow columns. So tensors of one layer that do the same are one part of the file, and
neighbouring tokens that are alike share a row.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracegen.analysis import attribution, axis, disk_waits
from tracegen.analysis.accesses import Tables
from tracegen.analysis.backends import elsewhere_ns
from tracegen.analysis.coverage import union
from tracegen.analysis.passes import measured
from tracegen.analysis.pieces import bytes_in, overlaps, piece_bytes
from tracegen.analysis.work import computed_ns

DISK_NS = 100_000  # a page fault that took longer, or started a read itself, waited for the disk
WAITS = ("disk_ns", "behind_ns", "paging_ns", "processor_ns", "elsewhere_ns")  # parts of the attribution
JOINING = ("norm", "router", "other")  # groups of small tensors, which belong to the part beside them


def parts(tables: Tables, group_of: Mapping[str, str], most: int) -> pd.DataFrame:
    """The parts of the file in its order: layer (null: none; the first of several), last_layer, group, begin, end.

    Begin and end are bytes on the disk axis. A part is neighbouring tensors of one layer and group of components; where
    these are more than `most`, one of whole layers, then of several layers: its group is then null.
    """
    tensors = tables["tensors"]
    begin = axis.tensor_begins(tables)
    rows = pd.DataFrame(
        {
            "file": tensors["file"],
            "layer": tensors["layer"].astype("Int64"),
            "begin": begin,
            "end": begin + tensors["size_bytes"],
            "group": tensors["component"].astype("object").map(group_of),
        }
    ).sort_values("begin", ignore_index=True, kind="stable")
    place = _changes(rows[["file", "layer"]].astype("Float64").fillna(-1)).cumsum()
    own = rows["group"].mask(rows["group"].isin(JOINING))
    rows["group"] = own.groupby(place).ffill().fillna(own.groupby(place).bfill()).fillna(rows["group"])
    rows["first"] = rows["layer"]
    n_layers = int(rows["layer"].max()) + 1 if rows["layer"].notna().any() else 0
    for together in (0, *(1 << step for step in range(16))):
        if together:
            rows["first"] = rows["layer"] // together * together
            rows["group"] = rows["group"].mask(rows["layer"].notna())
        keys = pd.DataFrame({name: rows[name].astype("object").fillna("") for name in ("file", "first", "group")})
        if (change := _changes(keys)).sum() <= most or together > n_layers:
            break
    grouped = rows.groupby(change.cumsum())
    table = grouped.agg(layer=("layer", "min"), last_layer=("layer", "max"), begin=("begin", "min"), end=("end", "max"))
    table["group"] = grouped["group"].first()
    return table.reset_index(drop=True)


def _changes(keys: pd.DataFrame) -> pd.Series:
    """True where a row differs from the one before."""
    return (keys != keys.shift()).any(axis=1)


def reads(tables: Tables) -> pd.DataFrame:
    """The bytes of model files that devices were asked for in each measured pass: pass_id, begin, end on the axis."""
    requests = tables["requests"].dropna(subset=["file", "pass_id"])
    chosen = requests["pass_id"].isin(measured(tables)["pass_id"]) & (requests["file_bytes"] > 0)
    requests = requests[chosen.to_numpy(bool)]
    begin = axis.places(tables, requests)
    end = begin + requests["file_bytes"].astype("int64")
    return pd.DataFrame({"pass_id": requests["pass_id"].astype("int64"), "begin": begin, "end": end}, dtype="int64")


def needed_bytes(touched: pd.DataFrame, read: pd.DataFrame) -> pd.Series:
    """Of the bytes that were read in each pass, how many it touched: bytes by pass_id, counted in each read.

    `touched` and `read` are ranges on the axis (pass_id, begin, end), `read` the result of `reads`.
    """
    step = 1 << 44  # above every place: what one pass touched lies apart from the next
    apart = (
        of[["begin", "end"]].add(of["pass_id"].astype("int64") * step, axis=0)
        for of in (read, union(touched, "pass_id").sort_values(["pass_id", "begin"]))
    )
    row, _, both = overlaps(*apart)
    found = pd.Series(both, dtype="int64").groupby(read["pass_id"].to_numpy()[row]).sum()
    return found.reindex(pd.unique(read["pass_id"]), fill_value=0)


def waits(tables: Tables) -> pd.DataFrame:
    """The page faults of measured passes that waited for the disk: pass_id, begin, end (a page on the axis), waited_ns.

    They started a read, or took longer than DISK_NS: another thread's read, or one ahead, brought their page.
    """
    faults = disk_waits.placed(tables)
    for_disk = faults["major"] | (faults["waited_ns"] > DISK_NS)
    faults = faults[(for_disk & faults["file"].notna()).to_numpy(bool)]
    place = axis.places(tables, faults)
    table = faults.astype({"pass_id": "int64"}).assign(begin=place, end=place + 1)
    return table[["pass_id", "begin", "end", "waited_ns"]]


def has_read_nothing(tables: Tables) -> bool:
    """Whether measured passes are known to have read nothing: their page faults found pages that lay in memory."""
    read = measured(tables)["read_bytes"]
    return len(read) > 0 and bool((read == 0).fillna(False).all())


def quiet(tables: Tables) -> pd.Series:
    """Of each measured pass, by pass_id, whether it read nothing and waited for nothing of the disk."""
    busy = set(reads(tables)["pass_id"]) | (set() if has_read_nothing(tables) else set(waits(tables)["pass_id"]))
    passes = measured(tables)["pass_id"]
    return pd.Series(~passes.isin(busy).to_numpy(bool), passes.to_numpy("int64"))


def times(tables: Tables, group_of: Mapping[str, str], *, split: pd.DataFrame | None = None) -> pd.DataFrame:
    """The time of each measured pass that ended, wall time in ns: pass_id, duration_ns, a column for each group of
    components whose operations computed, disk_ns, behind_ns, paging_ns, processor_ns, waiting_ns,
    elsewhere_ns and rest_ns; they add up to it.

    Times of threads are means over them. Waiting for the disk is 0 where page faults were not recorded. `split`: the
    result of `attribution.by_pass`, if the caller has it already.
    """
    passes = measured(tables).dropna(subset=["duration_ns"])[["pass_id", "duration_ns", "graph"]]
    nodes = tables["graph_nodes"][["graph", "node", "component"]]
    spans = tables["spans"].merge(passes[["pass_id", "graph"]], on="pass_id").merge(nodes, on=["graph", "node"])
    n_threads = spans.groupby("pass_id")["thread"].nunique()
    group = spans["component"].astype("object").map(group_of).fillna("other").rename("group")
    table = computed_ns(spans).groupby([spans["pass_id"], group]).sum().unstack().fillna(0.0)
    groups = list(table.columns)
    several = spans.groupby(["pass_id", "node"], sort=False)["thread"].transform("size") > 1
    waited = (spans["barrier_ns"] + spans["wait_ns"].where(several, 0)).astype("float64")
    table["waiting_ns"] = waited.groupby(spans["pass_id"]).sum()
    table = table.div(n_threads, axis=0)
    split = attribution.by_pass(tables) if split is None else split
    split = split.set_index("pass_id")[[*WAITS, "barrier_ns"]]
    table = passes.drop(columns="graph").astype("int64").set_index("pass_id").join(table).join(split).fillna(0.0)
    barrier = table.pop("barrier_ns")
    apart = table.index.isin(split.index)  # its page faults were recorded
    table["waiting_ns"] = table["waiting_ns"].where(~apart, barrier) if groups else 0.0
    others = elsewhere_ns(tables["splits"]).reindex(table.index, fill_value=0)
    table["elsewhere_ns"] = table["elsewhere_ns"].where(apart, others)
    known = [*groups, *WAITS[:-1], "waiting_ns", WAITS[-1]]
    table["rest_ns"] = (table["duration_ns"] - table[known].sum(axis=1)).clip(0)
    return table[["duration_ns", *known, "rest_ns"]].reset_index()


def rows(tables: Tables, quiet: pd.Series, alike: pd.Series, most: int) -> pd.DataFrame:
    """The row of each measured pass that evaluates a graph: pass_id, row, kind (prompt, tokens), n_passes, is_quiet.

    Prompt passes in a row are one row. `quiet` (bool by pass_id) says which passes waited for nothing and read nothing:
    neighbours that did neither share a row; where none read, neighbours with equal `alike` do. Where more than `most`
    rows are left, equally many passes in a row share one, prompts that follow tokens among them.
    """
    passes = measured(tables).dropna(subset=["graph"])
    prompt = (passes["kind"] == "prompt").fillna(False).to_numpy(bool)
    numbers = passes["pass_id"]
    is_quiet = numbers.map(quiet).fillna(True).to_numpy(bool)
    by_reads = not is_quiet[~prompt].all()
    same = np.where(is_quiet, -1, numbers) if by_reads else numbers.map(alike).fillna(0).to_numpy()
    begins = _begins(np.where(prompt, -2, same))
    if begins.sum() > most:
        prompt = np.arange(len(prompt)) < np.argmin(prompt)
        by_reads, each = False, -(-int((~prompt).sum()) // max(most - 1, 1))
        begins = _begins(np.where(prompt, -2, (np.cumsum(~prompt) - 1) // each))
    table = pd.DataFrame({"pass_id": numbers.to_numpy("int64"), "row": np.cumsum(begins) - 1})
    table["kind"] = np.where(prompt, "prompt", "tokens")
    table["is_quiet"] = pd.Series(is_quiet & by_reads).groupby(table["row"]).transform("all")
    table["n_passes"] = table.groupby("row")["pass_id"].transform("size")
    return table


def _begins(keys: np.ndarray) -> np.ndarray:
    """True where a number differs from the one before."""
    begins: np.ndarray = np.diff(keys, prepend=keys[:1] - 1) != 0
    return begins


def touched_alike(tables: Tables, used: pd.DataFrame, cut: pd.DataFrame) -> pd.Series:
    """A number for each pass, by pass_id, that is equal where passes touch the same pieces, at least half of each.

    `used`: the result of `accesses.ranges`, `cut`: that of `pieces.pieces`. One row of a table makes no difference.
    """
    found = piece_bytes(tables, used, cut)
    size = (cut["end"] - cut["begin"]).to_numpy("int64")[found["piece"]]
    most = found[(2 * found["used_bytes"] >= size).to_numpy(bool)]
    each = most.sort_values("piece", kind="stable").groupby("pass_id")["piece"].agg(tuple)
    return pd.Series(pd.factorize(each)[0], each.index)


def shares(ranges: pd.DataFrame, of_rows: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """How much of each cell the passes of a row cover: row, cell, share (0 to 1, the mean over its passes).

    `ranges`: pass_id, begin, end on the axis, none of a pass overlapping another (see `coverage.union`); `of_rows`: the
    result of `rows`; `cells`: begin and end, in order. Cells that no pass of the row covers are left out.
    """
    found = bytes_in(ranges, cells).merge(of_rows, on="pass_id")
    sums = found.groupby(["row", "place", "n_passes"])["bytes"].sum().reset_index()
    size = (cells["end"].astype("int64") - cells["begin"].astype("int64")).to_numpy()[sums["place"]]
    share = sums["bytes"] / (size * sums["n_passes"])
    return pd.DataFrame({"row": sums["row"], "cell": sums["place"], "share": share})


def touching(ranges: pd.DataFrame, of_rows: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """The share of tokens that touch each cell: cell, share (0 to 1); none without tokens. Arguments as of `shares`."""
    tokens = of_rows[(of_rows["kind"] == "tokens").to_numpy(bool)]
    found = shares(ranges, tokens[["pass_id"]].assign(row=tokens["pass_id"], n_passes=1), cells)
    n = found.groupby("cell")["row"].nunique().reindex(range(len(cells)), fill_value=0)
    often = pd.DataFrame({"cell": n.index, "share": n.to_numpy() / max(len(tokens), 1)})
    return often if len(tokens) else often.iloc[:0]
