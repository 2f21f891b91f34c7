"""Which generated token a token holds, and which one no row does."""

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.contract.held_tokens import held_tokens, of_sequences


def held(tables: Tables) -> pd.DataFrame:
    """The generated token that each token holds.

    Columns: pass_id, row, generated_token (null: a token of the prompt, or not known). For a run stored before the
    table `tokens` had this column it is derived from the passes.
    """
    tokens = tables["tokens"]
    if tokens["generated_token"].isna().all():
        return held_tokens(tables["passes"], tokens)
    return tokens[["pass_id", "row", "generated_token"]]


def last_given(tables: Tables) -> int | None:
    """The number of the last generated token, which no row holds if its context ran no later pass.

    None where nothing was generated, or a later pass of the context may hold it.
    """
    passes = tables["passes"]
    passes = passes[of_sequences(passes)].sort_values("pass_id", kind="stable")
    gave = passes.dropna(subset=["produced_token"])
    if gave.empty:
        return None
    last = gave.sort_values("produced_token", kind="stable").iloc[-1]
    mine = passes["context"].fillna(-1) == (-1 if pd.isna(last["context"]) else last["context"])
    later = mine & (passes["pass_id"] > last["pass_id"])
    return None if later.any() else int(last["produced_token"])
