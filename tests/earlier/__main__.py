"""`python -m tests.earlier`: make the earlier runs of the published sample anew, all of them.

Their Parquet files have the columns of that time. What the sample cannot tell is filled in as it was for such a run:
each major fault reads a page, and the CPU ran all passes whole.
"""

import csv
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.earlier import NUMBERS
from tests.earlier.facts import facts_of
from tracegen.contract import tables as contract
from tracegen.contract.model import Check, Run
from tracegen.storing import store

SAMPLE = Path(__file__).parents[2] / "experiments" / "sample" / "versions" / "1"
PAGE = 4096
ADDED = {
    "splits": ["pass_id", "split", "backend", "n_nodes", "begin_ns", "end_ns", "by_op"],
    "copies": ["pass_id", "copy", "split", "tensor", "source", "target", "size_bytes", "begin_ns", "end_ns"],
}


def tables_of(number: int) -> dict[str, pa.Table]:
    """The tables as that tracegen stored them."""
    tables = {path.stem: pq.read_table(path) for path in sorted((SAMPLE / "data" / "tables").glob("*.parquet"))}
    if number >= 2:
        passes = tables["passes"]
        read = pc.multiply(pc.cast(passes["major_faults"], pa.int64()), PAGE)
        tables["passes"] = passes.add_column(passes.column_names.index("claimed_token_id"), "read_bytes", read)
    if number >= 3:
        empty = {name: contract.frame(name)[columns] for name, columns in ADDED.items()}
        tables |= {name: pa.Table.from_pandas(table, preserve_index=False) for name, table in empty.items()}
    return tables


def checks_of() -> tuple[Check, ...]:
    """The checks as sample@v1 tells them."""
    with (SAMPLE / "data" / "checks.csv").open(encoding="utf-8", newline="") as stream:
        return tuple(Check(**row) for row in csv.DictReader(stream))


def write_earlier(number: int, target: Path) -> None:
    """Store the whole run with the tables of `number` in the new folder `target`."""
    stamp = {b"tracegen.reader": b"native-1", b"tracegen.schema": b"1"}
    with store.whole_folder(target) as beside:
        (beside / "tables").mkdir()
        for name, table in tables_of(number).items():
            own = table.replace_schema_metadata({**(table.schema.metadata or {}), **stamp})
            pq.write_table(own, beside / "tables" / f"{name}.parquet", compression="zstd")
        store.write_run_file(beside, Run("earlier", number, "2026-11-20T13:44:58Z", checks_of(), facts_of(number)))


def main() -> None:
    """Write each, and keep of it what the one before lacks."""
    with tempfile.TemporaryDirectory() as temporary:
        whole = {number: Path(temporary) / str(number) for number in NUMBERS}
        for number in NUMBERS:
            write_earlier(number, whole[number])
            target = Path(__file__).with_name(str(number))
            shutil.rmtree(target, ignore_errors=True)
            for path in sorted(path for path in whole[number].rglob("*") if path.is_file()):
                name = path.relative_to(whole[number])
                before = whole[number - 1] / name if number > 1 else None
                if before is None or not before.exists() or before.read_bytes() != path.read_bytes():
                    (target / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, target / name)


if __name__ == "__main__":
    main()
