"""Sentences of tests against chance: each says what was found, and no more."""

from typing import Any

from tracegen.analysis.chance import LEVEL
from tracegen.contract import quantities as q
from tracegen.report.words import expert_chance_sentences as say


def test_p_is_never_zero() -> None:
    assert q.p_words(0.00004) == "p < 0.0001" and q.p_words(0.001) == "p = 0.001"


def test_how_even_beside_random_choice() -> None:
    said = say.balance_title(0.952, 0.993, 0.995)
    assert said.startswith(
        "The choices have 95.2 % of the largest possible entropy, less than random choice by as many"
    )
    assert said.endswith("rows: 99.3 % to 99.5 %")
    assert "more than random choice" in say.balance_title(0.999, 0.993, 0.995)
    assert "as random choice by as many rows has: 99.3 %" in say.balance_title(0.994, 0.993, 0.995)
    assert say.balance_title(0.9, None, None) == "The choices have 90.0 % of the largest possible entropy"
    assert say.balance_title(None, None, None).endswith("?")


def test_stickiness_is_told_against_shuffled_tokens() -> None:
    found = dict(share=0.306, low=0.153, high=0.17, share_low=None, share_high=None, shuffled=0.17)
    assert say.sticky_title(found | dict(effect=0.14, p=0.001), few=False) == (
        "A token chooses 30.6 % of its experts as the token before did, more than shuffled tokens: 15.3 % to 17.0 %"
    )
    assert ", fewer than shuffled tokens:" in say.sticky_title(found | dict(effect=-0.14, p=0.001), few=False)
    assert "no difference shown from shuffled" in say.sticky_title(found | dict(effect=0.14, p=LEVEL), few=False)
    assert "Too few tokens" in say.sticky_title(found | dict(effect=0.14, p=0.001), few=True)
    several = found | dict(effect=0.02, p=0.04, share_low=0.16, share_high=0.2)
    assert say.sticky_overall(several, n_layers=4, n_held=1) == (
        " Effect over all layers: +2.0 percentage points (95 %: −1.0 to +3.0), p = 0.04; of 4 layers, 1 differ by "
        "Holm’s method."
    )
    alone = say.sticky_overall(found | dict(effect=-0.02, p=0.4), n_layers=1, n_held=0)
    assert alone == " Effect over all layers: −2.0 percentage points, p = 0.40."


def test_pairs_and_why_there_is_none() -> None:
    assert say.pairs_title(1).startswith("1 pair of experts of a layer is chosen together")
    assert say.pairs_title(30).startswith("30 pairs of experts of a layer are chosen together")
    assert say.pairs_title(0).endswith("?")
    few: dict[str, Any] = dict(n_rows=60, n_chosen=2, n_tested=9, n_pairs=28, least=40)
    assert say.no_pairs(**few) == "No pair exceeds chance clearly, of 9 tested pairs."
    assert "often enough to test" in say.no_pairs(**(few | dict(n_tested=0)))
    assert say.no_pairs(**(few | dict(n_rows=1, n_pairs=0))) == "1 token row is too few to test pairs: it takes 40."
    assert "Not applicable" in say.no_pairs(**(few | dict(n_chosen=1, n_pairs=0)))


def test_prompt_against_generation() -> None:
    found = dict(distance=0.267, high=0.25)
    assert "choose other experts: their distance is 26.7 %" in say.phases_title(found | dict(p=0.01), few=False)
    assert "choose no clearly different experts" in say.phases_title(found | dict(p=LEVEL), few=False)
    assert "Too few" in say.phases_title(found | dict(p=LEVEL), few=True)
    assert "no routing of a prompt pass" in say.no_phases(n_prompt=0, n_generate=5)
    assert "no routing of a generate pass" in say.no_phases(n_prompt=5, n_generate=0)
    assert say.no_phases(n_prompt=5, n_generate=5) == say.UNTESTED


def test_what_the_layer_before_tells() -> None:
    found = dict(share=0.34, low=0.2, high=0.25, share_low=0.3, share_high=0.38, shifted=0.24, most=0.3, before=0.28)
    assert say.next_title(found | dict(effect=0.1, p=0.02)) == (
        "The layer before predicts 34.0 % of a token’s experts, more than chance: 20.0 % to 25.0 %"
    )
    assert "fewer than chance:" in say.next_title(found | dict(effect=-0.1, p=0.02))
    assert "no more than chance:" in say.next_title(found | dict(effect=0.1, p=LEVEL))
    assert say.next_overall(found | dict(effect=0.1, p=0.02, even=0.125)) == (
        " Effect over all layers: +10.0 percentage points (95 %: +6.0 to +14.0), p = 0.02. The most chosen experts "
        "find 30.0 %, those of the token before 28.0 %, any k of E 12.5 %."
    )
    assert say.no_next(n_rows=1, n_layers=4, least=100) == ("1 token row is too few to learn a guess: it takes 100.")
    assert "99 token rows are too few" in say.no_next(n_rows=99, n_layers=4, least=100)
    assert say.no_next(n_rows=200, n_layers=1, least=100).startswith("Not applicable: fewer than two layers")


def test_how_long_the_same_experts_serve() -> None:
    found = dict(length=16, srp_low=0.34, srp_high=0.36)
    assert say.segments_title(found | dict(srp=0.4)) == (
        "A fixed set of experts fits the choices of 16 tokens in a row with an F1 of 40.0 % (SRP), more than those of "
        "shuffled tokens: 34.0 % to 36.0 %"
    )
    assert "less than those of shuffled" in say.segments_title(found | dict(srp=0.3))
    assert "(SRP), within those of shuffled" in say.segments_title(found | dict(srp=0.36))
