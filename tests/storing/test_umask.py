"""The umask holds for all that tells of a run; published versions are the exception, and say so."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.cli.commands.conftest import stand_in_renderer
from tests.foreign.samples import sample
from tests.stand_in import a_project, a_run, a_run_folder, render
from tracegen.cli.commands.build import build_site
from tracegen.cli.main import main
from tracegen.site import gather as site

__all__ = ["stand_in_renderer"]


@pytest.fixture(autouse=True)
def elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stand_in_renderer: None, request: pytest.FixtureRequest
) -> Iterator[None]:
    """Work in an empty folder with a cache of its own, under the umask that the test names."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(site, "gather", partial(site.gather, render=render))
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mode & 0o777 for path in folder.rglob("*")}


def used(tmp_path: Path) -> None:
    """Import, show, make again, export, write a model, and build the site with its draft."""
    config = a_project(tmp_path)
    assert main(["import", str(sample("v3-256-moe")), "--as", "it"]) == 0
    a_run_folder(tmp_path / "experiments", a_run())
    for words in (["show", "it"], ["read", "it"], ["export", "it", "csv"], ["export", "it", "dot"]):
        assert main(words) == 0
    assert main(["model", "demo", "models/m.gguf"]) == 0
    build_site(config)


@pytest.mark.parametrize("elsewhere", [0o077], indirect=True)
def test_nobody_else_reads_what_tells_of_a_run(tmp_path: Path) -> None:
    used(tmp_path)
    found = modes(tmp_path)
    assert len(found) > 100 and {path: mode for path, mode in found.items() if mode & 0o077} == {}


@pytest.mark.parametrize("elsewhere", [0o002], indirect=True)
def test_a_group_shares_what_its_umask_says(tmp_path: Path) -> None:
    used(tmp_path)
    found = {path: mode for path, mode in modes(tmp_path).items() if "/__jinja2_" not in path}  # its own cache
    narrower = {path: mode for path, mode in found.items() if mode & 0o664 != 0o664}
    assert narrower == {}


@pytest.mark.parametrize(("elsewhere", "said"), [(0o077, True), (0o027, True), (0o022, False)], indirect=["elsewhere"])
def test_a_version_is_public_and_says_so(said: bool, capsys: pytest.CaptureFixture[str]) -> None:
    a_run_folder(Path("experiments"), a_run())
    assert main(["publish", "sample", "-m", "why"]) == 0
    version = Path("experiments/sample/versions/1")
    assert set(modes(version).values()) == {0o755, 0o644} and version.stat().st_mode & 0o777 == 0o755
    assert ("to all users of this machine, though the umask is 0" in capsys.readouterr().out) == said
