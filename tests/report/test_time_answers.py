"""What answers the questions about times, buffers and tensors: amounts, and none where nothing is known."""

from collections.abc import Sequence

import pandas as pd
import pytest

from tests.builders import a_run, only, scaled_case
from tracegen.report.document.amount import in_words
from tracegen.report.figures.answers import answers
from tracegen.report.figures.buffers import KV_CACHE
from tracegen.report.figures.context import Context
from tracegen.report.figures.tensors import NEVER_TOUCHED
from tracegen.report.figures.times import TOKENS

CASE = scaled_case(4, 2)


def taking(times_ns: Sequence[int]) -> dict[str, pd.DataFrame]:
    """The case with these durations of its generate passes; further passes have none."""
    passes = CASE["passes"].copy()
    generate = passes.index[(passes["kind"] == "generate") & passes["produced_token"].notna()]
    passes.loc[generate, "end_ns"] = pd.array(
        [passes.loc[at, "begin_ns"] + times_ns[n] if n < len(times_ns) else pd.NA for n, at in enumerate(generate)],
        dtype="Int64",
    )
    return {**CASE, "passes": passes}


@pytest.mark.parametrize(
    ("times_ns", "said"),
    [
        ((), ""),
        ((3_000_000,), "3.00 ms for the one token that has a pass of its own"),
        (
            (9_000_000, 10_000_000, 25_000_000),
            "10.0 ms at the median of 3 tokens, 9.00 ms for the fastest, 25.0 ms for the slowest",
        ),
    ],
)
def test_token_times_are_answered_by_median_fastest_and_slowest(times_ns: tuple[int, ...], said: str) -> None:
    assert in_words(TOKENS.content(Context(a_run(), taking(times_ns))).answer) == said


def test_the_kv_cache_is_answered_by_its_first_and_last_token() -> None:
    content = KV_CACHE.content(Context(a_run(), CASE))
    touched = content.data["touched_bytes"].tolist()
    first, last, whole = content.answer
    assert (first.value, last.value) == (touched[0], touched[-1]) and len(set(touched)) == 1, "it does not grow"
    assert (last.words, whole.words) == ("by the last token", "allocated")
    assert KV_CACHE.content(Context(a_run(), only(CASE, ("prompt",)))).answer == ()


def test_what_was_never_touched_is_counted_with_its_bytes() -> None:
    (answer,) = answers(Context(a_run(), CASE), [NEVER_TOUCHED])
    assert answer.answer == "1 of 22 tensors, 16.0 KiB in all"
    (answer,) = answers(Context(a_run(), only(CASE, ("load",))), [NEVER_TOUCHED])
    assert answer.answer == "", "no pass was measured"
