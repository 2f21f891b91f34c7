"""Speculative decoding: what drafting and verifying take, and how many tokens each verified batch gains."""

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured

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

    A batch is one token that was chosen before, then `n_drafted` that another context proposed. It gains a token
    more than are accepted: `n_gained`, from where the next batch of this sequence begins; null of the last one, and
    where a prompt comes between. `verify_ns` is the time of its passes, `draft_ns` that of passes of other contexts
    until the next batch begins, `round_ns` the time from one start to the next, null where `n_gained` is. `experts`:
    how many a layer of its passes chose, mean over layers; null without any.
    """
    passes = measured(tables).dropna(subset=["context", "call", "duration_ns"]).sort_values("begin_ns", kind="stable")
    verified = passes[passes["kind"].eq("verify").to_numpy(bool)]
    if verified.empty:
        return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in COLUMNS.items()})
    table = verified.groupby(["context", "call"], sort=False, as_index=False).agg(
        pass_id=("pass_id", "first"),
        begin_ns=("begin_ns", "first"),
        position=("position_begin", "first"),
        n_tokens=("n_tokens", "sum"),
        verify_ns=("duration_ns", "sum"),
    )
    table = table.merge(_sequences(tables, verified), on="pass_id", how="left")
    begins = table["begin_ns"].to_numpy("int64")
    at = np.searchsorted(begins, passes["begin_ns"].to_numpy("int64"), "right") - 1
    own = passes["context"].to_numpy("int64") == table["context"].to_numpy("int64")[np.maximum(at, 0)]
    drafts = passes["duration_ns"].astype("int64").where(~own & (at >= 0), 0)
    table["draft_ns"] = np.bincount(np.maximum(at, 0), weights=drafts, minlength=len(table))
    others = own & (at >= 0) & ~passes["kind"].eq("verify").to_numpy(bool)  # a prompt, or a token without drafts
    interrupted = np.bincount(at[others], minlength=len(table)).astype(bool)
    after = table.shift(-1)
    gained = (after["position"] - table["position"]).astype("Int64")
    same = after["context"].eq(table["context"]) & after["sequence"].eq(table["sequence"]) & ~interrupted
    table["n_gained"] = gained.where(same.fillna(False) & gained.between(1, table["n_tokens"]).fillna(False))
    length = pd.Series(np.append(np.diff(begins), 0), dtype="Int64")
    table["round_ns"] = length.where(table["n_gained"].notna())
    table["n_drafted"] = table["n_tokens"] - 1
    table["experts"] = table["pass_id"].map(_experts(tables, verified))
    return table[list(COLUMNS)].astype(COLUMNS)


def _sequences(tables: Tables, verified: pd.DataFrame) -> pd.DataFrame:
    """The sequence of each verified pass: that of its first row."""
    tokens = tables["tokens"]
    first = tokens[tokens["pass_id"].isin(verified["pass_id"]).to_numpy(bool) & tokens["row"].eq(0).to_numpy(bool)]
    return first[["pass_id", "sequence"]]


def _experts(tables: Tables, verified: pd.DataFrame) -> pd.Series:
    """How many experts of a layer a pass chose, mean over layers, by pass."""
    chosen = tables["routing"][["pass_id", "layer", "expert"]]
    chosen = chosen[chosen["pass_id"].isin(verified["pass_id"]).to_numpy(bool)].drop_duplicates()
    return chosen.groupby(["pass_id", "layer"]).size().groupby("pass_id").mean()


def token_ns(table: pd.DataFrame) -> float | None:
    """How long a token takes, over the rounds whose gain is known; None without any. `table`: of `rounds`."""
    known = table.dropna(subset=["n_gained"])
    return float(known["round_ns"].sum() / known["n_gained"].sum()) if len(known) else None


def accepted_share(table: pd.DataFrame) -> float | None:
    """How many of the drafted tokens were accepted, over the rounds whose gain is known."""
    known = table.dropna(subset=["n_gained"])
    drafted = int(known["n_drafted"].sum())
    return float((known["n_gained"] - 1).sum() / drafted) if drafted else None


def alone_ns(table: pd.DataFrame) -> tuple[float, float]:
    """How long a token would take without drafts, at least and at most: medians over the rounds whose gain is known.

    At most as long as a round without drafting: a batch of one token takes no longer than a larger one. At least as
    long as verifying takes for each token of a batch: larger batches share what they read.
    """
    known = table.dropna(subset=["n_gained"])
    least = (known["verify_ns"] / (known["n_drafted"] + 1)).median()
    return float(least), float((known["round_ns"] - known["draft_ns"]).median())


def by_size(table: pd.DataFrame) -> pd.DataFrame:
    """The rounds whose gain is known by how many tokens a batch has.

    Columns: n_tokens, n_batches, gained (mean), verify_ns and draft_ns (medians), token_ns (time of these rounds by
    tokens gained), experts (mean; null without any).
    """
    known = table.dropna(subset=["n_gained"]).assign(n_tokens=lambda of: of["n_drafted"] + 1)
    grouped = known.groupby("n_tokens")
    found = grouped.agg(
        n_batches=("pass_id", "size"),
        gained=("n_gained", "mean"),
        verify_ns=("verify_ns", "median"),
        draft_ns=("draft_ns", "median"),
        experts=("experts", "mean"),
    )
    found.insert(4, "token_ns", grouped["round_ns"].sum() / grouped["n_gained"].sum())
    return found.reset_index().astype(
        {"gained": "float64", "verify_ns": "float64", "draft_ns": "float64", "token_ns": "float64"}
    )
