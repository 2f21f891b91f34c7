"""The sentences of a comparison: their numbers, their length, and what each may say."""

import re
from functools import reduce
from itertools import permutations
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import scaled_case
from tests.comparing.made import counted, of_tables, run_with, side, slot, timed
from tracegen.comparing import prose
from tracegen.comparing import sentences as say
from tracegen.comparing.answer import answer, sentences
from tracegen.comparing.comparison import Comparison, compare
from tracegen.comparing.sides import side_of
from tracegen.comparing.token_time import parts, some_tokens
from tracegen.publishing.side import Measured, Side
from tracegen.report.document.amount import Said

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
NUMBER = re.compile(r"(?<![\w.])\d[\d.,\u202f]*")
CONSTANTS = {"99", "5"}  # the level of an interval, the margin in per cent
NAMED = ("One setting differs", "One factor differs")  # values of settings are names


def digits(text: str) -> list[str]:
    return [found.strip(".,") for found in NUMBER.findall(text)]


def check(said: Said) -> None:
    """Each number is one of the amounts; at most 30 words a sentence."""
    known = {number for amount in said.amounts for number in digits(amount.number)} | CONSTANTS
    if not said.text.startswith(NAMED):
        assert not [number for number in digits(said.text) if number not in known], said
    text = said.text.replace("\u202f", "")  # which divides thousands, and no words
    assert all(len(sentence.split()) <= 30 for sentence in text.split(". ")), said.text
    assert said.text.endswith(".") and said.text[0] == said.text[0].upper(), said.text


def every(comparison: Comparison) -> list[Said]:
    return [*sentences(comparison), *(said for line in prose.answers(comparison) for said in line)]


KEYS = ("tokens_per_second_generate", "tokens_per_second_prompt", "ttft_ns", "disk_read_bytes", "token_ns_median")
WAITING = ("disk_wait_ns_per_token", "processor_wait_ns_per_token", "paging_ns_per_token")


@given(
    st.sampled_from([1, 2, 6, 9]),
    st.sampled_from([1, 3, 9]),
    st.lists(st.floats(0.0, 1e9), min_size=9, max_size=9),
    st.lists(st.floats(0.5, 3.0), min_size=9, max_size=9),
    st.booleans(),
)
def test_each_number_of_a_sentence_is_one_of_its_amounts(
    n_a: int, n_b: int, values: list[float], factors: list[float], matrix: bool
) -> None:
    def made(name: str, n: int, times: float, first: int) -> Side:
        runs = []
        for i in range(n):
            of = [value * factors[i] * times for value in values]
            rows = [timed(value, key) for key, value in zip((*KEYS, *WAITING), of, strict=False)]
            rows += [counted(of[0], "mapped_bytes_per_token"), counted(i, "ops_per_token")]
            place = {"slot": slot(i, threads=name, other=str(i % 2))} if matrix else {}
            settings = {"threads": name, "memory_limit_gb": n if n > 1 else None}
            runs.append(run_with(first + i, rows, settings=settings, **place))
        return Side(name, tuple(runs))

    comparison = compare(made("1", n_a, 1.0, 1), made("2", n_b, factors[0], 30))
    for said in every(comparison):
        check(said)
        if re.search(r"\b(better|worse)\b", said.text):
            assert any(row.state == "different" for row in comparison.rows if row.asked)


@pytest.mark.parametrize("pair", list(permutations(("fits@v1", "does-not-fit@v1", "hot-set@v1"), 2)))
def test_published_versions_are_compared_in_such_sentences(pair: tuple[str, str]) -> None:
    """Which share of the time the disk takes is said of the version that does not fit, and both parts are named."""
    sides = [side_of(of, EXPERIMENTS) for of in pair]
    names = [*pair, *(str(of.typical.facts.model.name) for of in sides)]
    comparison = compare(*sides)
    for said in every(comparison):
        check(Said(reduce(lambda text, name: text.replace(name, "It"), names, said.text), said.amounts))
    text = answer(comparison)
    assert re.match("(Two|Three|Four|Five|Six|Seven|Eight|Nine) settings differ ", text), text
    assert ("Waiting for the disk takes " in text) == ("Page faults with no read under way take " in text)
    assert ("Waiting for the disk takes " in text) == ("does-not-fit@v1" in pair)


