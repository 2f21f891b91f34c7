"""Reads and writes run folders: `run.json`, `raw/` (the evidence) and `tables/` (made from it).

    experiments/NAME/runs/003/
        run.json            schema, facts, checks, and a manifest: size and sha256 of every file
        raw/                the trace as written, compressed; llama.cpp's output
        tables/*.parquet    the tables of tables.py, stamped with the reader's version

A folder is written under a temporary name, flushed, and renamed: it is whole or absent. pandas and pyarrow are
imported only to read or write tables: a site of published versions needs neither, and they load slowly.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracegen.contract import documents, shapes, withheld
from tracegen.contract.errors import EnvironmentFailure, StoreError, TableError, os_errors
from tracegen.contract.facts import Facts
from tracegen.contract.model import Check, Run
from tracegen.contract.records import decode, encode, shape_of
from tracegen.storing import parts

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 1
RUN_FILE = "run.json"
LARGE = 100_000  # rows
_RUN: Mapping[str, Any] = {
    shapes.NEEDED: ("experiment", "number", "created", "checks", "facts"),
    "experiment": str,
    "number": int,
    "created": str,
    "checks": [shapes.CHECK],
    "facts": shape_of(Facts),
    "manifest": shapes.MANIFEST,
}


def sha256_of(path: Path) -> str:
    """The sha256 of a file in hexadecimal. Raises OSError."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def whole_folder(target: Path, *, public: bool = False) -> Iterator[Path]:
    """Yield a temporary folder beside `target` that is renamed to `target` when the block ends without an error.

    `public`: every user may read it, whatever the umask. Raises StoreError when `target` exists, EnvironmentFailure
    when it cannot be written.
    """
    if target.exists():
        raise StoreError(f"{target}: exists already, and a run or version is never written twice; move it away")
    with os_errors(f"{target}: could not be written"), parts.new_folder(target.parent) as beside:
        yield beside
        if public:
            for path in (*beside.rglob("*"), beside):
                path.chmod(0o755 if path.is_dir() else 0o644)
        flush_whole(beside)
        os.rename(beside, target)
        flush(target.parent)


@contextmanager
def part_folder(parent: Path) -> Iterator[Path]:
    """Yield a hidden folder in `parent`; after the block it is deleted, unless it was renamed.

    Raises EnvironmentFailure when `parent` cannot be written.
    """
    with ExitStack() as stack:
        with os_errors(f"{parent}: cannot be written"):
            part = stack.enter_context(parts.new_folder(parent))
        yield part


def refuse_unwritable(folder: Path, advice: str) -> None:
    """Raise EnvironmentFailure with `advice` when the folder is there and no file can be made in it."""
    if folder.is_dir():
        with os_errors(f"{folder}: cannot be written", advice=advice), parts.new_file(folder):
            pass  # only making one shows it: permissions say nothing of full disks, quotas and network file systems


def place_numbered(part: Path, parent: Path, finish: Callable[[int], None], *, after: int = 0) -> Path:
    """Rename `part` to the next free number in `parent`, larger than `after`; returns its path.

    `finish(number)` is called before each attempt, to write files that contain the number. Two runs that end at once
    get different numbers, as only one rename succeeds. Raises EnvironmentFailure when `parent` cannot be written.
    """
    while True:
        number = max(next_number(parent), after + 1)
        finish(number)
        try:
            flush_whole(part)
            target = parent / f"{number:03d}"
            os.rename(part, target)
            flush(parent)
            return target
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                continue
            raise EnvironmentFailure(f"{parent}: cannot be written: {error.strerror or error}") from error


def compress(path: Path) -> None:
    """Replace a file by `NAME.zst`. Raises OSError, and then leaves the file as it was."""
    import pyarrow as pa

    target = path.with_name(path.name + ".zst")
    try:
        with (
            path.open("rb") as source,
            for_arrow(target, "wb") as place,
            pa.output_stream(place, compression="zstd") as packed,
        ):
            shutil.copyfileobj(source, packed, 1 << 20)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    path.unlink()


