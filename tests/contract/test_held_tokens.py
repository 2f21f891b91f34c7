"""The generated token that a token holds: cases by hand, and random runs compared with a plain loop."""

import random
from collections.abc import Iterable
from typing import Any

import pandas as pd
import pytest

from tests.builders import scaled_case
from tracegen.analysis import held
from tracegen.contract.held_tokens import held_tokens
from tracegen.contract.tables import frame

PassMade = tuple[str | None, int | None, dict[str, Any]]  # kind, produced token, what is unusual


def a(kind: str | None, produced: int | None = None, **more: Any) -> PassMade:
    return kind, produced, more


def tables_of(message: Iterable[PassMade]) -> dict[str, pd.DataFrame]:
    """Passes and tokens; a pass has one row of sequence 0 in context 0 unless it says otherwise."""
    passes, tokens = [], []
    for pass_id, (kind, produced, more) in enumerate(message):
        n = more.get("rows", 1)
        passes.append(
            dict(
                pass_id=pass_id,
                context=more.get("context", 0),
                kind=kind,
                produced_token=produced,
                n_tokens=n or None,
                begin_ns=pass_id,
            )
        )
        tokens += [dict(pass_id=pass_id, row=r, sequence=more.get("sequence", 0), output=True) for r in range(n)]
    return {"passes": frame("passes", passes), "tokens": frame("tokens", tokens)}


def holds(*message: PassMade) -> list[int | None]:
    """The token that the first row of each pass with rows holds."""
    tables = tables_of(message)
    tokens = held_tokens(tables["passes"], tables["tokens"])
    return [None if pd.isna(k) else int(k) for k in tokens.loc[tokens["row"] == 0, "generated_token"]]


def test_a_generate_pass_holds_the_token_that_the_pass_before_it_gave() -> None:
    begin = a("load", rows=0), a("warmup", rows=2), a("prompt", 0, rows=5)
    assert holds(*begin, a("generate", 1), a("generate", 2)) == [None, None, 0, 1]
    assert holds(a("prompt", rows=3), a("prompt", 0, rows=2), a("generate", 1)) == [None, None, 0]


def test_a_sequence_that_is_not_named_is_one() -> None:
    assert holds(a("prompt", 0, sequence=None), a("generate", 1, sequence=None)) == [None, 0]


@pytest.mark.parametrize("kind", ["mixed", "verify", "draft"])
def test_what_may_give_any_number_of_tokens_hides_what_follows(kind: str) -> None:
    assert holds(a("prompt", 0), a(kind), a("generate"), a("prompt"), a("generate")) == [None] * 5
    assert holds(a("prompt", 0), a(kind, context=1), a("generate", 1)) == [None, None, 0]
    assert holds(a("prompt", 0), a(kind, sequence=1), a("generate", 1), a("generate", 2)) == [None, None, None, 1]


def test_a_shift_of_the_cache_takes_in_nothing() -> None:
    assert holds(a("prompt", 0), a(None, rows=0), a("generate", 1), a("encode"), a("generate", 2)) == [
        None,
        0,
        None,
        1,
    ]
    assert holds(a("prompt", 0), a(None), a("generate", 1)) == [None] * 3, "rows of which nobody knows the purpose"


def test_several_rows_are_not_one_token() -> None:
    tables = tables_of([a("prompt", 0), a("generate", 1, rows=2)])
    assert held_tokens(tables["passes"], tables["tokens"])["generated_token"].isna().all()


def test_a_run_without_token_rows_holds_nothing() -> None:
    tables = tables_of([a("load", rows=0)])
    assert held_tokens(tables["passes"], tables["tokens"]).empty


@pytest.mark.parametrize("seed", range(20))
def test_a_random_run_walked_pass_by_pass(seed: int) -> None:
    """The oracle remembers, for each context, the last token that each of its sequences was given."""
    chance, produced, message, expected = random.Random(seed), 0, [], []
    last: dict[int, dict[int, int | None]] = {0: {}, 1: {}}
    for _ in range(300):
        kind = chance.choices(("generate", "prompt", "mixed", "warmup"), (20, 4, 1, 1))[0]
        context, sequence = chance.randrange(2), chance.randrange(3)
        expected.append(last[context].get(sequence) if kind == "generate" else None)
        gives = produced if kind in ("generate", "prompt") and chance.random() < 0.8 else None
        produced += gives is not None
        if kind == "mixed":
            last[context] = {}
        elif kind != "warmup":
            last[context][sequence] = gives
        message.append(a(kind, gives, context=context, sequence=sequence))
    assert any(k is not None for k in expected)
    assert holds(*message) == expected


def test_a_run_stored_before_the_column_has_it_worked_out() -> None:
    tables = scaled_case(4, 1)
    older = tables["tokens"].assign(generated_token=pd.array([None] * len(tables["tokens"]), dtype="Int32"))
    assert tables["tokens"]["generated_token"].dropna().tolist() == [0, 1, 2, 3]
    pd.testing.assert_frame_equal(held.held(tables | {"tokens": older}), held.held(tables))


def test_what_a_reader_knows_is_not_worked_out_again() -> None:
    tables = scaled_case(2, 1)
    known = tables["tokens"].assign(generated_token=tables["tokens"]["generated_token"] + 10)
    assert held.held(tables | {"tokens": known})["generated_token"].dropna().tolist() == [10, 11]


@pytest.mark.parametrize(
    ("message", "last"),
    [
        ([], None),
        ([a("load", rows=0), a("prompt")], None),
        ([a("prompt", 0)], 0),
        ([a("prompt", 0), a("generate", 1), a(None, rows=0)], 1),
        ([a("prompt", 0), a("generate", 1), a("generate")], None),
        ([a("prompt", 0), a("generate", 1), a("mixed")], None),
        ([a("prompt", 0), a("generate", 1), a("prompt", context=1)], 1),
    ],
)
def test_the_last_token_that_no_row_holds(message: list[PassMade], last: int | None) -> None:
    assert held.last_given(tables_of(message)) == last
