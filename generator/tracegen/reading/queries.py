"""Answers a statement in SQL about the tables of runs and versions: read-only, and closed to all else.

Each table of tables.py is a table of its name, with a first column `run`: the address of the run or version. One more,
`accesses`, is the join of analysis/accesses.py. DuckDB runs the statement in memory, in a transaction that cannot
write; before the statement begins, files, network, extensions and settings are shut.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import duckdb
import pandas as pd
import pyarrow as pa

from tracegen.analysis.accesses import accesses
from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.contract.tables import BY_NAME, empty

Result = TypeVar("Result")
ACCESSES = "accesses"
ACCESSES_NEED = ("passes", "ops", "graph_nodes", "graph_edges", "placements", "touches")
# MULTI is what PIVOT becomes; what else it may hold, the transaction refuses.
READING = ("SELECT", "EXPLAIN", "MULTI")
SETTINGS: Mapping[str, str | bool | int] = {
    "threads": min(4, os.cpu_count() or 1),
    "temp_directory": "",  # what does not fit into memory fails, and is not written
    "allow_persistent_secrets": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}
SQL_TYPES: Mapping[str, str] = {
    "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT", "uint64": "UBIGINT", "float64": "DOUBLE",
    "bool": "BOOLEAN", "boolean": "BOOLEAN", "category": "VARCHAR", "string": "VARCHAR", "object": "VARCHAR",
}  # fmt: skip
# Python has no such values, or only rounded ones.
_INEXACT = re.compile(r"\b(BLOB|INTERVAL|TIMESTAMP_NS|TIME_NS)\b")
_NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL\(.*")
_FETCHED = 10_000  # rows at a time


@dataclass(frozen=True)
class Statement:
    """One statement that only reads, and the tables (of tables.py, and `accesses`) that it names."""

    text: str
    names: tuple[str, ...]

    @property
    def needs(self) -> tuple[str, ...]:
        """The tables of tables.py that must be there for it."""
        joined = ACCESSES_NEED if ACCESSES in self.names else ()
        return tuple(name for name in BY_NAME if name in self.names or name in joined)


class _Database:
    """A database in memory. It works in a thread of its own: Ctrl-C, which the main thread hears, interrupts it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, pool: ThreadPoolExecutor) -> None:
        """Take the connection, and a pool of one thread."""
        self.connection, self._pool = connection, pool

    def execute(self, text: str, parameters: Sequence[object] = ()) -> None:
        """Run a statement of ours or of the user. Raises SettingsError, EnvironmentFailure, KeyboardInterrupt."""
        self._wait_for(lambda: self.connection.execute(text, parameters))

    def fetch(self) -> list[tuple[object, ...]]:
        """The next rows of the answer; empty at its end. Raises what `execute` does."""
        return self._wait_for(lambda: self.connection.fetchmany(_FETCHED))

    def _wait_for(self, work: Callable[[], Result]) -> Result:
        try:
            with _our_errors():
                running = self._pool.submit(work)
                while not running.done():  # Ctrl-C in the moment before a wait is heard only when the wait ends
                    wait([running], 0.1)
                return running.result()
        except KeyboardInterrupt:
            last = self._pool.submit(int)  # it comes after the work, whether that has begun or not
            while not last.done():
                self.connection.interrupt()
                wait([last], 0.05)
            raise


@contextmanager
def _opened() -> Iterator[_Database]:
    with _our_errors():
        connection = duckdb.connect(":memory:", config=dict(SETTINGS))
    with connection, ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()  # its thread has begun: a Ctrl-C meanwhile would leave one that nobody waits for
        yield _Database(connection, pool)


class Answer:
    """The rows of an answer: the names of its columns, each once, and which of them hold numbers."""

    def __init__(self, database: _Database) -> None:
        """Take the statement that was run last. Raises SettingsError for a type that would be rounded."""
        self._database = database
        described = database.connection.description or []
        self.names = distinct([str(column[0]) for column in described])
        kinds = [str(column[1]) for column in described]
        for name, kind in zip(self.names, kinds, strict=True):
            if _INEXACT.search(kind):
                raise SettingsError(f"the statement: column {name!r} is {kind}; cast it to VARCHAR")
        self.numbers = tuple(_NUMBER.fullmatch(kind) is not None for kind in kinds)

    def rows(self) -> Iterator[tuple[object, ...]]:
        """The rows, in order; null is None. Raises what `answered` does."""
        while some := self._database.fetch():
            yield from some


