"""What NVIDIA's Nsight Systems exports as SQLite: `nsys export --type sqlite`.

CUPTI_ACTIVITY_KIND_KERNEL has begin and end of each kernel, in ns since the session began, StringIds the names, and
CUPTI_ACTIVITY_KIND_MEMCPY the copies. llama.cpp's kernels name neither tensor nor pass: a pass ends with the copy that
brings its logits to the host, which is as large as the last copy to the host. Of a CUDA graph that was traced as a
whole (the default of nsys), no kernel is recorded. That a pass evaluates up to eight tokens says its first product:
kernels for so few are compiled for their number each.
"""

import re
import sqlite3
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from tracegen.contract.errors import TraceFormatError
from tracegen.contract.kernel_names import ops_of, short_name
from tracegen.foreign.faults import Figures
from tracegen.foreign.profilers.profile import HOST, LATEST_NS, Copy, Profile

MAGIC = b"SQLite format 3\0"
MOST_ROWS = 20_000_000  # of a table
MOST_TEXT = 64 << 20  # bytes of all names
MOST_STEPS = 1_000  # of a million instructions of SQLite each, for one export: some minutes
_KERNELS, _COPIES, _GRAPHS = (f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "GRAPH_TRACE"))
_TO_DEVICE, _TO_HOST, _WITHIN = 1, 2, 8  # CUpti_ActivityMemcpyKind; others are between two devices
_DEVICE = "CUDA{}".format
_FEW = re.compile(r"mul_mat_vec\w*<.*?\(int\)(\d)\b")  # the first whole number is that of the tokens
_PRODUCT = re.compile(r"mul_mat|gemm|gemv|cutlass")


