"""JSON and TOML are read within limits, and what has another form than it should is named: never a traceback."""

import ast
import copy
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import records
from tests.stand_in import a_run, a_run_folder
from tracegen.cli import main as cli
from tracegen.contract import documents, shapes
from tracegen.contract.errors import EnvironmentFailure, ModelFormatError, SettingsError, StoreError
from tracegen.contract.settings import read_experiment
from tracegen.foreign.folder import Found
from tracegen.foreign.kept import keep_all, unpacked
from tracegen.publishing import versions
from tracegen.readers.gguf.file import read_model
from tracegen.storing import store

PACKAGE = Path(documents.__file__).parent
DEEP, LONG = 100_000, "9" * 6_000
LEAST = 'question = "q"\nmodel = "moe"\ntokens = 8\n'


def test_there_is_one_reader() -> None:
    """No other module calls the parsers of Python, which take whatever they are given."""
    for path in PACKAGE.rglob("*.py"):
        if path.name == "documents.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            parses = isinstance(node, ast.Attribute) and node.attr in ("load", "loads", "JSONDecoder")
            assert "tomllib" not in names and "loads" not in names, path
            assert not (parses and isinstance(node.value, ast.Name) and node.value.id == "json"), path  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * DEEP, "nests deeper than 64"),
        ("[" * DEEP + "]" * DEEP, "nests deeper than 64"),
        ('\n{"a":' * DEEP, r"nests deeper than 64 lists or tables \(at line 66\)"),
        ('{"\\\\": ' + "[" * 64 + "]" * 64 + "}", "nests deeper"),
        (f"[{LONG}]", "more than 400 digits"),
        ("NaN", "NaN is not a number in JSON"),
        ('"\\ud83d"', "surrogates not allowed"),
        ("[1, 2", "Expecting"),
        ("", "Expecting value"),
        (b"\xff\xfe[\0]\0", "not UTF-8 at byte 0"),
        (b"[" + b" " * 5_000 + b"]", "5,002 bytes, but at most 5,000"),
    ],
)
def test_json_beyond_a_limit_is_refused_with_its_place(text: str | bytes, says: str) -> None:
    most = 5_000 if isinstance(text, bytes) else documents.MOST_JSON
    begin = time.thread_time()
    with pytest.raises(StoreError, match=f"^here: cannot be read: .*{says}.*; restore it from a copy$"):
        documents.parse_json(text, "here", most_bytes=most)
    assert time.thread_time() - begin < 2


