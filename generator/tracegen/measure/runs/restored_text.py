"""Prompt and generated text of a program that was observed, from the tokens that its passes took in.

Nobody tells tracegen what such a program was asked. Its passes took in tokens by their ids, and the vocabulary of the
model file has the text of each: with the marks that a chat template puts around what a person wrote.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from tracegen.contract.held_tokens import begins_of_prompts, of_sequences

_KNOWN = ("prompt", "generate")  # kinds of passes of which it is known what their rows hold


@dataclass(frozen=True)
class Restored:
    """Prompt and generated text, None where they cannot be restored; `missing` says of what and why, empty if whole."""

    prompt: str | None = None
    generated: str | None = None
    missing: str = ""


def restored(
    passes: pd.DataFrame, tokens: pd.DataFrame, sampled: Sequence[int], pieces: Mapping[int, bytes]
) -> Restored:
    """The text of the first prompt of a run and of what was generated after it.

    `passes` and `tokens` are tables of the contract, `sampled` the sampled tokens if they were recorded, `pieces` the
    bytes of each token. Nothing is restored where rows belong to several contexts or sequences, or where it is unknown
    what they hold, as of drafts: a text put together from them might never have been one.
    """
    of = passes[of_sequences(passes)].sort_values("pass_id", kind="stable")
    rows = tokens[tokens["pass_id"].isin(of["pass_id"])].sort_values(["pass_id", "row"])
    rows = rows.assign(kind=rows["pass_id"].map(of.set_index("pass_id")["kind"].astype(object)))
    if why := _unknown(of, rows):
        return Restored(missing=why)
    if not pieces:
        return Restored(missing="the vocabulary of the model file is missing, or of a kind that tracegen cannot read")
    rows = rows.assign(exchange=_exchanges(rows))
    first = rows[rows["exchange"] == 0]
    asked, answered = (first[first["kind"] == kind] for kind in _KNOWN)
    prompt, without_prompt = _prompt(asked, pieces)
    given = of.loc[of["pass_id"] == first["pass_id"].max(), "produced_token"].iloc[0]
    generated, without_text = _generated(answered, None if pd.isna(given) else int(given), sampled, pieces)
    later = int(rows["exchange"].max())
    more = f"{later} later prompt{'s' if later > 1 else ''} and what followed" if later else ""
    return Restored(prompt, generated, "; ".join(filter(None, (without_prompt, without_text, more))))


def _unknown(of: pd.DataFrame, rows: pd.DataFrame) -> str:
    """Why no text can be restored; empty if one can."""
    n_sequences, n_contexts = rows["sequence"].nunique(dropna=False), of["context"].nunique(dropna=False)
    if rows.empty:
        return "no pass of a prompt or of generated tokens was recorded"
    if n_contexts > 1:
        return f"{n_contexts} contexts"
    if n_sequences > 1:
        return f"{n_sequences} sequences"
    if not of["kind"].isin(_KNOWN).all():
        return "passes of several sequences, of drafts, or that give no next token"
    if len(set(of["pass_id"]) - set(rows["pass_id"])) or rows["position"].isna().any():
        return "which tokens were where was not recorded"
    return "tokens were given as embeddings" if rows["token_id"].isna().any() else ""


def _exchanges(rows: pd.DataFrame) -> pd.Series:
    """The number of the prompt that each row belongs to, or follows; all are of one context and sequence."""
    each = rows.groupby("pass_id").agg(kind=("kind", "first"), first=("position", "first"), last=("position", "last"))
    begins = begins_of_prompts(each.assign(context=0, sequence=0))
    begins.iloc[0] = False
    return rows["pass_id"].map(begins.cumsum())


def _prompt(rows: pd.DataFrame, pieces: Mapping[int, bytes]) -> tuple[str | None, str]:
    """The text of the rows of a prompt, and what is missing."""
    if rows.empty:
        return None, "the prompt and what else came before the first recorded pass"
    first = int(rows["position"].iloc[0])
    if first > 0:
        begin = f"its first {first} tokens" if first > 1 else "its first token"
        return None, f"the prompt, as no recorded pass took in {begin}"
    if rows["position"].tolist() != list(range(len(rows))):
        return None, "the prompt, as its tokens have no order"
    return _text("the prompt", rows["token_id"].astype(int).tolist(), pieces)


def _generated(
    rows: pd.DataFrame, last: int | None, sampled: Sequence[int], pieces: Mapping[int, bytes]
) -> tuple[str | None, str]:
    """The text of the rows of generate passes and of the token `last`, which the last pass gave; and what is missing.

    Only `sampled` has that token, as no pass of this text took it in.
    """
    ids = rows["token_id"].astype(int).tolist()
    known = rows.dropna(subset=["generated_token"])
    agree = last is not None and last < len(sampled)
    agree = agree and [sampled[k] for k in known["generated_token"]] == known["token_id"].tolist()
    if last is not None and agree:
        return _text("the generated text", [*ids, sampled[last]], pieces)
    if not ids:
        return None, "what came after" if last is None else "the generated token, which no recorded pass took in"
    text, missing = _text("the generated text", ids, pieces)
    of_last = "" if last is None else "the last generated token, which no recorded pass took in"
    return text, missing or of_last


def _text(what: str, ids: Sequence[int], pieces: Mapping[int, bytes]) -> tuple[str | None, str]:
    """The text of these tokens: a character may span several, so that their bytes are joined first."""
    unknown = next((token for token in ids if token not in pieces), None)
    if unknown is not None:
        return None, f"{what}, as the vocabulary of the model file does not say what token {unknown} is"
    return b"".join(pieces[token] for token in ids).decode("utf-8", "replace"), ""
