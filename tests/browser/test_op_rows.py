"""The operation table in Chromium: what is sorted, filtered, added up, copied and found is what the tables hold."""

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.browser.conftest import MOE_TABLES, unpacked
from tracegen.analysis.operations import op_rows
from tracegen.charts import theme
from tracegen.report.pages.operations import LISTED

pytestmark = pytest.mark.browser

PASS = 4


@pytest.fixture(scope="module")
def ops() -> pd.DataFrame:
    return op_rows(MOE_TABLES, [PASS]).reset_index(drop=True)


def open_(page: Any, moe_report: Path, words: str = f"pass={PASS}") -> None:
    page.goto("about:blank")
    page.goto((moe_report / "operations/index.html").as_uri() + "#" + words)
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent === 'token 2 (pass 4)'")


def nodes(page: Any) -> list[int]:
    """The nodes of all rows, in the table's order."""
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    found = page.eval_on_selector_all("tr.tg-op", "rows => rows.map(row => parseInt(row.dataset.node))")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    return list(found)


def number(text: str) -> float:
    return float(text.replace("\u202f", ""))


def test_rows_made_by_the_script_equal_those_in_the_page(tab: Any, page: Any, moe_report: Path) -> None:
    plain = tab(moe_report / "operations/index.html", java_script_enabled=False)
    static = plain.locator("tr.tg-op").all_inner_texts()
    operands = plain.locator("tr.tg-detail").all_inner_texts()
    page.goto((moe_report / "operations/index.html").as_uri())
    unpacked(page)

    rows, details = everything(page)
    listed = [i for i, row in enumerate(rows) if row in static]  # the longest
    assert ([rows[i] for i in listed], [details[i] for i in listed]) == (static, operands)
    assert len(static) == LISTED < len(rows)
    first = page.locator("tr.tg-op").first.inner_text()
    page.click("[data-tg=previous]")
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent.startsWith('token 2 (')")
    assert page.locator("tr.tg-op").first.inner_text() != first
    page.click("[data-tg=next]")
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent.startsWith('token 3 (')")
    assert everything(page) == (rows, details)


def everything(page: Any) -> tuple[list[str], list[str]]:
    """All rows and all operands of the table: on paper every row is there."""
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.evaluate("""() => {
      const closed = () => document.querySelector("tbody[data-tg=rows] tr.tg-op button[aria-expanded=false]");
      for (let button = closed(); button; button = closed()) button.click();
    }""")
    found = page.locator("tr.tg-op").all_inner_texts(), page.locator("tr.tg-detail").all_inner_texts()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    return found


def test_sorting(page: Any, moe_report: Path, ops: pd.DataFrame) -> None:
    """Numbers begin with the largest, names with the first; a third click is the order of the run again."""
    open_(page, moe_report)
    for head, column in (("Work", "work_ns"), ("Result", "name"), ("Layer", "layer")):
        button = page.locator("[data-tg=table] .tg-sort", has_text=head).first
        down = column == "work_ns"
        for ascending in (not down, down):
            button.click()
            order = ops.sort_values(column, ascending=ascending, kind="stable", na_position="last")
            assert nodes(page) == order["node"].tolist()
            state = "ascending" if ascending else "descending"
            assert page.locator("[data-tg=table] th[aria-sort]").get_attribute("aria-sort") == state
        button.click()
        assert nodes(page) == ops["node"].tolist() and page.locator("[data-tg=table] th[aria-sort]").count() == 0


def test_filters_and_sums(page: Any, moe_report: Path, ops: pd.DataFrame) -> None:
    open_(page, moe_report)
    assert page.locator("[data-tg=filter]").get_attribute("placeholder").split()[0] == "blk.2"
    page.fill("[data-tg=filter]", "blk.1 ffn")
    page.select_option("[data-tg=component]", "expert_gate")
    wanted = ops[(ops["layer"] == 1).fillna(False) & (ops["component"] == "expert_gate")]
    assert 0 < len(wanted) < len(ops)
    assert nodes(page) == wanted["node"].tolist()
    assert page.locator("[data-tg=count]").inner_text() == f"{len(wanted)} of {len(ops)} rows"
    sums = page.locator("[data-tg=table] tfoot td").all_inner_texts()
    assert number(sums[6]) == pytest.approx(wanted["work_ns"].sum() / 1e3, abs=0.006)
    assert number(sums[10]) == pytest.approx(wanted["copied_bytes"].sum() / 1024, abs=0.06)
    page.click("[data-tg=clear]")
    assert nodes(page) == ops["node"].tolist()


def test_layer_and_group_find_every_operation_of_a_layers_attention(
    page: Any, moe_report: Path, ops: pd.DataFrame
) -> None:
    open_(page, moe_report)
    page.select_option("[data-tg=layer]", "none")
    assert nodes(page) == ops.loc[ops["layer"].isna(), "node"].tolist()
    page.select_option("[data-tg=layer]", "1")
    page.select_option("[data-tg=component]", "group:attention")
    wanted = ops[(ops["layer"] == 1).fillna(False) & (ops["component"].map(theme.group) == "attention")]
    assert len(wanted) > 2
    assert nodes(page) == wanted["node"].tolist()
    foot = page.locator("[data-tg=table] tfoot tr > *").all_inner_texts()
    assert foot[:2] == ["Σ", f"{len(wanted)} of {len(ops)} rows"]
    words = page.url.partition("#")[2]
    assert "layer=1" in words and "group=attention" in words
    open_(page, moe_report, words)
    assert nodes(page) == wanted["node"].tolist()


