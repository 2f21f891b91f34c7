"""The pages of imported runs: drawn for every sample, and nothing on them claims more than the file holds."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.foreign.samples import SAMPLES, copy_of, sample
from tests.report.rendered import Undrawn, render
from tracegen.analysis import timing
from tracegen.analysis.operations import op_rows
from tracegen.foreign import importing
from tracegen.foreign.selection import found_in
from tracegen.report.document.page import Report
from tracegen.storing.progress import Progress

GGMLVIZ = (
    "01-shipped-test_trace-macos",
    "06-llama-sched-interpose",
    "07-llama-cbeval-memory",
    "10-truncated-1000-bytes",
)
RAW = re.compile(r"\b(nan|None|NaT|run-000)\b|<NA>|&lt;NA&gt;")
PLACE = Path(__file__).parents[1] / "data" / "foreign" / "ggmlviz"


@cache
def report(name: str) -> Report:
    return report_of(sample(name) if name in SAMPLES else next(PLACE.glob(f"{name}*")))


def report_of(source: Path) -> Report:
    run, tables = importing.as_run(found_in([source]), Progress())
    return render(dict(tables), replace(run, number=1), executor=Undrawn())


@cache
def words(name: str) -> str:
    return words_of(report(name))


def words_of(rendered: Report) -> str:
    """The text of all pages, without scripts and tags."""
    bodies = " ".join(page.body for page in rendered.pages)
    text = re.sub(r"<(script|style|svg)\b.*?</\1>|<[^>]+>", " ", bodies, flags=re.DOTALL)
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("name", [*SAMPLES, *GGMLVIZ])
def test_pages_say_that_the_run_was_imported_and_hold_no_raw_values(name: str) -> None:
    pages = report(name).pages
    assert all('index.html#imported">imported</a>' in page.body.partition("</header>")[0] for page in pages)
    assert 'id="imported">Another tool recorded this trace' in pages[0].body
    assert not RAW.search(words(name)), name


def test_types_that_only_a_dump_of_the_graph_gives_are_not_known_without_it(tmp_path: Path) -> None:
    text = words_of(report_of(copy_of(GPT_OSS, tmp_path / "it", ("graph-token-00000.json",))))
    assert "not known" in text and not RAW.search(text)


MOE, GPT_OSS = "v3-256-moe", "v4b-1024-gpt-oss"
# Of a sample: what its pages say, and what they do not.
SAID: list[tuple[str, str, str]] = [
    # what was not recorded reads as a sentence
    (MOE, "What follows is inferred from it. It read 11 prompt tokens", ""),
    (MOE, "output token 0, duration not recorded, graph 1", ""),
    (MOE, "Token 0 comes from the prompt, and is not drawn.", ""),
    # bytes of unknown experts are refused, and not counted as none
    (
        MOE,
        "hich experts tokens chose was not recorded, so that their bytes would count as 0",
        "touches 1.52 MiB of the",
    ),
    # times are gaps, and a share of recorded gaps is not a finding
    (MOE, "From the start of each operation to the next record", "All bars together are the whole time of the passes"),
    (GPT_OSS, "From the start of each operation to the next record", "All bars together are the whole time of the"),
    (MOE, "When the generate passes ended was not recorded", "of the time of the prompt"),
    # buffers of the KV cache alone have no peak, a trace of one operation no graph
    ("v3-256-tinyllama-shape", "uffers are missing from the log", "In buffers at their peak 44.0 MiB"),
    ("v2-128", " graph of some operations is not the graph that ran", ""),
    # weights that only a lost operand reads are not called untouched
    (GPT_OSS, "48 operands more stand in the dumps", "24 of 459 tensors"),
]


@pytest.mark.parametrize(("name", "said", "not_said"), SAID)
def test_no_more_is_said_than_was_recorded(name: str, said: str, not_said: str) -> None:
    text = words(name)
    assert said in text and not (not_said and not_said in text)


def test_work_and_waiting_that_were_not_recorded_are_unknown() -> None:
    source = found_in([sample("v3-256-moe")])
    tables = dict(importing.as_run(source, Progress())[1])
    rows = timing.top_ops(timing.timed_ops(tables, op_rows(tables)), "generate")
    assert len(rows) == 15 and rows["duration_ns"].notna().all()
    assert rows[["work_ns", "barrier_ns", "wait_ns"]].isna().all(axis=None)
