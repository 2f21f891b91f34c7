"""How much memory the runtime's buffers took, over time and at their peak."""

import pandas as pd

from tracegen.analysis.accesses import Tables

GROUPS = ("KV cache", "compute", "copied weights", "weights", "work", "other")


def allocations(tables: Tables) -> pd.DataFrame:
    """The rows of the table `buffers` that allocate memory: no views of a file mapping, no buffers of 0 bytes."""
    buffers = tables["buffers"]
    return buffers[~(buffers["usage"] == "mapped").to_numpy(bool) & (buffers["size_bytes"] > 0).to_numpy(bool)]


def buffer_groups(tables: Tables) -> dict[int, str]:
    """What each buffer holds: KV cache, compute, copied weights, weights, work, other.

    A buffer with copied bytes of the file is copied weights, but for those that a pass computes in, to which it copies
    weights for itself; one with a tensor named cache_k… or cache_v… is KV
    cache; else its recorded usage decides. Returns buffer_id -> group.
    """
    place = tables["placements"].dropna(subset=["buffer_id"])
    nodes = tables["graph_nodes"][["graph", "node", "name"]]
    named = place[["graph", "node", "buffer_id"]].merge(nodes, on=["graph", "node"])
    cache = set(named.loc[named["name"].str.startswith(("cache_k", "cache_v")), "buffer_id"])
    copied = set(place.loc[place["memory"] == "copied", "buffer_id"])
    usage = tables["buffers"].drop_duplicates("buffer_id").set_index("buffer_id")["usage"].astype("object")
    groups = usage.where(usage.isin(["compute", "weights", "work"]), "other")
    groups[groups.index.isin(cache)] = "KV cache"
    groups[groups.index.isin(copied) & groups.ne("compute").to_numpy(bool)] = "copied weights"
    return dict(zip(groups.index.astype(int).tolist(), groups.tolist(), strict=True))


def occupancy(tables: Tables) -> pd.DataFrame:
    """Bytes allocated per group after every allocation and free.

    Columns: time_ns (on the run's clock), group, size_bytes (allocated from then on).
    One row per group and event time; an event changes one group, the others are repeated.
    """
    events = allocations(tables).sort_values(["time_ns", "buffer_id"], kind="stable")
    if events.empty:
        return pd.DataFrame({"time_ns": [], "group": [], "size_bytes": []}).astype({"time_ns": "int64"})
    sign = events["event"].map({"alloc": 1, "free": -1}).astype("int64")
    group = events["buffer_id"].map(buffer_groups(tables))
    change = (events["size_bytes"] * sign).groupby([events["time_ns"], group.rename("group")]).sum()
    level = change.unstack("group", fill_value=0).sort_index().cumsum()
    return level.reset_index().melt("time_ns", var_name="group", value_name="size_bytes")


def peaks(tables: Tables) -> pd.DataFrame:
    """Per group: the most bytes allocated at once (peak_bytes) and the number of allocations."""
    buffers = allocations(tables)
    allocated = buffers[buffers["event"] == "alloc"]
    count = allocated["buffer_id"].map(buffer_groups(tables)).value_counts()
    level = occupancy(tables)
    table = level.groupby("group")["size_bytes"].max().rename("peak_bytes").reset_index()
    table["n_buffers"] = table["group"].map(count).fillna(0).astype("int64")
    return table.sort_values(["peak_bytes", "group"], ascending=[False, True], ignore_index=True)


def peak_sizes(tables: Tables) -> dict[str, int]:
    """The most bytes allocated at once, by group."""
    of = peaks(tables)
    return {str(group): int(size) for group, size in zip(of["group"], of["peak_bytes"], strict=True)}


def peaks_by_place(tables: Tables) -> pd.DataFrame:
    """The same as `peaks`, per group and place: the device that has the memory, or `CPU`.

    What a device's backend keeps in the memory of the CPU, for copies to and from it, is `CPU, pinned`.
    """
    buffers = tables["buffers"]
    named = buffers.assign(place=_places(buffers))
    places: list[str] = sorted(named["place"].unique())
    parts = []
    for place in places:
        here = {**tables, "buffers": named[named["place"].eq(place).to_numpy(bool)].drop(columns="place")}
        parts.append(peaks(here).assign(place=place))
    table = pd.concat(parts, ignore_index=True) if parts else peaks(tables).assign(place="")
    order = ["peak_bytes", "group", "place"]
    table = table.sort_values(order, ascending=[False, True, True], ignore_index=True)
    return table[["group", "place", "peak_bytes", "n_buffers"]]


def _places(buffers: pd.DataFrame) -> pd.Series:
    """Where each buffer has its memory, by its backend and the name of its type."""
    backend = buffers["backend"].astype("object").fillna("CPU")
    pinned = backend.ne("CPU") & buffers["name"].astype("object").fillna("").str.endswith("_Host")
    return backend.mask(pinned, "CPU, pinned")


def total_peak(tables: Tables) -> int | None:
    """The most bytes of all buffers together; None when no buffer was recorded."""
    level = occupancy(tables)
    return None if level.empty else int(level.groupby("time_ns")["size_bytes"].sum().max())


def touched_by_group(tables: Tables, accessed: pd.DataFrame) -> pd.DataFrame:
    """Bytes touched per pass and buffer group: pass_id, group, touched_bytes; `accessed` as `accesses` gives it."""
    rows = accessed.loc[(accessed["memory"] == "buffer").to_numpy(), ["pass_id", "buffer_id", "touched_bytes"]]
    touched = rows.groupby(["pass_id", "buffer_id"], dropna=False)["touched_bytes"].sum().reset_index()
    group = touched["buffer_id"].map(buffer_groups(tables)).astype("object").fillna("other")
    return touched.groupby(["pass_id", group.rename("group")])["touched_bytes"].sum().reset_index()