def test_what_says_better_or_worse_has_both_medians_and_the_factor() -> None:
    slow, fast = ([[timed(speed * (1 + i / 100))] for i in range(7)] for speed in (10.0, 45.0))
    for a, b, factor, word in ((slow, fast, "4.50 × as fast", "better"), (fast, slow, "0.222 × as fast", "worse")):
        (line,) = prose.answers(compare(side("a", a), side("b", b, 9)))
        medians = [f"{1.03 * speed:.1f} tokens/s" for speed in ((10, 45) if word == "better" else (45, 10))]
        assert line[0].text == f"Generation speed is {medians[0]} in A and {medians[1]} in B, {factor}: {word}."
        assert [round(amount.value, 3) for amount in line[0].amounts][2:] == [4.5 if word == "better" else 0.222]


def test_bytes_need_no_repeats_and_times_do() -> None:
    """What a limit of memory does to one run."""
    a, b = (
        side(name, [[timed(read, "disk_read_bytes"), timed(speed)]], first, settings={"memory_limit_gb": limit})
        for name, read, speed, first, limit in (("a", 0.0, 151.0, 1, None), ("b", 563.0 * 2**20, 8.92, 9, 0.12))
    )
    comparison = compare(a, b)
    text = answer(comparison)
    assert text == (
        "One setting differs: memory_limit_gb is none in A and 0.12 GiB in B. Generation speed is 151 tokens/s in A "
        "and 8.92 tokens/s in B, 0.0591 × as fast. There is one run each, so the size of the effect has no error bar. "
        "After loading, A read 0 B from the disk and B 563 MiB."
    )
    states = {row.key: say.state(row, 0.05) for row in comparison.rows}
    assert states == {"disk_read_bytes": "counted in one run each", "tokens_per_second_generate": "one run each"}
    assert say.in_brief(comparison) == "0 of 2 timed measures different, 2 with one run each"
    lines = [prose.text_of(line) for line in prose.answers(comparison)]
    assert (
        lines[-1] == f"{prose.NO_ERROR_BAR.text} An interval takes at least 5 runs per side."
        and lines[1] == "After loading, A read 0 B from the disk and B 563 MiB."
    )
    of_bytes = compare(*(side(of.name, [[timed(9.0 * i, "disk_read_bytes")]]) for i, of in enumerate((a, b))))
    assert "error bar" not in answer(of_bytes)


def test_counts_that_are_written_alike_are_told_apart() -> None:
    a, b = (side(name, [[counted(479 * 2**20 + more, "peak_buffer_bytes")]]) for name, more in (("a", 0), ("b", 2048)))
    (_, said) = prose.counted(compare(a, b))
    assert said.text == "A has 479 MiB and B 479 MiB (peak buffer memory), 2.00 KiB more in B."
    check(said)
    times = prose.both(compare(side("a", [[timed(100.0)]]), side("b", [[timed(100.1)]])).rows[0], 0.05)
    assert times.text == "Generation speed is 100 tokens/s in A and 100 tokens/s in B."


def test_the_rule_is_told_in_short_sentences() -> None:
    rows = [[timed(100.0 + i)] for i in range(6)]
    for line in say.rule(compare(side("a", rows), side("b", rows[::-1], 9))):
        assert all(len(sentence.split()) <= 30 for sentence in line.split(". ")), line


def test_an_interval_without_zero_is_never_called_too_few_runs() -> None:
    """A 95th percentile that is surely higher, among so many other measures that the rule does not decide."""

    def runs(ns: float) -> list[list[tuple[Any, ...]]]:
        layers = [("layer", f"layer {k}") for k in range(30)]
        return [
            [
                timed(ns * (1 + i / 50), "token_ns_p95"),
                *(timed(9.0 + (i * k) % 7, "time", by, item, "ns") for k, (by, item) in enumerate(layers, 1)),
            ]
            for i in range(5)
        ]

    comparison = compare(side("a", runs(1e6)), side("b", runs(2.49e6), 9))
    row = comparison.named("token_ns_p95")
    assert row is not None and row.difference is not None and row.difference.low is not None
    assert row.difference.low > 0 and row.state == "interval without zero"
    assert say.state(row, 0.05).startswith("differs if tested alone (needs ")
    assert "1 different if tested alone" in say.in_brief(comparison)
    (_, why) = prose.certain(row)
    assert "excludes zero, but p = " in why.text and why.text.endswith("adjusted for all that is tested with it.")
    check(why)


