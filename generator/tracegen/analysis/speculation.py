"""Speculative decoding: what drafting and verifying take, and how many tokens each verified batch gains."""

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured

LEAST_SINGLE = 3  # rounds without drafts: so many say what a token takes then
COLUMNS = {
    "pass_id": "int32",
    "n_drafted": "int64",
    "n_gained": "Int64",
    "verify_ns": "int64",
    "draft_ns": "int64",
    "round_ns": "Int64",
    "experts": "Float64",
}


def rounds(tables: Tables) -> pd.DataFrame:
    """A row for each batch that was verified, in order; COLUMNS has the columns.

    A batch is one token that was chosen before, then `n_drafted` that another context proposed; 0 where none did. It
    gains a token more than are accepted: `n_gained`, from where the next batch of its sequence begins; null of the last
    one, and where a prompt comes between. `verify_ns` is the time of its passes, `draft_ns` that of passes of other
    contexts until the next batch begins, `round_ns` the time from its start to that of the next one of its sequence,
    null where `n_gained` is. `experts`: how many a layer chose for the batch, mean over layers; null without any.
    """
    passes = measured(tables).dropna(subset=["context", "call", "duration_ns"]).sort_values("begin_ns", kind="stable")
    verifying = passes.loc[passes["kind"].eq("verify").to_numpy(bool), "context"].unique()
    if not len(verifying):
        return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in COLUMNS.items()})
    own = passes["context"].isin(verifying).to_numpy(bool)
    calls = passes[own].merge(_sequences(tables), on="pass_id", how="left").fillna({"sequence": -1})
    calls = calls.groupby(["context", "call"], sort=False, as_index=False).agg(
        kind=("kind", "first"),
        sequence=("sequence", "first"),
        pass_id=("pass_id", "first"),
        begin_ns=("begin_ns", "first"),
        position=("position_begin", "first"),
        n_tokens=("n_tokens", "sum"),
        verify_ns=("duration_ns", "sum"),
    )
    batch = calls["kind"].isin(["verify", "generate"])
    begins = calls["begin_ns"].to_numpy("int64")
    drafts = passes[~own & (passes["begin_ns"] >= begins[0]).to_numpy(bool)]
    at = np.searchsorted(begins, drafts["begin_ns"].to_numpy("int64"), "right") - 1
    calls["draft_ns"] = np.bincount(at, drafts["duration_ns"].to_numpy("int64"), len(calls))
    calls["experts"] = _experts(tables, passes[own]).reindex(pd.MultiIndex.from_frame(calls[["context", "call"]])).array
    calls = calls.assign(batch=batch, n_drafted=calls["n_tokens"] - 1)
    after = calls.groupby(["context", "sequence"])[["batch", "position", "begin_ns"]].shift(-1)
    gained = (after["position"] - calls["position"]).astype("Int64")
    known = after["batch"].eq(True).fillna(False) & gained.between(1, calls["n_tokens"]).fillna(False)
    calls["n_gained"] = gained.where(known)
    calls["round_ns"] = (after["begin_ns"] - calls["begin_ns"]).astype("Int64").where(known)
    return calls[batch.to_numpy(bool)][list(COLUMNS)].astype(COLUMNS).reset_index(drop=True)


def _sequences(tables: Tables) -> pd.DataFrame:
    """The sequence of each pass: that of its first row."""
    tokens = tables["tokens"]
    return tokens.loc[tokens["row"].eq(0).to_numpy(bool), ["pass_id", "sequence"]]


def _experts(tables: Tables, passes: pd.DataFrame) -> pd.Series:
    """How many experts a layer chose for a call, mean over layers, by context and call."""
    chosen = tables["routing"][["pass_id", "layer", "expert"]].merge(
        passes[["pass_id", "context", "call"]], on="pass_id"
    )
    by_layer = chosen.groupby(["context", "call", "layer"])["expert"].nunique()
    return by_layer.groupby(["context", "call"]).mean()


def token_ns(table: pd.DataFrame) -> float | None:
    """How long a token takes, over the rounds whose gain is known; None without any. `table`: of `rounds`."""
    known = table.dropna(subset=["n_gained"])
    return float(known["round_ns"].sum() / known["n_gained"].sum()) if len(known) else None


def accepted_share(table: pd.DataFrame) -> float | None:
    """How many of the drafted tokens were accepted, over the rounds whose gain is known."""
    known = table.dropna(subset=["n_gained"])
    drafted = int(known["n_drafted"].sum())
    return float((known["n_gained"] - 1).sum() / drafted) if drafted else None


def single_ns(table: pd.DataFrame) -> float | None:
    """How long steps of one token took that had no draft, without what drafting took: mean; None with too few."""
    single = table.dropna(subset=["n_gained"])
    single = single[single["n_drafted"].eq(0).to_numpy(bool)]
    return float((single["round_ns"] - single["draft_ns"]).mean()) if len(single) >= LEAST_SINGLE else None


def bounds_ns(table: pd.DataFrame) -> tuple[float, float]:
    """How long a token would take without drafts, at least and at most: means over the rounds whose gain is known.

    At most as long as a round without drafting: a batch of one token takes no longer than a larger one. At least as
    long as verifying takes for each token of a batch: larger batches share what they read.
    """
    known = table.dropna(subset=["n_gained"])
    least = known["verify_ns"].sum() / (known["n_drafted"] + 1).sum()
    return float(least), float((known["round_ns"] - known["draft_ns"]).mean())


def by_size(table: pd.DataFrame) -> pd.DataFrame:
    """The rounds whose gain is known by how many tokens a batch has.

    Columns: n_tokens, n_batches, gained, verify_ns, draft_ns (means), token_ns (time of these rounds by tokens gained),
    experts (mean; null without any).
    """
    known = table.dropna(subset=["n_gained"]).assign(n_tokens=lambda of: of["n_drafted"] + 1)
    means = {name: known[name].astype("Float64") for name in ("n_gained", "verify_ns", "draft_ns", "round_ns")}
    grouped = known.assign(**means).groupby("n_tokens")
    found = grouped[["n_gained", "verify_ns", "draft_ns", "round_ns", "experts"]].mean()
    found["round_ns"] /= found["n_gained"]
    found.insert(0, "n_batches", grouped.size())
    return found.rename(columns={"n_gained": "gained", "round_ns": "token_ns"}).reset_index()
