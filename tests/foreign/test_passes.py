"""Kinds of passes from their numbers of tokens: what can be known, and what cannot."""

import pytest

from tracegen.foreign.passes import kinds_of, produced_of


@pytest.mark.parametrize(
    ("tokens", "warms_up", "kinds"),
    [
        ([2, 14, 1, 1], False, ["warmup", "prompt", "generate", "generate"]),
        ([2, 2], False, ["warmup", "prompt"]),  # a prompt of two tokens after a warm-up
        ([1, 7, 1], False, ["warmup", "prompt", "generate"]),  # no end-of-text token in the vocabulary
        ([14, 1, 1], False, ["prompt", "generate", "generate"]),
        ([512, 88, 1], False, ["prompt", "prompt", "generate"]),  # two ubatches
        ([2, 512, 88, 1], False, ["warmup", "prompt", "prompt", "generate"]),
        ([2, 1, 1], True, ["warmup", "prompt", "generate"]),  # all experts: the warm-up; then a prompt of one token
        ([2, 1, 1], False, [None, None, None]),  # a warm-up and a short prompt, or a prompt of two tokens
        ([2, None, 1], False, [None, None, None]),
        ([None], False, [None]),
        ([1, 1, 1], False, [None, None, None]),
        ([5], False, ["prompt"]),
    ],
)
def test_kinds_of_passes_follow_from_their_tokens(
    tokens: list[int | None], warms_up: bool, kinds: list[str | None]
) -> None:
    assert kinds_of(tokens, warms_up) == kinds


def test_tokens_are_numbered_from_the_last_prompt_pass() -> None:
    assert produced_of(["warmup", "prompt", "prompt", "generate", "generate"]) == [None, None, 0, 1, 2]
    assert produced_of([None, "generate"]) == [None, None]
    assert produced_of(["prompt", "generate", "prompt", "generate"]) == [None] * 4  # a chat: numbers would be double
