"""Which pass produced which token."""

import pandas as pd

from tracegen.analysis import held
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.cells import Cell, number, of_pass
from tracegen.report.figures import columns as col
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words.token_text import pieces, visible

WITHHELD = "Withheld: the experiment is private."
NOT_RECORDED = "Which tokens were sampled was not recorded; the table tokens has those that were evaluated."


def _pass(pass_id: int | None, unknown: str = q.UNKNOWN) -> Cell:
    """A link to a pass; the word `unknown` where it is not known."""
    return number(unknown) if pass_id is None else of_pass(pass_id)


def tokens_table(context: Context) -> Rows:
    """Each generated token with its id, the pass that produced it, and the later pass that took it in."""
    ids = () if context.private else context.facts.text.token_ids or ()
    holder, last = {k: pass_id for pass_id, k in context.input_tokens.items()}, held.last_given(context.tables)
    giving = context.measured.dropna(subset=["produced_token"]).drop_duplicates("produced_token")
    passes = dict(zip(giving["produced_token"], giving["pass_id"].astype(int), strict=True))
    took = giving.set_index("produced_token")["duration_ns"]
    texts = pieces(context.facts.text.pieces)
    frame = [(k, token, passes.get(k), holder.get(k), texts.get(token)) for k, token in enumerate(ids)]
    columns = ["token", "token_id", "pass_id", "held_by_pass", "text"]
    none = "" if last is None else "; empty for the last token, which no recorded pass took in"
    more = f" The first 500 of {len(ids)}; the CSV has all." if len(ids) > 500 else ""
    return Rows(
        caption=f"Generated tokens in order, {q.counted(len(ids), 'token')}; token 0 comes from the prompt. Held by "
        f"pass: the pass that then took the token in as its row{none}.{more}",
        data=pd.DataFrame(frame, columns=columns).astype({"held_by_pass": "Int32"}) if frame else None,
        empty=WITHHELD if context.private else NOT_RECORDED,
    ).of(
        [dict(zip(columns, row, strict=True)) for row in frame[:500]],
        col.number("Token", lambda r: str(r["token"])),
        col.text(
            "Text",
            lambda r: Cell(visible(r["text"], r["token_id"]) if r["token_id"] in texts else q.UNKNOWN, code=True),
        ),
        col.number("Id", lambda r: str(r["token_id"])),
        col.number("Produced by pass", lambda r: _pass(r["pass_id"])),
        col.number("Held by pass", lambda r: _pass(r["held_by_pass"], "" if r["token"] == last else q.UNKNOWN)),
        col.number("Duration of that pass", lambda r: q.duration(took.get(r["token"]))),
    )


GENERATED_TOKENS = Table(
    key="generated-tokens",
    page="method",
    section="text",
    title="Which pass produced which token?",
    needs=(needs.EVIDENCE, needs.KINDS),
    content=tokens_table,
    made_by="tracegen.report.figures.generated_tokens.tokens_table",
)
