"""The run folder: `run.json`, `raw/` (the evidence) and `tables/` (made from it).

    experiments/NAME/runs/003/
        run.json            schema, facts, checks, and a manifest: size and sha256 of every file
        raw/                the trace as written, compressed; llama.cpp's output
        tables/*.parquet    the tables of tables.py, stamped with the reader's version

A folder is written beside its place, flushed, and renamed: it is whole or absent.
pandas and pyarrow load when a table is read or written: a site of what is published
needs neither, and they take longer to load than all else that it imports.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracegen.errors import EnvironmentFailure, StoreError
from tracegen.model import Check, Run

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 1
RUN_FILE = "run.json"


def sha256_of(path: Path) -> str:
    """Hash of a file's bytes, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield a folder beside `target` that takes its place when the block ends well.

    Raises StoreError when `target` exists, EnvironmentFailure when the disk is full.
    """
    if target.exists():
        raise StoreError(f"{target}: exists already; a run or version is never written twice")
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    beside.chmod(0o755)
    try:
        yield beside
        for path in beside.rglob("*"):
            _flush(path)
        _flush(beside)
        os.rename(beside, target)
        _flush(target.parent)
    except OSError as error:
        raise EnvironmentFailure(f"{target}: could not be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def part_folder(parent: Path) -> Iterator[Path]:
    """Yield a hidden folder in `parent` that is gone after the block unless it was placed."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=".", suffix=".part", dir=parent))
        part.chmod(0o755)
    except OSError as error:
        raise EnvironmentFailure(f"{parent}: cannot be written: {error.strerror or error}") from error
    try:
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


def is_part(path: Path) -> bool:
    """Whether the path lies in, or is, a folder that is still being written."""
    return any(name.startswith(".") and name.endswith(".part") for name in path.parts)


def place_numbered(part: Path, parent: Path, finish: Callable[[int], None], *, after: int = 0) -> Path:
    """Give `part` the next free number in `parent` above `after`; `finish(number)` writes what names it.

    Two runs that end at once get two numbers: the rename is what decides.
    """
    while True:
        number = max(next_number(parent), after + 1)
        finish(number)
        try:
            for path in part.rglob("*"):
                _flush(path)
            _flush(part)
            target = parent / f"{number:03d}"
            os.rename(part, target)
            _flush(parent)
            return target
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                continue
            raise EnvironmentFailure(f"{parent}: cannot be written: {error.strerror or error}") from error


def compress(path: Path) -> None:
    """Replace a file by `NAME.zst`, or leave it alone and raise OSError."""
    import pyarrow as pa

    target = path.with_name(path.name + ".zst")
    try:
        with path.open("rb") as source, pa.output_stream(str(target), compression="zstd") as packed:
            shutil.copyfileobj(source, packed, 1 << 20)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    path.unlink()


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    """Write a file so that it is whole or unchanged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise EnvironmentFailure(f"{path}: could not be written: {error.strerror or error}") from error


def manifest_of(folder: Path, leave_out: tuple[str, ...]) -> dict[str, dict[str, object]]:
    """`{relative path: {size_bytes, sha256}}` of every file below `folder`, sorted."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        name: {"size_bytes": path.stat().st_size, "sha256": sha256_of(path)}
        for path in paths
        if (name := path.relative_to(folder).as_posix()) not in leave_out
    }


def verify_manifest(folder: Path, manifest: Mapping[str, Mapping[str, object]], leave_out: tuple[str, ...]) -> None:
    """Raise StoreError naming the first file that is missing, changed or not listed."""
    for name, entry in manifest.items():
        path = folder / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise StoreError(f"{folder}: the manifest names {name!r}, which is outside the folder")
        if not path.is_file():
            raise StoreError(f"{path}: is missing, and the manifest lists it; restore it from a copy")
        if path.stat().st_size != entry["size_bytes"] or sha256_of(path) != entry["sha256"]:
            raise StoreError(f"{path}: has changed since it was written; restore it from a copy")
    extra = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    extra -= set(manifest) | set(leave_out)
    if extra:
        raise StoreError(f"{folder / sorted(extra)[0]}: is not in the manifest; remove it")


