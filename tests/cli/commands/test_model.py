from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.small_disk import needs_root, small_disk
from tracegen.cli.commands import model
from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.measure.demo import gpt_oss, whole_files
from tracegen.measure.demo.architecture import Architecture
from tracegen.measure.demo.gpt_oss import of_width
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


def test_a_split_model_is_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("demo", str(tmp_path / "m.gguf"), "--split") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert len(read_model(tmp_path / "m-00001-of-00002.gguf").files) == 2


@pytest.mark.parametrize(("name", "options"), [("m.gguf", []), ("m-00002-of-00002.gguf", ["--split"])])
def test_never_writes_over_a_model(tmp_path: Path, name: str, options: list[str]) -> None:
    (tmp_path / name).write_bytes(b"dear")
    with pytest.raises(SettingsError, match=f"{name}: exists already"):
        run("demo", str(tmp_path / "m.gguf"), *options)


@needs_root
def test_a_disk_that_is_too_small_is_named(tmp_path: Path) -> None:
    with small_disk(tmp_path, "size=2m"):
        with pytest.raises(EnvironmentFailure, match=r"m\.gguf: could not be written: No space left on device"):
            run("moe", str(tmp_path / "m.gguf"))
        assert not list(tmp_path.iterdir())


def test_the_name_must_end_as_models_do(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"is called NAME\.gguf"):
        run("demo", str(tmp_path / "m.bin"))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let gpt-oss be 10 MB whatever its size; returns the sizes that were asked for, in bytes."""
    sizes: list[float] = []

    def smallest(size_bytes: float, n_layers: int) -> Architecture:
        sizes.append(size_bytes)
        return of_width(32, n_layers)

    monkeypatch.setattr(gpt_oss, "of_size", smallest)
    return sizes


@pytest.mark.parametrize(("options", "size_gib"), [([], 4), (["--size-gb", "1"], 1), (["--size-gb", "11.3"], 11.3)])
def test_gpt_oss_is_as_large_as_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], small: list[float], options: list[str], size_gib: float
) -> None:
    path = tmp_path / "m.gguf"
    assert run("gpt-oss", str(path), "--seed", "3", *options) == 0
    assert small == [size_gib * 2**30]
    output = capsys.readouterr()
    assert output.out == f"{path}  {path.stat().st_size:,} bytes, random weights\n"
    assert output.err.startswith("write m.gguf: ")
    assert read_model(path).metadata["tracegen.seed"] == 3


@pytest.mark.parametrize(("options", "n_layers"), [([], 24), (["--layers=1"], 1)])
def test_gpt_oss_has_as_many_layers_as_asked(
    tmp_path: Path, small: list[float], options: list[str], n_layers: int
) -> None:
    path = tmp_path / "m.gguf"
    assert run("gpt-oss", str(path), *options) == 0
    model = read_model(path)
    assert model.metadata["gpt-oss.block_count"] == n_layers == model.tensors["layer"].nunique()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gpt-oss", "--size-gb", "0.99"], "model gpt-oss: 0.99 GiB is not a size for it; choose from 1 to 12"),
        (["gpt-oss", "--size-gb", "12.1"], "12.1 GiB is not a size for it; choose from 1 to 12"),
        (["gpt-oss", "--size-gb", "nan"], "nan GiB is not a size"),
        (["gpt-oss", "--seed", "-1"], "model gpt-oss: seed -1"),
        (["gpt-oss", "--dtype", "F16"], "--dtype: gpt-oss always has experts in MXFP4 and other matrices in Q8_0"),
        (["demo", "--size-gb", "4"], "--size-gb: demo has one size only; leave the option out, or write gpt-oss"),
        (["gpt-oss", "--layers", "0"], "model gpt-oss: 0 layers are not offered; choose from 1 to 24"),
        (["gpt-oss", "--layers", "25"], "model gpt-oss: 25 layers are not offered; choose from 1 to 24"),
        (["moe", "--layers", "4"], "--layers: moe has one number of layers only; leave the option out"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, small: list[float], arguments: list[str], message: str) -> None:
    with pytest.raises(SettingsError) as error:
        run(*arguments, str(tmp_path / "m.gguf"))
    assert message in str(error.value) and error.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_room_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "new" / "folder"
    free = SimpleNamespace(free=int(3.9 * 2**30))
    monkeypatch.setattr(whole_files.shutil, "disk_usage", lambda path: {tmp_path: free}[path])
    with pytest.raises(EnvironmentFailure) as error:
        run("gpt-oss", str(folder / "m.gguf"))
    message = f"{folder}: 3.9 GiB of disk are free, and 4.1 are needed; make room, or write a smaller model"
    assert str(error.value) == message and error.value.exit_code == 3
    assert list(tmp_path.iterdir()) == []
