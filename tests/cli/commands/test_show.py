"""`tracegen show`: words for people, plain numbers for programs, and what it refuses."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case, without
from tests.site_project import stored
from tracegen.analysis.buffers import total_peak
from tracegen.analysis.measures import BY_KEY
from tracegen.cli.main import main
from tracegen.contract import quantities as q
from tracegen.contract.tables import frame
from tracegen.reading.folders import run_folder
from tracegen.storing import store


@pytest.fixture
def tables(here: Path) -> dict[str, pd.DataFrame]:
    """The tables of a stored run `demo`."""
    case = scaled_case(2, 1, moe=True)
    stored(Path("experiments"), a_run(), case)
    return case


def printed(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["show", "demo", *options]) == 0
    return capsys.readouterr().out


def test_json_names_units_of_its_numbers(tables: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]) -> None:
    figures = json.loads(printed(capsys, "--json"))
    generate = tables["passes"][tables["passes"]["kind"] == "generate"]
    measures, generate_ns = figures["measures"], int((generate["end_ns"] - generate["begin_ns"]).sum())
    assert measures["tokens_per_second_generate"]["value"] == pytest.approx(len(generate) / generate_ns * 1e9)
    peak = total_peak(tables)
    assert measures["peak_buffer_bytes"] == {
        "value": peak,
        "unit": "bytes",
        "text": q.size(peak),
        "label": "peak buffer memory",
    }
    assert figures["passes"] == {"load": 1, "warmup": 1, "prompt": 1, "generate": 2}
    assert figures["model"] == {
        "file": "model.gguf",
        "architecture": "llama",
        "size_bytes": 5_000_000,
        "random_weights": True,
    }
    texts = {"run", "answer", "model", "more_models", "passes", "measures", "time_by_op_ns", "verdict", "checks"}
    texts |= {"would_help", "remedies", "nothing_would", "floor", "generated"}
    assert all(isinstance(value, int | float) for key, value in figures.items() if key not in texts)
    assert all(isinstance(ns, int) for ns in figures["time_by_op_ns"].values())
    assert [check["key"] for check in figures["checks"]] == ["tracing_cost"]


def test_a_figure_of_many_passes_says_which_average_it_is(
    tables: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]
) -> None:
    """The averages themselves are those of the summary of passes; a measure of one number has none."""
    shown = printed(capsys)
    for label in ("generation speed, mean", "operations per token, median", "weights touched per token, median"):
        assert re.search(rf"^{label}  ", shown, re.MULTILINE), label
    assert "time per token, median  " in shown and "file, m" not in shown
    assert "waiting for the disk per token, mean  " in shown and "bytes" not in BY_KEY["ttft_ns"].average
    averages = {key: of.average for key, of in BY_KEY.items() if of.average}
    assert averages.keys() == {key for key in BY_KEY if re.search("_per_(token|pass|second)", key)}
    assert {BY_KEY[key].unit for key, average in averages.items() if average == "mean"} == {"tokens/s", "ns"}


def test_every_model_of_a_run_is_listed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draft = {"file": "draft.gguf", "architecture": "qwen3", "size_bytes": 3 << 20, "random_weights": False}
    stored(Path("experiments"), a_run(more_models=[draft]), scaled_case(1, 1))
    assert json.loads(printed(capsys, "--json"))["more_models"] == [draft]
    output = printed(capsys)
    assert "model.gguf, llama, 4.8 MiB (random weights)" in output and "draft.gguf, qwen3, 3.0 MiB\n" in output


def test_json_is_null_where_words_say_not_recorded(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = without(scaled_case(1, 1), "files", "tensors", "buffers", "touches")
    stored(Path("experiments"), a_run(trace=dict(events=1)), bare)
    figures = json.loads(printed(capsys, "--json"))
    unknown = ("file_bytes", "touched_bytes", "touched_share", "peak_buffer_bytes")
    assert [figures["measures"][key]["value"] for key in unknown] == [None] * 4
    assert figures["tracing_cost_share"] is None
    assert printed(capsys).count("not recorded") >= 3


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
        (("--ops", "--limit", "0"), "Invalid value for '--limit': '0' is not a number of rows; write 1 or more"),
        (("--limit", "3"), "--limit: is allowed only with --ops"),
        (("--pass", "1"), "--pass: is allowed only with --ops"),
        (("--ops", "--pass", "99"), "--pass: is 99; this run has the passes 0 to 4"),
    ],
)
def test_refusals(
    options: tuple[str, ...], message: str, tables: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "demo", *options]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ""


def test_the_largest_buffers_come_first(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [
        *(dict(time_ns=time, event="alloc", buffer_id=b, size_bytes=size) for time, b, size in ((1, 0, 0), (2, 1, 7))),
        *(dict(time_ns=time, event="alloc", buffer_id=b, size_bytes=size) for time, b, size in ((3, 2, 9), (4, 3, 0))),
        dict(time_ns=5, event="free", buffer_id=2, size_bytes=9),
    ]
    stored(Path("experiments"), a_run(), {**scaled_case(1, 1), "buffers": frame("buffers", events)})
    rows = json.loads(printed(capsys, "--buffers", "--json"))
    assert [(row["buffer_id"], row["event"]) for row in rows] == [
        (2, "alloc"),
        (2, "free"),
        (1, "alloc"),
        (0, "alloc"),
        (3, "alloc"),
    ]


def on_a_terminal(folder: Path, *arguments: str, columns: int) -> str:
    """The output of a command on a terminal of this width, without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    command = [sys.executable, "-m", "tracegen", *arguments]
    with subprocess.Popen(command, stdout=theirs, cwd=folder, env={**environment, "TERM": "xterm-256color"}) as child:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # how Linux says that nobody writes there any more
            while part := os.read(ours, 65536):
                shown += part
    os.close(ours)
    assert child.returncode == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode())