def statement_of(text: str) -> Statement:
    """The statement in `text`, as DuckDB reads it.

    Raises SettingsError unless it is one that only reads, and what it names exists.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SettingsError("the statement: is not written in UTF-8") from error
    with _opened() as database, _our_errors():
        found = database.connection.extract_statements(text)
    # DuckDB 1.4 makes several of a PIVOT, all without a text.
    pivot = bool(found) and not any(part.query for part in found)
    if len(found) != 1 and not pivot:
        raise SettingsError(f"the statement: one is needed, but there are {len(found)}; write one SELECT")
    kind = "MULTI" if pivot else found[0].type.name
    if kind not in READING:
        raise SettingsError(
            f"the statement: is of the kind {kind}, but only reading is allowed: SELECT, WITH, FROM, VALUES, PIVOT, "
            "DESCRIBE, SUMMARIZE, SHOW, EXPLAIN"
        )
    # No statement can use a table without its name, unless it puts the name together from parts.
    words = set(re.findall(r"\w+", text.lower()))
    named = tuple(name for name in (*BY_NAME, ACCESSES) if name in words)
    statement = Statement(text, named or tuple(BY_NAME))
    if kind == "SELECT":  # a misspelt name is found before a large run is read
        with _filled(statement, [("", empty())]) as database:
            database.execute(f"EXPLAIN {text}")
    return statement


@contextmanager
def answered(statement: Statement, sources: Iterable[tuple[str, Mapping[str, pd.DataFrame]]]) -> Iterator[Answer]:
    """Run the statement over the tables of `sources` (address, tables); the answer can be read during the block.

    Each source has at least the tables that `statement.needs`; they are copied, one source after the other. Raises
    SettingsError when DuckDB refuses the statement, EnvironmentFailure when memory does not suffice.
    """
    with _filled(statement, sources) as database:
        database.execute(statement.text)
        yield Answer(database)


@contextmanager
def _filled(statement: Statement, sources: Iterable[tuple[str, Mapping[str, pd.DataFrame]]]) -> Iterator[_Database]:
    """A database with the tables that the statement names, and then closed: it reads these, and nothing else."""
    with _opened() as database:
        for address, tables in sources:
            for name in statement.names:
                _add(database, name, address, accesses(tables) if name == ACCESSES else tables[name])
        database.execute("SET enable_external_access = false")
        database.execute("SET lock_configuration = true")
        database.execute("BEGIN TRANSACTION READ ONLY")
        yield database


def _add(database: _Database, name: str, address: str, table: pd.DataFrame) -> None:
    """Append the rows of a table, below a first column with the address."""
    kinds = {column: SQL_TYPES[str(dtype).lower()] for column, dtype in table.dtypes.items()}
    columns = ", ".join(f'"{column}" {kind}' for column, kind in {"run": "VARCHAR", **kinds}.items())
    database.execute(f'CREATE TABLE IF NOT EXISTS "{name}" ({columns})')
    database.connection.register("_incoming", pa.Table.from_pandas(table, preserve_index=False))
    database.execute(f'INSERT INTO "{name}" SELECT ?, * FROM _incoming', [address])
    database.connection.unregister("_incoming")


@contextmanager
def _our_errors() -> Iterator[None]:
    """Turn DuckDB's errors into ours: the first line of each, and which tables there are."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise EnvironmentFailure(
            f"the statement: needs more memory than there is ({_first_line(error)}); ask for fewer rows or runs"
        ) from error
    except (duckdb.FatalException, duckdb.InternalException) as error:
        raise EnvironmentFailure(f"the statement: is too much for DuckDB: {_first_line(error)}") from error
    except (duckdb.BinderException, duckdb.CatalogException) as error:
        raise SettingsError(
            f"the statement: {_first_line(error)}; the tables are {', '.join(BY_NAME)} and {ACCESSES}, and "
            "`tracegen sql --schema` prints their columns"
        ) from error
    except duckdb.Error as error:
        raise SettingsError(f"the statement: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(" .!")


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, each once: a second `node` becomes `node_1`."""
    given, taken, counts = set(names), dict[str, None](), dict[str, int]()
    for name in names:
        fresh, count = name, counts.get(name, 0)
        while fresh in taken or (count and fresh in given):
            count += 1
            fresh = f"{name}_{count}"
        counts[name] = count
        taken[fresh] = None
    return tuple(taken)
