"""Finds files that are not Python: templates, native sources, the sample, the cache of the user."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tracegen.contract.errors import EnvironmentFailure

if TYPE_CHECKING:
    from jinja2 import Environment

_PACKAGE = Path(__file__).parents[1]
LOCAL = Path(".tracegen")  # in a project: caches, and what commands make beside the site
SOURCES = ("*.py", "*.md", "*.txt", "*.conf")  # the files that make the program what it is


def folder(name: str) -> Path:
    """The folder `templates` or `native` of the checkout, or else of the installed package.

    Raises EnvironmentFailure when neither has it.
    """
    checkout = _PACKAGE.parents[1] / name
    if _PACKAGE.parent.name == "generator" and checkout.is_dir():
        return checkout
    installed = _PACKAGE / "_data" / name
    if installed.is_dir():
        return installed
    raise EnvironmentFailure(f"{installed}: is missing from the installation; install tracegen again")


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/tracegen`, by default `~/.cache/tracegen`. It need not exist."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tracegen"


def default_config() -> Path:
    """The `mkdocs.yml` of the checkout or of the installed package. Raises EnvironmentFailure when it is missing."""
    path = folder("templates").parent / "mkdocs.yml"
    if not path.is_file():
        raise EnvironmentFailure(f"{path}: is missing from the installation; install tracegen again")
    return path


SAMPLE = (
    "mkdocs.yml",
    "journal/index.md",
    "journal/2026-11-20-a-first-look.md",  # the entry about the sample
    "experiments/sample/experiment.toml",
    "experiments/sample/ledger.json",
    "experiments/sample/versions",
)


def sample_project() -> dict[str, Path]:
    """Relative path -> file or folder to copy, for a project with the sample site.

    Raises EnvironmentFailure when a part is missing.
    """
    root = folder("templates").parent
    for name in SAMPLE:
        if not (root / name).exists():
            raise EnvironmentFailure(f"{root / name}: is missing from the installation; install tracegen again")
    return {name: root / name for name in SAMPLE}


@cache
def templates(name: str) -> Environment:
    """Jinja2 for the templates in `templates/NAME`: it escapes all values, and an undefined name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(folder("templates") / name),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@cache
def package_version() -> str:
    """The version of the running tracegen, or `unknown`."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tracegen")
    except PackageNotFoundError:
        return "unknown"


@cache
def packages() -> dict[str, str]:
    """The packages that the running tracegen needs, and those that they need: name -> installed version.

    Empty where tracegen is not installed.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    from packaging.requirements import Requirement

    found: dict[str, str] = {}
    waiting = {("tracegen", "")}
    seen: set[tuple[str, str]] = set()
    while waiting:
        seen.add(each := waiting.pop())
        try:
            of = distribution(each[0])
        except PackageNotFoundError:
            continue  # needed only elsewhere
        found[of.name] = of.version
        for needed in map(Requirement, of.requires or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": each[1]}):
                waiting |= {(needed.name, extra) for extra in ("", *needed.extras)} - seen
    found.pop("tracegen", None)
    return dict(sorted(found.items(), key=lambda entry: entry[0].lower()))


@cache
def renderer_hash() -> str:
    """Hash of everything that decides how a page looks: version, modules, texts and templates of the package."""
    return _hash_of(*((_PACKAGE, kind) for kind in SOURCES), (folder("templates"), "*"))


@cache
def program_hash() -> str:
    """Hash of everything that decides how a run is made: version, modules, texts and native sources of the package."""
    return _hash_of(*((_PACKAGE, kind) for kind in SOURCES), (folder("native"), "*.[ch]"))


def _hash_of(*places: tuple[Path, str]) -> str:
    digest = hashlib.sha256(package_version().encode())
    for root, pattern in places:
        for path in sorted(p for p in root.rglob(pattern) if p.is_file()):
            digest.update(f"{path.relative_to(root).as_posix()}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
