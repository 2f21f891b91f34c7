"""`parquet` and `csv`: the tables as they are, one file each."""

from pathlib import Path
from typing import TextIO

from tracegen.contract.text import without_controls
from tracegen.export.format import Format, Source


def _parquet(source: Source, folder: Path) -> None:
    for name, table in source.tables.items():
        table.to_parquet(folder / f"{name}.parquet", compression="zstd", index=False)


def _csv(source: Source, folder: Path) -> None:
    for name, table in source.tables.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as stream:
            table.to_csv(_Escaping(stream), index=False, lineterminator="\n")  # type: ignore[call-overload]


class _Escaping:
    """A stream of CSV: control characters, which could steer a terminal, become escapes."""

    def __init__(self, stream: TextIO) -> None:
        """Write to `stream`."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write rows."""
        return self._stream.write(without_controls(text))


PARQUET = Format("parquet", "a folder with each table as Parquet", _parquet)
CSV = Format("csv", "a folder with each table as CSV, where an empty cell means not recorded", _csv)