def waiting(name: str, first: int, ns: tuple[float, float, float], n: int = 1) -> Side:
    rows = [timed(100.0), *(timed(of, key) for key, of in zip(WAITING, ns, strict=True))]
    return side(name, [rows] * n, first)


@pytest.mark.parametrize(
    ("ns", "said"),
    [
        ((4e6, 1e6, 3e6), ["40.0 %", "30.0 %"]),  # of a token of 10 ms
        ((4e6, 1e6, 1e6), ["40.0 %"]),
        ((4e6, 2e6, 1e6), ["40.0 %", "20.0 %"]),
        ((0.0, 0.0, 3e6), ["30.0 %"]),
        ((0.1e6, 0.0, 0.1e6), []),
    ],
)
def test_page_faults_with_no_read_are_named_where_they_changed_as_much(
    ns: tuple[float, float, float], said: list[str]
) -> None:
    found = parts(compare(waiting("a", 1, (0.0, 0.0, 0.0)), waiting("b", 9, ns)))
    assert [one.amounts[1].number for one in found] == said
    assert all("of the time of generation in A and" in one.text and one.amounts[0].value == 0 for one in found)
    for one in found:
        check(one)
    assert len({one.text.split(" take")[0] for one in found}) == len(said)


def test_a_change_of_parts_that_the_interval_does_not_show_is_not_said() -> None:
    noisy = [(3e6, 1e6, 3e6), (0.0, 0.0, 0.0), (1e6, 0.0, 5e6)] * 3
    a, b = (
        Side(name, tuple(of for i, ns in enumerate(order) for of in waiting(name, first + i, ns).runs))
        for name, order, first in (("a", noisy[1:], 1), ("b", noisy[:-1], 30))
    )
    assert parts(compare(a, b)) == []


def with_tokens(name: str, first: int, times: list[float]) -> Side:
    """A run whose generate passes take so long, with the measures of these times."""
    tables = dict(scaled_case(len(times), 1))
    passes = tables["passes"].copy()
    of = (passes["kind"] == "generate").to_numpy(bool)
    assert of.sum() == len(times)
    passes.loc[of, "end_ns"] = passes.loc[of, "begin_ns"] + pd.array([int(ns) for ns in times], "Int64")
    (run,) = of_tables(name, {**tables, "passes": passes}).runs
    return Side(name, (Measured(run.name, f"2026-11-20T12:00:{first:02d}Z", run.facts, (), run.measure, run.tables),))


def test_that_some_tokens_changed_is_said_with_mean_and_median() -> None:
    base = [1e6] * 20
    slower = [1e6] * 18 + [3.4e6] * 2
    (said,) = some_tokens(compare(with_tokens("a", 1, base), with_tokens("b", 9, slower)))
    assert said.text == (
        "The mean token takes 24.0 % longer, the median token is the same within 5 %: 2 of 20 tokens changed by more."
    )
    check(said)
    assert said.text in answer(compare(with_tokens("a", 1, base), with_tokens("b", 9, slower)))
    (back,) = some_tokens(compare(with_tokens("a", 1, slower), with_tokens("b", 9, base)))
    assert back.text.startswith("The mean token takes 19.4 % shorter")
    assert some_tokens(compare(with_tokens("a", 1, base), with_tokens("b", 9, [1.5e6] * 20))) == []
    assert some_tokens(compare(with_tokens("a", 1, base), with_tokens("b", 9, base))) == []
    (other,) = some_tokens(compare(with_tokens("a", 1, base[1:]), with_tokens("b", 9, slower)))
    assert other.text.endswith("the same within 5 %."), "tokens of texts of other lengths have no pairs"
