"""Files of bundles are copied once and kept, and what is kept is what was published."""

import shutil
from pathlib import Path

import pytest

from tests.publishing.test_bundle import files_of
from tests.stand_in import a_version
from tracegen.publishing.bundle import Bundle, read_bundle
from tracegen.site import files as site_files


def a_bundle(root: Path) -> Bundle:
    version = a_version(root / "experiments")
    assert version.folder
    return read_bundle(version.folder)


def built(target: Path, bundle: Bundle) -> dict[str, bytes]:
    """What MkDocs does around us: empties the folder but for hidden names, and writes the pages."""
    site_files.keep(target)
    for path in target.iterdir():
        if not path.name.startswith("."):
            shutil.rmtree(path)
    for page in bundle.pages:
        path = target / "experiments" / "sample" / "v1" / page["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("the theme's page")
    site_files.write_files(target, {"sample/v1": bundle})
    return files_of(target)


def test_files_are_copied_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle, target = a_bundle(tmp_path), tmp_path / "site"
    target.mkdir()
    first = built(target, bundle)
    copied: list[str] = []
    copy = shutil.copyfile
    monkeypatch.setattr(shutil, "copyfile", lambda a, b: (copied.append(Path(a).name), copy(a, b)))
    assert built(target, bundle) == first
    assert not [name for name in copied if name.endswith((".svg", "0.js"))]
    pages = {f"experiments/sample/v1/{page['path']}" for page in bundle.pages}
    assert {first[page] for page in pages} == {b"the theme's page"}
    for name in set(bundle.document["manifest"]) - set(bundle.document["assets"].values()):
        if f"experiments/sample/v1/{name}" not in pages:
            assert first[f"experiments/sample/v1/{name}"] == (bundle.folder / name).read_bytes()


def change(path: Path) -> None:
    path.write_bytes(b"changed by another tool")


def change_with_the_same_size(path: Path) -> None:
    path.write_bytes(b"x" * path.stat().st_size)


def add(path: Path) -> None:
    path.with_name("more.svg").write_bytes(b"x")


@pytest.mark.parametrize("damage", [change, change_with_the_same_size, add, Path.unlink])
def test_what_changed_in_the_site_is_copied_anew(tmp_path: Path, damage: object) -> None:
    bundle, target = a_bundle(tmp_path), tmp_path / "site"
    target.mkdir()
    first = built(target, bundle)
    damage(target / "experiments" / "sample" / "v1" / "figures" / "graph.svg")  # type: ignore[operator]
    assert built(target, bundle) == first


def test_a_build_that_was_cut_short_loses_nothing(tmp_path: Path) -> None:
    bundle, target = a_bundle(tmp_path), tmp_path / "site"
    target.mkdir()
    first = built(target, bundle)
    site_files.keep(target)
    (target / "experiments" / "sample").mkdir(parents=True)
    assert built(target, bundle) == first
