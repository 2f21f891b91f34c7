"""`tracegen sql`: what it answers, what it prints, and what it refuses."""

import csv
import io
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from tests.builders import N_EXPERTS, a_moe_run, scaled_case
from tests.site_project import HOSTILE, stored
from tracegen.cli.main import main
from tracegen.contract.errors import EnvironmentFailure
from tracegen.contract.tables import BY_NAME, data_dictionary
from tracegen.reading import queries
from tracegen.reading.notebook import loaded as notebook
from tracegen.reading.notebook.loaded import LoadedTables, LoadedVersion, load
from tracegen.reading.queries import answered, distinct, statement_of
from tracegen.storing import store

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "experiments" / "sample" / "versions" / "2")
HIGH = 2**63  # begin of the addresses that no signed number holds


@pytest.fixture(scope="module")
def runs_and_versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs 3 and 4 of `demo`, a mixture; 4 has more passes."""
    experiments = tmp_path_factory.mktemp("made") / "experiments"
    for number, n_passes in ((3, 4), (4, 6)):
        tables = scaled_case(n_passes, 2, moe=True)
        addresses = tables["placements"]["address"] + np.uint64(HIGH + number)
        tables["placements"] = tables["placements"].assign(address=addresses)
        stored(experiments, replace(a_moe_run(), number=number), tables)
    return experiments


@pytest.fixture(autouse=True)
def place(runs_and_versions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with these runs; home and temporary files lie here too."""
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path)
    Path("experiments").symlink_to(runs_and_versions)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["sql", *words]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    rows = json.loads(said(capsys, "--json", *words))
    assert isinstance(rows, list)
    return rows


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    assert main(["sql", *words]) == 2
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == before  # nothing was written
    output = capsys.readouterr()
    assert output.out == "" and "Traceback" not in output.err
    return output.err


def records(table: pd.DataFrame, address: str) -> list[dict[str, Any]]:
    """The rows as JSON holds them: plain numbers and text, null where a value is unknown."""
    plain = table.astype(object).where(table.notna(), None)
    return [{"run": address, **row} for row in plain.to_dict("records")]


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize(("run", "address"), [("demo/run-003", "demo/run-003"), (SAMPLE, "sample@v2")])
def test_tables_are_those_of_a_notebook(name: str, run: str, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = load(run).tables[name]
    order = ", ".join(f'"{key}"' for key in BY_NAME[name].key)
    rows = asked(capsys, run, f"SELECT * FROM {name} ORDER BY {order}")
    by_key = table.astype(dict.fromkeys(BY_NAME[name].key, "object")).sort_values(list(BY_NAME[name].key))
    assert rows == records(by_key, address)


def test_accesses_are_those_of_a_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    rows = asked(capsys, "demo", "SELECT * FROM accesses ORDER BY pass_id, node, slot")
    accesses = load("demo").accesses.astype({"slot": "object"}).sort_values(["pass_id", "node", "slot"])
    assert rows == records(accesses, "demo/run-004") and len(rows) > 100
    assert any(row["layer"] is None for row in rows) and any(row["layer"] is not None for row in rows)


def test_many_runs_are_kept_apart(capsys: pytest.CaptureFixture[str]) -> None:
    rows = asked(capsys, "demo/run-003", "demo", SAMPLE, "SELECT run, count(*) AS n FROM ops GROUP BY run ORDER BY run")
    n = {name: len(load(name).ops) for name in ("demo/run-003", "demo/run-004", SAMPLE)}
    assert rows == [
        {"run": "demo/run-003", "n": n["demo/run-003"]},
        {"run": "demo/run-004", "n": n["demo/run-004"]},
        {"run": "sample@v2", "n": n[SAMPLE]},
    ]
    assert n["demo/run-003"] < n["demo/run-004"]
    assert "demo: is demo/run-004, as demo/run-004 is" in refused(capsys, "demo/run-004", "demo", "SELECT 1")


def test_whole_numbers_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    addresses = [int(address) for address in load("demo").placements["address"]]
    assert min(addresses) > HIGH and sum(addresses) > 2**64
    statement = "SELECT max(address) AS most, sum(address) AS total, 1.10 AS text FROM placements"
    assert asked(capsys, "demo", statement) == [{"most": max(addresses), "total": sum(addresses), "text": 1.1}]
    assert said(capsys, "demo", statement, "--csv") == f"most,total,text\n{max(addresses)},{sum(addresses)},1.10\n"
    assert f"{max(addresses)}  {sum(addresses)}  1.10" in said(capsys, "demo", statement)


def test_null_is_no_number_and_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    statement = "SELECT layer, '' AS empty, true AS yes, [1, NULL] AS list FROM tensors WHERE layer IS NULL LIMIT 1"
    assert asked(capsys, "demo", statement) == [{"layer": None, "empty": "", "yes": True, "list": [1, None]}]
    rows = list(csv.reader(io.StringIO(said(capsys, "demo", statement, "--csv"))))
    assert rows == [["layer", "empty", "yes", "list"], ["", "", "true", "[1, null]"]]
    assert said(capsys, "demo", statement).splitlines()[1].split() == ["–", "true", "[1,", "null]"]


def test_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    statement = "SELECT run, node FROM ops WHERE node < 0"
    assert said(capsys, "demo", statement) == "no rows\n" and said(capsys, "demo", statement, "--csv") == "run,node\n"
    assert asked(capsys, "demo", statement) == []


def test_a_long_table_is_cut_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "demo", "SELECT i FROM range(25_000) t(i) ORDER BY i"]) == 0
    output = capsys.readouterr()
    assert output.out.split() == ["i", *map(str, range(100))] and output.err == "100 of 25,000 rows; --csv prints all\n"
    rows = said(capsys, "demo", "SELECT i FROM range(25_000) t(i) ORDER BY i", "--csv").split()
    assert rows == ["i", *map(str, range(25_000))]