def test_a_terminal_shows_the_same_words(tables: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]) -> None:
    plain = dict(re.split(r"  +", line, maxsplit=1) for line in printed(capsys).splitlines())
    wide = on_a_terminal(Path.cwd(), "show", "demo", columns=2000)
    assert dict(re.split(r"  +", line.strip(), maxsplit=1) for line in wide.splitlines()) == plain
    narrow = on_a_terminal(Path.cwd(), "show", "demo", columns=70).splitlines()
    assert all(len(line.rstrip()) <= 70 for line in narrow)
    assert "".join("".join(narrow).split()) == "".join("".join(wide.splitlines()).split())


def test_a_table_too_wide_is_plain(tables: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]) -> None:
    plain = printed(capsys, "--buffers").splitlines()
    assert on_a_terminal(Path.cwd(), "show", "demo", "--buffers", columns=30).splitlines() == plain
    wide = on_a_terminal(Path.cwd(), "show", "demo", "--buffers", columns=250).splitlines()
    head, rule, *rows = [line for line in wide if line.strip()]
    assert head.split() == plain[0].split() and set(rule.strip()) == {"─"}
    assert [row.split() for row in rows] == [row.split() for row in plain[1:]]


def test_an_op_cannot_steer_the_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = scaled_case(1, 1)
    nodes = case["graph_nodes"]
    op = nodes["op"].astype("object").mask(nodes["op"] == "MUL_MAT", "MUL\x1b[2J[red]").astype("category")
    stored(Path("experiments"), a_run(), {**case, "graph_nodes": nodes.assign(op=op)})
    assert "time in MUL\\x1b[2J[red], measured" in printed(capsys)
    assert "time in MUL\\x1b[2J[red], measured" in on_a_terminal(here, "show", "demo", columns=200)


def test_shown_again_a_run_says_the_same_without_reading_its_tables(
    tables: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words, numbers = printed(capsys), printed(capsys, "--json")

    def refuse(*_: object) -> None:
        raise AssertionError("the tables are read again")

    with monkeypatch.context() as patch:
        patch.setattr(store, "read_tables", refuse)
        assert printed(capsys) == words and printed(capsys, "--json") == numbers
    (run_folder("demo") / "tables" / "ops.parquet").unlink()
    assert main(["show", "demo"]) == 2
    assert "ops.parquet: is missing" in capsys.readouterr().err


def test_what_is_shown_again_loads_no_tables(tmp_path: Path) -> None:
    folder = stored(tmp_path / "experiments", a_run(), scaled_case(2, 1, moe=True)).folder
    script = (
        "import sys; from tracegen.cli.main import main; main(sys.argv[1:]); "
        "print(sorted({'pandas', 'numpy', 'pyarrow'} & set(sys.modules)), file=sys.stderr)"
    )
    loaded = [
        subprocess.run(
            [sys.executable, "-c", script, "show", str(folder)],
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            check=True,
            capture_output=True,
            text=True,
        ).stderr.strip()
        for _ in range(2)
    ]
    assert loaded == ["['numpy', 'pandas', 'pyarrow']", "[]"]


@pytest.mark.parametrize("place", ["..", "../..", "/"])
def test_a_folder_without_a_name_is_no_trace(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", place]) == 2
    assert capsys.readouterr().err.startswith(f"tracegen: {place}: is neither a run nor a trace")
