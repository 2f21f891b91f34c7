import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.contract.errors import SettingsError
from tracegen.contract.matrix import matrix_from, read_matrix
from tracegen.contract.settings import experiment_from

LEAST: dict[str, Any] = {"question": "Why?", "model": "demo", "prompt": "Hello", "tokens": 4}


def matrix_of(tmp_path: Path, matrix: object, **more: object) -> Any:
    return matrix_from("a", {**LEAST, **more, "matrix": matrix}, tmp_path)


def refused(tmp_path: Path, matrix: object, **more: object) -> str:
    with pytest.raises(SettingsError) as error:
        matrix_of(tmp_path, matrix, **more)
    return str(error.value)


def test_every_combination_is_a_cell_with_these_settings(tmp_path: Path) -> None:
    matrix = matrix_of(tmp_path, {"prefault": [True, False], "threads": [1, 2, 4]}, repeat=3)
    for cell, (prefault, threads) in zip(matrix.cells, itertools.product([True, False], [1, 2, 4]), strict=True):
        assert cell.name == f"prefault={str(prefault).lower()}, threads={threads}"
        expected = experiment_from("a", {**LEAST, "prefault": prefault, "threads": threads}, tmp_path)
        assert cell.experiment == expected
    assert matrix.repeat == 3


def test_each_round_has_every_cell_once_and_the_order_is_drawn_with_the_seed(tmp_path: Path) -> None:
    matrix = matrix_of(tmp_path, {"threads": [1, 2, 3, 4, 5, 6], "repeat": 20, "order": 7})
    plan = matrix.plan_after(())
    assert [slot.number for _, slot in plan] == list(range(1, 121)) and {slot.of for _, slot in plan} == {120}
    orders = []
    for number in range(1, 21):
        turn = [cell.name for cell, slot in plan if slot.round == number]
        assert sorted(turn) == sorted(cell.name for cell in matrix.cells)
        orders.append(tuple(turn))
    assert len(set(orders)) > 15
    assert [
        c.name for c, _ in matrix_of(tmp_path, {"threads": [1, 2, 3, 4, 5, 6], "repeat": 20, "order": 7}).plan_after(())
    ] == [c.name for c, _ in plan]
    other = matrix_of(tmp_path, {"threads": [1, 2, 3, 4, 5, 6], "repeat": 20, "order": 8})
    assert [c.name for c, _ in other.plan_after(())] != [c.name for c, _ in plan]
    random.seed(0)  # the order does not depend on what else draws numbers
    assert [c.name for c, _ in matrix.plan_after(())] == [c.name for c, _ in plan]


def test_a_run_knows_the_place_of_its_values_as_they_are_written(tmp_path: Path) -> None:
    factors = {"prefault": [True, False], "threads": [4, 1, 2]}
    matrix = matrix_of(tmp_path, factors | {"repeat": 2, "exclude": [{"prefault": True, "threads": 4}]})
    plan = matrix.plan_after(())
    assert len(plan) == 10
    for cell, slot in plan:
        expected = {"prefault": factors["prefault"].index(cell.experiment.prefault)}
        assert slot.places == expected | {"threads": factors["threads"].index(cell.experiment.threads)}


def test_what_is_excluded_is_no_cell(tmp_path: Path) -> None:
    factors = {"prefault": [True, False], "repack": [True, False]}
    one = matrix_of(tmp_path, factors | {"exclude": [{"prefault": True, "repack": False}]})
    assert [cell.name for cell in one.cells] == [
        "prefault=true, repack=true",
        "prefault=false, repack=true",
        "prefault=false, repack=false",
    ]
    half = matrix_of(tmp_path, factors | {"exclude": [{"repack": False}]})
    assert [cell.name for cell in half.cells] == ["prefault=true, repack=true", "prefault=false, repack=true"]
    assert "leaves no cell" in refused(tmp_path, factors | {"exclude": [{"repack": False}, {"repack": True}]})
    assert "repack has no value 1" in refused(tmp_path, factors | {"exclude": [{"repack": 1}]})
    assert "threads is not a factor" in refused(tmp_path, factors | {"exclude": [{"threads": 1}]})
    assert "exclude" in refused(tmp_path, factors | {"exclude": [{}]})