def for_arrow(path: Path, mode: str) -> AbstractContextManager[Any]:
    """What Arrow can open: the path, or the open file where the path holds bytes that are no UTF-8. Raises OSError."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        return path.open(mode)
    return nullcontext(os.fspath(path))


def flush(path: Path) -> None:
    """Bring a file or folder to the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_whole(folder: Path) -> None:
    """Bring a folder and all in it to the disk, several files at a time: each waits for the device. Raises OSError."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(flush, (*folder.rglob("*"), folder)):
            pass


def write_text(path: Path, text: str) -> None:
    """Write a file atomically. Raises EnvironmentFailure, and then leaves the file as it was."""
    with os_errors(f"{path}: could not be written"), parts.new_file(path.parent) as (part, descriptor):
        with open(descriptor, "w", encoding="utf-8", closefd=False) as stream:
            stream.write(text)
        os.fsync(descriptor)
        os.replace(part, path)


def as_json(document: object) -> str:
    """The text of a file of JSON, as runs, bundles and ledgers have it."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(path: Path, document: object) -> None:
    """Write a file of JSON atomically. Raises EnvironmentFailure, and then leaves the file as it was."""
    write_text(path, as_json(document))


def manifest_of(folder: Path, leave_out: tuple[str, ...]) -> dict[str, dict[str, object]]:
    """`{relative path: {size_bytes, sha256}}` for every file below `folder` except `leave_out`, sorted by path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        name: {"size_bytes": path.stat().st_size, "sha256": sha256_of(path)}
        for path in paths
        if (name := path.relative_to(folder).as_posix()) not in leave_out
    }


def published_file(folder: Path, name: str, manifest: Mapping[str, Mapping[str, object]]) -> Path:
    """The path of a file of a published bundle. Raises StoreError when it is missing, or not as the manifest has it."""
    path = folder / name
    if name not in manifest or not path.is_file() or sha256_of(path) != manifest[name]["sha256"]:
        raise StoreError(f"{path}: is missing or has changed since it was published; restore it from a copy")
    return path


def verify_manifest(folder: Path, manifest: Mapping[str, Mapping[str, object]], leave_out: tuple[str, ...]) -> None:
    """Raise StoreError for the first file below `folder` that is missing, has changed, or is not in the manifest."""
    for name, entry in manifest.items():
        path = folder / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise StoreError(
                f"{folder}: the manifest names {name!r}, which is outside the folder; restore the manifest from a copy"
            )
        if not path.is_file():
            raise StoreError(f"{path}: is missing, although the manifest lists it; restore it from a copy")
        if path.stat().st_size != entry["size_bytes"] or sha256_of(path) != entry["sha256"]:
            raise StoreError(f"{path}: has changed since it was written; restore it from a copy")
    extra = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    extra -= set(manifest) | set(leave_out)
    if extra:
        raise StoreError(f"{folder / sorted(extra)[0]}: is not in the manifest; remove it")


def write_tables(folder: Path, tables: Mapping[str, pd.DataFrame], reader_version: str) -> None:
    """Write every table as `NAME.parquet`, with `reader_version` in its metadata.

    Raises TableError, and EnvironmentFailure naming the file that cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tracegen.contract import tables as contract

    folder.mkdir(parents=True, exist_ok=True)
    for name in contract.BY_NAME:
        table = pa.Table.from_pandas(contract.check(name, tables[name]), preserve_index=False)
        stamp = {b"tracegen.reader": reader_version.encode(), b"tracegen.schema": str(SCHEMA).encode()}
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), **stamp})
        path = folder / f"{name}.parquet"
        with os_errors(f"{path}: could not be written"), for_arrow(path, "wb") as place:
            pq.write_table(table, place, compression="zstd")


