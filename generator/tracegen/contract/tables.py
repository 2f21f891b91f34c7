"""The tables of a run: every column with its type, unit and meaning, as `tables.txt` describes them.

These names are public: Parquet files, pages, downloads and notebooks use them. `check` compares a table with its
contract.

Keys: `(pass_id, node)` names an op, `(graph, node)` what is static about it; with a slot (`dst`, `src0` … `src9`)
they name an access. Node numbers are ggml's: nodes `0 … n_nodes-1` in order of execution, then the leaves. Unknown
is null. Times are integer nanoseconds of CLOCK_MONOTONIC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from tracegen.contract.errors import TableError

P = ParamSpec("P")
T = TypeVar("T")
SLOTS: tuple[str, ...] = ("dst", *(f"src{i}" for i in range(10)))

PASS_KINDS = ("load", "warmup", "prompt", "generate", "encode", "draft", "verify", "mixed")
OP_STATES = ("executed", "fused", "empty", "noop", "off")
MEMORY_KINDS = ("disk", "copied", "buffer")
UNITS = ("row", "column", "expert")
PROOFS = ("none", "synchronise", "blocking", "reply")  # in the order of enum tt_proof, which begins with "not recorded"
# The first ones in the order of enum tt_part; process: all of the first seven.
FOOTPRINT_KINDS = (
    *("model", "files", "stacks", "anonymous", "tracer", "devices", "other"),
    *("buffer", "saved", "process"),
)
READ_CALLS = ("read", "pread", "fread", "madvise", "fadvise", "readahead")  # in the order of enum tt_read_call
COMPONENTS = (
    "embedding",
    "attention_q",
    "attention_k",
    "attention_v",
    "attention_output",
    "attention",
    "kv_cache",
    "router",
    "ffn_gate",
    "ffn_up",
    "ffn_down",
    "expert_gate",
    "expert_up",
    "expert_down",
    "norm",
    "output",
    "recurrent",
    "other",
)


@dataclass(frozen=True)
class Column:
    """One column: name, pandas dtype, unit (empty: none), meaning, and the values allowed."""

    name: str
    dtype: str
    unit: str
    meaning: str
    values: tuple[str, ...] = ()

    @property
    def nullable(self) -> bool:
        """Whether null ("not recorded" or "does not apply") is allowed."""
        return self.dtype in ("Int16", "Int32", "Int64", "UInt64", "Float64", "boolean", "string?", "category?")


@dataclass(frozen=True)
class Table:
    """One table: its name, what a row is, the key columns and all columns."""

    name: str
    meaning: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    added: int = 0  # number of the extension that added the table; a run stored before it has the table without rows


_CONTRACT = Path(__file__).with_name("tables.txt").read_text(encoding="utf-8")
_LISTS: Mapping[str, tuple[str, ...]] = {
    "PASS_KINDS": PASS_KINDS,
    "OP_STATES": OP_STATES,
    "MEMORY_KINDS": MEMORY_KINDS,
    "UNITS": UNITS,
    "PROOFS": PROOFS,
    "FOOTPRINT_KINDS": FOOTPRINT_KINDS,
    "READ_CALLS": READ_CALLS,
    "COMPONENTS": COMPONENTS,
    "SLOTS": SLOTS,
    "OPERANDS": SLOTS[1:],
}
_TABLE = re.compile(r"(?P<name>\w+) \((?P<key>[\w, ]+)\)(?: \+(?P<added>[0-9]+))?: (?P<meaning>.+)")
_COLUMN = re.compile(r"    (?P<name>\w+) (?P<dtype>[\w?]+)(?: (?P<unit>\w+))?: (?P<meaning>.+?)(?: = (?P<values>.+))?")


def _table(text: str) -> Table:
    """The table that is described in lines of tables.txt."""
    head, *lines = text.replace("\n        ", " ").split("\n")
    of = _TABLE.fullmatch(head)
    assert of is not None, head
    return Table(
        of["name"], of["meaning"], tuple(of["key"].split(", ")), tuple(map(_column, lines)), int(of["added"] or 0)
    )


def _column(line: str) -> Column:
    of = _COLUMN.fullmatch(line)
    assert of is not None, line
    values = () if of["values"] is None else _LISTS.get(of["values"]) or tuple(of["values"].split(", "))
    return Column(of["name"], of["dtype"], of["unit"] or "", of["meaning"], values)


TABLES: tuple[Table, ...] = tuple(map(_table, _CONTRACT.strip().split("\n\n")[1:]))
BY_NAME: Mapping[str, Table] = {table.name: table for table in TABLES}


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table by column, null as None: what JSON can hold."""
    rows: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")  # type: ignore[assignment]
    return rows


