"""The control on the first page, in the method, in `show` and in the text for an issue: the same line everywhere."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tests.builders import a_run
from tests.report.rendered import CASES, body, rendered, said_of, words
from tracegen.contract import tables as contract
from tracegen.contract.facts import Control
from tracegen.contract.model import Check
from tracegen.contract.records import decode, encode
from tracegen.reading.shown.figures import key_figures
from tracegen.reading.shown.words import in_words
from tracegen.report.figures.disk import DISK
from tracegen.report.pages import issue
from tracegen.report.words import control_sentences as say

MIB = 1 << 20
LIMIT = 110 * MIB


def executed(ms: float, **more: Any) -> dict[str, Any]:
    known: dict[str, Any] = dict(
        seconds=2.5,
        prompt_ms=200.0,
        prompt_tokens=47,
        eval_runs=20,
        processor_s=3.0,
        minor_faults=4,
        major_faults=3,
        read_bytes=2 << 30,
        written_bytes=4096,
        others_share=0.021,
        peak_bytes=LIMIT,
        times_reached=1234,
        failure=None,
    )
    return {**known, "eval_ms": ms, **more}


def a_control(**more: Any) -> dict[str, Any]:
    return {"traced": executed(2000.0), "untraced": [executed(1600.0)], "without_limit": None, **more}


WITHOUT = executed(125.0, peak_bytes=LIMIT + 15 * MIB, times_reached=0)
LINE = "Untraced, under the same conditions: 12.5 tokens/s; traced 10.0, by llama.cpp’s counters."
MORE = "With 15.0 MiB more memory the limit would not have been reached: untraced, 160 tokens/s."
SAID = {
    "one": (a_control(), LINE),
    "several": (
        a_control(untraced=[executed(1600.0), executed(1000.0), executed(4000.0)]),
        "Untraced, under the same conditions: 12.5 tokens/s (median of 3 runs); traced 10.0, by llama.cpp’s counters.",
    ),
    "without the limit": (a_control(without_limit=WITHOUT), f"{LINE} {MORE}"),
    "killed without the limit": (a_control(without_limit={**WITHOUT, "failure": "killed by SIGKILL"}), LINE),
    "a prompt only": (
        a_control(traced=executed(0.0), untraced=[executed(0.0, prompt_ms=100.0)]),
        "Untraced, under the same conditions: 470 tokens/s of the prompt; traced 235, by llama.cpp’s counters.",
    ),
    "no counters": (
        a_control(traced=executed(0.0, prompt_ms=None), untraced=[executed(0.0, prompt_ms=None, seconds=2.0)]),
        "Untraced, under the same conditions: 2 s; traced 2.5 s.",
    ),
    "none that ended": (a_control(untraced=[executed(1.0, failure="exit status 1")]), ""),
    "nothing": (None, ""),
}


@pytest.mark.parametrize(("control", "said"), SAID.values(), ids=SAID)
def test_the_line_says_both_speeds(control: dict[str, Any] | None, said: str) -> None:
    known = control and decode(Control, control)
    assert say.untraced(known, ()).replace("\u202f", " ").replace("\u2009", " ") == said


def test_what_the_noise_leaves_open_is_said() -> None:
    open_one = Check("observer", "Speed agrees", "not checked", "not decided: 25.0 % slower (± 30.0 %)", "≤ 2 %")
    control = decode(Control, a_control())
    assert f"{LINE} Whether tracing made that difference is not decided." == say.untraced(control, [open_one])
    assert say.untraced(control, [replace(open_one, state="passed")]) == LINE


def test_the_line_stands_on_the_first_page_in_show_and_in_the_issue_text() -> None:
    run = a_run(control=a_control(without_limit=WITHOUT))
    report = rendered(CASES["dense"], run)
    assert f"{LINE} {MORE}" in words(body(report, "overview")).replace("\u202f", " ")
    method = words(body(report, "method")).replace("\u202f", " ")
    assert "Traced and untraced" in method and "limit reached 1 234 times" in method and "3 major page faults" in method
    assert LINE.encode() in report.files[issue.PATH]
    figures = key_figures(run, CASES["dense"])
    assert figures["control"] == encode(run.facts.control)
    assert in_words(figures)["control"] == f"{LINE} {MORE}"


def test_without_a_control_nothing_is_said_of_it() -> None:
    report = rendered(CASES["dense"])
    assert "Untraced" not in words(body(report, "overview")) and 'id="control"' not in body(report, "overview")
    assert "control" not in in_words(key_figures(a_run(), CASES["dense"]))


def limited(**conditions: object) -> str:
    limit = dict(asked_bytes=LIMIT, limit_bytes=LIMIT, peak_bytes=LIMIT, times_reached=379_784) | conditions
    ids = CASES["dense"]["passes"]["pass_id"].tolist()
    rows = [
        dict(pass_id=of, kind=kind, resident_bytes=size * MIB)
        for of in ids
        for kind, size in (("anon", 27), ("group", 107))
    ]
    tables: dict[str, pd.DataFrame] = {**CASES["dense"], "memory": contract.frame("memory", rows)}
    run = a_run(conditions={"memory_limit": limit}, control=a_control(without_limit=WITHOUT))
    return said_of(DISK, tables, run)


def test_a_limited_run_says_what_it_held_and_how_often_it_was_at_its_limit() -> None:
    text = limited()
    assert "Resident memory of the program 107 MiB 27.0 MiB of its own" in text
    assert "Memory limit 110 MiB Peak: 110 MiB. Limit reached: 379 784 times." in text
    assert "Memory without the limit, untraced 125 MiB 15.0 MiB more than under the limit" in text
    assert "File against memory" not in text
    assert "leave" not in text and "may stay in memory" not in text


def test_a_limit_that_was_never_reached_and_one_that_nobody_counts() -> None:
    assert "Limit reached: never." in limited(times_reached=0) and "may stay in memory" in limited(times_reached=0)
    assert "Limit reached: not recorded." in limited(times_reached=None)
