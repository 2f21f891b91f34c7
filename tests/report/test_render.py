"""Whole reports: their pages, links, anchors, values and files."""

import io
import json
import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape

import pandas as pd
import pytest

from tests import drawn
from tests.builders import a_moe_run, scaled_case
from tests.recompute.published import handed_over
from tests.report.rendered import CASES, Tags, body, long_pages, render, rendered, words
from tracegen.contract import tables as contract
from tracegen.contract.model import Version
from tracegen.report.document.page import Report
from tracegen.report.findings.found import MOST
from tracegen.report.words.sentences import OUTSIDE

DRAWN = ("hard case", "dense", "experts")


@pytest.fixture(scope="module", params=CASES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def report(name: str) -> Report:
    stacked = (CASES[name]["graph_nodes"]["op"].astype("object") == "MUL_MAT_ID").any()
    return rendered(CASES[name], a_moe_run() if stacked else None, drawn=name in DRAWN)


@pytest.fixture(scope="module")
def parsed(report: Report) -> dict[str, Tags]:
    return {page.key: Tags(page.body) for page in report.pages}


def test_pages_are_whole_html_that_asks_nothing_of_other_sites(report: Report, parsed: dict[str, Tags]) -> None:
    keys = ["overview", "file", "timeline", "operations", "graph", "method", "appendix"]
    assert [page.key for page in report.pages if page.key != "experts"] == keys
    for page in report.pages:
        tags = parsed[page.key]
        assert len(tags.ids) == len(set(tags.ids)), page.key
        assert not [link for link in tags.links if re.match(r"(?:[a-z]+:|//)", link)]
        assert not re.findall(r"https?://(?!www\.w3\.org/)", page.body)
        assert 'class="tg-verdict tg-' in page.body and "index.html#verdict" in page.body


def test_every_link_into_the_report_leads_somewhere(report: Report, parsed: dict[str, Tags]) -> None:
    known = set(report.files) | {page.path for page in report.pages}
    for page in report.pages:
        ids = set(parsed[page.key].ids)
        for link in set(parsed[page.key].links):
            path, _, anchor = link.partition("#")
            if not path:
                assert anchor in ids, link
                continue
            target = path.removeprefix(page.up) if page.up else path
            assert target in known, (page.key, link)
            if anchor and not re.match(r"(?:pass|tensor|file)=|g\d", anchor):  # what scripts show
                assert any(p.path == target and anchor in parsed[p.key].ids for p in report.pages), (page.key, link)


def test_each_finding_leads_to_its_figure(name: str, report: Report) -> None:
    overview = body(report, "overview")
    answer = re.findall(r'<p class="tg-answer">(.*?)</p>', overview, re.DOTALL)
    listed = "".join(re.findall(r'<ul class="tg-findings">(.*?)</ul>', overview, re.DOTALL))
    items = re.findall(r"<li>(.*?)</li>", listed, re.DOTALL)
    assert len(answer) <= 1 and len(items) <= MOST
    for item in items:
        (href,) = re.findall(r'<a class="tg-figure-of" href="([^"]*)"', item)
        page = body(report, href.partition("#")[0].split("/")[0] or "overview")
        said = re.sub(r" figure$", "", words(item).strip())
        assert said in words(page).split("What the first page says with it:", 1)[1], "the figure has its numbers"
    for item in (*answer, *items):
        (href,) = re.findall(r'<a class="tg-figure-of" href="([^"]*)"', item)
        page, _, anchor = href.partition("#")
        assert f'id="{anchor}"' in body(report, page.split("/")[0] or "overview"), href
        assert re.search(r"[.)] (figure|.* care.*)$", words(item).strip()), item
    if name in DRAWN:
        assert answer and len(items) >= 3 and report.finding and words(report.finding) in words(answer[0])
        assert 'id="help"' in overview
    if name in ("nothing", "only a load"):
        assert not answer and not items and not report.finding


def test_no_page_but_the_appendix_has_many_words(report: Report) -> None:
    assert long_pages(report) == {}


def test_what_is_left_out_is_said_once_on_each_page_that_relies_on_it(name: str, report: Report) -> None:
    said = 0
    for page in report.pages:
        assert OUTSIDE not in page.body
        notes = re.findall(r'id="left-out">(.*?)</p>', page.body)
        signs = page.body.count('class="tg-sign"')
        assert len(notes) == words(page.body).count("Statistics leave out") <= 1
        assert bool(notes) == bool(signs)
        said += signs
    assert said >= 3 or name not in (*DRAWN, "only a load")


def test_each_entry_of_the_contents_leads_to_its_title(report: Report) -> None:
    for page in report.pages:
        lists = re.findall(r"<ol>\s*<li class=\"tg-of.*?</ol>", page.body, re.DOTALL)
        fold = r"(?:<summary>([^\n]*)</summary>\s*(?:<div[^>]*>\s*)?)?"
        title = r'<p class="tg-title">(.*?)(?:<span class="tg-amounts">|</p>)'
        found = re.findall(rf'{fold}<figure id="([^"]+)"[^>]*>\s*{title}', page.body)
        figures = [anchor for folded, anchor, title in found if folded != title]
        headings = len(re.findall(r"<h2", page.body.partition('<div class="tg-glossary">')[0]))
        if not lists:
            assert len(figures) + headings < 8, page.key
            continue
        entries = re.findall(r'<a href="#([^"]+)">(.*?)</a>', lists[0], re.DOTALL)
        assert [anchor for anchor, _ in entries if anchor in figures] == figures, page.key
        for anchor, title in entries:
            assert page.body.count(f'id="{anchor}"') == 1
            after = unescape(words(page.body[page.body.index(f'id="{anchor}"') :].partition(">")[2])).strip()
            assert after.startswith(" ".join(unescape(title).split())[:30]), (title, after[:90])
        assert len(set(lists)) == 1, "the folded list and the one beside the page are the same"


def test_the_same_run_gives_the_same_bytes() -> None:
    first = rendered(CASES["experts"], a_moe_run(), drawn=True)
    with drawn.again():
        assert render(CASES["experts"], a_moe_run()) == first


def test_who_draws_for_a_version_changes_nothing() -> None:
    run = a_moe_run()
    version = Version(run.experiment, 1, run.created, "why", (run.number,), run.verdict, "title")
    with drawn.empty_figures(but=("cache-rates",)), ThreadPoolExecutor(1) as executor:
        alone = render(CASES["experts"], run, version)
        assert render(CASES["experts"], run, version, executor) == alone
    pages = list(dict.fromkeys(figure.page for figure in alone.figures))
    assert pages == [page.key for page in alone.pages if page.key in pages], "figures stand in the order of the pages"


def test_anchors_that_are_cited() -> None:
    report = rendered(CASES["dense"], drawn=True)
    for key, anchors in {
        "overview": ["answer", "fig-file-tokens", "value-touched_share", "findings", "verdict", "text"],
        "file": ["explorer", "fig-cache-rates", "fig-buffers"],
        "operations": ["tab-token", "tab-operations", "fig-components", "tab-top-operations", "pass=6&node=18"],
        "timeline": ["fig-timeline", "tab-waiting-kinds"],
        "graph": ["fig-graph-0", "g0-n5"],
        "method": [
            "tab-checks",
            "check-dropped_events",
            "check-tracing_cost",
            "check-nodes_accounted",
            "tab-disk",
            "tab-downloads",
            "settings",
            "reading-guide",
        ],
        "appendix": [
            "fig-layers",
            "fig-heatmap",
            "fig-op-kinds",
            "fig-tokens",
            "tab-waiting-nodes",
            "tab-tensor-groups",
            "tab-biggest-tensors",
            "tab-never-touched",
        ],
    }.items():
        assert set(anchors) <= set(Tags(body(report, key)).ids), key
    assert {f.key for f in report.figures} >= {"heatmap", "components", "tokens", "timeline", "buffers", "graph-0"}
    for figure in report.figures:
        assert figure.path_svg in report.files and figure.alt and figure.caption


def test_values_are_named_and_exact() -> None:
    report = rendered(CASES["dense"], drawn=True)
    assert report.values["n_tensors_never_touched"] == {
        "value": 1,
        "unit": "",
        "text": "1",
        "label": "tensors never touched",
    }
    rate = report.values["tokens_per_second_generate"]
    assert isinstance(rate["value"], float) and str(rate["text"]).endswith("tokens/s")
    assert json.loads(report.files["data/values.json"]) == report.values


def test_every_op_of_every_pass_is_in_a_chunk() -> None:
    tables = scaled_case(120, 1)
    report = rendered(tables)
    chunks = {name: content.decode() for name, content in report.files.items() if re.match(r"data/ops/\d+\.js", name)}
    assert len(chunks) >= 2
    found = set()
    for text in chunks.values():
        assert len(text) <= 1_100_000
        nodes: list[int] = []
        for one in handed_over(text)[0]:
            nodes = one.get("node", nodes)  # those of the pass before it
            found |= {(one["id"], node) for node in nodes}
    ops = tables["ops"][tables["ops"]["state"] != "noop"]
    assert found == set(zip(ops["pass_id"], ops["node"], strict=True))


def test_the_first_token_is_in_the_page_without_scripts() -> None:
    page = body(rendered(CASES["hard case"], a_moe_run(), drawn=True), "operations")
    static = re.search(r"<noscript>(.*?)</noscript>", page, re.S)
    assert static is not None and "MUL_MAT_ID" in words(static[1])
    assert "blk.0.ffn_gate_exps.weight" in page


def test_the_downloads_are_the_tables() -> None:
    tables = scaled_case(1, 1)
    report = rendered(tables)
    for name in contract.BY_NAME:
        read = pd.read_parquet(io.BytesIO(report.files[f"data/tables/{name}.parquet"]))
        pd.testing.assert_frame_equal(
            read, tables[name], check_dtype=False, check_categorical=False, check_column_type=False
        )
    assert "data/tables/passes.csv" in report.files


def test_numbers_agree_with_their_nouns(report: Report) -> None:
    data = re.compile(r'<details class="tg-data">.*?</details>', re.DOTALL)  # columns of numbers and words
    text = " ".join(words(data.sub("", page.body)) for page in report.pages)
    found = re.findall(r"(?<![\d\u202f.–-])\b1 (?:nodes|operations|weights|kinds|passes|tokens|threads)\b", text)
    assert not found


def test_every_figure_and_table_has_a_caption_an_anchor_and_a_download(report: Report) -> None:
    for page in report.pages:
        for key, figure in re.findall(r'<figure id="([\w-]+)"[^>]*>(.*?)</figure>', page.body, re.DOTALL):
            assert f'href="#{key}"' in figure, key
            drawn = "<svg" in figure or "<tbody" in figure
            assert not drawn or (" download>" in figure or key == "tab-downloads"), key
            assert not drawn or len(words(figure.partition("<figcaption>")[2])) > 40, key


def test_a_pass_that_lacks_an_op_takes_nothing_from_those_that_ran_it() -> None:
    """The first pass of a graph does not list a node, and in another it is off: its name and operands are there."""
    tables = scaled_case(2, 1)
    ops = tables["ops"]
    first, last = (int(p) for p in tables["passes"].dropna(subset=["produced_token"])["pass_id"].iloc[[1, 2]])
    gone, off = (int(n) for n in ops[(ops["pass_id"] == last) & (ops["state"] == "executed")]["node"].iloc[[3, 5]])
    ops = ops[~((ops["pass_id"] == first) & (ops["node"] == gone))]
    ops.loc[(ops["pass_id"] == first) & (ops["node"] == off), "state"] = "off"
    report = rendered(tables | {"ops": ops})
    state = json.loads(re.search(r'id="tg-operations">(.*?)</script>', body(report, "operations"), re.S)[1])  # type: ignore[index]
    number = {one["id"]: one["static"] for one in state["passes"]}
    assert number[first] == number[last]
    text = report.files[f"data/ops/p{number[last]}.js"].decode()
    static = handed_over(text)[0]
    assert {gone, off} <= {row[0] for row in static["nodes"]}
    assert static["operands"][str(gone)] and static["operands"][str(off)]