def small_tables(function: Callable[P, T]) -> Callable[P, T]:
    """A function during which texts of tables are kept as Python's: Arrow's columns are made for large tables.

    A report makes thousands of small ones. The setting is pandas' for all tables of the process, so it is set while one
    of ours works, and not in a notebook that imports this.
    """

    @wraps(function)
    def within(*args: P.args, **kwargs: P.kwargs) -> T:
        with pd.option_context("mode.string_storage", "python"):
            return function(*args, **kwargs)

    return within


@cache
def _pandas_dtype(column: Column) -> Any:
    """The type of a column, as an object: pandas looks for it on each use of a name. "category": of any values."""
    if column.dtype in ("string", "string?"):
        return pd.StringDtype("python")
    if column.dtype in ("category", "category?"):
        return pd.CategoricalDtype(list(column.values)) if column.values else "category"
    return pd.api.types.pandas_dtype(column.dtype)


def coded(name: str, column: str, codes: np.ndarray) -> pd.Categorical[Any]:
    """The values of a column of table `name` that allows a fixed list of values: codes index that list, -1 is null.

    For millions of rows this is faster than a list of texts. Raises StopIteration for an unknown column.
    """
    values = next(c.values for c in BY_NAME[name].columns if c.name == column)
    categorical: pd.Categorical[Any] = pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(list(values)))
    return categorical


def frame(name: str, columns: Mapping[str, Any] | Iterable[Mapping[str, Any]] = ()) -> pd.DataFrame:
    """Make table `name` from columns (or rows), in the contract's order and types.

    A missing nullable column becomes null. An array of its column's type that owns its memory is not copied: the table
    takes it over. Raises TableError for a column that is unknown, missing, or has values that its type cannot hold.
    """
    table = BY_NAME[name]
    if isinstance(columns, Mapping):
        by_name: Mapping[str, Any] = columns
    else:
        rows = list(columns)
        names = dict.fromkeys(key for row in rows for key in row)
        by_name = {key: [row.get(key) for row in rows] for key in names}
    unknown = set(by_name) - {column.name for column in table.columns}
    if unknown:
        raise TableError(f"table {name}: unknown column {sorted(unknown)[0]!r}")
    if not by_name:
        return _without_rows(name).copy(deep=False)
    return _filled(table, by_name)


@cache
def _without_rows(name: str) -> pd.DataFrame:
    """The table without rows. Whoever gets it takes a shallow copy, from which pandas lets no change reach it."""
    return _filled(BY_NAME[name], {})


def _filled(table: Table, by_name: Mapping[str, Any]) -> pd.DataFrame:
    name, length = table.name, next((len(values) for values in by_name.values()), 0)
    filled = {}
    for column in table.columns:
        dtype = _pandas_dtype(column)
        if column.name not in by_name:
            if not column.nullable and length:
                raise TableError(f"table {name}: column {column.name!r} is missing")
            filled[column.name] = pd.Series(None, index=pd.RangeIndex(length), dtype=dtype).array
            continue
        try:
            values = by_name[column.name]
            if getattr(values, "dtype", None) != dtype:  # else each value fits
                if column.values:
                    _refuse_foreign_values(name, column, values)
                _refuse_overflow(name, column, values)
            array = pd.Series(values, dtype=dtype, copy=False).array
            if len(array) != length:
                raise ValueError(f"has {len(array)} rows, another column {length}")
            filled[column.name] = array if _is_own(values) else array.copy()
        except (TypeError, ValueError, OverflowError) as error:
            raise TableError(f"table {name}: column {column.name!r}: {error}") from error
    made = pd.DataFrame(filled, copy=False)
    made.columns = _names(name)
    return check(name, made)


