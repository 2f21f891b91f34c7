"""An operation is followed from its table to the timeline and to memory; the ways back: test_graph, test_timeline."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import MOE_TABLES

pytestmark = pytest.mark.browser
PASS, NODE = 4, 6


def operation(page: Any, moe_report: Path, node: int = NODE) -> None:
    page.goto((moe_report / "operations/index.html").as_uri() + f"#pass={PASS}&node={node}")
    page.wait_for_selector("tr.tg-chosen")


def test_an_operation_leads_to_its_moment_in_the_timeline(page: Any, moe_report: Path) -> None:
    operation(page, moe_report)
    page.get_by_role("link", name="in the timeline").click()
    page.wait_for_url(re.compile(rf"timeline/index\.html#pass={PASS}&node={NODE}$"))
    page.wait_for_selector("[data-tg=about] a")
    assert page.locator("[data-tg=about] a").inner_text() == "Qcur-0"
    assert page.locator("[data-tg=label]").inner_text() == "token 2 (pass 4)"


def test_an_operand_leads_to_its_tensor_in_memory(page: Any, moe_report: Path) -> None:
    ops = MOE_TABLES["ops"].merge(MOE_TABLES["graph_nodes"][MOE_TABLES["graph_nodes"]["graph"] == 1], on="node")
    name, of_pass = "blk.0.attn_q.weight", ops[ops["pass_id"] == PASS]
    operation(page, moe_report, int(of_pass.loc[of_pass["name"] == "Qcur-0", "node"].min()))
    before, steps = page.url, page.evaluate("history.length")
    page.get_by_role("link", name=name).first.click()
    page.wait_for_url(re.compile(r"file/index\.html#pass=\d+&tensor=\d+$"))
    number = int(MOE_TABLES["tensors"].set_index("name")["tensor"][name])
    assert page.url.endswith(f"#pass={PASS}&tensor={number}"), "the pass stays, and no expert is chosen"
    page.wait_for_selector("[data-tg=log] table")
    assert name in page.locator("#tg-memory-about").inner_text()
    assert "token 2" in page.locator("#tg-memory-about").inner_text(), "the block in the row of the chosen pass"
    assert page.evaluate("history.length") == steps + 1
    page.go_back()
    assert page.url == before
    page.goto((moe_report / "file/index.html").as_uri() + "#file=0&offset=99999999999")
    page.wait_for_function(
        "document.querySelector('#explorer [data-tg=status]').textContent === 'There is no tensor at this place.'"
    )


def test_a_fused_operation_leads_to_the_one_that_did_its_work(page: Any, moe_report: Path) -> None:
    ops = MOE_TABLES["ops"]
    fused = ops[(ops["pass_id"] == PASS) & (ops["state"] == "fused")].iloc[0]
    node, into = int(fused["node"]), int(fused["fused_into"])
    page.goto((moe_report / "operations/index.html").as_uri() + f"#pass={PASS}&node={node}")
    page.wait_for_selector("tr.tg-chosen")
    page.get_by_role("link", name=f"node {into}, which computed it, in the timeline").click()
    page.wait_for_url(re.compile(rf"timeline/index\.html#pass={PASS}&node={into}$"))
    page.wait_for_selector("[data-tg=about] a")
