"""What is chosen: one bar, one address, all pages of a report, and Back undoes it."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.browser.conftest import MOE_TABLES, copied
from tests.browser.test_op_rows import PASS, nodes, open_
from tests.site_project import Project
from tracegen.analysis.operations import op_rows
from tracegen.charts import theme
from tracegen.contract import quantities as q

pytestmark = pytest.mark.browser
FORMS = {"BibTeX": "@misc{", "CSL-JSON": '"dataset"'}  # what a citation in this form holds


@pytest.fixture(scope="module")
def ops() -> pd.DataFrame:
    rows = op_rows(MOE_TABLES, [PASS]).reset_index(drop=True)
    return rows.assign(group=rows["component"].astype("object").map(theme.GROUP_OF))


def chosen(page: Any) -> list[str]:
    return [str(text) for text in page.locator("[data-tg=chosen] button").all_inner_texts()]


def cell(page: Any, layer: str, group: str) -> Any:
    return page.locator(f'[data-tg=layers] button[aria-label^="{layer}, {group},"]')


def test_a_cell_of_the_layers_chooses_its_operations_and_back_undoes_it(
    page: Any, moe_report: Path, ops: pd.DataFrame
) -> None:
    open_(page, moe_report)
    cell(page, "layer 1", "attention").click()
    assert nodes(page) == ops.loc[(ops["layer"] == 1).fillna(False) & (ops["group"] == "attention"), "node"].tolist()
    assert chosen(page) == ["token 2 (pass 4)", "layer 1", "attention"]
    cell(page, "layer 0", "experts").click()
    assert chosen(page)[1:] == ["layer 0", "experts"]
    page.go_back()
    page.wait_for_function("document.querySelectorAll('[data-tg=chosen] button')[1].textContent === 'layer 1'")
    assert cell(page, "layer 1", "attention").get_attribute("aria-pressed") == "true"
    page.locator("[data-tg=chosen] button", has_text="attention").click()
    assert nodes(page) == ops.loc[(ops["layer"] == 1).fillna(False), "node"].tolist()
    page.click("[data-tg=clear-all]")
    assert page.locator("[data-tg=selection]").inner_text().startswith("copy link")
    assert page.locator("[data-tg=clear-all]").is_hidden() and "layer" not in page.url


def test_the_layers_add_up_to_the_operations_and_say_the_mean(page: Any, moe_report: Path, ops: pd.DataFrame) -> None:
    open_(page, moe_report)
    generate = MOE_TABLES["passes"].loc[MOE_TABLES["passes"]["kind"] == "generate", "pass_id"].tolist()
    every = op_rows(MOE_TABLES, generate)
    for quantity, column, scale in (
        ("duration", "duration_ns", 1e3),
        ("disk", "disk_bytes", 1024),
        ("buffer", "buffer_bytes", 1024),
    ):
        page.select_option("[data-tg=quantity]", quantity)
        for layer, group in ((0, "attention"), (1, "experts")):
            mine = ops[(ops["layer"] == layer).fillna(False) & (ops["group"] == group)]
            of_all = every[(every["layer"] == layer).fillna(False)]
            of_all = of_all[of_all["component"].astype("object").map(theme.GROUP_OF) == group]
            shown = cell(page, f"layer {layer}", group).locator("span, small").all_inner_texts()
            wanted = mine[column].sum() / scale, of_all[column].sum() / scale / len(generate)
            got = [float(text.replace("\u202f", "")) for text in shown]
            assert got == [pytest.approx(value, abs=0.051) for value in wanted], (quantity, layer, group)


def test_the_answer_is_a_sentence(page: Any, moe_report: Path, ops: pd.DataFrame) -> None:
    open_(page, moe_report, f"pass={PASS}&layer=1&group=attention")
    text = page.locator("[data-tg=answer]").inner_text()
    assert text.startswith("layer 1, attention: wall time ") and " in token 2 (pass 4); " in text
    assert text.endswith(" in the mean of 4 generate passes.")
    mine = ops[(ops["layer"] == 1).fillna(False) & (ops["group"] == "attention")]
    assert f"wall time {q.duration(int(mine['duration_ns'].sum()))} in" in text


def test_the_panel_names_the_words_of_a_pass_and_leads_to_others(page: Any, moe_report: Path) -> None:
    open_(page, moe_report)
    assert page.locator("[data-tg=word]").inner_text() == ("Input token “·was” (id 42); output token “·a” (id 7).")
    words = page.locator("[data-tg=words]")
    assert words.locator("[aria-current]").inner_text() == "·a"
    assert words.evaluate("e => getComputedStyle(e).columnWidth") == "auto"  # read line by line
    page.locator("[data-tg=words] a", has_text="·small").click()
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent.startsWith('token 4 (')")
    assert chosen(page)[0].startswith("token 4 (pass ")
    page.go_back()
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent === 'token 2 (pass 4)'")


def test_experts_of_the_token_are_those_of_the_routing_table(page: Any, moe_report: Path) -> None:
    open_(page, moe_report)
    routing = MOE_TABLES["routing"]
    mine = routing[routing["pass_id"] == PASS].sort_values(["layer", "rank"])
    wanted = {str(layer): [str(e) for e in part["expert"]] for layer, part in mine.groupby("layer")}
    rows = page.locator("[data-tg=expert-rows] tr").all()
    got = {
        row.locator("th").inner_text(): [
            button.evaluate("b => b.firstChild.textContent") for button in row.locator("button").all()
        ]
        for row in rows
    }
    assert got == wanted
    rows[1].locator("button").first.click()
    assert chosen(page)[1:] == ["layer 1", f"expert {wanted['1'][0]}"]


def test_what_is_chosen_goes_along_to_another_page_and_back(page: Any, moe_report: Path) -> None:
    open_(page, moe_report, f"pass={PASS}&layer=1")
    page.locator(".tg-verdict a.tg-id").click()
    page.wait_for_url("**/index.html#pass=4&layer=1&at=top")
    assert chosen(page) == ["token 2 (pass 4)", "layer 1"]
    page.evaluate("document.querySelector('.tg-verdict a').hash = ''")
    page.go_back()
    page.wait_for_function("document.querySelector('[data-tg=label]').textContent === 'token 2 (pass 4)'")


def to_page(page: Any, key: str) -> None:
    """Click a link such as the site puts above each page."""
    page.evaluate(
        """key => { const link = document.body.appendChild(document.createElement("a"));
        link.href = `../${key}/index.html`; link.textContent = "to the page"; }""",
        key,
    )
    page.locator("a", has_text="to the page").click()


def test_a_chosen_operation_is_chosen_in_the_graph_too_and_back(page: Any, moe_report: Path, ops: pd.DataFrame) -> None:
    node = int(ops.loc[(ops["layer"] == 1).fillna(False) & (ops["op"] == "MUL_MAT"), "node"].iloc[0])
    name = str(ops.loc[ops["node"] == node, "name"].iloc[0])
    open_(page, moe_report, f"pass={PASS}&node={node}")
    to_page(page, "graph")
    facts = page.locator("[data-tg=facts]")
    page.wait_for_function("!document.querySelector('[data-tg=facts]').hidden")
    assert name in facts.inner_text() and chosen(page) == ["token 2 (pass 4)", f"node {node}"]
    page.locator("[data-tg=chosen] button", has_text="node").click()
    assert facts.is_hidden() and chosen(page) == ["token 2 (pass 4)"]
    box = page.locator(".tg-drawing .tg-node[data-node]:visible").first
    other = box.get_attribute("data-node")
    box.click()
    assert chosen(page) == ["token 2 (pass 4)", f"node {other}"]
    to_page(page, "operations")
    page.wait_for_selector("tr.tg-chosen, tr.tg-open")
    assert chosen(page) == ["token 2 (pass 4)", f"node {other}"]


def test_a_link_to_a_place_of_another_page_keeps_the_place(page: Any, moe_report: Path) -> None:
    open_(page, moe_report, f"pass={PASS}")
    page.locator(".tg-verdict a").first.click()
    page.wait_for_url("**/index.html#pass=4&at=verdict")
    page.wait_for_function("document.getElementById('verdict').getBoundingClientRect().top < innerHeight")


def test_the_citation_says_what_is_chosen(page: Any, moe_report: Path) -> None:
    open_(page, moe_report, f"pass={PASS}&layer=1&group=attention")
    text = copied(page, page.locator("[data-tg=copy-citation]"))
    assert text == f"demo/run-003, Operations, token 2 (pass 4), layer 1, attention. {inside(page, moe_report)}"
    page.goto((moe_report / "index.html").as_uri())
    assert copied(page, page.locator("[data-tg=copy-citation]")) == "demo/run-003. index.html"


def inside(page: Any, version: Path) -> str:
    """Where a page opened as a file lies in its version, which a citation says: not in which folder of the reader."""
    return str(page.url).removeprefix(version.as_uri() + "/")


def test_a_version_is_cited_in_the_form_that_is_asked_for(tab: Any, project: Project) -> None:
    page = tab(project.bundle("demo", 2) / "operations/index.html")
    page.evaluate("location.hash = 'pass=3&tensor=blk.0.attn_q.weight'")
    page.wait_for_selector("[data-tg=chosen]:has-text('attn_q')")
    url, cited = inside(page, project.bundle("demo", 2)), {}
    for form in ("text", "Markdown", "LaTeX"):
        page.select_option("[data-tg=form]", form)
        cited[form] = copied(page, page.locator("[data-tg=copy-citation]"))
    words = "Operations, token 1 (pass 3), tensor blk.0.attn_q.weight"
    escaped = words.replace("_", "\\_")
    assert cited["text"] == f"demo@v2, {words}. {url}" and cited["Markdown"] == f"[demo@v2, {escaped}]({url})"
    key = re.search("@misc{(.*),", (project.bundle("demo", 2) / "citation.bib").read_text()).group(1)  # type: ignore[union-attr]
    assert cited["LaTeX"] == f"\\cite[{{{escaped}}}]{{{key}}}", "it has no address"


def test_each_figure_is_cited_too(tab: Any, project: Project) -> None:
    """As BibTeX and as CSL-JSON; a figure's entry is not that of its version."""
    page = tab(project.bundle("demo", 2) / "operations/index.html")
    figure = page.locator("figure[id]:visible:has(details.tg-links)").first
    key, menu = figure.get_attribute("id"), figure.locator("details.tg-links").first
    cited = {}
    for form in ("BibTeX", "CSL-JSON"):
        page.select_option("[data-tg=form]", form)
        if not cited:
            menu.locator("summary").press("Enter")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        menu.get_by_role("button", name="copy citation").press("Enter")
        page.wait_for_function("form => navigator.clipboard.readText().then(t => t.includes(form))", arg=FORMS[form])
        cited[form] = page.evaluate("navigator.clipboard.readText()")
    fields = dict(re.findall(r"  (\w+) = {(.*)},", cited["BibTeX"]))
    (csl,) = json.loads(cited["CSL-JSON"])
    bib = (project.bundle("demo", 2) / "citation.bib").read_text()
    assert cited["BibTeX"].split("\n")[0] == bib.split("\n")[0], "both say how to have an address"
    title = figure.locator(".tg-title").inner_text().strip().replace("\u202f", " ")
    assert f"\n@misc{{demo-v2-{key}," in cited["BibTeX"] and csl["id"] == f"demo@v2-{key}"
    assert csl["title"].replace("\u202f", " ").endswith(f": {title}")
    assert (
        fields["note"].replace("\\", "") == csl["note"] == f"operations/index.html#{key}" and fields["version"] == "2"
    )
    published = json.loads((project.bundle("demo", 2) / "citation.json").read_text())[0]
    assert csl["issued"] == published["issued"] and csl["type"] == published["type"]


