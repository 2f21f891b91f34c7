"""Answers about accesses, caches and memory: which amounts stand where which numbers are known."""

import re

import pytest

from tests.builders import a_moe_run, a_run, scaled_case
from tracegen.analysis.hot_set import Gain
from tracegen.report.document.amount import Amount, in_words
from tracegen.report.figures.access_ledger import wasted_and_evicted
from tracegen.report.figures.access_order import ACCESS_ORDER
from tracegen.report.figures.caches import Enough, rates_answer
from tracegen.report.figures.catalogue import FIGURES
from tracegen.report.figures.context import Context
from tracegen.report.figures.heatmap import HEATMAP, touched_and_rest
from tracegen.report.figures.hot import gain_words, hot_answer
from tracegen.report.figures.residency import most_and_least

MIB = 2**20
TABLES = [("access-path", 0), ("access-order", 2), ("access-blocks", 2), ("cache-sizes", 0), ("what-if-orders", 1)]
REACHES, OPEN, BELOW = Gain(0.675, 0.351, 0.262, 0.44), Gain(0.28, 0.04, -0.02, 0.12), Gain(0.25, 0.0, -0.03, 0.03)


def numbers(amounts: tuple[Amount, ...]) -> list[float]:
    return [amount.value for amount in amounts]


@pytest.mark.parametrize("moe", [False, True])
def test_every_answer_is_of_at_most_three_amounts_and_says_its_numbers(moe: bool) -> None:
    context = Context(a_moe_run() if moe else a_run(), scaled_case(4, 2, moe=moe))
    own = [part for part in FIGURES if part.section in ("order", "cache") and part.when.holds(context)]
    found = {part.key: part.content(context).answer for part in [*own, HEATMAP]}
    assert all(len(found[key]) == n for key, n in TABLES)
    said = {key: in_words(answer) for key, answer in found.items()}
    assert all(len(answer) <= 3 and not re.search(r"\b(nan|inf|None|NA)\b", said[key]) for key, answer in found.items())
    assert re.search(r"of the mapped file touched by a generated token, [\d.]+ times as much", said["access-blocks"])
    assert "touched by a generate pass" in said["working-set"]
    assert said["reuse"].startswith("1 pass between uses of an item (tensor without experts), median, 1 or") or moe
    assert "mapped tensors" in said["concentration"] and "of a token stay with the CPU" in said["device-memory"]
    assert "best order" in said["what-if-orders"]


def test_the_order_of_a_prompt_is_said_to_be_of_the_prompt() -> None:
    tables = scaled_case(3, 2, moe=True)
    passes = tables["passes"]
    prompt = tables | {"passes": passes[(passes["kind"] != "generate").to_numpy(bool)]}
    assert "prompt passes" in in_words(ACCESS_ORDER.content(Context(a_moe_run(), prompt)).answer)


@pytest.mark.parametrize(
    ("sums", "shares"),
    [
        ({"size_bytes": 100, "loaded_bytes": 100, "waste_bytes": 40, "touched_bytes": 60, "gone_bytes": 6}, [0.4, 0.1]),
        ({"size_bytes": 1000, "loaded_bytes": 1, "waste_bytes": 1, "touched_bytes": 10, "gone_bytes": 4}, [0.4]),
        ({"size_bytes": 100, "loaded_bytes": 0, "waste_bytes": 0, "touched_bytes": 0, "gone_bytes": 0}, []),
        ({"size_bytes": 100, "loaded_bytes": 50, "waste_bytes": None, "touched_bytes": 9, "gone_bytes": None}, []),
    ],
)
def test_what_was_wasted_and_evicted_stands_where_it_is_known(sums: dict[str, object], shares: list[float]) -> None:
    assert numbers(wasted_and_evicted(sums)) == shares


def test_a_cache_has_lru_and_the_best_or_what_the_kernel_served_and_the_cliff() -> None:
    steady, cliff = Enough(2 * MIB, MIB, None), Enough(2 * MIB, MIB, 0.018)
    assert rates_answer(None, (MIB, 0.7)) == ()
    assert numbers(rates_answer(steady, None)) == [2 * MIB, MIB]
    assert numbers(rates_answer(cliff, None)) == [2 * MIB, 0.018, MIB]
    assert numbers(rates_answer(cliff, (MIB, 0.7))) == [0.7, 2 * MIB, 0.018]
    assert "70.0 % or more: hit rate of the kernel" in in_words(rates_answer(steady, (MIB, 0.7)))


def test_a_hot_set_is_one_where_its_whole_interval_reaches_the_limit() -> None:
    assert gain_words(REACHES) == "gain of +0.351 (95 % interval +0.262 to +0.440), at least the limit of 0.1"
    assert gain_words(BELOW).endswith("(95 % interval −0.030 to +0.030), below the limit of 0.1")
    assert gain_words(OPEN).endswith("undetermined whether it reaches the limit of 0.1")
    for static in (REACHES, OPEN, BELOW):
        answer = hot_answer(static, BELOW, 8, 32)
        assert numbers(answer) == [static.served, 0.25] and ("a hot set" in in_words(answer)) == (static is REACHES)
    assert numbers(hot_answer(BELOW, REACHES, 8, 32)) == [0.25, 0.25, 0.675]  # only those chosen last are worth a cache


def test_the_heatmap_says_where_the_rest_lies_if_there_is_one() -> None:
    assert numbers(touched_and_rest(0.982, "embd", 0.97)) == [0.982, 0.97]
    assert touched_and_rest(None, "a", 1) == touched_and_rest(1.0, "", 0) == ()


def test_parts_in_memory_alike_are_one_amount() -> None:
    assert most_and_least({}) == ()
    assert numbers(most_and_least({"attention": 1.0, "experts": 0.995})) == [1.0]
    assert in_words(most_and_least({"attention": 1.0, "experts": 0.25})) == (
        "100 % of attention weights in memory at the end, 25.0 % of experts weights"
    )
