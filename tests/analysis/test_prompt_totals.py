"""Tokens of a prompt that were in the KV cache before are counted apart from those that passes computed."""

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case, with_facts
from tests.report.rendered import body, rendered
from tracegen.analysis.served import served, totals
from tracegen.contract.tables import empty, frame
from tracegen.reading.shown.figures import key_figures
from tracegen.reading.shown.words import in_words

Pass = tuple[str | None, int | None, int, int, int]  # kind, position of the first row, rows, sequence, context
FIRST: list[Pass] = [("load", None, 0, 0, 0), ("warmup", 0, 2, 0, 0), ("prompt", 0, 20, 0, 0)]
WRITES: list[Pass] = [("generate", 20 + i, 1, 0, 0) for i in range(7)]


def tables_of(passes: list[Pass]) -> dict[str, pd.DataFrame]:
    rows = [
        dict(pass_id=i, kind=kind, context=context, n_tokens=n or None, position_begin=begin, begin_ns=i)
        for i, (kind, begin, n, _, context) in enumerate(passes)
    ]
    tokens = [
        dict(
            pass_id=i,
            row=r,
            token_id=r,
            sequence=sequence,
            position=None if begin is None else begin + r,
            output=r == n - 1,
        )
        for i, (_, begin, n, sequence, _) in enumerate(passes)
        for r in range(n)
    ]
    return {**empty(), "passes": frame("passes", rows), "tokens": frame("tokens", tokens)}


def reused_tokens(passes: list[Pass], *, whole: bool) -> int | None:
    found = totals(served(tables_of(passes)), whole=whole)
    return None if found is None else found[1]


@pytest.mark.parametrize(
    ("passes", "reused"),
    [
        ([*FIRST, *WRITES], 0),
        (
            [*FIRST, ("prompt", 20, 20, 0, 0), ("generate", 40, 1, 0, 0)],
            0,
        ),  # another ubatch, or another call, of the same prompt
        ([*FIRST, *WRITES, ("prompt", 27, 11, 0, 0)], 27),
        ([*FIRST, *WRITES, ("prompt", 27, 8, 0, 0), ("prompt", 35, 3, 0, 0)], 27),
        ([*FIRST, *WRITES, ("prompt", 0, 11, 0, 0)], 0),
        ([*FIRST, *WRITES, ("prompt", 5, 11, 0, 0), ("generate", 16, 1, 0, 0), ("prompt", 17, 2, 0, 0)], 5 + 17),
        ([*FIRST, ("prompt", 19, 1, 0, 0)], 19),  # the same prompt again: its last row is computed again
        ([*FIRST, ("prompt", 20, 5, 1, 0)], 20),  # another sequence, which a copy may have begun
        ([*FIRST, ("prompt", 20, 5, 0, 1)], 20),
        ([*FIRST, ("prompt", 0, 5, 1, 0), ("prompt", 20, 5, 0, 0)], 0),  # two sequences that take turns
        ([("prompt", 27, 11, 0, 0)], 27),  # of a cache that was read from a file
    ],
)
def test_what_was_in_the_cache_before_a_prompt_is_reused(passes: list[Pass], reused: int) -> None:
    assert reused_tokens(passes, whole=True) == reused


@pytest.mark.parametrize(
    "passes",
    [
        [],
        FIRST[:2],
        [*FIRST, ("prompt", None, 11, 0, 0)],
    ],
)
def test_it_is_unknown_without_prompt_and_positions(passes: list[Pass]) -> None:
    assert reused_tokens(passes, whole=True) is None


def test_a_window_that_begins_within_a_prompt_does_not_reuse_it() -> None:
    assert reused_tokens([("prompt", 27, 11, 0, 0)], whole=False) is None
    assert reused_tokens([*FIRST, *WRITES, ("prompt", 27, 11, 0, 0)], whole=False) == 27
    assert reused_tokens(FIRST, whole=False) == 0


@pytest.mark.parametrize("reused", [0, 27])
def test_show_and_pages_say_how_much_was_computed(reused: int) -> None:
    case = scaled_case(2, 1)
    n = int(case["passes"].loc[case["passes"]["kind"] == "prompt", "n_tokens"].sum())
    warmup = set(case["passes"].loc[case["passes"]["kind"] == "warmup", "pass_id"])
    tokens = case["tokens"]
    later = reused * (~tokens["pass_id"].isin(warmup)).astype("int32")
    tables = {**case, "tokens": tokens.assign(position=(tokens["position"] + later).astype("Int32"))}
    run = a_run()
    run = with_facts(run, trace=dict(skipped_passes=0))
    said = f"{n} of {n + reused} prompt tokens computed, {reused} reused"
    assert in_words(key_figures(run, tables)).get("prompt tokens reused from the KV cache") == (reused or None)
    overview = body(rendered(tables, run), "overview")
    assert (f"; {said}" in overview) is (f" {said}." in overview) is bool(reused)
    assert ("tokens computed" in overview) is bool(reused)
