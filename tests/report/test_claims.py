"""What a report says of its run, and no longer says where a check failed or nothing was recorded."""

import re

import pytest

from tests.builders import a_run
from tests.builders.runs import with_facts, with_groups
from tests.report.rendered import CASES, body, rendered, said_of, words
from tracegen.contract import tables as contract
from tracegen.contract.facts import Facts
from tracegen.contract.model import Check, Run
from tracegen.report.document.page import Report
from tracegen.report.figures.disk import DISK


def test_random_weights_are_called_so_on_every_page() -> None:
    said = 'index.html#random-weights">random weights</a>'
    report = rendered(CASES["dense"])
    assert all(said in page.body.partition("</header>")[0] for page in report.pages)
    assert 'id="random-weights">The model has the shape of a real model but was never trained' in report.pages[0].body
    trained = a_run(model=dict(name="real", random_weights=False))
    assert not any("random-weights" in page.body for page in rendered(CASES["dense"], trained).pages)


def test_a_run_without_facts_says_not_recorded() -> None:
    report = rendered(CASES["dense"], Run("bare", 1, "2026-11-20T12:00:00Z", (), Facts()))
    assert "Not recorded." in body(report, "method") and "No check was recorded" in body(report, "method")
    assert "None" not in words(body(report, "method"))


def plain(report: Report, key: str) -> str:
    """A page with spaces that break."""
    return body(report, key).replace("\u202f", " ")


def test_interference_is_said_above_every_time() -> None:
    why = "other programs had them"
    warned = a_run(checks=(Check("interference", "Threads had processors", "warning", "a lot", "≤ 2 %", why),))
    report = rendered(CASES["dense"], warned)
    note, more = (
        "care: threads that could run waited for a processor (a lot).",
        "Touched bytes are not affected.",
    )
    for key, first in (
        ("timeline", "fig-timeline"),
        ("graph", "fig-graph-0"),
        ("operations", "fig-components"),
        ("appendix", "fig-layers"),
        ("overview", "ran"),
    ):
        assert -1 < plain(report, key).find(note) < plain(report, key).index(f'id="{first}"')
        assert all((said in plain(report, key)) == (key == "overview") for said in ("If other programs ran", more))
    assert plain(report, "overview").partition("</header>")[2].count("a lot (limit: ≤ 2 %)") == 1
    assert note not in plain(report, "file"), "without page faults it has no times"
    assert all(note not in plain(rendered(CASES["dense"]), page.key) for page in report.pages)
    care = "Read these times with care: threads that could run waited for a processor (a lot)."
    for one, said in ((report, True), (rendered(CASES["dense"]), False)):
        assert one.finding.endswith(care) == said, "an answer about time says it, too"
        assert (care in words(body(one, "overview")).partition("Link to this figure")[0]) == said


def test_one_token_says_that_there_is_no_generate_pass() -> None:
    report = rendered(CASES["one token"])
    text = words(body(report, "overview"))
    assert "generation speed none the run has no generate pass" in text and "with 0 generate passes" in text
    assert report.values["tokens_per_second_generate"]["value"] is None
    assert "the run has no generate pass" in text and "none" in text


def test_what_was_asked_for_of_memory_and_series_is_on_the_page_of_the_method() -> None:
    """And what was not asked for is not."""
    asked = a_run(
        repetition=dict(number=2, of=5, first_run="run-001"),
        conditions=dict(
            mlock=dict(asked_bytes=2 << 30, locked_bytes=2 << 30, available_after_bytes=3 << 30),
            memory_limit=dict(limit_bytes=4 << 30, peak_bytes=None, times_reached=12, processes_killed=0),
        ),
    )
    titles = ("Repetition", "Memory locked beside the program", "Limit to the program’s memory")
    text = words(body(rendered(CASES["dense"], asked), "method"))
    assert all(title in text for title in titles) and "run-001" in text and "2.00 GiB" in text
    plain = words(body(rendered(CASES["dense"]), "method"))
    assert not any(title in plain for title in titles)


def test_the_file_is_compared_with_the_memory_that_the_run_could_have() -> None:
    """RAM without what was locked beside it, or the run's own limit: whichever is less."""
    size = int(CASES["dense"]["files"]["size_bytes"].sum())
    host = dict(memory_bytes=10 * size)

    def said(**conditions: object) -> str:
        return said_of(DISK, CASES["dense"], a_run(host=host, conditions=conditions))

    assert "10.0 % of RAM" in said() and "It may stay in memory." in said()
    held = 9 * size + size // 2  # of allocated buffers nobody knows how much is used
    locked = said(mlock=dict(asked_bytes=held, locked_bytes=held, available_after_bytes=1))
    assert "of what is left" in locked and "were locked meanwhile" in locked and "not all of it can" in locked
    limited = said(memory_limit=dict(limit_bytes=size // 2))
    assert "200.0 % of what is left" in limited and "limited to" in limited and "not all of it can" in limited


def report_of_backend(backend: str, proof: str | None = None) -> Report:
    times = dict(begin_ns=1, end_ns=2_000_001, by_op=False, proof=proof)
    split = dict(pass_id=2, split=1, backend=backend, n_nodes=1, **times)
    ops = CASES["dense"]["ops"].copy()
    ops.loc[ops.index[-1], "time_basis"] = "split"
    return rendered(CASES["dense"] | {"splits": contract.frame("splits", [split]), "ops": ops})


@pytest.mark.parametrize("backend, proof", [("BLAS", None), ("Vulkan0", "synchronise")])
def test_operations_of_another_backend_are_said_to_have_no_times(backend: str, proof: str | None) -> None:
    report = report_of_backend(backend, proof)
    overview = words(body(report, "overview"))
    assert (
        f"1 operation of all passes ran on {backend}. Only the 1 split that holds them was timed" in overview
        and "2.00 ms" in overview
    )
    assert ("until the tracer had waited for it" in overview) == (proof == "synchronise")
    assert f"operations on {backend} have no times of threads and are left out" in words(body(report, "operations"))
    assert f"nor has an operation that ran on {backend}" in words(body(report, "operations"))
    assert not any(re.search("submitted(?!_ns)", words(page.body)) for page in report.pages)  # but for the column


def test_a_split_of_a_backend_that_may_compute_later_was_submitted() -> None:
    report = report_of_backend("RPC0[10.0.0.1:50052]")
    overview = words(body(report, "overview"))
    assert (
        "1 split was submitted (2.00 ms in all for handing over); how long computing took is not recorded" in overview
    )
    assert "was timed" not in overview
    assert "time of the passes; the percentages are shares of it. Splits of RPC0" in words(body(report, "operations"))
    assert "of RPC0[10.0.0.1:50052] only that splits were submitted" in words(body(report, "operations"))
    assert "handing them over has a time, computing them has none" in words(body(report, "timeline"))
    assert "Computing " not in overview and "Computing " in words(body(report_of_backend("BLAS"), "overview"))


def test_weights_that_are_read_lazily_are_not_said_to_be_read_at_load() -> None:
    said = {}
    for n in (0, 1):
        run = with_groups(with_facts(a_run(), settings={"mmap": False}), trace={"n_weights_mapped": n})
        said[n] = said_of(DISK, CASES["dense"], run)
    assert "no operation reads the file" in said[0] and "lazily" not in said[0]
    assert "except 1 tensor that llama.cpp reads lazily, from the mapped file" in said[1]
    assert "no operation reads the file" not in said[1]
