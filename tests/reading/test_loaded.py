"""`tracegen.load` gives the tables of a run, and those that a version holds for download."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import tracegen
from tests.golden.hard_case import hard_case
from tests.site_project import plain_run, stored
from tests.stand_in import a_report, a_version
from tracegen.contract.errors import SettingsError, StoreError
from tracegen.reading.notebook.loaded import LoadedRun, LoadedVersion
from tracegen.report.figures.downloads import to_parquet

ROOT = Path(__file__).parents[2]


pytestmark = pytest.mark.usefixtures("here")


def published(tables: dict[str, pd.DataFrame]) -> Path:
    """Publish `sample@v1` with these tables among its downloads; returns the relative path of its folder."""
    report = a_report()
    downloads = {f"data/tables/{name}.parquet": to_parquet(table) for name, table in tables.items()}
    a_version(Path("experiments"), report=replace(report, files={**report.files, **downloads}))
    return Path("experiments/sample/versions/1")


def test_a_run_and_a_version_of_it_give_the_same_tables() -> None:
    stored(Path("experiments"), plain_run("sample"), hard_case())
    folder = published(hard_case())
    run, version = tracegen.load("sample"), tracegen.load(folder)
    assert isinstance(run, LoadedRun) and isinstance(version, LoadedVersion)
    assert list(run.tables) == list(version.tables)
    for name, table in run.tables.items():
        assert_frame_equal(table, version.tables[name])
    assert_frame_equal(run.accesses, version.accesses)
    assert_frame_equal(version.passes, version.tables["passes"])
    assert (run.run.name, version.citation, version.document["runs"]) == ("run-001", "sample@v1", [1])
    assert repr(run) == f"<sample/run-001: {run.run.verdict}, {len(run.tables)} tables>"
    assert repr(version).startswith("<sample@v1: ")


def test_addresses_of_a_version() -> None:
    folder = published(hard_case())
    for address in ("sample@v1", "experiments/sample@v1", folder, f"{folder}/", folder.with_name("v1")):
        assert len(tracegen.load(address).passes) == 3, address


def test_the_sample_that_comes_with_tracegen() -> None:
    loaded = tracegen.load(ROOT / "experiments" / "sample" / "versions" / "1")
    assert isinstance(loaded, LoadedVersion)
    generate = loaded.passes[loaded.passes["kind"] == "generate"]["pass_id"]
    used = loaded.accesses[loaded.accesses["memory"] == "disk"]
    used = used[used["pass_id"].isin(generate)].groupby("pass_id")["touched_bytes"].sum()
    assert int(used.median()) == loaded.document["values"]["mapped_bytes_per_token"]["value"]


def test_a_table_that_the_version_does_not_hold_is_named_when_it_is_wanted() -> None:
    tables = hard_case()
    del tables["touches"]
    loaded = tracegen.load(published(tables))
    assert len(loaded.passes) == 3
    for wanted in (lambda: loaded.touches, lambda: loaded.tables["touches"], lambda: loaded.accesses):
        with pytest.raises(StoreError, match="sample@v1 holds no table 'touches'; it holds: files, contexts, passes"):
            wanted()
    with pytest.raises(AttributeError, match="there is no table 'touch'; there are: files"):
        _ = loaded.touch


def test_a_changed_download_is_named() -> None:
    folder = published(hard_case())
    (folder / "data/tables/ops.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=r"versions/1/data/tables/ops\.parquet: is missing or has changed"):
        tracegen.load("sample@v1")


def test_a_draft_is_no_version() -> None:
    folder = published(hard_case())
    document = json.loads((folder / "version.json").read_text())
    (folder / "version.json").write_text(json.dumps({**document, "citation": ""}))
    with pytest.raises(SettingsError, match="is the draft of a run"):
        tracegen.load(folder)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("sample@v7", r"sample@v7: there is no such version; experiments/sample/versions has v1"),
        ("other@v1", r"there is no such version; experiments/other/versions has none"),
        ("sample@latest", r"is a version, but a run is needed.*`tracegen\.load` gives their tables"),
        ("other", "there is no such run"),
    ],
)
def test_addresses_that_lead_nowhere(address: str, message: str) -> None:
    published({})
    with pytest.raises(SettingsError, match=message):
        tracegen.load(address)