def test_a_number_that_json_has_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "demo", "SELECT 'inf'::DOUBLE AS x", "--json"]) == 2
    assert "inf is no number in JSON" in capsys.readouterr().err
    assert said(capsys, "demo", "SELECT 'inf'::DOUBLE AS x", "--csv") == "x\ninf\n"
    message = refused(capsys, "demo", "SELECT make_timestamp_ns(begin_ns) AS x FROM passes")
    assert "column 'x' is TIMESTAMP_NS; cast it to VARCHAR" in message


@pytest.mark.parametrize(
    "statement",
    [
        "WITH p AS (SELECT kind FROM passes) SELECT kind FROM p",
        "FROM passes SELECT kind",
        "VALUES (1), (2)",
        "TABLE passes",
        "DESCRIBE passes",
        "SUMMARIZE passes",
        "SHOW TABLES",
        "PIVOT passes ON kind USING count(*) GROUP BY run",
        "PIVOT passes ON kind IN ('load', 'generate') USING count(*) GROUP BY run",
        "UNPIVOT (SELECT n_ctx, n_batch FROM contexts) ON n_ctx, n_batch",
        "SELECT count(*) FROM query_table('pas' || 'ses')",
        "-- a comment\nSELECT 1;",
    ],
)
def test_all_that_reads_is_allowed(statement: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, "demo", "--", statement)


def test_a_plan_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    plan = said(capsys, "demo", "EXPLAIN SELECT state FROM ops ORDER BY state").splitlines()
    assert len(plan) > 5 and all(line and "\\n" not in line for line in plan)


