"""The files of bundles in the built site: copied once, then kept from build to build.

MkDocs empties the site folder before it builds, but leaves names that begin with a
dot. So the folder `experiments/` gets such a name meanwhile. After the build, a part of
it whose files have the sizes and times of the bundle's moves back; others are copied.
"""

import os
import shutil
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from tracegen.contract.address import EXPERIMENTS
from tracegen.publishing.bundle import VERSION_FILE, Bundle, files_below, hashed_name

ASSETS = "assets/tracegen"  # below the site's root: each asset once, however many versions use it
_KEPT = ".tracegen-kept"


def address(name: str, content: bytes) -> str:
    """The address of an asset from the site's root."""
    return f"{ASSETS}/{hashed_name(name, content)}"


def keep(target: Path) -> None:
    """Rename the folder with the bundles' files of the last build, so that MkDocs does not remove it."""
    if (target / EXPERIMENTS).is_dir() and not (target / _KEPT).exists():  # it exists if the last build was interrupted
        (target / EXPERIMENTS).rename(target / _KEPT)


def write_files(target: Path, bundles: Mapping[str, Bundle]) -> None:
    """Write the files of each bundle below `experiments/`, without its pages: the theme's replace them."""
    for address, bundle in bundles.items():
        pages = {page["path"] for page in bundle.pages}
        assets = set(bundle.document["assets"].values())
        parts: dict[str, list[str]] = defaultdict(list)
        for path in (VERSION_FILE, *bundle.document["manifest"]):
            if path in assets:
                place = target / ASSETS / PurePosixPath(path).name
                if not place.exists():
                    _copy(bundle.folder / path, place)
            elif path not in pages:
                parts[path.split("/")[0]].append(path)
        before, place = target / _KEPT / address, target / EXPERIMENTS / address
        for part, paths in parts.items():
            kept = before / part
            if paths != [part] and not (place / part).exists() and kept.is_dir() and _same(bundle.folder / part, kept):
                place.mkdir(parents=True, exist_ok=True)
                kept.rename(place / part)
            else:
                for path in paths:
                    _copy(bundle.folder / path, place / path)
    shutil.rmtree(target / _KEPT, ignore_errors=True)


def _same(source: Path, copy: Path) -> bool:
    """Whether two folders hold files of the same names, sizes and times."""
    source_stamps, copy_stamps = (
        {name: (state.st_size, state.st_mtime_ns) for name, state in files_below(folder).items()}
        for folder in (source, copy)
    )
    return source_stamps == copy_stamps


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except FileNotFoundError:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    state = source.stat()
    os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
