"""The facts of a run are typed, and stay what they were: read and written, they are the same document."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracegen.contract import facts
from tracegen.contract.facts import Facts, Host, Model, Slot
from tracegen.contract.model import Check, Run
from tracegen.contract.records import Record, decode, encode, shape_of
from tracegen.contract.shapes import ANY, NEEDED
from tracegen.publishing import privacy
from tracegen.report.pages.run_file import run_file

HERE = Path(__file__).parents[2]
VERSIONS = sorted(HERE.glob("experiments/*/versions/*/data/run.json"))
STORED = [*VERSIONS, *sorted(HERE.glob("tests/earlier/*/run.json"))]
EXECUTION = dict(
    seconds=1.5,
    prompt_tokens=6,
    prompt_ms=1,
    eval_runs=5,
    eval_ms=2.5,
    others_share=None,
    failure=None,
    of_tomorrow=[1],
)
# Groups that no stored document here has, and in each object a key that this tracegen does not know
RARE: Mapping[str, Any] = {
    "of_tomorrow": {"a": [{"b": None}]},
    "imported": {"format": "x", "files": [{"name": "a", "of_tomorrow": 1}], "left_out": ["b"], "n_records": 3},
    "control": {"traced": EXECUTION, "of_tomorrow": {}, "untraced": [EXECUTION], "without_limit": None},
    "slot": {
        **{"of_tomorrow": 1, "matrix": "m/1", "factors": {"threads": "2"}, "round": 1, "number": 1, "of": 2},
        **{"cell": "c", "cells": 2, "repeat": 1},
    },
    "repetition": {"number": 1, "of": 3, "first_run": None},
    "device": {"refused": "only root may", "of_tomorrow": None},
    "more_models": [{"of_tomorrow": 1, "n_layers": None}],
    "conditions": {"mlock": {"locked_bytes": 1, "asked_bytes": 1, "available_after_bytes": 1, "of_tomorrow": 1}},
    "host": {"memory_rate": {"threads": [1], "bytes_per_second": [1e9], "of_tomorrow": 1}, "of_tomorrow": 1},
    "stages": [{"seconds": 1, "name": "x", "of_tomorrow": True}],
}


def stored(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["facts"]
    return document


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.relative_to(HERE).as_posix())
def test_stored_facts_are_written_as_they_were_read(path: Path) -> None:
    """Every version and every run of an earlier tracegen: the same keys in the same order, the same values."""
    document = stored(path)
    known = decode(Facts, document)
    assert json.dumps(encode(known)) == json.dumps(document)
    assert known.model.n_layers == document["model"]["n_layers"] and known.host.cpu == document["host"]["cpu"]
    assert encode(known.host) == document["host"]


def test_there_are_stored_facts() -> None:
    assert len(VERSIONS) >= 4 and len(STORED) >= 7


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.parts[-5])
def test_a_version_that_is_published_again_has_the_same_file_of_its_run(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    checks = tuple(Check(**check) for check in document["checks"])
    known = decode(Facts, document["facts"])
    run = Run(document["experiment"], document["run"], document["created"], checks, known)
    assert run_file(run).encode() == path.read_bytes()


def test_unknown_keys_survive_at_every_depth() -> None:
    known = decode(Facts, RARE)
    assert json.dumps(encode(known)) == json.dumps(RARE)
    changed = replace(known, host=replace(known.host, cpu="another"), slot=None)
    assert encode(changed) == {**RARE, "host": {**RARE["host"], "cpu": "another"}, "slot": None}


def test_what_a_document_lacks_is_none_and_is_not_written() -> None:
    known = decode(Facts, {})
    assert known.model.n_layers is None and known.slot is None and known.stages == () and encode(known) == {}
    assert encode(known.model) == {} and not known.private


def test_a_record_that_is_made_here_is_written_whole() -> None:
    """Null means that it was not recorded; a group of facts that does not apply is left out."""
    made = encode(replace(Facts(), model=Model(name="m")))
    assert made["model"]["n_layers"] is None and made["exit_status"] is None
    assert not {"slot", "control", "host"} & set(made)


def test_records_are_equal_if_their_documents_are() -> None:
    assert decode(Host, {"cpu": "a", "of_tomorrow": 1}) != decode(Host, {"cpu": "a", "of_tomorrow": 2})
    assert decode(Host, encode(Host(cpu="a"))) == Host(cpu="a") != Host(cpu="b")


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ([], "facts is [], not an object"),
        ({"model": None}, "facts.model is None, not an object"),
        ({"model": {"n_layers": "4"}}, "facts.model.n_layers is '4', not a whole number or null"),
        (
            {"more_models": [{}, {"size_bytes": 1.5}]},
            "facts.more_models[1].size_bytes is 1.5, not a whole number or null",
        ),
        ({"trace": {"attached": 1}}, "facts.trace.attached is 1, not true or false or null"),
        ({"trace": {"environment": {"A": 1}}}, "facts.trace.environment.A is 1, not a text or null"),
        ({"trace": {"environment_unnamed": "x"}}, "facts.trace.environment_unnamed is 'x', not a whole number or null"),
        ({"command": "ls"}, "facts.command is 'ls', not a list"),
        ({"settings": {"flags": [1]}}, "facts.settings.flags[0] is 1, not a text"),
        ({"slot": {"matrix": "m"}}, "facts.slot.factors is missing"),
        (
            {"stages": [{"name": "read", "seconds": True}]},
            "facts.stages[0].seconds is True, not a whole number or a number",
        ),
        (
            {"control": RARE["control"] | {"traced": {**EXECUTION, "seconds": None}}},
            "facts.control.traced.seconds is None",
        ),
        ({"of_tomorrow": [float("inf")]}, "facts.of_tomorrow.0 is not a number that can be written"),
    ],
)
def test_a_value_of_another_kind_is_named_by_its_path(document: object, says: str) -> None:
    with pytest.raises(ValueError, match="facts") as refused:
        decode(Facts, document, "facts")
    assert str(refused.value).startswith(says)


SECRET = "/home/lovelace/of/countess"


def filled(shape: Any) -> Any:
    """A document of this shape, with the path in every text."""
    if isinstance(shape, tuple):
        return filled(shape[0])
    if isinstance(shape, list):
        return [filled(shape[0])]
    if isinstance(shape, Mapping):
        return {"x" if key == ANY else key: filled(of) for key, of in shape.items() if key != NEEDED}
    kinds = getattr(shape, "__args__", (shape,))
    return SECRET if shape is object or str in kinds else False if bool in kinds else 1


@pytest.mark.parametrize("private", [False, True])
def test_no_field_escapes_privacy(private: bool) -> None:
    """Text of the run is quoted as it is, or hidden whole; a path or name in any other field is replaced."""
    document = {**filled(shape_of(Facts)), "text": {"prompt": "Hello", "private": private}}
    run = Run("case", 1, "2026-11-20T12:00:00Z", (), decode(Facts, document))
    public = encode(privacy.public_run(run, ("countess", "lovelace")).facts)
    assert not [word for word in ("lovelace", "countess", "/home") if word in json.dumps(public)]
    assert ("Hello" in json.dumps(public)) is not private
    assert set(public) == set(document) and "name" not in public["host"] and public["trace"]["n_weights"] == 1


def test_every_record_is_frozen_and_compared_by_its_document() -> None:
    kinds = [kind for kind in vars(facts).values() if isinstance(kind, type) and issubclass(kind, Record)]
    assert Slot in kinds
    for kind in kinds:
        assert kind.__dataclass_params__.frozen and kind.__eq__ is Record.__eq__, kind  # type: ignore[attr-defined]
