"""What drafts gain: against rounds that are made by hand, so that each one's parts are known."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_run
from tests.builders.runs import with_facts
from tracegen.analysis import speculation
from tracegen.contract.tables import empty, frame
from tracegen.report.figures.context import Context
from tracegen.report.findings import speculation as said

TARGET, DRAFT = 0, 1
# drafted, accepted, time of verifying, of each drafting pass, of what is between passes, whether a prompt follows
ROUND = st.tuples(
    st.integers(0, 6), st.integers(0, 6), st.integers(1, 900), st.integers(1, 90), st.integers(0, 50), st.booleans()
)


Round = tuple[int, int, int, int, int, bool]


def case(rounds: list[Round], *, slots: int = 2) -> tuple[Mapping[str, pd.DataFrame], list[dict[str, Any]]]:
    """The tables of a run, and what its rounds are, the last one's gain unknown; a prompt goes to the next slot."""
    passes: list[dict[str, Any]] = []
    tokens: list[dict[str, Any]] = []
    expected: list[dict[str, Any]] = []
    now, position, sequence = 1000, 7, 0

    def run(context: int, kind: str, n: int, took: int, at: int) -> int:
        nonlocal now
        number = len(passes)
        passes.append(
            dict(pass_id=number, context=context, call=number, ubatch=0, kind=kind, n_tokens=n, n_sequences=1)
            | dict(position_begin=at, begin_ns=now, end_ns=now + took)
        )
        tokens.append(dict(pass_id=number, row=0, token_id=1, position=at, sequence=sequence, output=True))
        now += took
        return number

    run(TARGET, "prompt", 7, 50, 0)
    run(DRAFT, "draft", 7, 50, 0)
    for drafted, accepted, verify, draft, between, prompt in rounds:
        accepted, began = min(accepted, drafted), now
        number = run(TARGET, "verify" if drafted else "generate", drafted + 1, verify, position)
        for step in range(drafted):
            run(DRAFT, "draft", 1, draft, position + step)
        if prompt:
            sequence, position = (sequence + 1) % slots, 7
            run(TARGET, "prompt", 7, 50, 0)
        else:
            position += accepted + 1
        now += between
        gained = None if prompt else accepted + 1
        taken = None if prompt else now - began
        expected.append(
            dict(pass_id=number, n_drafted=drafted, n_gained=gained, verify_ns=verify, draft_ns=drafted * draft)
            | dict(round_ns=taken)
        )
    expected[-1] |= dict(n_gained=None, round_ns=None)
    return {**empty(), "passes": frame("passes", passes), "tokens": frame("tokens", tokens)}, expected


@given(st.lists(ROUND, min_size=1, max_size=8), st.sampled_from([1, 9]))
def test_rounds_are_those_that_were_made(rounds: list[Round], slots: int) -> None:
    """Each prompt in a slot of its own, or all in one."""
    tables, expected = case(rounds, slots=slots)
    found = speculation.rounds(tables)
    if not any(of["n_drafted"] for of in expected):
        assert found.empty, "nothing was verified"
        return
    rows = found.drop(columns="experts").astype("object")
    assert rows.where(rows.notna(), None).to_dict("records") == expected
    known = [of for of in expected if of["n_gained"]]
    gained, drafted = sum(of["n_gained"] for of in known), sum(of["n_drafted"] for of in known)
    if not known:
        assert speculation.token_ns(found) is None and speculation.accepted_share(found) is None
        return
    assert speculation.token_ns(found) == pytest.approx(sum(of["round_ns"] for of in known) / gained)
    share = speculation.accepted_share(found)
    assert share == (pytest.approx((gained - len(known)) / drafted) if drafted else None)
    sizes = speculation.by_size(found)
    assert sizes["n_batches"].sum() == len(known)
    assert (sizes["n_batches"] * sizes["gained"]).sum() == pytest.approx(gained)


def test_a_run_without_drafts_has_no_rounds() -> None:
    assert speculation.rounds(empty()).empty


