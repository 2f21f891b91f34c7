"""The words of a run: each token of prompt and text with the pass that took it in and the pass that gave it."""

from dataclasses import dataclass

from tracegen.report.document.packing import whole
from tracegen.report.figures.context import Context
from tracegen.report.words.token_text import pieces, visible


@dataclass(frozen=True)
class Word:
    """A token: its text as llama.cpp gives it back (None: not known), its id, and where it was evaluated.

    `generated` is its number among the generated tokens, None for one of the prompt. `taken` is the pass that took it
    in as a row, `given` the pass whose result it was sampled from; `position` is its place in the sequence.
    """

    text: str | None
    token: int | None
    position: int | None
    generated: int | None = None
    taken: int | None = None
    given: int | None = None

    @property
    def visible(self) -> str:
        """The text with visible white space; the id in place of a text that is not known."""
        return visible(self.text, self.token)

    @property
    def leads_to(self) -> int | None:
        """The pass that a reader of the word wants to see: that which gave it, for the prompt that which took it in."""
        return self.taken if self.given is None else self.given

    @property
    def about(self) -> str:
        """What a tooltip says: number, id and passes."""
        parts = [f"token {self.generated}" if self.generated is not None else f"prompt, position {self.position}"]
        if self.token is not None:
            parts.append(f"id {self.token}")
        if self.given is not None:
            parts.append(f"given by pass {self.given}")
        if self.taken is not None:
            parts.append(f"taken in by pass {self.taken}")
        return ", ".join(parts)


def pass_name(pass_id: int, label: str) -> str:
    """A pass by its label and its number: `token 5 (pass 7)`."""
    return label if label.endswith(f"(pass {pass_id})") else f"{label} (pass {pass_id})"


def words(context: Context) -> list[Word]:
    """The tokens of the prompt and then the generated ones, in order; none where the experiment is private.

    Only the first sequence of a run with several is shown, and no warm-up.
    """
    if context.private:
        return []
    return [*_prompt(context), *_generated(context)]


def _prompt(context: Context) -> list[Word]:
    """The rows of measured passes that hold a token of the prompt."""
    rows, known = context.tables["tokens"], pieces(context.facts.text.pieces)
    of_prompt = context.of_kind(context.measured, "prompt")["pass_id"]
    rows = rows[rows["pass_id"].isin(of_prompt) & rows["generated_token"].isna()].sort_values(["pass_id", "row"])
    sequences = rows["sequence"].dropna().unique()
    rows = rows[rows["sequence"].isin(sequences[:1]).to_numpy(bool)] if len(sequences) > 1 else rows
    tokens, positions = map(whole, rows["token_id"]), map(whole, rows["position"])
    return [
        Word(None if token is None else known.get(token), token, position, taken=int(pass_id))
        for pass_id, token, position in zip(rows["pass_id"], tokens, positions, strict=True)
    ]


def _generated(context: Context) -> list[Word]:
    """The sampled tokens, each with the measured passes that gave it and took it in."""
    known = pieces(context.facts.text.pieces)
    positions = context.tables["tokens"].drop_duplicates("pass_id").set_index("pass_id")
    given = context.measured.dropna(subset=["produced_token"]).drop_duplicates("produced_token")
    by_token = dict(zip(given["produced_token"].astype(int), given["pass_id"].astype(int), strict=True))
    taken = {k: pass_id for pass_id, k in context.input_tokens.items()}
    listed = []
    for k, token in enumerate(context.facts.text.token_ids or ()):
        takes = taken.get(k)
        position = None if takes is None else whole(positions["position"].get(takes))
        listed.append(Word(known.get(token), token, position, k, takes, by_token.get(k)))
    return listed