def read_tables(folder: Path, names: tuple[str, ...] | None = None) -> dict[str, pd.DataFrame]:
    """Read the tables in `names`, or all. A table that was added later is empty in an older run.

    Raises StoreError for a missing or broken file, or one whose columns or values are not those of the contract.
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tracegen.contract import tables as contract

    # Otherwise a column with nulls would become float64, which is exact only below 2**53.
    nullable = {
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
    }
    # A run has the tables of its extension and of all before it; a missing one of these was lost.
    extension = max((t.added for t in contract.TABLES if (folder / f"{t.name}.parquet").exists()), default=0)
    tables = {}
    for name in names or tuple(contract.BY_NAME):
        path = folder / f"{name}.parquet"
        if path.exists() and not path.is_file():  # a pipe would wait
            raise StoreError(f"{path}: is not a regular file; `tracegen read` makes the tables again")
        try:
            # read_table would import more, for data sets of many files
            with for_arrow(path, "rb") as place, pq.ParquetFile(place) as stored:
                # A large table is read column by column, so that it never has twice the memory that it needs.
                whole_table = stored.read(use_threads=False) if stored.metadata.num_rows < LARGE else None
                columns = {}
                for column in stored.schema_arrow.names:
                    table = whole_table if whole_table is not None else stored.read([column])
                    columns[column] = _owned(table[column].to_pandas(types_mapper=nullable.get))
            tables[name] = contract.frame(name, columns)
        except FileNotFoundError as error:
            if contract.BY_NAME[name].added > extension:
                tables[name] = contract.frame(name)
                continue
            raise StoreError(f"{path}: is missing; `tracegen read` makes the tables again") from error
        # Of a changed byte Arrow says what is wrong, except in a column's name: that is not a text, or another's name.
        except (pa.ArrowException, OSError, UnicodeDecodeError, KeyError, TableError) as error:
            raise StoreError(f"{path}: cannot be read ({error}); `tracegen read` makes the tables again") from error
    return tables


class StoredTables(Mapping[str, "pd.DataFrame"]):
    """The tables in a folder by name, each read when it is asked for: see `read_tables`."""

    def __init__(self, folder: Path) -> None:
        """Read nothing yet."""
        self._folder = folder
        self._read: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        """The table. Raises StoreError when it is missing or broken, and KeyError for a name that no table has."""
        if name not in self._read:
            self._read |= read_tables(self._folder, (name,))
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        """The names of all tables."""
        from tracegen.contract.tables import BY_NAME

        return iter(BY_NAME)

    def __len__(self) -> int:
        """How many tables there are."""
        return len(list(self))


def _owned(column: pd.Series[Any]) -> Any:
    """The values of a column that was read; numbers in memory of their own, which a table can take over."""
    import pandas as pd

    if isinstance(column.array, pd.arrays.NumpyExtensionArray):
        return column.to_numpy(copy=True)
    return column.array.copy() if isinstance(column.array, pd.arrays.IntegerArray) else column


def write_run_file(folder: Path, run: Run) -> None:
    """Write `run.json` without secrets, with a manifest of the other files in `folder`. Raises EnvironmentFailure."""
    document = {
        "schema": SCHEMA,
        "experiment": run.experiment,
        "number": run.number,
        "created": run.created,
        "verdict": run.verdict,
        "checks": [asdict(_without_secrets(check)) for check in run.checks],
        "facts": encode(withheld.facts(run.facts)),
        "manifest": manifest_of(folder, leave_out=(RUN_FILE,)),
    }
    write_json(folder / RUN_FILE, document)


def _without_secrets(check: Check) -> Check:
    found, limit, detail = (withheld.text(str(text)) for text in (check.found, check.limit, check.detail))
    return replace(check, found=found, limit=limit, detail=detail)


def read_run(folder: Path) -> Run:
    """Read `run.json`. Raises StoreError when it is missing, broken, or of another schema or form.

    What an older tracegen stored of the environment and of command lines is withheld by today's rules.
    """
    document = read_json(folder / RUN_FILE, SCHEMA, _RUN)
    try:
        checks = tuple(_without_secrets(Check(**check)) for check in document["checks"])
    except TypeError as error:
        raise StoreError(f"{folder / RUN_FILE}: a check is wrong: {error}; restore it from a copy") from error
    if document["number"] < 0:
        raise StoreError(f"{folder / RUN_FILE}: number is {document['number']}; restore it from a copy")
    facts = withheld.facts(decode(Facts, document["facts"]))
    return Run(document["experiment"], document["number"], document["created"], checks, facts, folder)


def read_json(path: Path, schema: int, shape: Mapping[str, Any]) -> dict[str, Any]:
    """Read a JSON object with this number as `schema`, and of the given shape (see shapes.py).

    Raises StoreError when it is missing, broken, or has another schema or form.
    """
    try:
        document = documents.read_json(path)
    except FileNotFoundError as error:
        raise StoreError(f"{path}: is missing; restore it from a copy") from error
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}; restore it from a copy") from error
    stored = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(document, dict) or type(stored) is not int:
        raise StoreError(f"{path}: has no schema number, so tracegen did not write it; restore it from a copy")
    if stored > schema:
        raise StoreError(f"{path}: has schema {stored}, but this tracegen reads {schema}; use a newer tracegen")
    if stored < schema:
        raise StoreError(
            f"{path}: has schema {stored}, but this tracegen reads {schema} and has no migration; use an older tracegen"
        )
    if wrong := shapes.problem(document, shape):
        raise StoreError(f"{path}: is broken: {wrong}; restore it from a copy")
    return document


def verify_run(folder: Path) -> None:
    """Raise StoreError when a file of the run is missing, has changed, or is not in its manifest."""
    document = read_json(folder / RUN_FILE, SCHEMA, _RUN)
    verify_manifest(folder, document.get("manifest", {}), leave_out=(RUN_FILE,))


def verified_evidence(folder: Path) -> Run:
    """The run in `folder`. Raises StoreError when a file of its evidence (raw/) is missing or has changed."""
    run, document = read_run(folder), read_json(folder / RUN_FILE, SCHEMA, _RUN)
    entries = document.get("manifest", {}).items()
    evidence = {name.removeprefix("raw/"): entry for name, entry in entries if name.startswith("raw/")}
    if not evidence:
        raise StoreError(
            f"{folder}: its manifest lists no evidence (raw/), so it cannot be read again; restore run.json"
        )
    verify_manifest(folder / "raw", evidence, leave_out=())
    return run


def is_number(name: str) -> bool:
    """Whether a folder has the number of a run or version as its name: digits, and no other signs that Python counts.

    A name of more than nine digits is not a number that tracegen gives.
    """
    return name.isascii() and name.isdecimal() and len(name) <= 9


def run_folders(experiment: Path) -> list[Path]:
    """The folders of an experiment's runs, oldest first."""
    return run_folders_in(experiment / "runs")


def run_folders_in(runs: Path) -> list[Path]:
    """The numbered folders in `runs`, oldest first. Folders that are still being written are left out."""
    if not runs.is_dir():
        return []
    return sorted((p for p in runs.iterdir() if is_number(p.name) and p.is_dir()), key=lambda p: int(p.name))


def last_published_run(experiment: Path) -> int:
    """The largest run number in any version of the experiment, or 0. Raises StoreError.

    A repository holds versions but not runs, so a number may be taken although no run here has it.
    """
    paths = sorted((experiment / "versions").glob("[0-9]*/version.json"))
    versions = (read_json(path, SCHEMA, {"runs": [int]}) for path in paths)
    return max((number for version in versions for number in version.get("runs", ())), default=0)


def next_number(folder: Path) -> int:
    """One more than the largest number of a run or version in `folder`."""
    if not folder.is_dir():
        return 1
    return max((int(p.name) for p in folder.iterdir() if is_number(p.name)), default=0) + 1