def test_the_bar_below_the_picture_of_the_first_page_tells_what_is_chosen_and_clears_it(
    page: Any, moe_report: Path
) -> None:
    page.goto((moe_report / "index.html").as_uri() + f"#pass={PASS}&layer=1&at=findings")
    assert chosen(page) == ["token 2 (pass 4)", "layer 1"]
    bar, heading = page.locator("[data-tg=selection]").bounding_box(), page.locator("#findings").bounding_box()
    assert bar["y"] >= 0 and bar["y"] + bar["height"] <= heading["y"], "it stays in view and hides nothing"
    page.evaluate("scrollTo(0, 0)")
    picture = page.locator("#fig-file-tokens").bounding_box()
    assert page.locator("[data-tg=selection]").bounding_box()["y"] >= picture["y"] + picture["height"]
    page.click("[data-tg=clear-all]")
    assert chosen(page) == [] and page.locator("[data-tg=clear-all]").is_hidden() and "layer" not in page.url


def test_a_copied_link_leads_to_what_is_seen(page: Any, moe_report: Path) -> None:
    open_(page, moe_report, f"pass={PASS}&layer=1&group=attention")
    root, button = moe_report.as_uri() + "/", page.locator("[data-tg=copy-link]")
    name = page.locator("[data-tg=selection]").get_attribute("data-cited")

    def link_copied() -> str:
        """A folder of this machine tells others nothing: the link to a file has the name of what it belongs to."""
        of, _, place = copied(page, button).partition(", ")
        assert of == name
        return root + place

    assert link_copied() == page.url
    place = page.locator("[id^=tab-]:visible").first
    place.evaluate("e => e.scrollIntoView()")
    link = link_copied()
    assert link == f"{page.url}&at={place.get_attribute('id')}"
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_function(
        "id => document.getElementById(id).getBoundingClientRect().top < 200", arg=link.split("at=")[1]
    )
    assert link_copied() == link
    page.eval_on_selector("[data-tg=selection]", "bar => bar.dataset.url = 'https://example.org/moe/v1/index.html'")
    assert copied(page, button) == link.replace(root, "https://example.org/moe/v1/")


