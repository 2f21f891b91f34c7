"""`tracegen export`: what is written, where, and what is refused."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from tests.builders import a_moe_run, scaled_case
from tests.site_project import stored
from tracegen.cli.commands import export
from tracegen.cli.main import main
from tracegen.contract.tables import BY_NAME
from tracegen.export.columns import CSV
from tracegen.export.format import Source
from tracegen.export.formats import BY_KEY, FORMATS
from tracegen.export.perfetto.trace import PERFETTO, write
from tracegen.reading.notebook.loaded import load


@pytest.fixture(autouse=True)
def run(here: Path) -> None:
    """A stored run `demo` of a mixture."""
    stored(Path("experiments"), a_moe_run(), scaled_case(4, 2, moe=True))


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    before = sorted(Path().rglob("*"))
    assert main(["export", "demo", *words]) == 2
    assert sorted(Path().rglob("*")) == before  # a refusal leaves nothing
    return capsys.readouterr().err


def test_the_help_names_the_formats_there_are() -> None:
    assert {written.key: written.meaning for written in FORMATS} == export.MEANING


def test_the_tables_come_back_from_parquet_and_from_csv(capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load("demo")
    assert main(["export", "demo", "parquet"]) == 0 and main(["export", "demo", "csv", "--out", "sub/rows"]) == 0
    assert capsys.readouterr().out.startswith("demo-run-003-parquet  ")
    for name in BY_NAME:
        table = loaded.tables[name]
        pd.testing.assert_frame_equal(
            pd.read_parquet(f"demo-run-003-parquet/{name}.parquet").astype(object).fillna(0),
            table.astype(object).fillna(0),
            check_dtype=False,
            check_column_type=False,
        )
        assert len(pd.read_csv(f"sub/rows/{name}.csv")) == len(table)


def test_only_the_passes_that_were_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "demo", "csv", "--pass", "1-2", "--pass", "4"]) == 0
    assert pd.read_csv("demo-run-003-csv/ops.csv")["pass_id"].unique().tolist() == [1, 2, 4]
    assert len(pd.read_csv("demo-run-003-csv/graph_nodes.csv")) == len(load("demo").graph_nodes)
    assert "demo/run-003 has no pass 99; it has the passes 0 to" in refused(capsys, "csv", "--pass", "99")
    assert "'2-1' is not a pass; write its number, or FIRST-LAST" in refused(capsys, "csv", "--pass", "2-1")
    assert "'-1' is not a pass" in refused(capsys, "csv", "--pass", "-1")


def test_what_is_there_stays_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "demo", "csv"]) == 0
    assert "demo-run-003-csv: exists already" in refused(capsys, "csv")
    assert main(["export", "demo", "csv", "--force"]) == 0
    Path("mine").mkdir()
    Path("mine/thesis.tex").touch()
    assert "mine: was not written by tracegen export" in refused(capsys, "csv", "--out", "mine", "--force")
    Path("link").symlink_to("mine")
    assert "link: is not a regular file or folder" in refused(capsys, "csv", "--out", "link", "--force")
    assert "'xml' is not one of" in refused(capsys, "xml")


def test_a_timeline_is_one_file_or_several(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["export", "demo", "perfetto"]) == 0
    assert capsys.readouterr().out == f"demo-run-003.pftrace  {Path('demo-run-003.pftrace').stat().st_size:,} bytes\n"
    monkeypatch.setitem(BY_KEY, "perfetto", replace(PERFETTO, write=partial(write, limit=20_000)))
    assert main(["export", "demo", "perfetto", "--out", "several.pftrace"]) == 0
    assert capsys.readouterr().out.startswith("several  ") and len(list(Path("several").glob("passes-*.pftrace"))) > 1
    assert "several: exists already" in refused(capsys, "perfetto", "--out", "several.pftrace")
    assert main(["export", "demo", "perfetto", "--out", "several.pftrace", "--pass", "1-2", "--force"]) == 0
    assert not Path("several.pftrace").exists() and {*Path("several").glob("passes-*")} == {
        Path("several/passes-1-1.pftrace"),
        Path("several/passes-2-2.pftrace"),
    }


def test_a_table_as_csv_holds_no_control_character(tmp_path: Path) -> None:
    tables = scaled_case(1, 1)
    tables["tensors"] = tables["tensors"].assign(name="a\x1b[2J\x9b,\nb\t")
    CSV.write(Source("it", a_moe_run(), tables, tmp_path), tmp_path)
    text = (tmp_path / "tensors.csv").read_text()
    assert '"a\\x1b[2J\\x9b,\nb\t"' in text and "\x1b" not in text
