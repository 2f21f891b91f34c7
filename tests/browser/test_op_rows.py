"""The operation table in Chromium: what is sorted, filtered, added up, copied and found is what the tables hold."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.builders import scaled_case
from tests.report_files import written_report
from tracegen.analysis.operations import op_rows

pytestmark = pytest.mark.browser

TABLES = scaled_case(4, 2, moe=True)
PASS = 4


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_report(tmp_path_factory.mktemp("report"), TABLES)


@pytest.fixture(scope="module")
def ops() -> pd.DataFrame:
    return op_rows(TABLES, [PASS]).reset_index(drop=True)


def open_(page: Any, root: Path, words: str = f"pass={PASS}") -> None:
    page.goto("about:blank")
    page.goto((root / "operations/index.html").as_uri() + "#" + words)
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent === 'token 2 (pass 4)'")


def nodes(page: Any) -> list[int]:
    """The nodes of all rows, in the table's order."""
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    found = page.eval_on_selector_all("tr.tg-op", "rows => rows.map(row => parseInt(row.dataset.node))")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    return list(found)


def number(text: str) -> float:
    return float(text.replace("\u202f", ""))


@pytest.mark.parametrize(
    ("head", "column"), [("Work", "work_ns"), ("Buffers", "buffer_bytes"), ("Result", "name"), ("Layer", "layer")]
)
def test_sorting(page: Any, root: Path, ops: pd.DataFrame, head: str, column: str) -> None:
    open_(page, root)
    button = page.locator(".tg-sort", has_text=head).first
    down = column.endswith(("ns", "bytes"))
    for ascending in (not down, down):
        button.click()
        order = ops.sort_values(column, ascending=ascending, kind="stable", na_position="last")
        assert nodes(page) == order["node"].tolist()
        state = "ascending" if ascending else "descending"
        assert page.locator("th[aria-sort]").get_attribute("aria-sort") == state
    button.click()
    assert nodes(page) == ops["node"].tolist() and page.locator("th[aria-sort]").count() == 0


def test_filters_and_sums(page: Any, root: Path, ops: pd.DataFrame) -> None:
    open_(page, root)
    page.fill("[data-tg=filter]", "layer 1 ffn")
    page.select_option("[data-tg=component]", "expert_gate")
    wanted = ops[(ops["layer"] == 1).fillna(False) & (ops["component"] == "expert_gate")]
    assert 0 < len(wanted) < len(ops)
    assert nodes(page) == wanted["node"].tolist()
    assert page.locator("[data-tg=count]").inner_text() == f"{len(wanted)} of {len(ops)} rows"
    sums = page.locator("tfoot td").all_inner_texts()
    assert number(sums[6]) == pytest.approx(wanted["work_ns"].sum() / 1e3, abs=0.006)
    assert number(sums[10]) == pytest.approx(wanted["copied_bytes"].sum() / 1024, abs=0.06)
    page.click("[data-tg=clear]")
    assert nodes(page) == ops["node"].tolist()


def test_an_operand_is_found_by_the_filter(page: Any, root: Path) -> None:
    open_(page, root)
    page.fill("[data-tg=filter]", "blk.1.ffn_gate_exps.weight")
    edges, names = TABLES["graph_edges"], TABLES["graph_nodes"]
    graph = int(TABLES["passes"].set_index("pass_id").loc[PASS, "graph"])
    leaf = names[(names["graph"] == graph) & (names["name"] == "blk.1.ffn_gate_exps.weight")]["node"].iloc[0]
    readers = edges[(edges["graph"] == graph) & (edges["source"] == leaf)]["target"].tolist()
    assert readers and nodes(page) == readers


def test_the_address_restores_the_view(page: Any, root: Path) -> None:
    open_(page, root)
    page.fill("[data-tg=filter]", "ffn")
    page.locator(".tg-sort", has_text="Work").click()
    page.click("summary:has-text('Columns')")
    page.get_by_label("move Threads to the left").click()
    page.locator("[data-tg=columns] label", has_text="Layer").locator("input").uncheck()
    page.locator("[data-tg=columns] label", has_text="Sources").locator("input").check()
    before = nodes(page), page.locator("[data-tg=table] thead").inner_text()
    words = page.url.partition("#")[2]
    assert "columns=" in words and "sort=-work" in words and "q=ffn" in words
    open_(page, root, words)
    assert (nodes(page), page.locator("[data-tg=table] thead").inner_text()) == before
    assert "Layer" not in before[1] and before[1].index("Threads") < before[1].index("Buffers")


def test_junk_in_the_address_is_as_if_it_were_not_there(page: Any, root: Path, ops: pd.DataFrame) -> None:
    open_(page, root, f"pass={PASS}&sort=nothing&columns=,,what,&component=<b>&op=%E0%A4%A&memory=tape&zoom=9")
    assert nodes(page) == ops["node"].tolist()


def test_what_is_shown_is_what_is_kept(page: Any, root: Path, ops: pd.DataFrame) -> None:
    open_(page, root, f"pass={PASS}&q=ffn&sort=-work")
    with page.expect_download() as download:
        page.click("[data-tg=keep]")
    text = Path(download.value.path()).read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [int(row["node"]) for row in rows] == nodes(page)
    exact = ops.set_index("node")
    for row in rows:
        one = exact.loc[int(row["node"])]
        assert row["work_ns"] == ("" if pd.isna(one["work_ns"]) else str(one["work_ns"]))
        assert row["buffer_bytes"] == str(one["buffer_bytes"])


def test_a_name_is_found_anywhere_in_the_run(page: Any, root: Path) -> None:
    open_(page, root)
    page.click("summary:has-text('Find')")
    page.fill("[data-tg=find]", "blk.1.attn_q.weight")
    page.wait_for_selector(".tg-found li")
    assert page.locator(".tg-found > li").count() == 1
    page.locator(".tg-found button").click()
    links = page.locator(".tg-found ul a")
    assert links.count() == TABLES["passes"]["graph"].notna().sum()
    links.last.click()
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent.startsWith('token 4 (')")
    assert "blk.1.attn_q.weight" in page.locator("tr.tg-open").inner_text()
    page.fill("[data-tg=find]", "no such name")
    assert page.locator("[data-tg=find-status]").inner_text() == "Nothing in this run has this name."


def test_of_a_long_table_only_the_rows_in_sight_are_there(chrome: Any, tmp_path: Path) -> None:
    tables = scaled_case(0, 24, moe=True)
    page = chrome.new_page(viewport={"width": 1280, "height": 900})
    page.goto((written_report(tmp_path, tables) / "operations/index.html").as_uri())
    n = int(page.locator("[data-tg=count]").inner_text().split()[0].replace("\u202f", ""))
    assert n > 400 and page.locator("tr.tg-op").count() < 80
    heights = "e => [e.scrollHeight, e.clientHeight]"
    whole, seen = page.eval_on_selector("[data-tg=table]", heights)
    assert whole == pytest.approx(28 * n, rel=0.05) and seen < 900
    page.eval_on_selector("[data-tg=table]", "e => { e.scrollTop = e.scrollHeight; }")
    last = int(op_rows(tables)["node"].max())
    page.wait_for_selector(f"tr.tg-op[data-node='{last}']")
    page.close()