REFUSED = {
    "SELECT * FROM read_text('/etc/passwd')": "file system operations are disabled",
    "SELECT * FROM read_csv('mine.csv')": "file system operations are disabled",
    "SELECT * FROM sniff_csv('mine.csv')": "file system operations are disabled",
    "SELECT * FROM read_parquet('mine.csv')": "file system operations are disabled",
    "SELECT * FROM 'mine.csv'": "file system operations are disabled",
    "SELECT * FROM 'https://example.org/x.csv'": "file system operations are disabled",
    "SELECT * FROM glob('*')": "file system operations are disabled",
    "EXPLAIN ANALYZE COPY passes TO 'out.csv'": "file system operations are disabled",
    "COPY passes TO 'out.csv'": "is of the kind COPY",
    "EXPORT DATABASE 'out'": "is of the kind EXPORT",
    "ATTACH 'out.db'": "is of the kind ATTACH",
    "INSTALL httpfs": "is of the kind LOAD",
    "LOAD httpfs": "is of the kind LOAD",
    "SET threads = 1": "is of the kind SET",
    "RESET lock_configuration": "is of the kind SET",
    "PRAGMA database_list": "PRAGMA",
    "CALL pragma_version()": "is of the kind CALL",
    "CREATE TABLE mine AS SELECT 1": "is of the kind CREATE",
    "DROP TABLE passes": "is of the kind DROP",
    "DELETE FROM passes": "is of the kind DELETE",
    "INSERT INTO passes DEFAULT VALUES": "is of the kind INSERT",
    "BEGIN": "is of the kind TRANSACTION",
    "EXPLAIN ANALYZE CREATE TABLE mine AS SELECT 1": "read-only",
    "EXPLAIN ANALYZE DELETE FROM passes": "read-only",
    "SELECT 1; SELECT 2": "one is needed, but there are 2",
    "SELECT 1; DROP TABLE passes": "one is needed, but there are 2",
    "  ": "one is needed, but there are 0",
    "SELECT getenv('HOME')": "getenv does not exist",
    "SELECT * FROM secret": "Table with name secret does not exist",
    "SELECT * FROM pandas_scan(1)": "No function matches",
    "SELECT * FROM sqlite_scan('a', 'b')": "sqlite_scan",
    "SELECT ?": "not provided",
    "SELEC 1": "syntax error",
    "SELECT kind::INTEGER FROM passes": "Conversion Error",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_all_else_is_refused(statement: str, capsys: pytest.CaptureFixture[str]) -> None:
    secret = pd.DataFrame({"x": [1]})  # what a statement must not reach
    Path("mine.csv").write_text("a,b\n1,2\n")
    message = refused(capsys, "demo", statement)
    assert len(secret) and message.startswith("tracegen: the statement: ") and REFUSED[statement] in message
    assert message.count("\n") == 1


def test_a_statement_that_hides_a_change_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Releases of DuckDB differ in whether they know such a statement; none may run it."""
    refused(capsys, "demo", "WITH gone AS (DELETE FROM passes RETURNING *) SELECT * FROM gone")


def test_what_is_misspelt_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "demo", "SELECT nodes FROM ops")
    assert '"nodes"' in message and "the tables are files, contexts, passes" in message and "and accesses" in message
    assert "sql --schema" in message
    assert "does not exist; the tables are" in refused(capsys, "demo", "SELECT * FROM opps")
    assert "demo/run-009: there is no such run" in refused(capsys, "demo/run-009", "SELECT 1")
    assert "'demo': is the only argument; name a RUN" in refused(capsys, "demo")
    assert "Missing arguments 'RUN' and 'STATEMENT'" in refused(capsys)
    assert "'--json' is not allowed with '--csv'" in refused(capsys, "demo", "SELECT 1", "--csv", "--json")


def test_misspelt_names_need_no_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "read_tables", lambda *_: pytest.fail("the tables were read"))
    refused(capsys, "demo", "SELECT nodes FROM ops")


def test_only_named_tables_are_read(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    plain = store.read_tables

    def watched(folder: Path, names: tuple[str, ...]) -> dict[str, pd.DataFrame]:
        read.extend(names)
        return plain(folder, names)

    monkeypatch.setattr(store, "read_tables", watched)
    asked(capsys, "demo", SAMPLE, 'SELECT count(*) FROM "Ops" JOIN passes USING (run, pass_id)')
    assert read == ["passes", "ops"] * 2
    read.clear()
    asked(capsys, "demo", "SELECT count(*) FROM accesses")
    assert read == ["passes", "graph_nodes", "graph_edges", "ops", "placements", "touches"]


def test_a_version_without_the_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    version = load(SAMPLE)
    assert isinstance(version, LoadedVersion)
    bare = replace(version, tables=LoadedTables("sample@v2", {}))
    monkeypatch.setattr(notebook, "load", lambda named, only: bare)
    assert "sample@v2: holds no table 'ops'; ask the run instead" in refused(capsys, SAMPLE, "SELECT * FROM ops")


class Stream(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("options", [[], ["--csv"], ["--json"]])
def test_hostile_text_cannot_steer_a_terminal(options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tables = scaled_case(1, 1)
    names = [f"{HOSTILE}{i}" for i in range(len(tables["tensors"]))]
    tables["tensors"] = tables["tensors"].assign(name=pd.array(names, dtype=tables["tensors"]["name"].dtype))
    stored(Path("hostile"), replace(a_moe_run(), number=5), tables)
    terminal = Stream()
    monkeypatch.setattr(sys, "stdout", terminal)
    statement = 'SELECT name AS "a\x1b[2J", name AS "a\\x1b[2J" FROM tensors'
    assert main(["sql", "hostile/demo/runs/005", statement, *options]) == 0
    printed = terminal.getvalue()
    assert "onerror=alert" in printed and "\\x1b[31m" in printed.replace("\\u001b", "\\x1b")
    assert all(c.isprintable() or c == "\n" for c in printed)


def test_the_statement_from_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("SELECT 'é' AS é".encode())))
    assert asked(capsys, "demo", "-") == [{"é": "é"}]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"SELECT '\xff'")))
    assert "standard input is not written in UTF-8" in refused(capsys, "demo", "-")
    assert "is not written in UTF-8" in refused(capsys, "demo", "SELECT '\udcff'")


def test_the_schema_needs_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "--schema") == data_dictionary()
    assert "--schema: takes no run" in refused(capsys, "demo", "SELECT 1", "--schema")


PAIRS = "range(100000) a, range(100000) b"  # ten billion rows


@pytest.mark.parametrize("what", ["count(*)", "a.range"])  # the second is worked out while its rows are fetched
def test_ctrl_c_ends_a_long_statement(what: str) -> None:
    long = statement_of(f"SELECT {what} FROM {PAIRS} WHERE a.range * b.range = -1")
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        with answered(long, []) as answer:
            list(answer.rows())
    timer.join()


@pytest.mark.parametrize("turn", range(1, 6))  # the thread, what closes the database (three), and the statement
def test_ctrl_c_while_work_is_handed_over_ends_it(turn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[Future[Any]] = []

    class Pressed(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            jobs.append(super().submit(fn, *args, **kwargs))
            if len(jobs) == turn:
                raise KeyboardInterrupt
            return jobs[-1]

    long = statement_of(f"SELECT count(*) FROM {PAIRS} WHERE a.range * b.range = -1")
    monkeypatch.setattr(queries, "ThreadPoolExecutor", Pressed)
    with pytest.raises(KeyboardInterrupt), answered(long, []):
        pass
    assert all(job.done() for job in jobs)
    if turn == 5:
        assert isinstance(jobs[4].exception(), duckdb.InterruptException)


def test_too_little_memory_is_no_wrong_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is spilt: the statement ends."""
    monkeypatch.setattr(queries, "SETTINGS", {**queries.SETTINGS, "memory_limit": "50MB"})
    large = statement_of("SELECT list(i) FROM range(50_000_000) t(i)")
    with pytest.raises(EnvironmentFailure, match="needs more memory than there is"), answered(large, []) as answer:
        list(answer.rows())
    assert not list(Path("tmp").iterdir()) and not list(Path("home").iterdir())


QUESTIONS = re.findall(r"## ([^\n]+)\n(?:(?!\n## ).)*?```sql\n(.*?)```", (ROOT / "docs" / "sql.md").read_text(), re.S)


@pytest.mark.parametrize(("question", "statement"), QUESTIONS, ids=[question for question, _ in QUESTIONS])
def test_the_questions_of_the_guide(question: str, statement: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(QUESTIONS) == 5
    runs = ["demo/run-003", "demo/run-004"] if "Two runs" in question else ["demo"]
    rows = asked(capsys, *runs, statement)
    assert rows and all(value is not None for row in rows for key, value in row.items() if key not in NULL)
    if "bytes" in question:
        run = load("demo")
        generated = run.passes.loc[run.passes["kind"] == "generate"]
        used = run.accesses[run.accesses["pass_id"].isin(generated["pass_id"])]
        layer = used[(used["layer"] == 1) & (used["memory"] == "disk")]["touched_bytes"].sum()
        found = {(row["layer"], row["memory"]): row["bytes_per_token"] for row in rows}
        assert found[1, "disk"] == layer // generated["n_tokens"].sum() > 0
    if "experts" in question:
        assert [row["layer"] for row in rows] == [0, 1] and all(1 <= row["experts"] <= N_EXPERTS for row in rows)
    if "Two runs" in question:
        assert all(set(row) == {"kind", "demo/run-003", "demo/run-004"} for row in rows)
    if "kind of operation" in question:
        assert "MUL_MAT_ID" in {row["op"] for row in rows}


NULL = ("layer", "fault_ms")


def test_many_columns_of_one_name_get_names_of_their_own_in_linear_time() -> None:
    assert distinct(["a", "a", "a_1", "a", "b"]) == ("a", "a_2", "a_1", "a_3", "b")
    begin = time.thread_time()
    names = distinct(["x"] * 20_000)
    assert len(set(names)) == 20_000 and names[-1] == "x_19999"
    assert time.thread_time() - begin < 1  # a search in a list of those taken took minutes


def test_csv_holds_no_control_character(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "demo", "--csv", "select 'a' || chr(27) || '[2J' || chr(155) || chr(10) as \"x\x1b\""]) == 0
    assert capsys.readouterr().out == 'x\\x1b\n"a\\x1b[2J\\x9b\n"\n'