@cache
def _names(name: str) -> pd.Index[str]:
    """The names of a table's columns as Python's texts: a report looks for columns some thousand times."""
    return pd.Index([column.name for column in BY_NAME[name].columns], dtype=pd.StringDtype("python", na_value=np.nan))


def _is_own(values: object) -> bool:
    """Whether an array owns its memory: a view may be read-only, or keep much more memory alive than its column."""
    if isinstance(values, pd.arrays.IntegerArray):
        return True
    return isinstance(values, np.ndarray) and values.flags.owndata and values.flags.writeable


def _refuse_foreign_values(name: str, column: Column, values: Any) -> None:
    """Raise TableError for a value that the column does not allow; pandas would silently turn it into null."""
    coded_values = isinstance(values, pd.Series | pd.Categorical)
    series = pd.Series(values) if coded_values else pd.Series(values, dtype=object)
    distinct = series.cat.categories if isinstance(series.dtype, pd.CategoricalDtype) else series.dropna().unique()
    foreign = sorted(set(map(str, distinct)) - set(column.values))
    if foreign and (not isinstance(series.dtype, pd.CategoricalDtype) or series.isin(foreign).any()):
        raise TableError(
            f"table {name}: column {column.name!r}: {foreign[0]!r} is not one of {', '.join(column.values)}"
        )


def _refuse_overflow(name: str, column: Column, values: Any) -> None:
    """Raise TableError for a number beyond the column's type: from its own arrays pandas silently drops high bits."""
    if "int" not in column.dtype.lower() or not isinstance(values, pd.Series | pd.api.extensions.ExtensionArray):
        return
    series = pd.Series(values, copy=False)
    if not pd.api.types.is_numeric_dtype(series.dtype):
        return
    limits = np.iinfo(column.dtype.lower())
    for value in (series.min(), series.max()):
        if pd.notna(value) and not limits.min <= value <= limits.max:
            raise TableError(f"table {name}: column {column.name!r}: {value} does not fit {column.dtype.lower()}")


def check(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return `table` unchanged. Raises TableError when its columns, types, values or keys break the contract."""
    contract = BY_NAME[name]
    expected = [column.name for column in contract.columns]
    if list(table.columns) != expected:
        raise TableError(f"table {name}: columns are {list(table.columns)}, but the contract says {expected}")
    for column, dtype in zip(contract.columns, table.dtypes, strict=True):
        whole = isinstance(dtype, np.dtype) and dtype.kind in "iub"  # such a column holds no null
        if not column.nullable and not whole and bool(table[column.name].isna().any()):
            raise TableError(f"table {name}: column {column.name!r} has nulls, but must not")
        wanted = _pandas_dtype(column)
        if column.values and dtype != wanted:
            raise TableError(f"table {name}: column {column.name!r} has categories other than the contract's")
        if wanted != "category" and dtype != wanted:
            raise TableError(f"table {name}: column {column.name!r} is {dtype}, not {wanted}")
    if _ascends(table, contract.key):
        return table
    duplicated = table.duplicated(list(contract.key))
    if bool(duplicated.any()):
        row = table.loc[duplicated, list(contract.key)].iloc[0].to_dict()
        raise TableError(f"table {name}: the key {row} occurs twice")
    return table


def _ascends(table: pd.DataFrame, key: Iterable[str]) -> bool:
    """Whether each row's key is greater than the one before: then no key occurs twice, and no hashing is needed."""
    greater = np.zeros(max(len(table) - 1, 0), bool)
    equal = ~greater
    for name in key:
        column = table[name]
        codes = column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column
        if not isinstance(codes.dtype, np.dtype) or codes.dtype.kind not in "iu":
            return False
        values = codes.to_numpy()
        greater |= equal & (values[1:] > values[:-1])
        equal &= values[1:] == values[:-1]
    return bool(greater.all())


def empty() -> dict[str, pd.DataFrame]:
    """All tables without rows."""
    return {table.name: frame(table.name) for table in TABLES}
