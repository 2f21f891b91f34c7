"""The files of bundles in the built site: copied once, then kept from build to build.

MkDocs empties the site folder before it builds, but leaves names that begin
with a dot. What lies below `experiments/` is put under such a name meanwhile;
afterwards a folder whose files still have the size and time of those in the
bundle goes back to its place, and only the others are copied.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from tracegen.publishing.bundle import VERSION_FILE, Bundle, files_below

ASSETS = "assets/tracegen"  # below the site's root: each asset once, however many versions use it
_KEPT = ".tracegen-kept"


def keep(target: Path, base: str) -> None:
    """Put the bundles' files of the last build where MkDocs does not remove them."""
    if (target / base).is_dir() and not (target / _KEPT).exists():  # else the last build was cut short
        (target / base).rename(target / _KEPT)


def write_files(target: Path, base: str, bundles: Mapping[str, Bundle]) -> None:
    """Bring the files of each bundle to its address below `base`; the theme's pages replace those in it."""
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
        kept, place = target / _KEPT / address, target / base / address
        for part, paths in parts.items():
            if paths != [part] and not (place / part).exists() and _same(bundle.folder / part, kept / part):
                place.mkdir(parents=True, exist_ok=True)
                (kept / part).rename(place / part)
            else:
                for path in paths:
                    _copy(bundle.folder / path, place / path)
    shutil.rmtree(target / _KEPT, ignore_errors=True)


def _same(source: Path, copy: Path) -> bool:
    """Whether two folders hold files of the same names, sizes and times."""
    return copy.is_dir() and _stamps(source) == _stamps(copy)


def _stamps(folder: Path) -> dict[str, tuple[int, int]]:
    return {name: (state.st_size, state.st_mtime_ns) for name, state in files_below(folder).items()}


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except FileNotFoundError:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    state = source.stat()
    os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
