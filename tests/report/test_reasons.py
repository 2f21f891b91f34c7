"""Why a phase waits, in sentences: what its memory is set beside."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.builders.runs import with_facts
from tracegen.analysis.accesses import Tables
from tracegen.analysis.causes.cause import phase_of
from tracegen.analysis.causes.found import causes
from tracegen.contract.model import Run
from tracegen.reading.notebook.loaded import load_version
from tracegen.report.figures.context import Context
from tracegen.report.findings.causes import sentences

VERSION = Path(__file__).parents[2] / "experiments/does-not-fit/versions/1"
HELD = "77.7 MiB of memory held pages of the model."


@pytest.fixture(scope="module")
def stored() -> tuple[Run, Tables]:
    loaded = load_version(VERSION)
    return loaded.measured, loaded.tables


def said(stored: tuple[Run, Tables], settings: Mapping[str, object], n_passes: int = 7, **tables: pd.DataFrame) -> str:
    context = Context(with_facts(stored[0], settings=settings), {**stored[1], **tables})
    phase = phase_of(context, "generate")
    assert phase is not None
    found = causes(context, "generate")
    phase = replace(phase, n_passes=n_passes, name="generate" if n_passes == 7 else "prompt")
    return " ".join(sentences(context, phase, found)).replace("\u202f", " ")


def test_what_passes_touch_stands_beside_the_memory_that_held_it(stored: tuple[Run, Tables]) -> None:
    assert f"The passes touch 92.1 MiB, and {HELD} Each token needs nearly all of that in" in said(stored, {})


def test_experts_that_are_more_than_the_memory_are_named(stored: tuple[Run, Tables]) -> None:
    tensors = stored[1]["tensors"]
    for experts, named in ((tensors["layer"].notna(), False), (tensors["layer"].notna() | True, True)):
        changed = tensors.assign(n_experts=pd.Series(4, tensors.index, "Int32").where(experts))
        text = said(stored, {}, tensors=changed)
        assert (f"The experts that were chosen come to 92.1 MiB, and {HELD}" in text) == named


@pytest.mark.parametrize(("prefault", "named"), [(True, True), (False, False)])
def test_a_model_that_was_read_at_load_was_read_for_nothing(
    stored: tuple[Run, Tables], prefault: bool, named: bool
) -> None:
    passes = stored[1]["passes"]
    read = passes["read_bytes"].where(passes["kind"] != "load", 90 << 20)
    text = said(stored, {"prefault": prefault}, passes=passes.assign(read_bytes=read))
    assert (f"The load had read 90.0 MiB already, and {HELD}" in text) == named


def test_each_pass_of_a_prompt_needs_the_model(stored: tuple[Run, Tables]) -> None:
    words = "The prompt was computed in 3 passes, each of which needs the model again."
    assert words in said(stored, {}, n_passes=3)
    assert "computed in" not in said(stored, {}, n_passes=1) + said(stored, {})
