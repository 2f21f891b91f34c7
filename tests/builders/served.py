"""What a server puts into a context, for tables that have none of it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tracegen.contract.tables import frame

PASS_NS, GAP_NS = 1_000, 100


def with_second_prompt(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The same tables, in which the last pass begins another prompt: it keeps the first token, and computes one."""
    tokens = tables["tokens"]
    last = tokens["pass_id"].eq(tokens["pass_id"].max())
    return {**tables, "tokens": tokens.assign(position=tokens["position"].mask(last, 1))}


def with_drafts(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The same tables, and after them two batches that are verified, with a draft between them."""
    passes, tokens = tables["passes"], tables["tokens"]
    begin, number = int(passes["end_ns"].max()), int(passes["pass_id"].max()) + 1
    more = [
        dict(
            pass_id=number + i,
            context=context,
            call=1000 + i,
            ubatch=0,
            kind=kind,
            kind_basis="recorded",
            n_tokens=n_tokens,
            n_sequences=1,
            position_begin=100 + 2 * i,
            begin_ns=begin + (1 + i) * PASS_NS,
            end_ns=begin + (2 + i) * PASS_NS,
        )
        for i, (context, kind, n_tokens) in enumerate(((0, "verify", 5), (1, "draft", 1), (0, "verify", 5)))
    ]
    rows = [dict(pass_id=of["pass_id"], row=0, position=of["position_begin"], sequence=0, output=True) for of in more]
    return {
        **tables,
        "passes": pd.concat([passes, frame("passes", more)], ignore_index=True),
        "tokens": pd.concat([tokens, frame("tokens", rows)], ignore_index=True),
    }


class Served:
    """Passes with the rows of several slots, and the states that were saved and put back."""

    def __init__(self) -> None:
        self.time_ns = 10_000
        self._passes: list[dict[str, Any]] = []
        self._tokens: list[dict[str, Any]] = []
        self._states: list[dict[str, Any]] = []

    def compute(self, *parts: tuple[int, int, Sequence[int], int]) -> None:
        """A pass; of each sequence: its number, the first position, the tokens, and how many of the last are asked."""
        number = len(self._passes)
        self._passes.append(
            dict(
                pass_id=number,
                context=0,
                call=number,
                ubatch=0,
                kind="mixed",
                kind_basis="recorded",
                n_tokens=sum(len(tokens) for _, _, tokens, _ in parts),
                begin_ns=self.time_ns,
                end_ns=self.time_ns + PASS_NS,
            )
        )
        for sequence, first, tokens, n_asked in parts:
            for at, token in enumerate(tokens):
                self._tokens.append(
                    dict(
                        pass_id=number,
                        row=sum(row["pass_id"] == number for row in self._tokens),
                        token_id=token,
                        position=first + at,
                        sequence=sequence,
                        output=at >= len(tokens) - n_asked,
                    )
                )
        self.time_ns += PASS_NS + GAP_NS

    def prompt(
        self, sequence: int, text: Sequence[int], kept: int, generated: Sequence[int] = (), most: int = 64
    ) -> None:
        """The passes of a request alone; `most`: tokens of a ubatch. The last generated token is never computed."""
        for begin in range(kept, len(text), most):
            part = text[begin : begin + most]
            self.compute((sequence, begin, part, int(begin + len(part) == len(text))))
        for at, token in enumerate(generated[:-1], start=len(text)):
            self.compute((sequence, at, [token], 1))

    def move(self) -> None:
        """The positions in the context are moved."""
        number = len(self._passes)
        end = self.time_ns + PASS_NS
        self._passes.append(dict(pass_id=number, context=0, kind_basis="recorded", begin_ns=self.time_ns, end_ns=end))
        self.time_ns = end + GAP_NS

    def state(self, event: str, sequence: int, size_bytes: int, *, partial: bool = False) -> None:
        """The state of a sequence is `saved` or `restored`."""
        about = dict(saved=len(self._states), begin_ns=self.time_ns, end_ns=self.time_ns + 10, context=0)
        kind = dict(event=event, partial=partial, on_device=False, size_bytes=size_bytes)
        self._states.append({**about, **kind, "sequence": sequence})
        self.time_ns += GAP_NS

    def tables(self, others: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        """These tables with what was served in place of their passes."""
        rows = dict(passes=self._passes, tokens=self._tokens, saved_states=self._states)
        return {**others, **{name: frame(name, of) for name, of in rows.items()}}
