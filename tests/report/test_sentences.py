"""Every sentence for one, for several, for none, and for the case that would mislead: its branch and its numbers."""

from collections.abc import Callable
from typing import Any

import pytest

from tracegen.contract import needs
from tracegen.contract.model import Check
from tracegen.report.figures import caches
from tracegen.report.words import sentences as s


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


# A sentence, what it is given, and what it says: nothing (empty), a question where nothing was found ("?"), or this.
SAID: list[tuple[Callable[..., str], tuple[Any, ...], str]] = [
    (s.outside_statistics, ({"load": 0, "warmup": 0},), ""),
    (s.outside_statistics, ({"load": 1, "warmup": 1},), "leave out 1 load and 1 warm-up pass."),
    (s.outside_statistics, ({"load": 2, "warmup": 0},), "leave out 2 loads."),
    (s.read_and_wrote, (9, 1, 12, 11, 0), "9 prompt tokens in 1 pass and wrote 12 tokens, with 11 generate passes."),
    (s.read_and_wrote, (20, 3, None, 5, 1), "tokens of unknown number, with 5 generate passes; 1 pass is of other"),
    (s.read_and_wrote, (None, 2, 4, 3, 7), "unknown length in 2 passes and wrote 4 tokens, with 3 generate passes; 7"),
    # a window that begins after the prompt
    (s.read_and_wrote, (None, 0, 5, 5, 0), "No prompt pass was recorded; it wrote 5 tokens, with 5 generate passes."),
    (s.read_and_wrote, (None, 0, None, 0, 4), "4 passes, none of them prompt or generate."),
    (s.read_and_wrote, (None, 0, 0, 0, 0), "No pass was measured."),
    (s.even_rate, (None, 1.0), ""),
    (s.even_rate, (10.0, 1e8), ""),
    (s.even_rate, (0.961, 0.28e9), "the median pass alone would give 3.57 tokens/s"),
    (caches.grouped, (1,), ""),
    (caches.grouped, (8,), "after every 8 uses only: no cache serves more than this line says"),
]


@pytest.mark.parametrize(("sentence", "given", "said"), SAID)
def test_each_branch_says_what_was_found(sentence: Callable[..., str], given: tuple[Any, ...], said: str) -> None:
    text = plain(sentence(*given))
    assert text.endswith("?") if said == "?" else said in text if said else text == ""


def test_warned_checks_ask_to_read_times_with_care() -> None:
    slow, apart, imported, cost = (
        Check(key, "", "warning", "", "") for key in ("interference", "even_tokens", "op_times", "tracing_cost")
    )
    assert s.with_care([]) == s.what_to_do([]) == ""
    both = f"{s.with_care([slow, apart])} {s.what_to_do([slow, apart])}"
    assert "waited for a processor; mean and median" in both and "run it again without them." in both
    assert s.what_to_do([apart]) == "Touched bytes are not affected. Read the median, and the time of each token."
    assert s.what_to_do([imported]) == "Read the times of passes, not of single operations."
    assert "longer prompt or a larger model" in s.what_to_do([cost]) and "larger model" not in both


def test_what_to_do_is_said_of_each_check_noted_above_times() -> None:
    assert set(s.ADVICE) == set(s.CARE) == {str(key) for key in needs.NOTED_ABOVE_TIMES}
    slow, stalled = (Check(key, "title", "warning", "8 %", "") for key in s.DISTURBED)
    assert s.what_to_do([slow, stalled]).count(s.RUN_ALONE) == 1
