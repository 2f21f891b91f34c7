"""What the resident memory of the traced process was made of, over time, and what of it grew."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.buffers import buffer_groups
from tracegen.analysis.passes import measured

# Kind of mapping, or group of buffers -> what figures call it. The first ones are ggml's; all add up to the process.
GROUPS: Mapping[str, str] = {
    "KV cache": "KV cache",
    "compute": "compute",
    "copied weights": "copied weights",
    "weights": "weights",
    "work": "work",
    "other": "other buffers",
    "saved": "saved states",
    "anonymous": "other memory",
    "stacks": "stacks",
    "files": "programs and libraries",
    "devices": "memory of drivers",
    "tracer": "tracer",
    "mappings": "other mappings",
    "model": "model file",
}
GROWING = ("saved states", "other memory")  # what no setting of llama.cpp allocates at its start
WHILE = ("pass", "saved")  # occasions: the program computes
LEAST, OF_ALL = 16 << 20, 0.05  # bytes, and of the process's: less is not said to grow


def footprint(tables: Tables) -> pd.DataFrame:
    """Resident bytes of the process by group, at each sample.

    Columns: sample, time_ns, occasion, pass_id (that had ended; null: none), group (a value of GROUPS), resident_bytes.
    The groups of a sample add up to its mappings.
    """
    rows = tables["footprint"]
    rows = rows[rows["kind"].ne("process").to_numpy(bool)]
    kind = rows["kind"].astype("object").replace({"other": "mappings"})
    of_buffer = rows["buffer_id"].map(buffer_groups(tables)).astype("object").fillna("other")
    key = kind.mask(kind.eq("buffer"), of_buffer)
    table = rows.assign(group=key.map(GROUPS), inside=kind.isin(["buffer", "saved"]))
    within = table[table["inside"]].groupby("sample")["resident_bytes"].sum()
    apart = table["sample"].map(within).fillna(0).where(kind.eq("anonymous"), 0).astype("int64")
    table["resident_bytes"] = (table["resident_bytes"] - apart).clip(lower=0)
    by = ["sample", "time_ns", "occasion", "pass_id", "group"]
    found = table.groupby(by, dropna=False, observed=True, sort=False)["resident_bytes"].sum().reset_index()
    return found.sort_values(["sample", "group"], ignore_index=True)


def peak(tables: Tables) -> int | None:
    """The most that the process held at a sample while it computed, bytes; None where none was taken then."""
    rows = tables["footprint"]
    of = rows[rows["kind"].eq("process").to_numpy(bool) & rows["occasion"].isin(WHILE).to_numpy(bool)]
    return int(of["resident_bytes"].max()) if len(of) else None


@dataclass(frozen=True)
class States:
    """States of sequences that were saved until a sample: how many lie in memory still, bytes of each, and of all.

    `n_tokens`: of each, None where that is not known; `save_ns`: how long saving one took. These are medians; of
    several contexts, as of a model and one that drafts for it, the sum. `alike`: all have the same size. `partial`:
    checkpoints, of what cannot be cut back to fewer tokens; whole states else.
    """

    n: int
    each_bytes: int
    all_bytes: int
    n_tokens: int | None
    save_ns: int
    alike: bool
    partial: bool


@dataclass(frozen=True)
class Growth:
    """How much more memory the process held at its last sample than when it had generated a token for the first time.

    `group`, of GROWING, grew most: by `group_bytes` of `grown_bytes`. `end_bytes`: all without the model file then.
    """

    grown_bytes: int
    end_bytes: int
    group: str
    group_bytes: int
    n_samples: int
    n_passes: int
    states: States | None


def growth(tables: Tables) -> Growth | None:
    """What of GROWING grew while the program computed; None where that is less than `LEAST` or `OF_ALL`, or unknown."""
    table = footprint(tables)
    table = table[table["occasion"].isin(WHILE).to_numpy(bool) & (table["time_ns"] >= _begins(tables)).to_numpy(bool)]
    levels = table.pivot_table(index="sample", columns="group", values="resident_bytes", fill_value=0, aggfunc="sum")
    if len(levels) < 2:
        return None
    of_all = int(levels.drop(columns="model file", errors="ignore").iloc[-1].sum())
    change = (levels.iloc[-1] - levels.iloc[0]).reindex(list(GROWING), fill_value=0)
    grown = int(change.sum())
    if grown < max(LEAST, OF_ALL * of_all):
        return None
    times = table.groupby("sample")["time_ns"].first()
    begin, end = int(times.iloc[0]), int(times.iloc[-1])
    passes = measured(tables)
    within = passes["end_ns"].between(begin, end, inclusive="right").fillna(False)
    return Growth(
        grown_bytes=grown,
        end_bytes=of_all,
        group=str(change.idxmax()),
        group_bytes=int(change.max()),
        n_samples=len(levels),
        n_passes=int(within.sum()),
        states=_states(tables, int(levels.index[-1]), end),
    )


def _begins(tables: Tables) -> int:
    """When the first token had been generated or verified: what passes compute in has been touched then."""
    passes = measured(tables)
    first = passes.loc[passes["kind"].isin(["generate", "verify"]).to_numpy(bool), "end_ns"].dropna()
    return int(first.min()) if len(first) else 0


def _states(tables: Tables, sample: int, time_ns: int) -> States | None:
    """The states that were saved until this sample and are resident in it; None without any."""
    rows = tables["footprint"]
    held = rows[rows["sample"].eq(sample).to_numpy(bool) & rows["kind"].eq("saved").to_numpy(bool)]
    saved = tables["saved_states"].set_index("saved").loc[held["saved"].astype("int64")]
    saved = saved.assign(held_bytes=held.set_index("saved")["resident_bytes"])
    if saved.empty:
        return None
    partial = bool(saved.groupby("partial")["held_bytes"].sum().idxmax())
    saved = saved[saved["partial"].eq(partial).to_numpy(bool)]
    by_context = saved.groupby(saved["context"].fillna(-1))
    sizes, tokens = by_context["size_bytes"], _n_tokens(tables, saved).dropna()
    took = (saved["end_ns"] - saved["begin_ns"]).groupby(saved["context"].fillna(-1))
    return States(
        n=int(by_context.size().max()),
        each_bytes=int(sizes.median().sum()),
        all_bytes=int(saved["held_bytes"].sum()),
        n_tokens=int(tokens.median()) if len(tokens) else None,
        save_ns=int(took.median().sum()),
        alike=bool((sizes.max() <= 1.1 * sizes.min()).all()),
        partial=partial,
    )


def _n_tokens(tables: Tables, saved: pd.DataFrame) -> pd.Series:
    """How many tokens the sequence of each state had: one more than the position of its last token until then."""
    passes = tables["passes"][["pass_id", "context", "begin_ns"]].dropna(subset=["context"])
    rows = tables["tokens"].merge(passes, on="pass_id").astype({"context": "Int64"}).sort_values(["begin_ns", "row"])
    found = {}
    for number, of in saved.dropna(subset=["context"]).iterrows():
        before = rows[
            rows["context"].eq(of["context"]).to_numpy(bool)
            & rows["sequence"].eq(of["sequence"]).to_numpy(bool)
            & (rows["begin_ns"] < of["begin_ns"]).to_numpy(bool)
        ]
        if len(before) and before["position"].notna().iloc[-1]:
            found[number] = int(before["position"].iloc[-1]) + 1
    return pd.Series(found, dtype="float64")
