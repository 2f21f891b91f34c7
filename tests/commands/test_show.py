"""`tracegen show`: words for people, plain numbers for programs, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case, without
from tests.site_project import stored
from tracegen.analysis.buffers import total_peak
from tracegen.cli import main
from tracegen.tables import frame


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, pd.DataFrame]:
    """The tables of a stored run `demo`."""
    monkeypatch.chdir(tmp_path)
    made = scaled_case(2, 1, moe=True)
    stored(Path("experiments"), a_run(), made)
    return made


def printed(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["show", "demo", *options]) == 0
    return capsys.readouterr().out


def test_json_holds_numbers_with_their_unit_in_the_name(
    tables: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]
) -> None:
    figures = json.loads(printed(capsys, "--json"))
    generate = tables["passes"][tables["passes"]["kind"] == "generate"]
    assert figures["generate_ns"] == int((generate["end_ns"] - generate["begin_ns"]).sum())
    assert figures["tokens_per_second_generate"] == pytest.approx(len(generate) / figures["generate_ns"] * 1e9)
    assert figures["peak_buffer_bytes"] == total_peak(tables)
    assert figures["passes"] == {"load": 1, "warmup": 1, "prompt": 1, "generate": 2}
    assert figures["model"] == {
        "file": "model.gguf", "architecture": "llama", "size_bytes": 5_000_000, "random_weights": True,
    }  # fmt: skip
    words = {"run", "model", "more_models", "passes", "time_by_op_ns", "verdict", "checks"}
    assert all(isinstance(value, int | float) for key, value in figures.items() if key not in words)
    assert all(isinstance(ns, int) for ns in figures["time_by_op_ns"].values())
    assert [check["key"] for check in figures["checks"]] == ["tracing_cost"]


def test_every_model_of_a_run_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    draft = {"file": "draft.gguf", "architecture": "qwen3", "size_bytes": 3 << 20, "random_weights": False}
    stored(Path("experiments"), a_run(more_models=[draft]), scaled_case(1, 1))
    assert json.loads(printed(capsys, "--json"))["more_models"] == [draft]
    said = printed(capsys)
    assert "model.gguf, llama, 4.8 MiB (random weights)" in said and "draft.gguf, qwen3, 3.0 MiB\n" in said


def test_json_is_null_where_words_say_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    bare = without(scaled_case(1, 1), "files", "tensors", "buffers", "touches")
    stored(Path("experiments"), a_run(trace=dict(events=1)), bare)
    figures = json.loads(printed(capsys, "--json"))
    unknown = ("file_bytes", "touched_bytes", "touched_share", "peak_buffer_bytes", "tracing_cost_share")
    assert [figures[key] for key in unknown] == [None] * 5
    assert printed(capsys).count("not recorded") >= 3


def test_words_keep_their_units(tables: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]) -> None:
    words = dict(line.split("  ", 1) for line in printed(capsys).splitlines())
    assert words["prompt"].endswith(" tokens/s") and words["peak of buffers"].endswith(" MiB")
    assert words["verdict"].strip() == "complete with warnings"


def test_stats_as_json(tables: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]) -> None:
    stats = json.loads(printed(capsys, "--stats", "--json"))
    assert stats["rows"] == {name: len(table) for name, table in tables.items()}
    assert (stats["trace"]["dropped"], stats["trace"]["overhead_share"]) == (0, 0.004)


def test_rows_left_out_are_counted(tables: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "demo", "--ops", "--limit", "3", "--json"]) == 0
    captured = capsys.readouterr()
    assert [op["node"] for op in json.loads(captured.out)] == [0, 1, 2]
    assert captured.err.startswith("3 of ") and "--limit N prints more" in captured.err
    assert main(["show", "demo", "--ops", "--limit", "9999"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ops", "--limit", "-3"), "argument --limit: '-3' is no number of rows; write 1 or more"),
        (("--ops", "--limit", "0"), "argument --limit: '0' is no number of rows; write 1 or more"),
        (("--limit", "3"), "--limit is allowed together with --ops only"),
        (("--buffers", "--limit", "3"), "--limit is allowed together with --ops only"),
        (("--pass", "1"), "--pass is allowed together with --ops only"),
        (("--ops", "--pass", "99"), "--pass 99: this run has the passes 0 to 4"),
    ],
)
def test_refusals(
    options: tuple[str, ...], message: str, tables: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "demo", *options]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ""


def test_the_largest_buffers_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    events = [
        *(dict(time_ns=time, event="alloc", buffer_id=b, size_bytes=size) for time, b, size in ((1, 0, 0), (2, 1, 7))),
        *(dict(time_ns=time, event="alloc", buffer_id=b, size_bytes=size) for time, b, size in ((3, 2, 9), (4, 3, 0))),
        dict(time_ns=5, event="free", buffer_id=2, size_bytes=9),
    ]
    stored(Path("experiments"), a_run(), {**scaled_case(1, 1), "buffers": frame("buffers", events)})
    rows = json.loads(printed(capsys, "--buffers", "--json"))
    assert [(row["buffer_id"], row["event"]) for row in rows] == [
        (2, "alloc"), (2, "free"), (1, "alloc"), (0, "alloc"), (3, "alloc"),
    ]  # fmt: skip


def test_the_help_says_what_the_json_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert all(word in text for word in ("plain numbers", "_ns", "_bytes", "null: not recorded"))
