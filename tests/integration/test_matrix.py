"""The matrix of `make llama-matrix`: what of it runs on the pinned release in every test run, and its table."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests import random_models
from tests.architectures.table import PAGE, page, written_models
from tests.integration.test_models import Case
from tests.model_matrix import KNOBS, Cell, Outcome, run_cell
from tests.random_files import write_random_model
from tracegen.measure.capture.llama_cpp import Build
from tracegen.storing.native import read_releases
from tracegen.storing.resources import folder

pytestmark = pytest.mark.llama

RELEASES = [upstream.version for upstream in read_releases(folder("native"))]


@pytest.mark.parametrize("cell", KNOBS, ids=lambda cell: cell.name)
def test_a_knob_on_the_pinned_release(cell: Cell, hooked: Build, tmp_path: Path) -> None:
    """Its models are those of test_models.py."""
    assert run_cell(cell, hooked.programs, tmp_path / "cell") == Outcome("ok")


def test_a_model_that_the_release_does_not_know(hooked: Build, tmp_path: Path) -> None:
    cell = Cell("new", Case(replace(random_models.LLAMA, name="llama99")))
    result = run_cell(cell, hooked.programs, tmp_path / "cell")
    assert result == Outcome("not known", "unknown model architecture: 'llama99'")


def test_a_model_that_the_release_cannot_load(hooked: Build, tmp_path: Path) -> None:
    """It knows the architecture: that is a failure, with llama.cpp's own reason."""
    outside = tuple(weight for weight in random_models.LLAMA.outside if weight.name != "output_norm.weight")
    cell = Cell("broken", Case(replace(random_models.LLAMA, outside=outside)))
    result = run_cell(cell, hooked.programs, tmp_path / "cell")
    assert result.state == "FAILED" and result.why.startswith("llama_model_load: error loading model:")
    assert "'output_norm.weight'" in result.why


def test_a_knob_that_does_nothing_and_passes_that_are_others(hooked: Build, tmp_path: Path) -> None:
    still = replace(KNOBS[0], works=lambda loaded: False)
    result = run_cell(still, hooked.programs, tmp_path / "still")
    assert result.state == "FAILED" and "prefault off did nothing" in result.why
    result = run_cell(replace(KNOBS[0], kinds=("load", "generate")), hooked.programs, tmp_path / "others")
    assert result.state == "FAILED" and "passes are load, warmup, prompt" in result.why


def test_a_toy_model_of_an_architecture(hooked: Build, tmp_path: Path) -> None:
    """What is missing is found: a matrix of a name that nobody knows, and a model that the release does not know."""
    odd = replace(random_models.LLAMA, name="llama99")
    (tmp_path / "models").mkdir()
    for name, architecture in (("llama", random_models.LLAMA), ("llama99", odd)):
        write_random_model(architecture, tmp_path / "models" / f"{name}-dense.gguf")
    written = list(written_models(hooked, tmp_path / "models", tmp_path / "runs"))
    assert [(row.name, row.verdict) for row in written] == [("llama", "complete"), ("llama99", "not recorded")]
    assert written[0].ops and not written[0].missing and "llama99" in written[1].missing
    text = page("the release", written, {"b": "why", "a": "why", "c": "not said"})
    assert "Of 2 runs\n1 are complete" in text and "| why | a, b |" in text and f"| llama | {written[0].ops} |" in text


def test_the_page_of_architectures_is_of_the_pinned_release() -> None:
    assert f"llama-cpp-python {RELEASES[-1]} " in PAGE.read_text(encoding="utf-8")
