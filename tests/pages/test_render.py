"""Whole reports: the hard case, runs that lack something, hostile text, failed checks."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest

from tests.builders import a_moe_run, a_run, only, scaled_case, without
from tests.golden.hard_case import hard_case
from tracegen import store
from tracegen import tables as contract
from tracegen.figures import catalogue
from tracegen.model import Check, Run, Version
from tracegen.pages.page import Report
from tracegen.pages.render import render_report
from tracegen.publishing import privacy

HOSTILE = "</script><img src=x onerror=alert(1)><script>alert(1)</script>\u2028\x1b[31m\"'&"


def render(tables: Mapping[str, pd.DataFrame], run: Run | None = None, citable: Version | None = None) -> Report:
    return render_report(run or a_run(), tables, address="demo/run-003", citable=citable)


def body(report: Report, key: str) -> str:
    return next(page.body for page in report.pages if page.key == key)


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


class Tags(HTMLParser):
    """Tags, ids and what they refer to; wrong nesting raises."""

    VOID = frozenset({"col", "img", "br", "hr", "input", "meta", "link", "path", "rect"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.links.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open[-5:])
        self.open.pop()


CASES: dict[str, Mapping[str, pd.DataFrame]] = {
    "hard case": hard_case(),
    "dense": scaled_case(5, 4),
    "experts": scaled_case(3, 2, moe=True, splits=2),
    "one token": scaled_case(0, 2),
    "no buffers": without(scaled_case(2, 2), "buffers"),
    "no graph": without(scaled_case(2, 2), "graphs", "graph_nodes", "graph_edges", "placements", "touches"),
    "only a load": only(scaled_case(0, 2), ("load",)),
    "nothing": contract.empty(),
    "no spans": without(scaled_case(2, 2), "spans"),
    "no times": without(scaled_case(2, 2), "spans", "ops"),
}


@pytest.fixture(scope="module", params=CASES)
def report(request: pytest.FixtureRequest) -> Report:
    tables = CASES[request.param]
    stacked = (tables["graph_nodes"]["op"].astype("object") == "MUL_MAT_ID").any()
    return render(tables, a_moe_run() if stacked else None)


def test_pages_are_whole_html_that_asks_nothing_of_other_sites(report: Report) -> None:
    keys = ["overview", "memory", "operations", "graph", "timeline", "provenance"]
    assert [page.key for page in report.pages if page.key != "experts"] == keys
    for page in report.pages:
        tags = Tags(page.body)
        assert len(tags.ids) == len(set(tags.ids)), page.key
        assert not [link for link in tags.links if re.match(r"(?:[a-z]+:|//)", link)]
        assert not re.findall(r"https?://(?!www\.w3\.org/)", page.body)
        assert "Verdict:" in page.body


def test_every_link_into_the_report_leads_somewhere(report: Report) -> None:
    known = set(report.files) | {page.path for page in report.pages}
    for page in report.pages:
        for link in Tags(page.body).links:
            path, _, anchor = link.partition("#")
            if not path:
                assert anchor in Tags(page.body).ids, link
                continue
            target = path.removeprefix(page.up) if page.up else path
            assert target in known, (page.key, link)


def test_the_same_run_gives_the_same_bytes() -> None:
    tables = scaled_case(2, 2, moe=True)
    assert render(tables, a_moe_run()) == render(tables, a_moe_run())


def test_anchors_that_are_cited() -> None:
    report = render(CASES["dense"])
    for key, anchors in {
        "overview": ["fig-components", "fig-layers", "fig-op-kinds", "fig-tokens", "tab-top-operations", "tab-disk",
                     "check-dropped_events", "check-tracing_cost", "value-touched_share"],
        "memory": ["fig-heatmap", "fig-buffers", "tab-tensor-groups", "tab-biggest-tensors", "tab-never-touched"],
        "operations": ["tab-operations", "pass=2&node=1"],
        "timeline": ["fig-timeline", "tab-waiting-kinds", "tab-waiting-nodes"],
        "graph": ["fig-graph-0", "g0-n5"],
        "provenance": ["tab-downloads", "settings", "check-nodes_accounted"],
    }.items():  # fmt: skip
        assert set(anchors) <= set(Tags(body(report, key)).ids), key
    assert {f.key for f in report.figures} >= {"heatmap", "components", "tokens", "timeline", "buffers", "graph-0"}
    for figure in report.figures:
        assert figure.path_svg in report.files and figure.alt and figure.caption


def test_values_are_named_and_exact() -> None:
    report = render(CASES["dense"])
    assert report.values["n_tensors_never_touched"] == {"value": 1, "unit": "1", "text": "1"}
    rate = report.values["tokens_per_second_generate"]
    assert isinstance(rate["value"], float) and str(rate["text"]).endswith("tokens/s")
    assert json.loads(report.files["data/values.json"]) == report.values


def test_one_token_says_that_there_is_no_generate_pass() -> None:
    report = render(CASES["one token"])
    text = words(body(report, "overview"))
    assert "This run has no generate pass: one token was asked for, and the prompt gave it." in text
    assert report.values["tokens_per_second_generate"]["value"] is None
    assert "there was no generate pass" in text and "none" in text


def test_every_op_of_every_pass_is_in_a_chunk() -> None:
    tables = scaled_case(120, 1)
    report = render(tables)
    chunks = {name: content.decode() for name, content in report.files.items() if re.match(r"data/ops/\d+\.js", name)}
    assert len(chunks) >= 2
    found = set()
    for text in chunks.values():
        assert len(text) <= 1_100_000
        nodes: list[int] = []
        for one in json.loads(text.removeprefix("tracegenChunk(").removesuffix(");\n")):
            nodes = one.get("node", nodes)  # those of the pass before it
            found |= {(one["id"], node) for node in nodes}
    ops = tables["ops"][tables["ops"]["state"] != "noop"]
    assert found == set(zip(ops["pass_id"], ops["node"], strict=True))


def test_the_first_token_is_in_the_page_with_its_operands() -> None:
    text = words(body(render(CASES["hard case"]), "operations"))
    assert "blk.0.ffn_gate_exps.weight copied m-00002-of-00002.gguf 256 4 608 2 304 experts 1–2" in text


def hostile_tables() -> dict[str, pd.DataFrame]:
    tables = scaled_case(2, 2, moe=True)
    for name, column in (("graph_nodes", "name"), ("tensors", "name"), ("files", "path"), ("buffers", "name")):
        values = [f"{HOSTILE}{i}" for i in range(len(tables[name]))]
        tables[name] = tables[name].assign(**{column: pd.array(values, dtype=tables[name][column].dtype)})
    nodes = tables["graph_nodes"]
    tables["graph_nodes"] = nodes.assign(
        op=nodes["op"].astype("object").mask(nodes["op"] == "ADD", HOSTILE).astype("category")
    )
    return tables


def test_hostile_text_stays_text() -> None:
    run = a_run(
        checks=(Check("dropped_events", HOSTILE, "failed", HOSTILE, HOSTILE, HOSTILE),),
        settings={HOSTILE: HOSTILE, "question": HOSTILE},
        command=[HOSTILE],
        text=dict(prompt=HOSTILE, generated=HOSTILE, token_ids=[1, 2], private=False),
        model=dict(
            file=HOSTILE, name=HOSTILE, architecture=HOSTILE, random_weights=False, metadata={HOSTILE: [HOSTILE]}
        ),
    )
    for checked in (run, a_moe_run(settings=run.facts["settings"])):
        report = render(hostile_tables(), checked)
        for page in report.pages:
            tags = Tags(page.body)
            assert "img" not in tags.tags and not tags.handlers
            assert not [t for t in re.findall(r"<script[^>]*>", page.body) if "application/json" not in t]
            assert "\x1b" not in page.body
        for name, content in report.files.items():
            if name.endswith((".js", ".svg")):
                assert b"<script" not in content and b"<img" not in content and "\u2028".encode() not in content


def test_a_private_run_shows_no_text() -> None:
    secret = "my secret words"
    run = a_run(
        text=dict(prompt=secret, generated=secret, token_ids=[901, 902], private=True),
        settings=dict(prompt=secret, private=True),
        command=["llama-completion", "-p", secret],
    )
    report = render(privacy.public_tables(run, scaled_case(1, 1)), privacy.public_run(run))
    assert all(secret not in page.body for page in report.pages)
    assert all(secret.encode() not in content for content in report.files.values())
    assert "private" in words(body(report, "overview"))


def test_rows_that_are_withheld_are_not_rows_that_nobody_used() -> None:
    run = a_run(text=dict(prompt="?", generated="!", token_ids=[], private=True), settings=dict(private=True))
    report = render(privacy.public_tables(run, scaled_case(1, 1)), run)
    said = "Which rows or experts of token_embd.weight were used is withheld, because the experiment is private."
    for page in ("memory", "overview"):
        assert said in words(body(report, page)) and "used by no token" not in words(body(report, page))
    assert report.values["touched_share"]["value"] is None
    assert report.values["n_tensors_never_touched"] == render(scaled_case(1, 1)).values["n_tensors_never_touched"]
    use = pd.read_csv(io.BytesIO(report.files["data/tensors-use.csv"])).set_index("name")
    assert use["touched_bytes"].isna().to_dict() == {name: name == "token_embd.weight" for name in use.index}
    assert (use["n_passes"] > 0)["token_embd.weight"]
    groups = pd.read_csv(io.BytesIO(report.files["data/tensor-groups.csv"])).set_index("group")
    assert groups["touched_bytes"].isna().sum() == 1


@pytest.mark.parametrize("key", ["dropped_events", "one_run_id"])
def test_a_failed_check_replaces_what_it_makes_meaningless(key: str) -> None:
    run = a_run(checks=(Check(key, "The check", "failed", "17", "0"),))
    report = render(scaled_case(2, 2, moe=True), replace(run, facts=a_moe_run().facts))
    assert '<script type="application/json" id="tg-timeline">' in body(report, "timeline")
    assert 'data-tg="timeline"' not in body(report, "timeline") and 'data-tg="experts"' not in body(report, "experts")
    why = catalogue.why(key)
    reason = f"Not drawn: the check “The check” failed (17; limit 0). {why[0].upper()}{why[1:]}."
    assert reason in words(body(report, "memory")) and reason in words(body(report, "overview"))
    drawn = {f.key for f in report.figures}
    assert not set(catalogue.figures_of(key)) & drawn
    assert report.values["bytes_touched_per_token"]["value"] is None
    assert run.verdict in words(body(report, "overview"))


def test_random_weights_are_called_so_on_every_page() -> None:
    assert all("Random weights." in page.body for page in render(CASES["dense"]).pages)
    trained = a_run(model=dict(name="real", random_weights=False))
    assert not any("Random weights." in page.body for page in render(CASES["dense"], trained).pages)


def test_a_run_without_facts_says_not_recorded() -> None:
    report = render(CASES["dense"], Run("bare", 1, "2026-11-20T12:00:00Z", (), {}))
    assert "Not recorded." in body(report, "provenance") and "No check was recorded" in body(report, "overview")
    assert "None" not in words(body(report, "provenance"))


def test_a_version_names_itself() -> None:
    version = Version("demo", 3, "2026-11-20", "why", (3,), "complete", "title")
    assert "demo@v3" in body(render(CASES["dense"], citable=version), "overview")


def test_the_downloads_are_the_tables() -> None:
    tables = scaled_case(1, 1)
    report = render(tables)
    for name in contract.BY_NAME:
        read = pd.read_parquet(io.BytesIO(report.files[f"data/tables/{name}.parquet"]))
        pd.testing.assert_frame_equal(read, tables[name], check_dtype=False, check_categorical=False)
    assert "data/tables/passes.csv" in report.files


def test_reading_back_a_stored_run_gives_the_same_report(tmp_path: object) -> None:
    from pathlib import Path

    tables = scaled_case(1, 1)
    folder = Path(str(tmp_path)) / "tables"
    store.write_tables(folder, tables, "test")
    first, second = render(tables), render(store.read_tables(folder))
    assert [p.body for p in first.pages] == [p.body for p in second.pages]


def test_a_run_that_is_not_usable_has_no_finding_that_a_failed_check_concerns() -> None:
    usable = body(render(CASES["dense"]), "overview")
    assert "made the kernel read" in words(usable) and "page fault" in words(usable).lower()
    for key in ("one_run_id", "dropped_events", "passes_agree"):
        failed = a_run(checks=(Check(key, "The check", "failed", "17", "0"),))
        text = body(render(CASES["dense"], failed), "overview")
        findings = words(text).partition("Findings")[2].partition("Time ")[0]
        assert "This run is not usable" in text
        assert "made the kernel read" not in findings and "page fault" not in findings.lower()
        rows = re.findall(r"<th scope=row[^>]*>((?:Read|Page faults) [^<]*)</th><td[^>]*>([^<]*)</td>", text)
        assert len(rows) == 4 and {found for _, found in rows} == {"not shown"}


def test_the_overview_of_a_mixture_says_how_its_experts_were_chosen() -> None:
    tables = CASES["experts"]
    generate = tables["passes"].loc[tables["passes"]["kind"] == "generate", "pass_id"]
    rows = tables["routing"][tables["routing"]["pass_id"].isin(generate)]
    layers, n_experts = rows["layer"].nunique(), 8
    never = layers * n_experts - len(rows[["layer", "expert"]].drop_duplicates())
    text = words(body(render(tables, a_moe_run()), "overview"))
    assert f"{never} of {layers * n_experts} pairs of layer and expert were chosen by no generated token" in text
    assert "an even choice would give 12.5 %" in text
    assert "chosen by no generated token" not in words(body(render(CASES["dense"]), "overview"))


def test_a_long_name_is_shown_by_its_ends() -> None:
    tables = dict(CASES["dense"])
    name = "first" + "x" * 10_000 + "last"
    tensors = tables["tensors"]
    biggest = tensors["size_bytes"].idxmax()
    tables["tensors"] = tensors.assign(name=[name if i == biggest else n for i, n in tensors["name"].items()])
    text = body(render(tables), "memory")
    cell = re.search(r'title="(first[^"]*)">([^<]*)<', text)
    assert cell and cell[1] == name and len(cell[2]) <= 120
    assert cell[2].startswith("firstxxx") and cell[2].endswith("xlast") and " … " in cell[2]


def test_interference_is_said_above_every_time() -> None:
    why = "other programs had them"
    warned = a_run(checks=(Check("interference", "Threads had processors", "warning", "40 % without", "≤ 2 %", why),))
    report = render(CASES["dense"], warned)
    note = "care. Threads that could run waited for a processor: 40 % without (limit: ≤ 2 %). Other programs had them."
    for key, first in (("overview", "fig-components"), ("timeline", "fig-timeline"), ("graph", "fig-graph-0")):
        assert -1 < body(report, key).find(note) < body(report, key).index(f'id="{first}"')
    assert note not in body(report, "memory")
    assert all(note not in page.body for page in render(CASES["dense"]).pages)


def test_numbers_agree_with_their_nouns(report: Report) -> None:
    text = " ".join(words(page.body) for page in report.pages)
    found = re.findall(r"(?<![\d\u202f.–-])\b1 (?:nodes|operations|weights|kinds|passes|token rows|threads)\b", text)
    assert not found


def test_every_figure_and_table_has_a_caption_an_anchor_and_a_download(report: Report) -> None:
    for page in report.pages:
        for key, figure in re.findall(r'<figure id="([\w-]+)"[^>]*>(.*?)</figure>', page.body, re.DOTALL):
            assert f'href="#{key}"' in figure, key
            drawn = "<svg" in figure or "<tbody" in figure
            assert not drawn or (" download>" in figure or key == "tab-downloads"), key
            assert not drawn or len(words(figure.partition("<figcaption>")[2])) > 40, key


def test_experts_are_drawn_for_a_mixture_only_and_an_empty_figure_says_why() -> None:
    drawn = {f.key: f.page for f in render(CASES["experts"], a_moe_run()).figures}
    assert {key for key, page in drawn.items() if page == "experts"} == {
        "experts", "experts-tokens", "experts-load", "experts-cover", "experts-reuse", "experts-weights"
    }  # fmt: skip
    assert "experts" not in {page.key for page in render(CASES["dense"]).pages}
    tables = scaled_case(2, 2, moe=True)
    assert "The trace holds no routing" in words(body(render(without(tables, "routing"), a_moe_run()), "experts"))
    prompt_only = words(body(render(only(tables, ("load", "warmup", "prompt")), a_moe_run()), "experts"))
    assert "The run has no generate pass: only rows of prompt passes chose experts." in prompt_only
    assert "it only loaded the model" in words(body(render(CASES["only a load"]), "memory"))


def test_a_token_row_is_named_by_the_token_that_it_holds() -> None:
    """Pass 3 gives token 1 and takes in token 0, which chooses the experts; token 3, the last, is held by no row."""
    tables = scaled_case(3, 2, moe=True)
    run = a_moe_run(text=dict(prompt="?", generated="!", token_ids=[11, 42, 7, 5], private=False))
    report = render(tables, run)
    rows = pd.read_csv(io.BytesIO(report.files["data/experts-of-tokens.csv"]))
    assert dict(zip(rows["pass_id"], rows["generated_token"], strict=True)) == {3: 0, 4: 1, 5: 2}
    page = words(body(report, "experts"))
    assert re.search(r"Token Pass Experts Weights 0 3 [\d, ]+ 0\.700, 0\.300 1 4 ", page)
    assert "Token 3, the last one generated, is held by no row: it chose no expert." in page
    drawn = next(f for f in report.figures if f.key == "experts-tokens")
    assert [f"token {k}" in report.files[drawn.path_svg].decode() for k in range(4)] == [True, True, True, False]
    assert json.loads(report.files["data/experts/0.js"].decode()[len("tracegenExperts(") : -3])["token"] == [0, 1, 2]
    given = pd.read_csv(io.BytesIO(report.files["data/generated-tokens.csv"]))
    assert given.to_dict("list") | {"held_by_pass": given["held_by_pass"].tolist()[:-1]} == {
        "token": [0, 1, 2, 3], "token_id": [11, 42, 7, 5], "pass_id": [2, 3, 4, 5], "held_by_pass": [3, 4, 5],
    }  # fmt: skip
    assert given["held_by_pass"].isna().tolist() == [False, False, False, True]
    assert "no recorded pass took in" in words(body(report, "provenance"))
    for said in (
        "Pass 2: prompt, 6 token rows, gives token 0,",
        "Pass 3: generate, 1 token row, holds token 0, gives token 1,",
    ):
        assert said in body(report, "operations")


def test_what_a_row_holds_that_nobody_knows_is_not_guessed() -> None:
    """After rows of several sequences: the pass names the row, and no token."""
    tables = scaled_case(2, 1, moe=True)
    unknown = pd.array([None] * len(tables["passes"]), dtype="Int32")
    tables["passes"] = tables["passes"].assign(produced_token=unknown)
    tables["tokens"] = tables["tokens"].assign(generated_token=pd.array([None] * len(tables["tokens"]), dtype="Int32"))
    report = render(tables, a_moe_run())
    page = words(body(report, "experts"))
    assert "not recorded 3 " in page and "pass 3" in page and "the last one generated" not in page
    assert ", holds token" not in body(report, "operations")


def test_experts_of_a_token_stand_by_weight_and_not_as_a_biased_router_chose_them() -> None:
    tables = scaled_case(1, 1, moe=True)
    routing = tables["routing"]
    tables["routing"] = routing.assign(weight=routing["weight"].map({0.7: 0.1, 0.3: 0.4}).astype("Float64"))
    chosen = routing[routing["pass_id"] == 3].sort_values("rank")["expert"].tolist()
    report = render(tables, a_moe_run())
    page = words(body(report, "experts"))
    assert f"0 3 {chosen[1]}, {chosen[0]} 0.400, 0.100" in page
    assert "The strongest of a token’s experts in layer 0 gets a weight of 0.400 on average" in page
    assert f'"by_weight":true,"experts":[[{chosen[1]},{chosen[0]}]]' in report.files["data/experts/0.js"].decode()
    unweighted = tables | {"routing": routing.assign(weight=pd.array([None] * len(routing), dtype="Float64"))}
    report = render(unweighted, a_moe_run(text=dict(prompt="?", generated="!", token_ids=[], private=True)))
    assert f'"by_weight":false,"experts":[[{chosen[0]},{chosen[1]}]]' in report.files["data/experts/0.js"].decode()
    page = words(body(report, "experts"))
    assert "the experiment is private" in page and "in llama.cpp’s order" in page


def test_what_was_asked_for_of_memory_and_series_is_on_provenance() -> None:
    """And what was not asked for is not."""
    asked = a_run(
        repetition=dict(number=2, of=5, first_run="run-001"),
        conditions=dict(
            mlock=dict(asked_bytes=2 << 30, locked_bytes=2 << 30, available_after_bytes=3 << 30),
            memory_limit=dict(limit_bytes=4 << 30, peak_bytes=None, times_reached=12, processes_killed=0),
        ),
    )
    titles = ("Repetition", "Memory locked beside the program", "Limit to the program’s memory")
    text = words(body(render(CASES["dense"], asked), "provenance"))
    assert all(title in text for title in titles) and "run-001" in text and "2.00 GiB" in text
    plain = words(body(render(CASES["dense"]), "provenance"))
    assert not any(title in plain for title in titles)


def test_the_file_is_compared_with_the_memory_that_the_run_could_have() -> None:
    """RAM without what was locked beside it, or the run's own limit: whichever is less."""
    size = int(CASES["dense"]["files"]["size_bytes"].sum())
    host = dict(memory_bytes=10 * size)

    def said(**conditions: object) -> str:
        return words(body(render(CASES["dense"], a_run(host=host, conditions=conditions)), "overview"))

    assert "10.0 % of RAM" in said() and "the file may stay there once it was read" in said()
    locked = said(mlock=dict(locked_bytes=9 * size + size // 2))
    assert "of what is left" in locked and "were locked beside it" in locked and "not all of the file can" in locked
    limited = said(memory_limit=dict(limit_bytes=size // 2))
    assert "200.0 % of what is left" in limited and "limited to" in limited and "not all of the file can" in limited


def test_a_page_cache_that_nobody_looked_at_has_no_words() -> None:
    text = words(body(render(CASES["dense"], a_run(conditions={})), "overview"))
    assert "Page cache before the run" in text and "of the file’s pages were in memory" not in text


def test_what_a_private_run_does_not_tell_is_withheld() -> None:
    run = a_run(text=dict(prompt="?", generated="!", token_ids=[], private=True), settings=dict(private=True))
    text = words(body(render(privacy.public_tables(run, scaled_case(1, 1)), run), "overview"))
    assert "of weights used per token withheld" in text


def test_operations_of_another_backend_are_said_to_have_no_times() -> None:
    split = dict(pass_id=2, split=1, backend="GPU", n_nodes=1, begin_ns=1, end_ns=2_000_001, by_op=False)
    ops = CASES["dense"]["ops"].copy()
    ops.loc[ops.index[-1], "time_basis"] = "split"
    report = render(CASES["dense"] | {"splits": contract.frame("splits", [split]), "ops": ops})
    overview = words(body(report, "overview"))
    assert "1 operation of all passes ran on GPU; only the 1 split that hold" in overview and "2.00 ms" in overview
    assert "without operations on GPU, which have no times" in overview
    assert "nor has one that ran on GPU" in words(body(report, "operations"))


def test_a_pass_that_lacks_an_op_takes_nothing_from_those_that_ran_it() -> None:
    """The first pass of a graph does not list a node, and in another it is off: its name and operands are there."""
    tables = scaled_case(2, 1)
    ops = tables["ops"]
    first, last = (int(p) for p in tables["passes"].dropna(subset=["produced_token"])["pass_id"].iloc[[1, 2]])
    gone, off = (int(n) for n in ops[(ops["pass_id"] == last) & (ops["state"] == "executed")]["node"].iloc[[3, 5]])
    ops = ops[~((ops["pass_id"] == first) & (ops["node"] == gone))]
    ops.loc[(ops["pass_id"] == first) & (ops["node"] == off), "state"] = "off"
    report = render(tables | {"ops": ops})
    state = json.loads(re.search(r'id="tg-operations">(.*?)</script>', body(report, "operations"), re.S)[1])  # type: ignore[index]
    number = {one["id"]: one["static"] for one in state["passes"]}
    assert number[first] == number[last]
    text = report.files[f"data/ops/p{number[last]}.js"].decode()
    static = json.loads(text.removeprefix("tracegenStatic(").removesuffix(");\n"))
    assert {gone, off} <= {row[0] for row in static["nodes"]}
    assert static["operands"][str(gone)] and static["operands"][str(off)]
