"""The filters of the operation table in Chromium, and what its caption says of the pass that is chosen."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.browser.test_op_rows import PASS, TABLES, nodes, number, open_
from tests.report_files import written_report
from tracegen.analysis.operations import op_rows
from tracegen.charts import theme

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_report(tmp_path_factory.mktemp("report"), TABLES)


@pytest.fixture(scope="module")
def ops() -> pd.DataFrame:
    return op_rows(TABLES, [PASS]).reset_index(drop=True)


def attention(ops: pd.DataFrame, layer: int) -> pd.DataFrame:
    of_group = ops["component"].map(theme.group) == "attention"
    return ops[(ops["layer"] == layer).fillna(False) & of_group]


def test_layer_and_group_find_every_operation_of_a_layers_attention(page: Any, root: Path, ops: pd.DataFrame) -> None:
    open_(page, root)
    page.select_option("[data-tg=layer]", "1")
    page.select_option("[data-tg=component]", "group:attention")
    wanted = attention(ops, 1)
    assert len(wanted) > 2
    assert nodes(page) == wanted["node"].tolist()
    foot = page.locator("tfoot tr > *").all_inner_texts()
    assert foot[:2] == ["Σ", f"{len(wanted)} of {len(ops)} rows"]
    words = page.url.partition("#")[2]
    assert "layer=1" in words and "group=attention" in words
    open_(page, root, words)
    assert nodes(page) == wanted["node"].tolist()


def test_the_hint_of_the_text_field_finds_what_the_layer_filter_finds(page: Any, root: Path, ops: pd.DataFrame) -> None:
    open_(page, root)
    hint = page.locator("[data-tg=filter]").get_attribute("placeholder").split()
    assert hint[0] == "blk.2"
    page.fill("[data-tg=filter]", "blk.1")
    found = set(nodes(page))
    assert found >= set(ops.loc[(ops["layer"] == 1).fillna(False), "node"])
    page.fill("[data-tg=filter]", "layer1")
    assert set(nodes(page)) == set(ops.loc[(ops["layer"] == 1).fillna(False), "node"])


def test_layers_without_a_number_can_be_chosen(page: Any, root: Path, ops: pd.DataFrame) -> None:
    open_(page, root)
    page.select_option("[data-tg=layer]", "none")
    assert nodes(page) == ops.loc[ops["layer"].isna(), "node"].tolist()


def test_a_sum_says_of_how_many_rows(page: Any, root: Path, ops: pd.DataFrame) -> None:
    known = int(ops["duration_ns"].notna().sum())
    open_(page, root)
    wall = page.locator("tfoot tr > *").nth(6).inner_text().split("\n")
    assert number(wall[0]) == pytest.approx(ops["duration_ns"].sum() / 1e3, abs=0.006)
    assert wall[1:] == ([] if known == len(ops) else [f"{known} of {len(ops)} rows"])


def test_the_caption_and_the_csv_follow_the_pass(page: Any, root: Path, ops: pd.DataFrame) -> None:
    open_(page, root)
    first = page.evaluate("JSON.parse(document.getElementById('tg-operations').textContent).shown")
    assert first != PASS
    noops = TABLES["ops"]
    n = int(((noops["pass_id"] == PASS) & (noops["state"] == "noop").fillna(False)).sum())
    assert page.locator("[data-tg=left-out]").inner_text() == f"{n} node{'' if n == 1 else 's'} of token 2 (pass 4)"
    assert page.locator("[data-tg=csv]").inner_text() == "token 2 (CSV)"
    with page.expect_download() as download:
        page.click("[data-tg=csv]")
    assert download.value.suggested_filename == "operations-token-2-pass-4.csv"
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"))))
    assert [int(row["node"]) for row in rows] == ops["node"].tolist()
    assert [row["wall_ns"] for row in rows] == ["" if pd.isna(v) else str(v) for v in ops["duration_ns"]]
