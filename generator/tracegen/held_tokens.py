"""Which generated token each token row holds: a pass takes in what an earlier one gave."""

from __future__ import annotations

import pandas as pd

_ASIDE = ("load", "warmup", "encode")  # they take in and give no token of a sequence
_TOLD = ("prompt", "generate")  # what these give is known; after any other nobody knows what the context holds


def of_sequences(passes: pd.DataFrame) -> pd.Series:
    """Whether a pass evaluated token rows of a sequence: no load, warm-up or encoder, nor a shift of the KV cache."""
    return ~passes["kind"].isin(_ASIDE) & ~(passes["kind"].isna() & passes["n_tokens"].isna())


def held_tokens(passes: pd.DataFrame, tokens: pd.DataFrame) -> pd.DataFrame:
    """The generated token that each row of `tokens` holds; both tables as the contract has them.

    The one row of a generate pass holds the token that the pass before it gave, of those of its context and
    sequence. Draft, verify and mixed passes may give any number of tokens: what their rows hold is not known,
    nor what the next row of any sequence of their context holds.

    Columns: pass_id, row, generated_token (Int32; null: a token of the prompt, or not known), as `tokens` is ordered.
    """
    first = tokens.groupby("pass_id").agg(n_rows=("row", "size"), sequence=("sequence", "first"))
    told = passes[of_sequences(passes)].sort_values("pass_id").join(first, on="pass_id")
    told = told.assign(since=(~told["kind"].isin(_TOLD)).groupby(told["context"], dropna=False).cumsum())
    before = told.groupby(["context", "since", "sequence"], dropna=False)["produced_token"].shift()
    held = before.where((told["kind"] == "generate") & (told["n_rows"] == 1)).set_axis(told["pass_id"])
    return tokens[["pass_id", "row"]].assign(generated_token=tokens["pass_id"].map(held.dropna()).astype("Int32"))
