"""`parquet` and `csv`: the tables as they are, one file each."""

from __future__ import annotations

from pathlib import Path

from tracegen.export.format import Format, Source


def _parquet(source: Source, folder: Path) -> None:
    for name, table in source.tables.items():
        table.to_parquet(folder / f"{name}.parquet", compression="zstd", index=False)


def _csv(source: Source, folder: Path) -> None:
    for name, table in source.tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")


PARQUET = Format("parquet", "a folder with each table as Parquet", _parquet)
CSV = Format("csv", "a folder with each table as CSV, where an empty cell means not recorded", _csv)
