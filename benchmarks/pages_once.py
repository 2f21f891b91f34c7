"""`python -m benchmarks.pages_once draft|version RUN TARGET`: make the pages of a stored run; what it took as JSON.

A draft is drawn as a build does it, into the folder TARGET; a version is published in RUN's experiment.
The peak is that of the largest process, imports included.
"""

import json
import resource
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.read_once import peak_bytes
from tracegen.publishing import privacy
from tracegen.storing import store


def main(kind: str, run: Path, target: Path) -> None:
    begin = time.perf_counter()
    folder = _draft(run, target) if kind == "draft" else _version(run)
    seconds = time.perf_counter() - begin
    peak = max(peak_bytes(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = {
        "folder": str(folder),
        "seconds": seconds,
        "peak": peak,
        "bytes": sum(path.stat().st_size for path in files),
        "files": len(files),
        "largest_page": max(path.stat().st_size for path in files if path.suffix == ".html"),
    }
    print(json.dumps(found))


def _draft(run: Path, target: Path) -> Path:
    """Its pages are drawn by processes of their own."""
    from tracegen.contract.errors import TracegenError
    from tracegen.site.drafts import Drawing

    with Drawing([run], target, privacy.this_machine()) as drawing:
        made = drawing.drawn[run]
    if isinstance(made, TracegenError):
        raise made
    return made.bundle.folder


def _version(run: Path) -> Path:
    from tracegen.publishing.freeze import freeze

    version = freeze(run.parent.parent, store.read_run(run), "A benchmark.", datetime.now(UTC))
    assert version.folder is not None
    return version.folder


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
