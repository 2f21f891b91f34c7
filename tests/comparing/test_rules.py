"""Rules of --fail-on: what is one, and what breaks it."""

import json

import pytest

from tests.comparing.made import counted, side, timed
from tracegen.comparing.comparison import compare
from tracegen.comparing.quoted import values
from tracegen.comparing.rules import as_json, broken, parsed
from tracegen.contract.errors import SettingsError

SLOW, FAST = ([[timed(v + i / 9)] for i in range(7)] for v in (100, 130))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x<-5%",
        "tokens_per_second_generate",
        "tokens_per_second_generate<-5",
        "ops_per_token=3%",
        "ops_per_token<5%%",
        "ops_per_token<--5%",
        "tokens_per_second_generate<-99999999%",
        "ops_per_token<nan%",
    ],
)
def test_what_is_not_a_rule_is_refused_with_the_names(text: str) -> None:
    with pytest.raises(SettingsError, match="NAME<-5% or NAME>5%, where NAME is one of tokens_per_second_generate"):
        parsed(text)


def test_a_slower_side_breaks_the_rule_only_if_it_is_sure() -> None:
    rule = parsed(" tokens_per_second_generate < -5% ")
    worse = compare(side("a", FAST), side("b", SLOW))
    assert "a → b: tokens_per_second_generate < -5%" in broken(rule, worse) and "−23" in broken(rule, worse)
    assert broken(rule, compare(side("a", SLOW), side("b", FAST))) == ""
    assert broken(parsed("tokens_per_second_generate<-50%"), worse) == ""
    assert broken(rule, compare(side("a", FAST[:4]), side("b", SLOW[:4]))) == ""
    assert broken(parsed("tokens_per_second_generate>5%"), compare(side("a", SLOW), side("b", FAST)))


def test_counted_measures_need_one_run() -> None:
    a, b = side("a", [[counted(0, "ops_per_token")]]), side("b", [[counted(7, "ops_per_token")]])
    assert broken(parsed("ops_per_token>5%"), compare(a, b)).endswith(", 0 → 7 (different, +7, n = 1 and 1)")
    assert broken(parsed("ops_per_token>5%"), compare(a, a)) == ""


def test_an_unknown_measure_is_no_pass() -> None:
    with pytest.raises(SettingsError, match="ops_per_token is not known on both sides of a → b"):
        broken(parsed("ops_per_token>5%"), compare(side("a", SLOW), side("b", FAST)))


def test_json_has_every_measure_as_numbers() -> None:
    a, b = side("a", [[*rows, counted(3)] for rows in SLOW]), side("b", [[*rows, counted(3)] for rows in FAST])
    document = json.loads(json.dumps(as_json(compare(a, b)), allow_nan=False))
    speed, tokens = document["measures"]
    assert speed["values_a"] == [rows[0][-1] for rows in SLOW] and speed["state"] == "different" and speed["p"] < 0.01
    assert 0.2 < speed["relative_low"] < speed["relative"] < speed["relative_high"] < 0.4 and speed["asked"]
    assert speed["runs_needed"] is None and document["margin"] == 0.05 and "Same within 5 %" in document["rule"][0]
    assert tokens["a"] == tokens["b"] == 3 and tokens["state"] == "equal" and "p" not in tokens
    assert document["answer"] == " ".join(said["text"] for said in document["sentences"])
    assert {"value": 1.3, "unit": "times", "words": ""} in [
        {**amount, "value": round(amount["value"], 1)} for amount in document["sentences"][0]["amounts"]
    ]
    assert document["a"]["runs"] == [f"made/run-00{n}" for n in range(1, 8)]


def test_what_a_journal_quotes_has_the_numbers_of_the_comparison() -> None:
    a, b = ([[timed(100 + step + n / 10), counted(4)] for n in range(9)] for step in (0, 30))
    found = values(compare(side("a", a), side("b", b)))["tokens_per_second_generate"]
    assert (found["a"], found["b"], found["n"], found["verdict"]) == (
        "100 tokens/s",
        "130 tokens/s",
        "n = 9 and 9",
        "better",
    )
    assert found["range_a"] == "100 tokens/s to 101 tokens/s" and found["shift"] == "+29.9 %"
    assert found["p"].startswith("p ") and found["interval"].endswith(" %")
    assert found["change"] == f"100 tokens/s → 130 tokens/s (better, +29.9 %, {found['p']}, n = 9 and 9)"
    one = values(compare(side("a", a[:1]), side("b", b[:1])))["tokens_per_second_generate"]
    assert "interval" not in one and one["verdict"] == "one run each" and one["verdict"] in one["change"]
    assert values(compare(side("a", a), side("b", [[counted(4)]]))).keys() == {"generated_tokens"}
