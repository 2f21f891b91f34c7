"""The rows of passes, those of one sequence in one pass together: what servers put into a context."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracegen.analysis.accesses import Tables
from tracegen.contract.held_tokens import of_sequences

MOST_TOKENS = 1 << 24  # no context is as long: such a position is none


@dataclass(frozen=True)
class Rows:
    """The rows of a sequence in a pass; `first`: the position of the first one; a token is None where embeddings were
    the input. `n_asked`: rows whose logits were asked for. `moved`: positions in the context changed before."""

    context: int
    sequence: int
    begin_ns: int
    end_ns: int
    first: int
    tokens: list[int | None]
    n_asked: int
    last_asked: bool
    moved: bool


def prompt_rows(tables: Tables) -> Sequence[Rows] | None:
    """The rows of all passes that evaluated tokens, by time, but for what drafted.

    None where it is unknown at which position a row stands, or whether its logits were asked for.
    """
    passes = tables["passes"].sort_values("begin_ns", kind="stable")
    moves = passes[passes["kind"].isna() & passes["n_tokens"].isna()]
    of = passes[of_sequences(passes) & ~passes["kind"].eq("draft").fillna(False).to_numpy(bool)]
    of = of.assign(order=np.arange(len(of)))[["pass_id", "context", "begin_ns", "end_ns", "order"]]
    rows = tables["tokens"].merge(of, on="pass_id")
    if rows[["context", "sequence", "position", "output"]].isna().any(axis=None):
        return None
    if not rows["position"].between(0, MOST_TOKENS).all():
        return None
    rows = rows.sort_values(["order", "sequence", "row"], kind="stable", ignore_index=True)
    key = rows[["order", "sequence"]]
    begins = np.flatnonzero((key != key.shift()).any(axis=1).to_numpy(bool))
    ends = [*begins[1:], len(rows)][: len(begins)]
    context, sequence, position = (rows[name].to_numpy("int64") for name in ("context", "sequence", "position"))
    begin_ns = rows["begin_ns"].to_numpy("int64")
    end_ns = rows["end_ns"].fillna(rows["begin_ns"]).to_numpy("int64")
    tokens = rows["token_id"].astype("object").where(rows["token_id"].notna(), None).tolist()
    asked = rows["output"].to_numpy(bool)
    moved = {int(str(number)): times["begin_ns"].to_numpy("int64") for number, times in moves.groupby("context")}
    before: dict[tuple[int, int], int] = {}  # context and sequence -> begin of its rows before
    found = []
    for begin, end in zip(begins, ends, strict=True):
        of_slot = int(context[begin]), int(sequence[begin])
        since, until = before.get(of_slot, 0), int(begin_ns[begin])
        times = moved.get(of_slot[0], np.array([], "int64"))
        before[of_slot] = until
        found.append(
            Rows(
                *of_slot,
                until,
                int(end_ns[begin]),
                int(position[begin]),
                tokens[begin:end],
                int(asked[begin:end].sum()),
                bool(asked[end - 1]),
                bool(((times > since) & (times < until)).any()),
            )
        )
    return found
