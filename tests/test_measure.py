"""What `tracegen run` refuses before llama.cpp is built or run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.random_files import write_lora, write_projector
from tests.random_models import LLAMA
from tracegen.cli.main import main


def test_a_file_that_goes_with_a_model_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for path, what in (
        (write_projector(tmp_path / "mmproj.gguf"), "a multimodal projector (mmproj)"),
        (write_lora(LLAMA, tmp_path / "adapter.gguf", ["attention_q"]), "an adapter (LoRA)"),
    ):
        assert main(["run", "--name", "case", "--model", str(path), "--prompt", "The", "-n", "1"]) == 2
        message = f"{path}: is {what}, not a language model; name the model that it was made for"
        assert message in capsys.readouterr().err
    assert not (tmp_path / "experiments").exists()
