"""What the tokens of passes hold: tokens of which prompt, and which generated ones.

A pass takes in the token that an earlier pass gave.
"""

import pandas as pd

_ASIDE = ("load", "warmup", "encode")  # kinds of passes that neither take in nor give a token of a sequence
_KNOWN = ("prompt", "generate")  # kinds of passes whose tokens are known; after others it is unknown what rows hold


def of_sequences(passes: pd.DataFrame) -> pd.Series:
    """For each pass whether it evaluated tokens of a sequence: not a load, warm-up, encode or KV cache shift."""
    return ~passes["kind"].isin(_ASIDE) & ~(passes["kind"].isna() & passes["n_tokens"].isna())


def begins_of_prompts(each: pd.DataFrame) -> pd.Series:
    """Which passes begin a prompt, as booleans; one row a pass and sequence, in order of the passes.

    Columns: context, sequence, kind, and `first` and `last`, the positions that its rows begin and end with. A prompt
    pass goes on with a prompt where it begins at the position after the last of the prompt pass before, in the same
    context and sequence; any other prompt pass begins one.
    """
    before = each.groupby(["context", "sequence"], dropna=False)
    follows = each["first"].eq(before["last"].shift() + 1) & before["kind"].shift().eq("prompt")
    return each["kind"].eq("prompt") & ~follows.fillna(False).astype(bool)


def held_tokens(passes: pd.DataFrame, tokens: pd.DataFrame) -> pd.DataFrame:
    """The generated token that each row of `tokens` holds; `passes` and `tokens` are tables of the contract.

    The single row of a generate pass holds the token that the previous pass of its context and sequence gave. Draft,
    verify and mixed passes may give any number of tokens: what their rows hold is unknown, and so is what the next row
    of any sequence in their context holds.

    Columns: pass_id, row, generated_token (Int32; null: a token of the prompt, or unknown), in the order of `tokens`.
    """
    first = tokens.groupby("pass_id").agg(n_rows=("row", "size"), sequence=("sequence", "first"))
    rows = passes[of_sequences(passes)].sort_values("pass_id", kind="stable").join(first, on="pass_id")
    rows = rows.assign(since=(~rows["kind"].isin(_KNOWN)).groupby(rows["context"], dropna=False).cumsum())
    before = rows.groupby(["context", "since", "sequence"], dropna=False)["produced_token"].shift()
    of_pass = before.where((rows["kind"] == "generate") & (rows["n_rows"] == 1)).set_axis(rows["pass_id"])
    return tokens[["pass_id", "row"]].assign(generated_token=tokens["pass_id"].map(of_pass.dropna()).astype("Int32"))
