"""Two experiments of one name in different case: on some file systems they are one folder."""

from pathlib import Path

import pytest

from tests.site.test_site import gathered
from tests.stand_in import a_run, a_run_folder, a_version
from tracegen.cli.main import main
from tracegen.contract.errors import SettingsError
from tracegen.publishing.experiments import refuse_same_name

TOML = 'question = "Q?"\nmodel = "demo"\nprompt = "p"\ntokens = 2\n'
BOTH = r"experiments/Demo and \S*experiments/demo: differ only in case.*rename one of the folders"


@pytest.fixture
def experiments(here: Path) -> Path:
    folder = Path("experiments")
    (folder / "Demo").mkdir(parents=True)
    (folder / "Demo" / "experiment.toml").write_text(TOML)
    if (folder / "demo").exists():
        pytest.skip("this file system takes both names for one folder")
    return folder


def test_a_site_refuses_them(experiments: Path) -> None:
    a_version(experiments, "demo")
    with pytest.raises(SettingsError, match=BOTH):
        gathered(Path.cwd())


def test_a_folder_that_is_no_experiment_does_not_count(experiments: Path) -> None:
    (experiments / "demo").mkdir()
    (experiments / "demos").mkdir()
    (experiments / "demos" / "experiment.toml").write_text(TOML)
    assert [entry.name for entry in gathered(Path.cwd()).entries] == ["Demo", "demos"]
    refuse_same_name(experiments / "Demo")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--model", "demo", "--prompt", "p", "--name", "demo"],
        ["exec", "demo", "--", "true"],
    ],
)
def test_a_new_one_is_refused_before_it_runs(
    experiments: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "experiments/Demo and experiments/demo: differ only in case" in capsys.readouterr().err
    assert not (experiments / "demo").exists()


@pytest.mark.parametrize("extra", ["", "[matrix]\nthreads = [1, 2]\n"])
def test_one_that_is_there_is_not_run(experiments: Path, extra: str, capsys: pytest.CaptureFixture[str]) -> None:
    (experiments / "demo").mkdir()
    (experiments / "demo" / "experiment.toml").write_text(TOML + extra)
    for name in ("demo", "Demo", "experiments/demo/experiment.toml"):
        assert main(["run", name]) == 2
        assert "differ only in case" in capsys.readouterr().err


def test_one_is_run_from_its_own_folder(experiments: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (experiments / "demo").mkdir()
    (experiments / "demo" / "experiment.toml").write_text(TOML)
    monkeypatch.chdir(experiments / "demo")
    with pytest.raises(SettingsError, match=BOTH):
        refuse_same_name(Path())


def test_one_is_not_published(experiments: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_run_folder(experiments, a_run("demo"))
    assert main(["publish", "demo", "-m", "why"]) == 2
    assert "differ only in case" in capsys.readouterr().err
    assert not (experiments / "demo" / "versions").exists()
