"""The kinds of passes that are inferred from calls: cases written by hand, one line per call."""

from copy import deepcopy

import numpy as np
import pytest

from tracegen.readers.native.pass_kinds import kinds_of
from tracegen.readers.native.recorded import ENCODER, OUTSIDE, TOKEN, WARMUP, Pass


def call(
    number: int,
    rows: int,
    position: int,
    outputs: str = "last",
    *,
    read: bool = True,
    context: int = 0,
    n_sequences: int = 1,
    ubatch: int = 512,
    flags: int = 0,
) -> list[Pass]:
    """The passes of one llama_decode of `rows` rows from `position` on, `ubatch` rows each."""
    tokens = np.zeros(rows, TOKEN)
    tokens["position"] = np.arange(position, position + rows)
    tokens["output"] = {"last": [0] * (rows - 1) + [1], "all": [1] * rows, "none": [0] * rows}[outputs]
    parts = [tokens[i : i + ubatch] for i in range(0, rows, ubatch)]
    passes = [
        Pass(
            100 * number + i,
            1000 * number + i,
            (0, 0, 0, 0),
            flags,
            context,
            0,
            0,
            n_sequences,
            part,
            call=number,
            ubatch=i,
        )
        for i, part in enumerate(parts)
    ]
    passes[-1].logits_read = read
    return passes


def kinds(*calls: list[Pass]) -> str:
    """`prompt>0 generate>1`: the kind of each pass and the token it produced."""
    inferred = kinds_of([p for passes in calls for p in passes])
    return " ".join(f"{kind}" + ("" if token is None else f">{token}") for kind, _, token in inferred)


# What happens: its calls, and what they are
FIRST = (call(0, 5, 0), call(1, 1, 5))
BOTH = tuple(call(i, 2, 4 + i, "all", n_sequences=2) for i in (1, 2))
ALONE = (call(3, 4, 0), call(4, 1, 4))
CASES = {
    "a prompt and its tokens": ((*FIRST, call(2, 1, 6)), "prompt>0 generate>1 generate>2"),
    "two ubatches": ((call(0, 5, 0, ubatch=3), call(1, 1, 5)), "prompt prompt>0 generate>1"),
    "a prompt in two calls": (
        (call(0, 4, 0, "none", read=False), call(1, 3, 4), call(2, 1, 7)),
        "prompt prompt>0 generate>1",
    ),
    "a prompt row by row": (
        (*(call(i, 1, i, read=i == 3) for i in range(4)), call(4, 1, 4)),
        "prompt prompt prompt prompt>0 generate>1",
    ),
    # A server begins the prompt at position 0, or after the part in the cache; it may have a single row.
    "a second request": ((*FIRST, call(2, 4, 0), call(3, 1, 4)), "prompt>0 generate>1 prompt>2 generate>3"),
    "one after a part": ((*FIRST, call(2, 4, 3), call(3, 1, 7)), "prompt>0 generate>1 prompt>2 generate>3"),
    "one of a single row": ((*FIRST, call(2, 1, 0), call(3, 1, 1)), "prompt>0 generate>1 prompt>2 generate>3"),
    "several sequences": ((call(0, 4, 0), call(1, 3, 5, "all", n_sequences=3)), "prompt>0 mixed"),
    # A server runs two requests at once, then one. Nobody knows which token that is; another context still counts.
    "after several sequences": ((call(0, 4, 0), *BOTH, *ALONE), "prompt>0 mixed mixed prompt generate"),
    "another context after them": ((*BOTH, call(3, 4, 0, context=1)), "mixed mixed prompt>0"),
    "sequences that nobody read": (
        (call(1, 2, 4, "none", read=False, n_sequences=2), *ALONE),
        "mixed prompt>0 generate>1",
    ),
    "all logits are asked for": (
        (call(0, 512, 0, "all"), call(1, 512, 0, "all"), call(2, 100, 512, "all")),
        "mixed mixed mixed",
    ),
    "nobody reads logits, as in llama-bench": (
        (call(0, 8, 0, read=False), *(call(i, 1, 7 + i, read=False) for i in (1, 2))),
        "prompt mixed mixed",
    ),
    "a window that begins in the middle": ((call(40, 1, 57), call(41, 1, 58)), "generate>0 generate>1"),
    # Only its last row is new: its position is one that the context had already, so no token was sampled for it.
    "a prompt that shares what the last one has": (
        (call(0, 8, 0), call(1, 1, 8), call(2, 1, 9), call(3, 1, 7), call(4, 1, 8)),
        "prompt>0 generate>1 generate>2 prompt>3 generate>4",
    ),
    "a shift of the cache moves a sequence that goes on": (
        (call(0, 8, 0), call(1, 1, 8), call(50, 1, 0, flags=OUTSIDE, context=9), call(2, 1, 5)),
        "prompt>0 generate>1 None generate>2",
    ),
    "a position that nobody saw": ((call(0, 8, 0), call(1, 1, 8), call(2, 1, -1)), "prompt>0 generate>1 generate>2"),
    "what follows a check may go back": (
        (call(0, 5, 0), call(1, 3, 5, "all"), call(2, 1, 6)),
        "prompt>0 mixed generate",
    ),
    # The draft context proposes row by row, the target checks all of them at once.
    "speculation with a second context": (
        (
            call(0, 5, 0),
            call(0, 5, 0, context=1),
            call(1, 1, 5, context=1),
            call(2, 1, 6, context=1),
            call(1, 3, 5, "all"),
            call(3, 2, 7, context=1),
            call(2, 1, 8),
        ),
        "prompt>0 draft draft draft verify draft generate",
    ),
    # So it is with multi-token prediction: the last token of the prompt is checked with the first draft.
    "a check after a prompt whose logits nobody reads": (
        (
            call(0, 5, 0, read=False),
            call(0, 5, 0, context=1),
            call(1, 1, 5, context=1),
            call(1, 2, 5, "all"),
            call(2, 1, 6, context=1),
            call(2, 2, 6, "all"),
        ),
        "prompt draft draft verify draft verify",
    ),
    "two contexts that have nothing to do with each other": (
        (call(0, 5, 0), call(0, 3, 0, context=1), call(1, 1, 5), call(1, 1, 3, context=1)),
        "prompt>0 prompt>1 generate>2 generate>3",
    ),
    "a few rows at once without a second context": ((*FIRST, call(2, 3, 6, "all")), "prompt>0 generate>1 mixed"),
}


@pytest.mark.parametrize("case", CASES)
def test_kinds_are_inferred(case: str) -> None:
    calls, expected = CASES[case]
    assert kinds(*deepcopy(calls)) == expected


@pytest.mark.parametrize(("flags", "kind"), [(WARMUP, "warmup"), (ENCODER, "encode"), (OUTSIDE, "None")])
def test_what_is_recorded(flags: int, kind: str) -> None:
    assert kinds(call(0, 2, 0, flags=flags), call(1, 5, 0)) == f"{kind} prompt>0"
