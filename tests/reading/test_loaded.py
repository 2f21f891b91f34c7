"""`tracegen.load` gives the tables of a run, and those that a version holds for download."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import tracegen
from tests.golden.hard_case import hard_case
from tests.site_project import plain_run, stored
from tests.stand_in import a_report, a_version
from tracegen.analysis.disk_waits import with_tensors
from tracegen.contract.errors import SettingsError, StoreError
from tracegen.reading.notebook.loaded import LoadedRun, LoadedVersion
from tracegen.report.figures.downloads import to_parquet
from tracegen.report.pages.run_file import run_file

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


def test_tokens_have_their_text() -> None:
    """A run knows that of all, a version published today too; one that was published before knows generated ones."""
    run = plain_run("sample")
    tokens = hard_case()["tokens"]
    ids = tokens["token_id"].dropna()
    known = {str(token): f" {token}" for token in ids[:-1]}
    run = replace(run, facts=replace(run.facts, text=replace(run.facts.text, pieces=known)))
    stored(Path("experiments"), run, hard_case())
    loaded = tracegen.load("sample")
    expected = [known.get(str(token), pd.NA) for token in tokens["token_id"]]
    assert list(loaded.tokens["text"].fillna("?")) == [text if text is not pd.NA else "?" for text in expected]
    assert_frame_equal(loaded.tokens.drop(columns="text"), loaded.tables["tokens"])
    assert json.loads(run_file(run))["facts"]["text"] == {"pieces": known}
    older = tracegen.load(ROOT / "experiments" / "sample" / "versions" / "1").tokens
    generated = older[older["generated_token"].notna()]
    assert "".join(generated["text"]) == "The capital of France is Paris."


def test_page_faults_name_their_tensor_and_join_the_table_of_tensors() -> None:
    loaded = tracegen.load(ROOT / "experiments" / "fits" / "versions" / "1")
    faults, tensors = loaded.faults, loaded.tensors
    assert len(faults) > 1000 and list(faults.columns[-2:]) == ["tensor", "tensor_name"]
    assert faults["tensor"].dtype == loaded.placements["tensor"].dtype
    joined = faults.merge(tensors, on="tensor", suffixes=("", "_of_tensor"))
    assert len(joined) == len(faults) and (joined["tensor_name"] == joined["name"]).all()
    begin, end = joined["offset_of_tensor"], joined["offset_of_tensor"] + joined["size_bytes"]
    assert ((joined["offset"] >= begin) & (joined["offset"] < end)).all()
    gap = faults.head(2).assign(offset=[0, 1], file=[0, pd.NA]).astype({"file": "Int32", "offset": "Int64"})
    assert with_tensors({"faults": gap, "tensors": tensors})[["tensor", "tensor_name"]].isna().all(axis=None)


def test_operations_have_names() -> None:
    stored(Path("experiments"), plain_run("sample"), hard_case())
    loaded = tracegen.load("sample")
    named = loaded.operations.merge(loaded.passes[["pass_id", "graph"]], on="pass_id")
    named = named.merge(loaded.graph_nodes, on=["graph", "node"], suffixes=("", "_of_node"))
    assert len(named) == len(loaded.operations) > 0
    assert (named["op"] == named["op_of_node"]).all() and (named["name"] == named["name_of_node"]).all()


def test_analyses_and_theme_need_no_import_of_their_own() -> None:
    """In a new process, where nothing else has imported them."""
    names = ("analysis.attribution.by_pass", "analysis.requests.by_size", "charts.theme")
    lines = "; ".join(f"tracegen.{name}" for name in names)
    unknown = "hasattr(tracegen.analysis, 'nothing') or hasattr(tracegen, 'nothing')"
    subprocess.run([sys.executable, "-c", f"import tracegen; {lines}; assert not ({unknown})"], check=True)


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