def test_prompts_come_from_a_file_by_name(tmp_path: Path) -> None:
    (tmp_path / "prompts.json").write_text(json.dumps({"short": "Hi", "long": "Hi " * 50}))
    matrix = matrix_of(tmp_path, {"prompts": "prompts.json"})
    assert [(c.name, c.experiment.prompt) for c in matrix.cells] == [
        ("prompt=short", "Hi"),
        ("prompt=long", "Hi " * 50),
    ]
    without = {key: value for key, value in LEAST.items() if key != "prompt"}
    (tmp_path / "prompts.json").write_text(json.dumps(["one", "two"]))
    listed = matrix_from("a", without | {"matrix": {"prompts": "prompts.json"}}, tmp_path)
    assert [(c.name, c.experiment.prompt) for c in listed.cells] == [("prompt=1", "one"), ("prompt=2", "two")]
    once = matrix_of(tmp_path, {"prompts": "prompts.json", "exclude": [{"prompt": "1"}]})
    assert [c.name for c in once.cells] == ["prompt=2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"{}", "must hold texts by name"),
        (b'"text"', "must hold texts by name"),
        (b'{"a": 1}', "must hold texts by name"),
        (b'["a", "' + b"x" * 10 + b'", 3]', "must hold texts by name"),
        (b"[" * 100_000, "is not JSON"),
        (json.dumps(["x"] * 1001).encode(), "at most 1,000"),
    ],
)
def test_a_file_without_prompts_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "p.json").write_bytes(content)
    with pytest.raises(SettingsError, match=message):
        matrix_of(tmp_path, {"prompts": "p.json"})


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (3, r"matrix: is 3; must be a table"),
        ({}, "names no factor"),
        ({"repeat": 5}, "names no factor"),
        ({"threads": []}, "matrix.threads: is \\[\\]; must be a list of 1 to 1000 values"),
        ({"threads": 2}, "matrix.threads: is 2; must be a list"),
        ({"thread": [1, 2]}, "matrix.thread: is not a setting; did you mean `matrix.threads`"),
        ({"question": ["a", "b"]}, "matrix.question: is not a setting"),
        ({"threads": [1, "two"]}, "in the cell threads=two: threads: is 'two'; must be a whole number"),
        ({"threads": [1, True]}, "in the cell threads=true: threads: is true"),
        ({"threads": [1, 1]}, "matrix.threads: 1 stands twice"),
        ({"prompt": ["x" * 50 + "a", "x" * 50 + "b"]}, "stands twice; each value needs a name of its own"),
        ({"threads": list(range(1, 400)), "seed": list(range(400))}, "has 159,600 cells; at most 1,000 are allowed"),
        ({"threads": [1, 2], "repeat": 0}, "matrix.repeat: is 0"),
        ({"threads": [1, 2], "order": -1}, "matrix.order: is -1"),
        ({"threads": [1, 2], "prompts": 7}, "matrix.prompts: is 7"),
        ({"prompt": ["a"], "prompts": "p.json"}, "matrix.prompts, matrix.prompt: both are set"),
        ({"threads": list(range(1, 501)), "repeat": 21}, "are 10500 runs; a matrix has at most 10,000 runs"),
        ({"mmap": [True, False], "residency": [True]}, "in the cell mmap=false, residency=true: residency: needs mmap"),
    ],
)
def test_a_matrix_that_is_none_is_refused(tmp_path: Path, matrix: object, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        matrix_of(tmp_path, matrix)


def test_a_problem_of_many_cells_is_said_once(tmp_path: Path) -> None:
    text = refused(tmp_path, {"threads": [1, 2, 3], "nice": [0, 1]}, tokens=0)
    assert text.count("tokens: is 0") == 1 and text.startswith("1 problem:")


def test_both_repeats_are_refused(tmp_path: Path) -> None:
    assert "matrix.repeat, repeat: both are set" in refused(tmp_path, {"threads": [1, 2], "repeat": 5}, repeat=5)


def test_builds_of_llama_cpp_are_a_factor(tmp_path: Path) -> None:
    matrix = matrix_of(tmp_path, {"llama_cpp": ["old/bin-1", "new/bin-2"]})
    assert [(cell.name, cell.program) for cell in matrix.cells] == [
        ("llama_cpp=bin-1", str(tmp_path / "old/bin-1")),
        ("llama_cpp=bin-2", str(tmp_path / "new/bin-2")),
    ]


def test_the_identity_is_that_of_settings_not_of_words(tmp_path: Path) -> None:
    one = matrix_of(tmp_path, {"threads": [1, 2], "repeat": 5})
    assert one.identity == matrix_of(tmp_path, {"threads": [1, 2], "repeat": 5}, question="Other words?").identity
    assert one.identity == matrix_of(tmp_path, {"threads": [1, 2], "repeat": 5}, tags=["disk"]).identity
    others = [
        matrix_of(tmp_path, {"threads": [1, 3], "repeat": 5}),
        matrix_of(tmp_path, {"threads": [1, 2], "repeat": 6}),
        matrix_of(tmp_path, {"threads": [1, 2], "repeat": 5, "order": 1}),
        matrix_of(tmp_path, {"threads": [1, 2], "repeat": 5}, tokens=5),
    ]
    assert len({one.identity, *(other.identity for other in others)}) == 5


def test_an_experiment_without_a_matrix_has_none(tmp_path: Path) -> None:
    path = tmp_path / "a" / "experiment.toml"
    path.parent.mkdir()
    path.write_text('question = "?"\nmodel = "demo"\nprompt = "x"\ntokens = 1\n')
    assert read_matrix(path) is None
    path.write_text(path.read_text() + "[matrix]\nthreads = [1, 99999]\n")
    with pytest.raises(SettingsError, match=r"experiment.toml: 1 problem:\n  in the cell threads=99999: threads"):
        read_matrix(path)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda of: st.lists(of, max_size=4) | st.dictionaries(st.text(max_size=5), of, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["threads", "prefault", "prompt", "prompts", "exclude", "repeat", "order", "model", "llama_cpp"])


@given(st.dictionaries(KEYS | st.text(max_size=6), VALUES | st.lists(VALUES, max_size=4), max_size=4))
def test_whatever_a_matrix_holds_is_a_matrix_or_refused(tmp_path_factory: Any, matrix: dict[str, Any]) -> None:
    try:
        cells = matrix_of(tmp_path_factory.getbasetemp(), matrix).cells
    except SettingsError as error:
        assert "problem" in str(error) or "prompts" in str(error)
    else:
        assert cells and len({cell.name for cell in cells}) == len(cells)
