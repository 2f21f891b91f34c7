"""Bytes as what a project keeps in JSON and TOML. The first byte says which file it is, the rest is its content."""

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.builders import a_run
from tests.stand_in import a_version
from tracegen.contract.errors import TracegenError
from tracegen.contract.matrix import read_matrix
from tracegen.contract.settings import read_experiment
from tracegen.publishing import privacy, versions
from tracegen.report.document.page import outline
from tracegen.storing import store
from tracegen.storing.hashes import HashCache

LONGEST = 1 << 14
FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-records-")) / "sample"
atexit.register(shutil.rmtree, FOLDER.parent, ignore_errors=True)
a_version(FOLDER.parent)
RUN = FOLDER / "runs" / "001"
RUN.mkdir(parents=True)
(RUN / "x").write_bytes(b"")
store.write_run_file(RUN, a_run())
LEDGER = json.loads((FOLDER / "ledger.json").read_text())
SETTINGS = (
    b'question = "q"\nmodel = "moe"\nprompt = "p"\ntokens = 8\ntags = ["a"]\n[limits]\ntimeout_s = 60\n[matrix]\n'
)
SETTINGS += b"mmap = [true, false]\nrepeat = 2\nexclude = [{ mmap = true }]\n"
STATUS = b'{"schema": 1, "withdrawn": {"1": {"reason": "r", "successor": null, "created": "c", "earlier": []}}}'


def _settings() -> None:
    read_experiment(FOLDER / "experiment.toml")
    read_matrix(FOLDER / "experiment.toml")


def _run() -> None:
    run = store.read_run(RUN)
    versions.question_of(privacy.public_run(run))
    outline(run)
    with suppress(TracegenError):
        store.verify_run(RUN)


def _published() -> None:
    versions.read_published(FOLDER, HashCache(FOLDER / "none"))


FILES: Mapping[str, Callable[[], None]] = {
    "experiment.toml": _settings,
    "runs/001/run.json": _run,
    "versions/1/version.json": _published,
    "ledger.json": _published,
    "status.json": _published,
}
GOOD: Mapping[str, bytes] = {"experiment.toml": SETTINGS, "status.json": STATUS} | {
    name: (FOLDER / name).read_bytes() for name in ("runs/001/run.json", "versions/1/version.json", "ledger.json")
}


def seeds() -> Iterator[bytes]:
    """Each file as tracegen writes it."""
    for number, name in enumerate(FILES):
        yield bytes([number]) + GOOD[name]


def check(data: bytes) -> None:
    """Read the file among good ones: what it holds, or one of our errors."""
    name = list(FILES)[data[0] % len(FILES)] if data else "runs/001/run.json"
    read_as(name, data[1:])


def read_as(name: str, content: bytes) -> None:
    """Read these bytes as the file of this name, among good ones. Raises what is not an error of ours."""
    for other in ("ledger.json", "status.json", "versions/1/version.json"):
        (FOLDER / other).write_bytes(GOOD[other])
    path = FOLDER / name
    path.write_bytes(content)
    if path.name == "version.json":  # otherwise its hash says that it has changed
        entry: dict[str, Any] = {**LEDGER["versions"][0], "sha256": store.sha256_of(path)}
        (FOLDER / "ledger.json").write_text(json.dumps({**LEDGER, "versions": [entry]}))
    with suppress(TracegenError):
        FILES[name]()
