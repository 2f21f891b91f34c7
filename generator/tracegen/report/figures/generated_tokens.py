"""Which pass gave which token."""

import pandas as pd

from tracegen.analysis import held
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.cells import Cell, Head, cells
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words.token_text import pieces, visible

WITHHELD = "Withheld: the experiment is private."
NOT_RECORDED = "Which tokens were sampled was not recorded; the table tokens has those that were evaluated."


def _holder(pass_id: int | None, is_last: bool) -> Cell:
    """A link to the pass that holds a token; empty for the last token, if no pass holds it."""
    if pass_id is None:
        return Cell("" if is_last else q.UNKNOWN, number=True)
    return Cell(str(pass_id), number=True, href=f"../operations/index.html#pass={pass_id}")


def tokens_table(context: Context) -> Rows:
    """Each generated token with its id, the pass that gave it, and the later pass that held it."""
    ids = [] if context.private else context.fact("text", "token_ids") or []
    holder, last = {k: pass_id for pass_id, k in context.held.items()}, held.last_given(context.tables)
    m = context.measured.dropna(subset=["produced_token"]).set_index("produced_token")
    texts = pieces(context.fact("text", "pieces"))
    rows, frame = [], []
    for k, token in enumerate(ids):
        giving = m.loc[k] if k in m.index else None
        if isinstance(giving, pd.DataFrame):
            giving = giving.iloc[0]
        pass_id = None if giving is None else int(giving["pass_id"])
        link = "" if pass_id is None else f"../operations/index.html#pass={pass_id}"
        length = None if giving is None else giving["duration_ns"]
        holds = holder.get(k)
        frame.append((k, token, pass_id, holds, texts.get(token)))
        if k < 500:
            rows.append(
                cells(
                    Cell(str(k), number=True),
                    Cell(visible(texts.get(token), token) if token in texts else q.UNKNOWN, code=True),
                    Cell(str(token), number=True),
                    Cell(q.UNKNOWN if pass_id is None else str(pass_id), number=True, href=link),
                    _holder(holds, k == last),
                    Cell(q.duration(length), number=True),
                )
            )
    columns = ["token", "token_id", "pass_id", "held_by_pass", "text"]
    data = pd.DataFrame(frame, columns=columns).astype({"held_by_pass": "Int32"}) if frame else None
    none = "" if last is None else "; empty for the last token, which no recorded pass took in"
    more = f" The first 500 of {len(ids)}; the CSV has all." if len(ids) > 500 else ""
    return Rows(
        caption=f"Generated tokens in order, {q.counted(len(ids), 'token')}; token 0 comes from the prompt. Held by "
        f"pass: the pass that then took the token in as its row{none}.{more}",
        head=(
            Head("Token", number=True),
            Head("Text"),
            Head("Id", number=True),
            Head("Given by pass", number=True),
            Head("Held by pass", number=True),
            Head("Duration of the pass that gave it", number=True),
        ),
        rows=rows,
        data=data,
        empty=WITHHELD if context.private else NOT_RECORDED,
    )


GENERATED_TOKENS = Table(
    key="generated-tokens",
    page="method",
    section="text",
    title="Which pass gave which token?",
    needs=(needs.EVIDENCE, needs.KINDS),
    content=tokens_table,
    made_by="tracegen.report.figures.generated_tokens.tokens_table",
)