def write_tables(folder: Path, tables: Mapping[str, pd.DataFrame], reader_version: str) -> None:
    """Write every table as `NAME.parquet`; the reader's version goes into the file's metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tracegen import tables as contract

    folder.mkdir(parents=True, exist_ok=True)
    for name in contract.BY_NAME:
        table = pa.Table.from_pandas(contract.check(name, tables[name]), preserve_index=False)
        stamp = {b"tracegen.reader": reader_version.encode(), b"tracegen.schema": str(SCHEMA).encode()}
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), **stamp})
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")


def read_tables(folder: Path, names: tuple[str, ...] | None = None) -> dict[str, pd.DataFrame]:
    """Read tables (all, or those named). Raises StoreError for a missing or broken file."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tracegen import tables as contract

    # Else a column with nulls passes through float64, which holds whole numbers up to 2**53 only.
    whole = {
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
    }
    # stored before the added tables were: it has none of them; where one is there, another that is not was lost
    older = not any((folder / f"{table.name}.parquet").exists() for table in contract.TABLES if table.added)
    made = {}
    for name in names or tuple(contract.BY_NAME):
        path = folder / f"{name}.parquet"
        try:
            stored = pq.ParquetFile(path).read()  # not read_table: it loads what data sets of many files need
        except FileNotFoundError as error:
            if contract.BY_NAME[name].added and older:
                made[name] = contract.frame(name)
                continue
            raise StoreError(f"{path}: is missing; `tracegen read` makes the tables anew") from error
        except (pa.ArrowException, OSError) as error:
            raise StoreError(f"{path}: cannot be read ({error}); `tracegen read` makes the tables anew") from error
        columns = {c: stored[c].to_pandas(types_mapper=whole.get) for c in stored.column_names}
        made[name] = contract.frame(name, columns)
    return made


def write_run_file(folder: Path, run: Run) -> None:
    """Write `run.json` with the manifest of what lies in `folder`."""
    document = {
        "schema": SCHEMA,
        "experiment": run.experiment,
        "number": run.number,
        "created": run.created,
        "verdict": run.verdict,
        "checks": [asdict(check) for check in run.checks],
        "facts": run.facts,
        "manifest": manifest_of(folder, leave_out=(RUN_FILE,)),
    }
    write_text(folder / RUN_FILE, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_run(folder: Path) -> Run:
    """Read `run.json`. Raises StoreError when it is missing, broken, or of another schema."""
    document = read_json(folder / RUN_FILE, SCHEMA)
    try:
        checks = tuple(Check(**check) for check in document["checks"])
        return Run(
            experiment=str(document["experiment"]),
            number=int(document["number"]),
            created=str(document["created"]),
            checks=checks,
            facts=document["facts"],
            folder=folder,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{folder / RUN_FILE}: lacks or garbles {error}; it was not written by tracegen") from error


def read_json(path: Path, schema: int) -> dict[str, Any]:
    """Read a JSON document that carries a `schema` number. Raises StoreError."""
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
        if "\\ud" in text.lower():  # JSON can spell half a character, which no page or table can hold
            json.dumps(document, ensure_ascii=False).encode()
    except FileNotFoundError as error:
        raise StoreError(f"{path}: is missing; the folder is not whole") from error
    except (ValueError, OSError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from error
    found = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(found, int):
        raise StoreError(f"{path}: has no schema number; it was not written by tracegen")
    if found > schema:
        raise StoreError(f"{path}: has schema {found}, this tracegen reads {schema}; use a newer tracegen")
    if found < schema:
        raise StoreError(f"{path}: has schema {found}, and no migration to {schema} is known")
    return document


def verify_run(folder: Path) -> None:
    """Raise StoreError when a file of the run is missing, changed or foreign."""
    document = read_json(folder / RUN_FILE, SCHEMA)
    verify_manifest(folder, document.get("manifest", {}), leave_out=(RUN_FILE,))


def run_folders(experiment: Path) -> list[Path]:
    """The runs of an experiment, oldest first."""
    return run_folders_in(experiment / "runs")


def run_folders_in(runs: Path) -> list[Path]:
    """The numbered folders in `runs`, oldest first; hidden ones are not whole."""
    if not runs.is_dir():
        return []
    return sorted((p for p in runs.iterdir() if p.is_dir() and p.name.isdigit()), key=lambda p: int(p.name))


def last_published_run(experiment: Path) -> int:
    """The largest number of a run that a version of the experiment holds, 0 when none does. Raises StoreError.

    Versions travel with a repository and runs do not: the numbers of the runs that are here are not all that are taken.
    """
    documents = (read_json(path, SCHEMA) for path in sorted((experiment / "versions").glob("[0-9]*/version.json")))
    return max((int(number) for document in documents for number in document.get("runs", ())), default=0)


def next_number(folder: Path) -> int:
    """The number after the largest used in `folder` (runs or versions)."""
    if not folder.is_dir():
        return 1
    return max((int(p.name) for p in folder.iterdir() if p.name.isdigit()), default=0) + 1