def test_the_caption_and_the_csv_follow_the_pass(page: Any, moe_report: Path, ops: pd.DataFrame) -> None:
    open_(page, moe_report)
    first = page.evaluate("JSON.parse(document.getElementById('tg-operations').textContent).shown")
    assert first != PASS
    noops = MOE_TABLES["ops"]
    n = int(((noops["pass_id"] == PASS) & (noops["state"] == "noop").fillna(False)).sum())
    assert page.locator("[data-tg=left-out]").inner_text() == f"{n} node{'' if n == 1 else 's'} of token 2 (pass 4)"
    assert page.locator("[data-tg=csv]").inner_text() == "token 2 (CSV)"
    with page.expect_download() as download:
        page.click("[data-tg=csv]")
    assert download.value.suggested_filename == "operations-token-2-pass-4.csv"
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"))))
    assert [int(row["node"]) for row in rows] == ops["node"].tolist()
    assert [row["wall_ns"] for row in rows] == ["" if pd.isna(v) else str(v) for v in ops["duration_ns"]]


def test_an_operand_is_found_by_the_filter(page: Any, moe_report: Path) -> None:
    open_(page, moe_report)
    page.fill("[data-tg=filter]", "blk.1.ffn_gate_exps.weight")
    edges, names = MOE_TABLES["graph_edges"], MOE_TABLES["graph_nodes"]
    graph = int(MOE_TABLES["passes"].set_index("pass_id").loc[PASS, "graph"])
    leaf = names[(names["graph"] == graph) & (names["name"] == "blk.1.ffn_gate_exps.weight")]["node"].iloc[0]
    readers = edges[(edges["graph"] == graph) & (edges["source"] == leaf)]["target"].tolist()
    assert readers and nodes(page) == readers


def test_the_address_restores_the_view(page: Any, moe_report: Path) -> None:
    open_(page, moe_report)
    page.fill("[data-tg=filter]", "ffn")
    page.locator("[data-tg=table] .tg-sort", has_text="Work").click()
    page.click("summary:has-text('Columns')")
    page.get_by_label("move Threads to the left").click()
    page.locator("[data-tg=columns] label", has_text="Layer").locator("input").uncheck()
    page.locator("[data-tg=columns] label", has_text="Sources").locator("input").check()
    before = nodes(page), page.locator("[data-tg=table] thead").inner_text()
    words = page.url.partition("#")[2]
    assert "columns=" in words and "sort=-work" in words and "q=ffn" in words
    open_(page, moe_report, words)
    assert (nodes(page), page.locator("[data-tg=table] thead").inner_text()) == before
    assert "Layer" not in before[1] and before[1].index("Threads") < before[1].index("Buffers")


def test_junk_in_the_address_is_as_if_it_were_not_there(page: Any, moe_report: Path, ops: pd.DataFrame) -> None:
    open_(page, moe_report, f"pass={PASS}&sort=nothing&columns=,,what,&component=<b>&op=%E0%A4%A&memory=tape&zoom=9")
    assert nodes(page) == ops["node"].tolist()


def test_what_is_shown_is_what_is_kept(page: Any, moe_report: Path, ops: pd.DataFrame) -> None:
    open_(page, moe_report, f"pass={PASS}&q=ffn&sort=-work")
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


def test_a_name_is_found_anywhere_in_the_run(page: Any, moe_report: Path) -> None:
    open_(page, moe_report)
    page.click("summary:has-text('Find')")
    page.fill("[data-tg=find]", "blk.1.attn_q.weight")
    page.wait_for_selector(".tg-found li")
    assert page.locator(".tg-found > li").count() == 1
    page.locator(".tg-found button").click()
    links = page.locator(".tg-found ul a")
    assert links.count() == MOE_TABLES["passes"]["graph"].notna().sum()
    links.last.click()
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent.startsWith('token 4 (')")
    assert "blk.1.attn_q.weight" in page.locator("tr.tg-open").inner_text()
    page.fill("[data-tg=find]", "no such name")
    assert page.locator("[data-tg=find-status]").inner_text() == "Nothing in this run has this name."


def test_of_a_long_table_only_the_rows_in_sight_are_there(page: Any, long_report: Path) -> None:
    page.goto((long_report / "operations/index.html").as_uri())
    n = int(unpacked(page).locator("[data-tg=count]").inner_text().split()[0].replace("\u202f", ""))
    assert n > 400 and page.locator("tr.tg-op").count() < 90
    heights = "e => [e.scrollHeight, e.clientHeight]"
    whole, seen = page.eval_on_selector("[data-tg=table]", heights)
    assert whole == pytest.approx(28 * n, rel=0.05) and seen < 1000
    page.eval_on_selector("[data-tg=table]", "e => { e.scrollTop = e.scrollHeight; }")
    page.wait_for_selector("tr.tg-op:has-text('result_output')")


@pytest.mark.parametrize("width", [360, 1280])
def test_the_table_of_layers_ends_with_a_whole_row(tab: Any, long_report: Path, width: int) -> None:
    page = tab(long_report / "operations/index.html", viewport={"width": width, "height": 1000})
    page.wait_for_selector("[data-tg=layers] tbody tr")
    cut = """box => { const end = box.getBoundingClientRect().top + box.clientHeight;
        return Array.from(box.querySelectorAll("tbody tr")).map(row => row.getBoundingClientRect())
            .filter(row => row.top < end - 2 && row.bottom > end + 2).length; }"""
    box = page.locator("[data-tg=layers]")
    assert box.evaluate("box => box.scrollHeight > box.clientHeight")
    assert box.evaluate(cut) == 0
