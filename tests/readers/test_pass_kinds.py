"""The kinds of passes that are inferred from calls: cases written by hand, one line per call."""

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
            100 * number + i, 1000 * number + i, (0, 0, 0, 0), flags, context, 0, 0, n_sequences, part,
            call=number, ubatch=i,
        )
        for i, part in enumerate(parts)
    ]  # fmt: skip
    passes[-1].logits_read = read
    return passes


def kinds(*calls: list[Pass]) -> str:
    """`prompt>0 generate>1`: the kind of each pass and the token it produced."""
    inferred = kinds_of([p for passes in calls for p in passes])
    return " ".join(f"{kind}" + ("" if token is None else f">{token}") for kind, _, token in inferred)


def test_a_prompt_and_its_tokens() -> None:
    assert kinds(call(0, 5, 0), call(1, 1, 5), call(2, 1, 6)) == "prompt>0 generate>1 generate>2"


def test_a_prompt_in_two_ubatches_and_one_in_two_calls() -> None:
    assert kinds(call(0, 5, 0, ubatch=3), call(1, 1, 5)) == "prompt prompt>0 generate>1"
    assert kinds(call(0, 4, 0, "none", read=False), call(1, 3, 4), call(2, 1, 7)) == "prompt prompt>0 generate>1"


def test_a_prompt_fed_row_by_row() -> None:
    rows = [call(i, 1, i, read=i == 3) for i in range(4)]
    assert kinds(*rows, call(4, 1, 4)) == "prompt prompt prompt prompt>0 generate>1"


def test_a_second_request_has_a_prompt_of_its_own() -> None:
    """A server begins the prompt at position 0, or after the part in the cache; it may have a single row."""
    first = (call(0, 5, 0), call(1, 1, 5))
    assert kinds(*first, call(2, 4, 0), call(3, 1, 4)) == "prompt>0 generate>1 prompt>2 generate>3"
    assert kinds(*first, call(2, 4, 3), call(3, 1, 7)) == "prompt>0 generate>1 prompt>2 generate>3"
    assert kinds(*first, call(2, 1, 0), call(3, 1, 1)) == "prompt>0 generate>1 prompt>2 generate>3"


def test_several_sequences_are_mixed() -> None:
    assert kinds(call(0, 4, 0), call(1, 3, 5, "all", n_sequences=3)) == "prompt>0 mixed"


def test_after_several_sequences_nobody_knows_which_token_it_is() -> None:
    """A server runs two requests at once, then one. Tokens of another context are still counted."""
    both = [call(i, 2, 4 + i, "all", n_sequences=2) for i in (1, 2)]
    single = (call(3, 4, 0), call(4, 1, 4))
    assert kinds(call(0, 4, 0), *both, *single) == "prompt>0 mixed mixed prompt generate"
    assert kinds(*both, call(3, 4, 0, context=1)) == "mixed mixed prompt>0"
    unread = call(1, 2, 4, "none", read=False, n_sequences=2)
    assert kinds(unread, *single) == "mixed prompt>0 generate>1"


def test_rows_whose_logits_are_all_asked_for_are_mixed() -> None:
    assert kinds(call(0, 512, 0, "all"), call(1, 512, 0, "all"), call(2, 100, 512, "all")) == "mixed mixed mixed"


def test_single_rows_whose_logits_nobody_reads_are_mixed() -> None:
    """llama-bench makes such calls."""
    assert kinds(call(0, 8, 0, read=False), *(call(i, 1, 7 + i, read=False) for i in (1, 2))) == "prompt mixed mixed"


def test_a_window_that_begins_in_the_middle() -> None:
    assert kinds(call(40, 1, 57), call(41, 1, 58)) == "generate>0 generate>1"


def test_a_prompt_that_keeps_what_it_has_in_common_with_the_last_one() -> None:
    """Only its last row is new: its position is one that the context had already, so no token was sampled for it."""
    text = kinds(call(0, 8, 0), call(1, 1, 8), call(2, 1, 9), call(3, 1, 7), call(4, 1, 8))
    assert text == "prompt>0 generate>1 generate>2 prompt>3 generate>4"


def test_a_shift_of_the_cache_moves_a_sequence_that_goes_on() -> None:
    shift = call(50, 1, 0, flags=OUTSIDE, context=9)
    assert kinds(call(0, 8, 0), call(1, 1, 8), shift, call(2, 1, 5)) == "prompt>0 generate>1 None generate>2"


def test_a_position_that_nobody_saw_proves_nothing() -> None:
    assert kinds(call(0, 8, 0), call(1, 1, 8), call(2, 1, -1)) == "prompt>0 generate>1 generate>2"


def test_what_follows_a_check_may_go_back() -> None:
    assert kinds(call(0, 5, 0), call(1, 3, 5, "all"), call(2, 1, 6)) == "prompt>0 mixed generate"


def test_speculation_with_a_second_context() -> None:
    """The draft context proposes row by row, the target checks all of them at once."""
    text = kinds(
        call(0, 5, 0), call(0, 5, 0, context=1),
        call(1, 1, 5, context=1), call(2, 1, 6, context=1), call(1, 3, 5, "all"),
        call(3, 2, 7, context=1), call(2, 1, 8),
    )  # fmt: skip
    assert text == "prompt>0 draft draft draft verify draft generate"


def test_the_first_check_may_follow_a_prompt_whose_logits_nobody_reads() -> None:
    """So it is with multi-token prediction: the last token of the prompt is checked with the first draft."""
    text = kinds(
        call(0, 5, 0, read=False), call(0, 5, 0, context=1),
        call(1, 1, 5, context=1), call(1, 2, 5, "all"), call(2, 1, 6, context=1), call(2, 2, 6, "all"),
    )  # fmt: skip
    assert text == "prompt draft draft verify draft verify"


def test_two_contexts_that_have_nothing_to_do_with_each_other() -> None:
    text = kinds(call(0, 5, 0), call(0, 3, 0, context=1), call(1, 1, 5), call(1, 1, 3, context=1))
    assert text == "prompt>0 prompt>1 generate>2 generate>3"


def test_a_few_rows_at_once_without_a_second_context_are_mixed() -> None:
    assert kinds(call(0, 5, 0), call(1, 1, 5), call(2, 3, 6, "all")) == "prompt>0 generate>1 mixed"


@pytest.mark.parametrize(("flags", "kind"), [(WARMUP, "warmup"), (ENCODER, "encode"), (OUTSIDE, "None")])
def test_what_is_recorded(flags: int, kind: str) -> None:
    assert kinds(call(0, 2, 0, flags=flags), call(1, 5, 0)) == f"{kind} prompt>0"
