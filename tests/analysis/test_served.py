"""What was kept for each prompt, and what was computed again: against a server that is played, in plain loops."""

from collections.abc import Sequence

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.served import PASS_NS, Served
from tracegen.analysis import served
from tracegen.contract.tables import empty

ALIKE = list(range(100, 140))  # what prompts begin with


def table(of: Served) -> pd.DataFrame:
    return served.served(of.tables(empty()))


def told(of: Served, *names: str) -> list[tuple[object, ...]]:
    rows = table(of)[list(names)].astype("object")
    return [tuple(row) for row in rows.where(rows.notna(), None).itertuples(index=False)]


AGAIN = ("n_tokens", "n_kept", "kept_from", "n_computed", "n_generated", "n_again", "again_from", "again_prompt")


def test_a_conversation_keeps_what_its_slot_has() -> None:
    of = Served()
    of.prompt(0, ALIKE, 0, [1, 2, 3])
    of.prompt(0, [*ALIKE, 1, 2, 3, 9, 8, 7], 42, [4, 5])
    assert told(of, *AGAIN) == [
        (40, 0, None, 40, 3, 0, None, None),
        (46, 42, "its slot", 4, 2, 0, None, None),
    ]


def test_a_prompt_that_goes_to_another_slot_is_computed_again() -> None:
    of = Served()
    of.prompt(0, [*ALIKE, 1, 2], 0, [3])
    of.prompt(1, [*ALIKE, 5, 6, 7], 0, [8])
    assert told(of, *AGAIN)[1] == (43, 0, None, 43, 1, 40, "another slot", 0)


def test_what_another_prompt_took_the_place_of_is_computed_again() -> None:
    of = Served()
    of.prompt(0, [*ALIKE, 1, 2], 0, [3])
    of.prompt(0, list(range(60)), 0, [3])
    of.prompt(0, [*ALIKE, 1, 9], 0, [3])
    assert told(of, *AGAIN)[2] == (42, 0, None, 42, 1, 41, "an earlier prompt", 0)


def test_the_last_token_of_the_same_prompt_is_always_computed() -> None:
    of = Served()
    of.prompt(0, ALIKE, 0, [3])
    of.prompt(0, ALIKE, 39, [3])
    assert told(of, *AGAIN)[1] == (40, 39, "its slot", 1, 1, 0, None, None)


