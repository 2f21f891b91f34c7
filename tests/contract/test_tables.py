"""The contract of the tables: the columns that may be null are those whose pandas type can hold null."""

import pandas as pd
import pytest

from tracegen.contract.tables import TABLES, Column, small_tables

NUMBERS = [
    (table.name, column)
    for table in TABLES
    for column in table.columns
    if not column.dtype.startswith(("string", "category"))
]


def takes_null(column: Column) -> bool:
    """Whether pandas keeps a null in a column of numbers of this type."""
    try:
        return bool(pd.Series([None], dtype=column.dtype).isna().all()) and column.dtype not in ("float64", "bool")
    except (TypeError, ValueError):
        return False


@pytest.mark.parametrize(("table", "column"), NUMBERS, ids=[f"{table}.{column.name}" for table, column in NUMBERS])
def test_a_column_of_numbers_is_called_nullable_where_it_takes_null(table: str, column: Column) -> None:
    assert column.nullable == takes_null(column), table


def test_the_setting_of_pandas_stays_ones_own() -> None:
    """It is another one while tables of ours are made, and not in a notebook that imports them."""
    seen = small_tables(lambda: pd.get_option("mode.string_storage"))
    assert (seen(), pd.get_option("mode.string_storage")) == ("python", "auto")