@pytest.mark.parametrize(
    "text",
    [
        "[" * 64 + "]" * 64,
        json.dumps("[" * DEEP),
        json.dumps({'"[\\': ["{" * 99 + '\\"', "}" * 99]}),
        json.dumps(LONG),
        json.dumps([{"a": [i, "]"]} for i in range(99)]),
        "1" + "0" * 399,
        '"\\ud83d\\ude00 \\\\ud83d"',
        "\ufeff[1]",
    ],
)
def test_json_within_the_limits_is_what_python_reads(text: str) -> None:
    assert documents.parse_json(text.encode(), "here") == json.loads(text.removeprefix("\ufeff"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = " + "[" * 20_000, "nests deeper than 16"),
        ("\na = " + "{a = " * 20_000, r"nests deeper than 16 lists or tables \(at line 2\)"),
        (f"a = {LONG}", "more than 400 digits"),
        (f"a = 0x{'f' * 6_000}", "more than 400 digits"),
        (f"a = {'1_' * 3_000}1", "more than 400 digits"),
        ("a." * 50_000 + "a = 1", "a key has more than 16 parts"),
        ('"a" . ' * 50_000 + "a = 1", "a key has more than 16 parts"),
        (f"['a'.{'a.' * 50_000}a]", "a key has more than 16 parts"),
        ("b = {" + "a." * 50_000 + "a = 1}", "a key has more than 16 parts"),
        ("a = 1979-02-30", "is not TOML: "),
        ("a = ", "is not TOML: "),
        ("# " + "x" * (4 << 20), "bytes, but at most 4,194,304"),
    ],
)
def test_toml_beyond_a_limit_is_refused_with_its_place(text: str, says: str) -> None:
    begin = time.thread_time()
    with pytest.raises(SettingsError, match=f"^here: .*{says}"):
        documents.parse_toml(text, "here")
    assert time.thread_time() - begin < 2


def test_toml_within_the_limits_is_what_python_reads() -> None:
    """Brackets, dots and digits count for nothing in strings and comments."""
    many = "[.9" * 999
    text = f"""# {many} "
a = "{many}\\"{many}"
b = '{many}'
c = \"\"\"{many}
" "" \\\"\"\"{many}\"\"\"\"
d = '''{many}'{many}'''
e.f.g = [[1.5, 2.5, {{ h.i = 1979-05-27T07:32:00.5 }}], []] # {many}
"""
    read = documents.parse_toml(b"\xef\xbb\xbf" + text.encode(), "here")
    assert read["b"] == many and read["c"].count(many) == 2 and read["d"] == f"{many}'{many}"
    assert read["e"]["f"]["g"][0][1] == 2.5


@settings(max_examples=300, deadline=None)
@given(st.text("[]{}\"\\'.=,\n #a1e", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse, theirs in ((documents.parse_json, StoreError), (documents.parse_toml, SettingsError)):
        try:
            parse(text, "here")  # type: ignore[operator]
        except theirs:
            continue


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir])
def test_a_pipe_and_a_device_are_refused_and_not_waited_for(tmp_path: Path, make: Any) -> None:
    odd = tmp_path / "odd"
    make(odd)
    with pytest.raises(ModelFormatError, match="odd: is not a regular file; name a GGUF model"):
        read_model(odd)
    (tmp_path / "experiment.toml").write_text(f'{LEAST}prompt_file = "odd"\n')
    with pytest.raises(SettingsError, match=r"prompt_file: .*odd: is not a regular file"):
        read_experiment(tmp_path / "experiment.toml")
    with pytest.raises(SettingsError, match="odd: is not a regular file"):
        documents.read_toml(odd)
    odd.rename(tmp_path / "run.json")
    with pytest.raises(StoreError, match=r"run\.json: is not a regular file"):
        store.read_run(tmp_path)


def test_a_file_without_an_end_is_not_read_to_it(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(SettingsError, match="large: has more than 4,194,304 bytes"):
        documents.read_toml(path)


@pytest.mark.parametrize("name", ["²", "③", "٣", "1" * 12])
def test_a_folder_whose_name_only_looks_like_a_number_is_none(
    here: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_run_folder(here / "experiments", a_run())
    for parent in (folder.parent, here / "experiments" / "sample" / "versions"):
        (parent / name).mkdir(parents=True)
        assert store.next_number(parent) == (2 if parent == folder.parent else 1)
    assert store.run_folders(here / "experiments" / "sample") == [folder]
    assert versions.read_published(here / "experiments" / "sample", None) == []
    assert cli.main(["show", "sample", "--verify"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "shape", "says"),
    [
        ({"a": 1}, {"a": int}, ""),
        ({"a": True}, {"a": int}, "a is True, not a whole number"),
        ({"a": None}, {"a": shapes.NUMBER}, ""),
        ({"a": 1}, {"a": shapes.FLAG}, "a is 1, not true or false or null"),
        ({"a": [1, "x"]}, {"a": [int]}, "a[1] is 'x', not a whole number"),
        ({}, {shapes.NEEDED: ("a",)}, "a is missing"),
        ({"b": {"c": []}}, {"b": {shapes.ANY: {}}}, "b.c is [], not an object"),
        ({"b": [[float("inf")]]}, {}, "b.0.0 is not a number that can be written"),
        ({"b": None}, {"b": ({"c": int},)}, ""),
        ({"b": {"c": ""}}, {"b": ({"c": int},)}, "b.c is '', not a whole number"),
        ("x" * 99, {}, f"the document is '{'x' * 56}…, not an object"),
    ],
)
def test_a_form_that_is_wrong_is_named(value: object, shape: Any, says: str) -> None:
    assert shapes.problem(value, shape) == says


OTHERS: tuple[object, ...] = ([1], {"a": 1}, "x", -1, 1e308, None)


def changed(document: Any, within: Any = None) -> Iterator[Any]:
    """The document with each of its values replaced by those of other kinds, or taken away; of lists the first two."""
    within = document if within is None else within
    keys = list(within)[:12] if isinstance(within, dict) else range(min(len(within), 2))
    for key in keys:
        value = within[key]
        for other in OTHERS:
            within[key] = other
            yield document
        within[key] = value
        if isinstance(value, dict | list):
            yield from changed(document, value)
    if isinstance(within, dict):
        for key in keys:
            value = within.pop(key)
            yield document
            within[key] = value


@pytest.mark.parametrize("name", ["runs/001/run.json", "versions/1/version.json", "ledger.json", "status.json"])
def test_whatever_stands_in_a_record_is_read_or_refused_by_us(name: str) -> None:
    for document in changed(copy.deepcopy(json.loads(records.GOOD[name]))):
        records.read_as(name, json.dumps(document).encode())


def test_the_seeds_of_the_records_are_good() -> None:
    for seed in records.seeds():
        records.check(seed)
        list(records.FILES.values())[seed[0]]()


def test_a_kept_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "trace").write_bytes(os.urandom(1 << 20))
    (tmp_path / "x.zst").symlink_to("/dev/full")
    found = Found(tmp_path / "trace", "ggmlviz")
    with ThreadPoolExecutor(1) as pool, pytest.raises(EnvironmentFailure, match=r"x\.zst: cannot be written: .*space"):
        keep_all([found], {found: "x"}, tmp_path, pool)()


def test_a_kept_file_has_no_name_outside_its_folder(tmp_path: Path) -> None:
    entries = [{"name": "../x", "role": "dot"}]
    with pytest.raises(StoreError, match="holds no file named"), unpacked(tmp_path, entries, tmp_path):
        pass
