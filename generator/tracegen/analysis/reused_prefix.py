"""Tokens of prompts that no pass computed, as the KV cache had them from before."""

from tracegen.analysis.accesses import Tables
from tracegen.contract.held_tokens import begins_of_prompts, of_sequences


def reused_tokens(tables: Tables, *, whole: bool) -> int | None:
    """How many tokens of prompts were not computed: the positions before the first that a prompt's passes took in.

    `begins_of_prompts` says which passes begin a prompt. `whole`: the trace has every pass of the program. Where it has
    not, passes that computed the start of the first prompt may be among those left out: then that is unknown.

    None where it is unknown, as where positions were not recorded or were moved, and where there is no prompt.
    """
    passes = tables["passes"]
    moved = passes["kind"].isna() & passes["n_tokens"].isna()
    of = passes.loc[of_sequences(passes), ["pass_id", "context", "kind"]].astype({"kind": object})
    rows = tables["tokens"].merge(of, on="pass_id").sort_values(["pass_id", "row"])
    prompts = set(of.loc[of["kind"] == "prompt", "pass_id"])
    if moved.any() or not prompts or prompts - set(rows["pass_id"]) or rows["position"].isna().any():
        return None
    sequence = ["context", "sequence"]
    each = rows.groupby(["pass_id", *sequence], dropna=False, as_index=False).agg(
        kind=("kind", "first"), first=("position", "first"), last=("position", "last")
    )
    begins = each[begins_of_prompts(each)]
    first = begins.index.isin(each.groupby(sequence, dropna=False).head(1).index)
    if not whole and (begins["first"].to_numpy("int64")[first] > 0).any():
        return None
    return int(begins["first"].sum())