def test_what_its_slot_had_and_was_not_kept() -> None:
    of = Served()
    of.prompt(0, ALIKE, 0, [3])
    of.prompt(0, ALIKE, 0, [3], most=16)
    assert told(of, *AGAIN)[1] == (40, 0, None, 40, 1, 39, "its slot", 0)
    assert told(of, "prompt_ns", "again_ns", "generate_ns")[1] == (3 * PASS_NS + 200, (3 * PASS_NS + 200) * 39 // 40, 0)


def test_a_change_near_the_start_costs_all_that_follows() -> None:
    of = Served()
    of.prompt(0, [1, 2, *ALIKE, 50], 0, [3])
    of.prompt(0, [1, 9, 9, *ALIKE, 60], 1, [3])  # one token more, and another
    assert told(of, *AGAIN)[1] == (44, 1, "its slot", 43, 1, 40, "behind a change", 0)


def test_what_is_put_before_a_text_is_a_change() -> None:
    of = Served()
    of.prompt(0, [*ALIKE, 50], 0, [3])
    of.prompt(0, [9, 9, *ALIKE, 60], 0, [3])
    assert told(of, *AGAIN)[1] == (43, 0, None, 43, 1, 40, "behind a change", 0)


def test_a_state_that_was_put_back_is_what_was_kept() -> None:
    of = Served()
    of.prompt(0, [*ALIKE, 1], 0, [3])
    of.state("saved", 0, 41_000)
    of.prompt(0, list(range(30)), 0, [3])
    of.state("saved", 0, 30_000)
    of.state("restored", 0, 41_000)
    of.prompt(0, [*ALIKE, 1, 2, 3], 41, [4])
    assert told(of, *AGAIN)[2] == (43, 41, "a saved state", 2, 1, 0, None, None)


def test_two_at_once_are_told_apart() -> None:
    of = Served()
    of.compute((0, 0, ALIKE, 1))
    of.compute((0, 40, [1], 1), (1, 0, ALIKE[:30], 0))
    of.compute((0, 41, [2], 1), (1, 30, ALIKE[30:], 1))
    of.compute((0, 42, [3], 1), (1, 40, [4], 1))
    assert told(of, *AGAIN) == [
        (40, 0, None, 40, 4, 0, None, None),
        (40, 0, None, 40, 2, 39, "another slot", 0),
    ]


def test_tokens_that_were_tried_and_refused_begin_no_prompt() -> None:
    of = Served()
    of.compute((0, 0, ALIKE, 1))
    of.compute((0, 40, [1, 2, 3, 4], 4))  # two of three drafted ones were refused
    of.compute((0, 42, [5, 6, 7], 3))
    of.compute((0, 43, [8], 1))
    assert told(of, "n_tokens", "n_generated") == [(40, 5)]


def test_positions_that_moved_begin_no_prompt_and_nothing_is_said_of_what_lies_there() -> None:
    of = Served()
    of.prompt(0, ALIKE, 0, [1, 2, 3])
    of.move()
    of.compute((0, 21, [4], 1))
    of.compute((0, 22, [5], 1))
    of.prompt(1, ALIKE[:20] * 2, 0, [3])
    assert told(of, "n_tokens", "n_generated", "n_again") == [(40, 5, 0), (40, 1, 0)]


def test_a_request_that_is_given_up_within_its_prompt_is_told() -> None:
    of = Served()
    of.compute((0, 0, ALIKE[:32], 0))
    of.prompt(0, ALIKE, 0, [1])
    assert told(of, "n_tokens", "n_generated", "n_again")[0] == (32, 0, 0)
    assert told(of, "n_tokens", "n_generated", "n_again")[1] == (40, 1, 32)


def test_logits_within_a_prompt_are_no_request() -> None:
    of = Served()
    of.compute((0, 0, ALIKE, 20))
    assert table(of).empty


def test_the_rows_that_a_server_tries_are_no_prompt() -> None:
    of = Served()
    of.compute((0, 0, [0, 0], 1))
    of.prompt(0, ALIKE, 0, [1, 2])
    assert told(of, "prompt", "n_tokens", "n_kept") == [(0, 40, 0)]


def test_positions_that_no_context_has_are_not_believed() -> None:
    of = Served()
    of.prompt(0, ALIKE, (1 << 30), [1])
    assert table(of).empty
    for number in range(80):  # each would be a text of a million tokens that nobody knows
        of = Served() if number == 0 else of
        of.compute((number, 1 << 20, [1, 2], 1))
    assert table(of).empty


def test_what_another_context_holds_is_of_no_use() -> None:
    """As that of a model that drafts, which computes the same prompt."""
    of = Served()
    of.prompt(0, [*ALIKE, 1, 2], 0, [3])
    n = len(of.tables(empty())["passes"])
    of.prompt(1, [*ALIKE, 1, 2], 0, [3])
    tables = of.tables(empty())
    context = pd.array([0] * n + [1] * (len(tables["passes"]) - n), dtype="Int32")
    found = served.served({**tables, "passes": tables["passes"].assign(context=context)})
    assert found["context"].tolist() == [0, 1] and found["n_again"].tolist() == [0, 0]


def test_without_tokens_nothing_is_said() -> None:
    assert served.served(empty()).empty


# ---- a server that is played ----

Text = list[int]


def alike(one: Sequence[int], other: Sequence[int]) -> int:
    n = 0
    while n < min(len(one), len(other)) and one[n] == other[n]:
        n += 1
    return n


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_prompt_is_told_as_it_was_played(data: st.DataObject) -> None:
    """Slots, lengths and what is kept are drawn; three tokens, so that texts often begin alike."""
    of = Served()
    slots: dict[int, Text] = {}
    last: dict[int, int] = {}
    ended: list[Text] = []
    replaced: list[int] = []
    expected = []
    for number in range(data.draw(st.integers(1, 8))):
        slot = data.draw(st.integers(0, 2))
        base = data.draw(st.sampled_from([[], *slots.values(), *ended]))
        fresh = data.draw(st.lists(st.integers(0, 2), min_size=3, max_size=40))
        text = [*base[: data.draw(st.integers(0, len(base)))], *fresh]
        own = slots.get(slot, [])
        kept = data.draw(st.integers(0, min(alike(own, text), len(text) - 2)))
        generated = data.draw(st.lists(st.integers(0, 2), min_size=2, max_size=6))
        begins: list[tuple[str, int, Text]] = [("its slot", last[slot], own)] if slot in slots else []
        begins += [("another slot", last[n], slots[n]) for n in slots if n != slot]
        begins += [("an earlier prompt", n, ended[n]) for n in reversed(replaced)]
        best: tuple[int, str | None, int | None] = (0, None, None)
        for where, whose, other in begins:
            found = min(alike(other, text), len(text) - 1) - kept
            if found > best[0]:
                best = (found, where, whose)
        of.prompt(slot, text, kept, generated, most=data.draw(st.integers(2, 64)))
        replaced += [last[slot]] if slot in last else []
        slots[slot] = [*text, *generated[:-1]]
        last[slot] = number
        ended.append(slots[slot])
        expected.append((len(text), kept, len(generated), best))
    names = ("n_tokens", "n_kept", "n_generated", "n_again", "again_from", "again_prompt")
    for row, (n_tokens, kept, n_generated, best) in zip(told(of, *names), expected, strict=True):
        assert row[:3] == (n_tokens, kept, n_generated)
        if row[4] != "behind a change":
            assert row[3:] == best
        else:
            assert best[0] < served.SHORT <= int(str(row[3]))


@pytest.mark.parametrize("name", ["token_id", "position", "sequence"])
def test_what_is_not_known_equals_nothing(name: str) -> None:
    of = Served()
    of.prompt(0, ALIKE, 0, [3])
    of.prompt(0, ALIKE, 0, [3])
    tables = of.tables(empty())
    tables["tokens"] = tables["tokens"].assign(**{name: pd.array([None] * len(tables["tokens"]), "Int32")})
    found = served.served(tables)
    assert found["n_again"].sum() == 0 and len(found) == (2 if name == "token_id" else 0)