def is_export(path: Path) -> bool:
    """Whether a file is a database with what CUPTI records, or one that cannot be read."""
    try:
        with _opened(str(path), path) as database:
            names = database.execute("SELECT name FROM sqlite_master LIMIT 10000").fetchall()
    except TraceFormatError:
        return True  # to read it says what is wrong
    return any(str(name).upper().startswith("CUPTI_") for (name,) in names)


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is an SQLite database."""
    return head.startswith(MAGIC)


def read(name: str, path: Path) -> Profile:
    """The kernels and copies of an export. Raises TraceFormatError where it is none, or broken."""
    with _opened(name, path) as database:
        columns = _columns(name, database, _KERNELS)
        if not {"start", "end", "deviceId"} <= columns:
            raise TraceFormatError(
                f"{name}: is an SQLite database without kernels ({_KERNELS}); record with `nsys profile --trace cuda` "
                "and export with `nsys export --type sqlite`"
            )
        named = "demangledName" if "demangledName" in columns else "shortName"
        pid = "globalPid" if "globalPid" in columns else "0"
        rows = _rows(name, database, _KERNELS, f"start, end, deviceId, {named}, {pid}", 5)
        strings = _names(name, database, set(rows[:, 3].tolist()))
        moved = _rows(name, database, _COPIES, "start, end, deviceId, copyKind, bytes", 5)
        whole_graphs = len(_rows(name, database, _GRAPHS, "start", 1))
    if len(set(rows[:, 4].tolist())) > 1:
        raise TraceFormatError(f"{name}: has kernels of several processes, whose passes would be mixed; record one")
    order = np.argsort(rows[:, 0], kind="stable")
    begin_ns, end_ns, device, label = rows[order, :4].T
    kernels = [strings.get(number, f"kernel {number}") for number in label.tolist()]
    first, logits = _firsts(begin_ns, moved)
    ops, unnamed = ops_of(kernels)
    figures: Figures = {
        "by_kernel": len(set(kernels)),
        "unnamed": ", ".join(unnamed[:8]),
        "whole_graphs": whole_graphs,
        "nameless": len(kernels),
        "passes_by": f"a copy of {logits:,} B to the host has ended the one before" if logits else "",
    }
    return Profile(
        "Nsight Systems",
        begin_ns,
        end_ns,
        ops,
        [short_name(kernel) for kernel in kernels],
        [_DEVICE(number) for number in device.tolist()],
        np.full(len(kernels), -1, np.int64),
        first,
        _tokens(kernels, first),
        [_copy(*row) for row in moved.tolist() if row[3] != _WITHIN],
        figures,
    )


@contextmanager
def _opened(name: str, path: Path) -> Iterator[sqlite3.Connection]:
    """The database, which nothing may change. What it holds is of bounded size, and takes bounded time."""
    database = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1", uri=True)
    steps = iter(range(MOST_STEPS))
    try:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 20)
        database.set_progress_handler(lambda: next(steps, None) is None, 1_000_000)
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA cell_size_check = ON")
        yield database
    except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
        raise TraceFormatError(f"{name}: cannot be read as SQLite: {error}; export it again") from error
    finally:
        database.close()


def _columns(name: str, database: sqlite3.Connection, table: str) -> set[str]:
    """The columns of a table, empty where there is none.

    Raises TraceFormatError for a view of its name, a virtual table, and columns that are computed.
    """
    found = database.execute("SELECT type, sql FROM sqlite_master WHERE name = ? COLLATE NOCASE", (table,)).fetchall()
    for kind, sql in found:
        if kind != "table" or str(sql).upper().split()[1:2] == ["VIRTUAL"]:
            raise TraceFormatError(f"{name}: {table} is a {str(kind)[:20]} that computes; export it again")
    columns = database.execute(f"PRAGMA table_xinfo({table})").fetchall()
    if any(row[6] for row in columns):
        raise TraceFormatError(f"{name}: {table} has columns that are computed; export it again")
    return {str(row[1]) for row in columns}


def _rows(name: str, database: sqlite3.Connection, table: str, columns: str, width: int) -> np.ndarray:
    """The whole numbers of columns of a table, int64; no row where there is no such table."""
    if not _columns(name, database, table):
        return np.zeros((0, width), np.int64)
    values = array("q")
    for at, row in enumerate(database.execute(f"SELECT {columns} FROM {table}")):
        if at == MOST_ROWS:
            raise TraceFormatError(f"{name}: {table} has more than {MOST_ROWS:,} rows; record less")
        values.extend(_whole(name, table, at, value) for value in row)
    return np.frombuffer(values, np.int64).reshape(-1, width) if values else np.zeros((0, width), np.int64)


def _whole(name: str, table: str, row: int, value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value <= LATEST_NS:
        raise TraceFormatError(f"{name}: {table}: row {row}: expected a whole number, found {str(value)[:40]!r}")
    return value


def _names(name: str, database: sqlite3.Connection, wanted: set[int]) -> dict[int, str]:
    """The texts of these numbers; a number may have none."""
    found: dict[int, str] = {}
    if not {"id", "value"} <= _columns(name, database, "StringIds"):
        return found
    left = MOST_TEXT
    for number, text in database.execute("SELECT id, value FROM StringIds"):
        if number in wanted:
            found[number] = str(text)
            left -= len(found[number])
        if left < 0:
            raise TraceFormatError(f"{name}: the names of its kernels have more than {MOST_TEXT:,} bytes; record less")
    return found


def _firsts(begin_ns: np.ndarray, moved: np.ndarray) -> tuple[np.ndarray, int]:
    """Which kernel begins a pass, and the bytes of the copy that ends one (0: no copy to the host)."""
    first = np.zeros(len(begin_ns), bool)
    first[:1] = True
    to_host = moved[moved[:, 3] == _TO_HOST]
    if not len(to_host):
        return first, 0
    size = int(to_host[np.argmax(to_host[:, 0]), 4])
    ends = np.sort(to_host[to_host[:, 4] == size, 0])
    after = np.searchsorted(begin_ns, ends, "right")
    first[after[after < len(begin_ns)]] = True
    return first, size


def _tokens(kernels: list[str], first: np.ndarray) -> np.ndarray:
    """How many tokens the pass evaluates that each kernel begins, by its first product: 0 several, -1 unknown."""
    few = {kernel: _FEW.search(kernel) for kernel in set(kernels)}
    of_kernel = {kernel: int(found[1]) if found else 0 for kernel, found in few.items() if _PRODUCT.search(kernel)}
    tokens = np.full(len(kernels), -1, np.int64)
    product = -1
    for at in range(len(kernels) - 1, -1, -1):
        product = of_kernel.get(kernels[at], product)
        if first[at]:
            tokens[at], product = product, -1
    return tokens


def _copy(begin_ns: int, end_ns: int, device: int, kind: int, size_bytes: int) -> Copy:
    here = _DEVICE(device)
    source, target = {_TO_DEVICE: (HOST, here), _TO_HOST: (here, HOST)}.get(kind, ("not recorded", here))
    return Copy(begin_ns, end_ns, source, target, size_bytes)
