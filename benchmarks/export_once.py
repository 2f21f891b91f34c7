"""`python -m benchmarks.export_once RUN FORMAT TARGET`: what `tracegen export` of a stored run takes, as JSON.

TARGET becomes a file or a folder, so its name has no suffix.
"""

import json
import sys
import time
from pathlib import Path

from benchmarks.read_once import peak_bytes
from tracegen.cli.main import main as tracegen
from tracegen.contract.errors import EnvironmentFailure


def main(run: str, format: str, target: Path) -> None:
    begin = time.perf_counter()
    status = tracegen(["export", run, format, "--out", str(target)])
    if status != 0:
        raise EnvironmentFailure(f"tracegen export {run} {format}: ended with {status}")
    seconds = time.perf_counter() - begin
    files = [path for path in target.rglob("*") if path.is_file()] if target.is_dir() else [target]
    found = {
        "seconds": seconds,
        "peak": peak_bytes(),
        "files": len([path for path in files if not path.name.startswith(".")]),
        "bytes": sum(path.stat().st_size for path in files),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