@pytest.mark.parametrize(
    ("rounds", "says"),
    [
        ([(3, 0, 100, 50, 10, False)] * 4, "at most 110 ns: drafts make tokens slower here."),
        ([(3, 3, 400, 1, 0, False)] * 4, "between 100 ns and 400 ns; a run without them says"),
        # one slow batch is in all of these times
        (
            [(1, 1, 100, 10, 0, False)] * 10 + [(1, 1, 3000, 10, 0, False)] * 2,
            "between 182 ns and 364 ns; a run without",
        ),
        (
            [(3, 3, 400, 1, 0, False), (0, 0, 300, 1, 0, False)] * 4,
            "take 300 ns: drafts make tokens faster here.",
        ),
        (
            [(3, 1, 400, 90, 0, False), (0, 0, 100, 1, 0, False)] * 4,
            "take 100 ns: drafts make tokens slower here.",
        ),
    ],
)
def test_what_a_token_would_take_without_drafts_is_said_as_far_as_it_is_known(rounds: list[Round], says: str) -> None:
    tables, _ = case(rounds)
    (finding,) = said.findings(Context(a_run(), tables))
    assert says in finding.otherwise and finding.effect == 1.0


def test_experts_of_a_batch_stand_beside_those_of_a_token() -> None:
    tables, _ = case([(3, 1, 100, 10, 10, False)] * 3)
    verified = tables["passes"].query("kind == 'verify'")["pass_id"]
    chosen = [
        dict(pass_id=number, layer=layer, row=row, rank=rank, expert=(row * layer + rank) % 8)
        for number in verified
        for layer in (0, 1)
        for row in range(4)
        for rank in (0, 1)
    ]
    tables = {**tables, "routing": frame("routing", chosen)}
    rounds = speculation.rounds(tables)
    each = [len({c["expert"] for c in chosen if c["pass_id"] == 2 and c["layer"] == layer}) for layer in (0, 1)]
    assert rounds["experts"].tolist() == [sum(each) / 2] * 3
    run = with_facts(a_run(), model=dict(n_experts_used=2))
    (finding,) = said.findings(Context(run, tables))
    assert f"chooses {sum(each) / 2:.1f} experts of a layer, a single token 2." in finding.text


def test_slots_that_take_turns_are_told_apart_and_ubatches_of_a_call_belong_together() -> None:
    def at(number: int, call: int, kind: str, n: int, position: int) -> dict[str, Any]:
        times = dict(begin_ns=1000 + 100 * number, end_ns=1090 + 100 * number)
        return dict(pass_id=number, context=TARGET, call=call, kind=kind, n_tokens=n, position_begin=position) | times

    passes = [
        at(0, 0, "verify", 4, 10),  # of slot 0, in two ubatches
        at(1, 0, "verify", 1, 14),
        at(2, 1, "verify", 3, 50),  # of slot 1
        at(3, 2, "verify", 2, 13),
        at(4, 3, "verify", 2, 51),
    ]
    slots = (0, 0, 1, 0, 1)
    rows = [dict(pass_id=i, row=0, position=passes[i]["position_begin"], sequence=slots[i]) for i in range(5)]
    chosen = [dict(pass_id=i, layer=0, row=0, rank=e, expert=e) for i, e in ((0, 1), (0, 2), (1, 3), (2, 1))]
    tables = {**empty(), "passes": frame("passes", passes), "tokens": frame("tokens", rows)}
    found = speculation.rounds({**tables, "routing": frame("routing", chosen)})
    assert found["n_drafted"].tolist() == [4, 2, 1, 1] and found["verify_ns"].tolist() == [180, 90, 90, 90]
    assert found["n_gained"].fillna(0).tolist() == [3, 1, 0, 0]
    assert found["round_ns"].fillna(0).tolist() == [300, 200, 0, 0]
    assert found["experts"].fillna(0).tolist() == [3, 1, 0, 0]
