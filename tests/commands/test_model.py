from __future__ import annotations

from pathlib import Path

import pytest

from tracegen.commands import model
from tracegen.errors import SettingsError
from tracegen.readers.gguf.file import read_model


def run(*arguments: str) -> int:
    status: int = model.command.main(list(arguments), standalone_mode=False)
    return status


def test_writes_a_model_and_says_which(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.gguf"
    assert run("demo", str(path), "--seed", "4", "--dtype", "Q4_K") == 0
    assert capsys.readouterr().out == f"{path}  {path.stat().st_size:,} bytes, random weights\n"
    model = read_model(path)
    assert model.metadata["tracegen.seed"] == 4 and "Q4_K" in set(model.tensors["dtype"])


def test_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("demo", str(tmp_path / "m.gguf"), "--split") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert len(read_model(tmp_path / "m-00001-of-00002.gguf").files) == 2


@pytest.mark.parametrize(("name", "options"), [("m.gguf", []), ("m-00002-of-00002.gguf", ["--split"])])
def test_never_writes_over_a_model(tmp_path: Path, name: str, options: list[str]) -> None:
    (tmp_path / name).write_bytes(b"dear")
    with pytest.raises(SettingsError, match=f"{name}: exists already"):
        run("demo", str(tmp_path / "m.gguf"), *options)


def test_the_name_must_end_as_models_do(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"is called NAME\.gguf"):
        run("demo", str(tmp_path / "m.bin"))
