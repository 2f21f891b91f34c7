"""Runs that earlier tracegens stored load, are drawn and are published: no column of theirs is missed."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.earlier import ADDED_AFTER, NUMBERS, put_together
from tests.site_project import NOW
from tracegen.contract import tables
from tracegen.publishing.bundle import read_bundle, verify_bundle
from tracegen.publishing.freeze import freeze
from tracegen.reading.notebook.loaded import load_run
from tracegen.storing import store
from tracegen.storing.hashes import HashCache

pytestmark = pytest.mark.usefixtures("empty_figures")

VALUES = {
    "tokens_per_second_generate": 2030.9729172662874,
    "tokens_per_second_prompt": 4130.767997893859,
    "ops_per_token": 109,
    "weight_bytes_per_token": 8_300_032,
    "mapped_bytes_per_token": 8_300_032,
    "copied_bytes_per_token": 0,
    "touched_share": 0.8142960211758538,
    "n_tensors_never_touched": 0,
    "peak_buffer_bytes": 5_056_640,
    "prompt_tokens": 15,
    "generated_tokens": 8,
}


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment with all earlier runs; `runs/002` is number 2."""
    folder = tmp_path_factory.mktemp("experiments") / "earlier"
    for number in NUMBERS:
        put_together(number, folder / "runs" / f"{number:03d}")
    return folder


def stored_columns(run: Path) -> set[str]:
    """`passes.pass_id` and so on, and the names of the tables: what lies in the run's folder."""
    files = {path.stem: pq.read_schema(path).names for path in (run / "tables").glob("*.parquet")}
    return set(files) | {f"{name}.{column}" for name, columns in files.items() for column in columns}


def todays_columns() -> set[str]:
    named = {f"{table.name}.{column.name}" for table in tables.TABLES for column in table.columns}
    return named | set(tables.BY_NAME)


@pytest.mark.parametrize("number", NUMBERS)
def test_an_earlier_run_is_what_it_is_said_to_be(experiment: Path, number: int) -> None:
    """Names are public: no table has lost one. What was added between two of these runs is as written down."""
    found = stored_columns(experiment / "runs" / f"{number:03d}")
    assert found <= todays_columns()
    if number < NUMBERS[-1]:
        added = stored_columns(experiment / "runs" / f"{number + 1:03d}") - found
        assert {name for name in added if name.partition(".")[0] not in added or "." not in name} == ADDED_AFTER[number]


@pytest.mark.parametrize("number", NUMBERS)
def test_it_loads_and_what_was_added_since_is_not_recorded(experiment: Path, number: int) -> None:
    run = experiment / "runs" / f"{number:03d}"
    found, loaded = stored_columns(run), load_run(run)
    assert loaded.run.verdict == "complete" and len(loaded.accesses) > 1_000
    for table in tables.TABLES:
        rows = tables.check(table.name, loaded.tables[table.name])
        file = run / "tables" / f"{table.name}.parquet"
        assert len(rows) == (pq.read_metadata(file).num_rows if table.name in found else 0)
        for column in table.columns:
            if f"{table.name}.{column.name}" not in found:
                assert rows[column.name].isna().all(), f"{table.name}.{column.name}"


@pytest.mark.parametrize("number", NUMBERS)
def test_it_is_published(experiment: Path, number: int) -> None:
    """Its key figures are those that were published of it at that time."""
    version = freeze(experiment, store.read_run(experiment / "runs" / f"{number:03d}"), "as it was", NOW)
    assert version.folder is not None
    bundle = read_bundle(version.folder)
    verify_bundle(bundle, HashCache(experiment / "none"))
    assert {page["key"] for page in bundle.pages} >= {"overview", "file", "experts", "timeline"}
    assert {name: bundle.document["values"][name]["value"] for name in VALUES} == VALUES