def test_the_lines_for_an_issue_are_copied(page: Any, moe_report: Path) -> None:
    page.goto((moe_report / "index.html").as_uri())
    text = (moe_report / "data/issue.md").read_text(encoding="utf-8")
    assert copied(page, page.locator("[data-tg=issue] a"), "copied") == text and "| llama " in text
    assert page.locator("[data-tg=issue] textarea").is_hidden()


def test_without_scripts_the_link_leads_to_the_file(tab: Any, moe_report: Path) -> None:
    page = tab(moe_report / "index.html", java_script_enabled=False)
    link = page.locator("[data-tg=issue] a")
    assert link.is_visible() and (moe_report / link.get_attribute("href")).is_file()


def test_where_copying_is_not_allowed_the_lines_can_be_copied_by_hand(page: Any, moe_report: Path) -> None:
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.goto((moe_report / "index.html").as_uri())
    page.click("[data-tg=issue] a")
    assert page.inner_text("[data-tg=copied]") == "The browser did not allow copying: copy the text below."
    text = (moe_report / "data/issue.md").read_text(encoding="utf-8")
    assert page.evaluate("document.activeElement.value.slice(0, document.activeElement.selectionEnd)") == text
    page.click("[data-tg=copy-link]")
    assert page.inner_text("[data-tg=said]").endswith(", index.html")


def test_junk_in_the_address_is_shown_as_text(page: Any, moe_report: Path) -> None:
    open_(page, moe_report, f"pass={PASS}&layer=%3Cimg%20src%3Dx%20onerror%3Dtripped()%3E&group=constructor")
    assert chosen(page)[1:] == ["layer <img src=x onerror=tripped()>", "constructor"]
    assert page.locator("[data-tg=chosen] img").count() == 0
