"""What `tracegen run` refuses before llama.cpp is built or run."""

from pathlib import Path

import pytest

from tests.random_files import write_lora, write_projector
from tests.random_models import LLAMA
from tracegen.cli.main import main


def test_a_file_that_goes_with_a_model_is_none(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, what in (
        (write_projector(here / "mmproj.gguf"), "a multimodal projector (mmproj)"),
        (write_lora(LLAMA, here / "adapter.gguf", ["attention_q"]), "an adapter (LoRA)"),
    ):
        assert main(["run", "--name", "case", "--model", str(path), "--prompt", "The", "-n", "1"]) == 2
        message = f"{path}: is {what}, not a language model; name the model that it was made for"
        assert message in capsys.readouterr().err
    assert not (here / "experiments").exists()
