"""The lines for an issue: what they hold, that each number is that of a page, and what they leave out."""

import gzip
import json
import re
from collections import defaultdict
from dataclasses import replace
from functools import cache
from html import unescape
from typing import Any

import markdown
import pandas as pd
import pytest

from tests.builders import a_moe_run, a_run, scaled_case, with_facts, with_faults, with_requests
from tests.pages.rendered import CASES, body, everything, long_pages, rendered, same_analyses
from tests.pages.test_markdown import ALLOWED, html, linked
from tests.recompute.plain import experts, times
from tests.recompute.plain.rows import Rows
from tests.recompute.plain.touched import accesses
from tests.recompute.published import Published
from tests.site_project import (
    HOSTILE,
    SECRETS,
    hostile_run,
    hostile_tables,
    plain_run,
    private_run,
    private_tables,
    stored,
)
from tracegen.contract import quantities as q
from tracegen.contract.model import Check, Run, Version
from tracegen.contract.tables import frame
from tracegen.measure.checks.verdict import all_checks
from tracegen.publishing import privacy
from tracegen.report.figures.catalogue import checks_of, figures_of
from tracegen.report.pages.collector import Collector
from tracegen.report.pages.page import Report
from tracegen.report.pages.pasted import MOST_LINES, PARTS, pasted, path_of

MEASURED = [
    dict(
        pattern=pattern,
        reads=77,
        block_bytes=block,
        queue_depth=1.0,
        bytes_per_second=rate * 2.0**20,
        latency_median_ns=81e3,
    )
    for pattern, block, rate in (("random", 4096, 9), ("sequential", 1 << 21, 1024))
]


def disk_case() -> tuple[Run, dict[str, pd.DataFrame]]:
    """A mixture of which everything was recorded: faults, requests, residency, the device."""
    tables = with_requests(with_faults(scaled_case(5, 3, moe=True)))
    last = int(tables["passes"]["pass_id"].max())
    tables["residency"] = frame("residency", [dict(pass_id=last, file=0, first_page=0, n_pages=2)])
    run = a_moe_run(device=dict(device="vda", measurements=MEASURED))
    recorded = dict(faults_recorded=True, requests_recorded=True)
    return with_facts(run, trace=recorded, host=dict(page_bytes=4096)), tables


@pytest.fixture(scope="module")
def report() -> Report:
    run, tables = disk_case()
    return rendered(tables, run)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    run, tables = disk_case()
    folder = stored(tmp_path_factory.mktemp("run"), run, tables).folder
    assert folder is not None
    return Rows(folder)


def text_of(report: Report, part: str) -> str:
    return report.files[path_of(part)].decode()


def lines_of(run: Run, tables: dict[str, pd.DataFrame], part: str) -> str:
    return pasted(Collector(run, tables), part)


@cache
def case_of(name: str) -> Collector:
    if name == "disk":
        return Collector(*disk_case())
    return Collector(a_moe_run() if name == "experts" else a_run(), dict(CASES[name]))


def table(text: str, first: str) -> list[list[str]]:
    """The rows of the table whose first head begins with these words, without backticks."""
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    (found,) = [block for block in blocks if block[0][2:].startswith(first)]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in found[2:]]


def page_table(report: Report, key: str) -> list[list[str]]:
    """The rows of a table, as a reader sees them."""
    shown = everything(report).partition(f'id="tab-{key}"')[2].partition("</table>")[0].partition("<tbody>")[2]
    return [
        [unescape(re.sub("<[^>]+>", "", cell)) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
        for row in re.findall(r"<tr>(.*?)</tr>", shown, re.DOTALL)
    ]


# Form


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("case", [*CASES, "disk"])
def test_the_lines_are_few_and_their_tables_hold(case: str, part: str) -> None:
    text = pasted(case_of(case), part)
    assert text.endswith("\n") and len(text.splitlines()) <= MOST_LINES and "\n\n\n" not in text
    page = html(text)
    assert set(re.findall(r"</?([a-z0-9]+)", page)) <= ALLOWED | {"strong", "ul", "li"}
    assert page.count("<table>") == sum(block.startswith("|") for block in text.split("\n\n"))
    assert not [word for word in ("nan", "None", "<NA>") if word in text]
    assert text.splitlines()[-1] == "`demo/run-003`, not published; tracegen 0.2.0, recorded by 0.1.0"


def test_the_first_lines_say_what_ran() -> None:
    model = {**a_run().facts["model"], "file": "/home/ada/m/Q.gguf", "architecture": "qwen3", "random_weights": False}
    model["metadata"] = {"general.file_type": 15, "general.size_label": "0.6B"}
    built = {"ggml.version": "0.25.3", "ggml.commit": "unknown", "build.hooked": "hooks = ab12, commit = 0123456789ab"}
    run = a_run(model=model, llama_cpp={"version": "given", "build": built})
    first, second, _, head, rule, prompt, generate, *_ = lines_of(run, scaled_case(5, 4), "hot").splitlines()
    assert re.fullmatch(
        r"`Q\.gguf`, qwen3, [\d.]+ MiB, Q4_K_M: .+ %\); Example CPU, \d+ threads?; "
        r"llama\.cpp, own build \(ggml 0\.25\.3, commit 012345678\)",
        first,
    )
    assert second == "mmap on, prefault on, repack on, warm-up on"
    attached = with_facts(run, settings=dict(attach=True))
    line = lines_of(attached, scaled_case(5, 4), "hot").splitlines()[0]
    assert "own build" not in line and "llama.cpp as the program has it (ggml 0.25.3" in line
    assert head.split("|")[1:-1] == [c for c in head.split("|") if c] and "| t/s" not in rule
    assert head.replace("|", " ").split() == ["model", "size", "params", "backend", "threads", "test", "t/s"]
    assert re.match(r"\| qwen3 0\.6B Q4_K_M \| .* \| +pp\d+ \| ", prompt) and re.search(r"\| +tg5 \| ", generate)
    unknown = lines_of(a_run(model={}, host={}, llama_cpp={}, settings={}), scaled_case(1, 1), "hot").splitlines()[0]
    assert unknown.startswith("model not recorded") and "CPU not recorded" in unknown
    assert unknown.endswith("llama.cpp build not recorded")


def test_more_models_and_random_weights_are_named() -> None:
    run = a_run(more_models=[{"file": "/srv/x/draft.gguf"}])
    first = lines_of(run, scaled_case(1, 1), "ops").splitlines()[0]
    assert "random weights (and `draft.gguf`)" in first


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("cache", "residency after each pass: not recorded (`residency = true` records it)"),
        ("disk", "waits for the disk: not recorded (`faults = true` records them)"),
        ("disk", "requests: not recorded (`disk = true` records them)"),
        ("load", "load time as llama.cpp reports it: 1.9 ms\n"),
    ],
)
def test_what_was_not_recorded_is_said(part: str, said: str) -> None:
    assert f"- {said}" in lines_of(a_run(), scaled_case(2, 2), part)


# Numbers


def test_the_speeds_are_those_of_the_overview(report: Report) -> None:
    values = json.loads(report.files["data/values.json"])
    shown = {row[5]: row for row in table(text_of(report, "hot"), "model")}
    assert list(shown) == [f"pp{values['prompt_tokens']['value']}", "tg5"]
    for row, key in zip(shown.values(), ("tokens_per_second_prompt", "tokens_per_second_generate"), strict=True):
        assert f"{row[6]} tokens/s" == values[key]["text"] == q.rate(values[key]["value"])
    shape = Published(report).csv("tensors-use")
    elements = sum(int(r["ne0"]) * int(r["ne1"]) * int(r["ne2"]) * int(r["ne3"]) for r in shape)
    sizes: dict[str, int] = defaultdict(int)
    for r in shape:
        sizes[r["dtype"]] += int(r["size_bytes"])
    first = text_of(report, "hot").splitlines()[0]
    for dtype, n_bytes in sizes.items():
        assert f"{dtype} ({q.percent(n_bytes / sum(sizes.values()))})" in first
    assert shown["tg5"][2] == f"{elements / 1e6:.2f} M" or shown["tg5"][2] == f"{elements / 1e3:.2f} K"


def test_key_figures_and_findings_are_those_of_the_overview(report: Report) -> None:
    overview = unescape(
        re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", body(report, "overview").partition("</textarea>")[2]))
    )
    overview = overview.replace("\u202f", " ")
    values = json.loads(report.files["data/values.json"])
    lines = [line[2:] for part in PARTS for line in text_of(report, part).splitlines() if line.startswith("- ")]
    found_there = {finding.text.replace("\u202f", " ") for finding in Collector(*disk_case()).findings}
    assert len(lines) >= 12
    for line in lines:
        others = ("While ", "The device was", "load time", "0 % of the file is in memory")
        if line.startswith(others) or "of the weight bytes that" in line:
            numbers = re.findall(r"[\d.]+", line.replace("\u202f", ""))
            pages = everything(report).replace("\u202f", "")
            assert all(number.rstrip(".") in pages for number in numbers), line
        elif found := re.fullmatch(r"(.+? (?:%|[KMG]?i?B)) ([a-z ]+) \((.+)\)", line):
            text, label, note = (part.replace("\u202f", " ") for part in found.groups())
            assert f"{label} {text} {note}" in overview and text in {
                value["text"].replace("\u202f", " ") for value in values.values()
            }
        else:
            assert line.replace("\u202f", " ") in found_there


def test_bytes_by_part_are_the_sums_of_the_layers(report: Report) -> None:
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in Published(report).csv("layer-means"):
        sums[row["group"]][0] += float(row["disk_bytes"]) + float(row["copied_bytes"])
        sums[row["group"]][1] += float(row["buffer_bytes"])
    in_file = {row[0]: row for row in page_table(report, "tensor-groups")}
    shown = table(text_of(report, "hot"), "touched per token, mean of 5 passes")
    assert len(shown) == min(6, len(sums)) and {row[0] for row in shown} <= set(sums)
    for group, weights, buffers, size, once in shown:
        for text, n_bytes in zip((weights, buffers), sums[group], strict=True):
            mib = n_bytes / 2**20
            exact = q.decimal(mib, 3 if 0 < mib < 1 else 2)
            assert text == ("< 0.001" if exact == "0.000" else exact)
        assert [size, once] == ([in_file[group][2], in_file[group][-1]] if group in in_file else ["", ""])
    ordered = [sums[row[0]][0] for row in shown]
    assert ordered == sorted(ordered, reverse=True)


def test_bytes_by_tensor_agree_with_a_second_count(report: Report, rows: Rows) -> None:
    passes = rows.of_kind("generate")
    names = {row["tensor"]: re.sub(r"\.\d+\.", ".*.", row["name"], count=1) for row in rows["tensors"]}
    touched: dict[str, int] = defaultdict(int)
    for access in accesses(rows, passes):
        if access.tensor is not None and access.memory != "buffer":
            touched[names[access.tensor]] += access.n_bytes
    shown = table(text_of(report, "hot"), "weights touched most per token")
    most = sorted(touched.values(), reverse=True)[: len(shown)]
    assert len(shown) == 4 and [touched[row[0]] for row in shown] == most
    for name, n, _, size, each in shown:
        same = [row for row in rows["tensors"] if names[row["tensor"]] == name]
        assert int(n) == len(same)
        for text, n_bytes in ((size, sum(row["size_bytes"] for row in same)), (each, touched[name] / len(passes))):
            mib = n_bytes / 2**20
            assert text == q.decimal(mib, 3 if 0 < mib < 1 else 2)


def test_the_experts_are_those_that_a_second_count_finds(report: Report, rows: Rows) -> None:
    found = {(row["layer"], row["expert"]): row for row in experts.ranked(rows)}
    shown = table(text_of(report, "hot"), "experts chosen most")
    best = sorted((row["share"] for row in found.values()), reverse=True)[: len(shown)]
    shares = []
    for name, chosen, share, even in shown:
        layer, expert = (int(number) for number in re.findall(r"\d+", name))
        row = found[layer, expert]
        assert chosen.split(" of ")[0] == str(row["n_tokens"]) and share == q.percent(row["share"])
        assert even == q.percent(row["even"])
        shares.append(row["share"])
    assert shares == best


def test_kinds_of_operation_agree_with_a_second_count(report: Report, rows: Rows) -> None:
    found = {(row["phase"], row["op"]): row for row in times.by(rows, "op")}
    shown = table(text_of(report, "ops"), "time by kind of operation")
    assert len(shown) == 8
    for op, generate, generate_share, prompt, prompt_share in shown:
        for phase, text, share in (("generate", generate, generate_share), ("prompt", prompt, prompt_share)):
            row = found.get((phase, op))
            assert [text, share] == ([q.duration(row["ns_per_token"]), q.percent(row["share"])] if row else ["", ""])


def test_tables_are_those_of_the_pages(report: Report) -> None:
    operations = page_table(report, "top-operations")
    shown = table(text_of(report, "ops"), "operations that took most time, generate")
    assert shown == [[*row[:6], row[-1]] for row in operations[:10]] and len(shown) == 10
    assert table(text_of(report, "load"), "buffers") == page_table(report, "buffer-peaks")
    disk = {row[0]: row for row in page_table(report, "disk")}
    for what, found in table(text_of(report, "cache"), "what"):
        assert found in (disk[what][1], f"{disk[what][1]}: {disk[what][2]}")
    waits = page_table(report, "disk-tensors")
    assert table(text_of(report, "disk"), "waited for longest") == [[row[0], *row[3:5], *row[6:]] for row in waits[:5]]
    sizes = page_table(report, "disk-sizes")
    requests = table(text_of(report, "disk"), "requests (device: measured before the run)")
    assert requests == [*sizes[:-2], sizes[-1], sizes[-2]]  # of the device, the fastest first


def test_phases_are_sums_over_passes(report: Report, rows: Rows) -> None:
    kinds = {"load": "load", "warm-up": "warmup", "prompt": "prompt", "generation": "generate"}
    shown = {row[0]: row[1:] for row in table(text_of(report, "load"), "phase")}
    assert set(shown) == set(kinds)
    for name, (n, time, read, major, minor) in shown.items():
        of_kind = [row for row in rows["passes"] if row["kind"] == kinds[name]]

        def total(column: str, of_kind: list[dict[str, Any]] = of_kind) -> int | None:
            values = [row[column] for row in of_kind]
            return None if None in values else sum(values)

        assert n == str(len(of_kind))
        assert time == q.duration(sum(row["end_ns"] - row["begin_ns"] for row in of_kind))
        assert [read, major, minor] == [
            q.size(total("read_bytes")),
            q.count(total("major_faults")),
            q.count(total("minor_faults")),
        ]


# The page


def test_the_overview_offers_the_same_lines_and_no_other_page_does(report: Report) -> None:
    first, parts = body(report, "overview"), ["hot", "disk", "ops", "cache", "load"]
    found = re.findall(r"<textarea[^>]*>(.*?)</textarea>", first, re.DOTALL)
    assert [unescape(text) for text in found] == [text_of(report, part) for part in parts]
    assert [unescape(text) for text in found] == [pasted(case_of("disk"), part) for part in parts]
    assert re.findall(r'<a href="(data/issue[^"]*)" download', first) == [path_of(part) for part in parts]
    assert all("textarea" not in page.body and 'data-tg="issue"' not in page.body for page in report.pages[1:])
    assert len(gzip.compress("".join(found).encode())) <= 3 * 2048
    assert long_pages(report) == {}, "where everything was recorded, too"


def test_a_version_is_named_as_it_is_cited() -> None:
    version = Version("demo", 7, "2026-11-20T12:00:00Z", "why", (3,), "complete", "title")
    report = rendered(scaled_case(1, 1), a_run(), version)
    assert text_of(report, "ops").splitlines()[-1] == "`demo@v7`; tracegen 0.2.0, recorded by 0.1.0"


def test_the_cost_of_tracing_names_the_pass_that_it_is_of() -> None:
    """It is the largest of all kinds of pass, and no share of all passes together."""
    run = a_run()
    run = replace(run, facts=dict(run.facts) | {"trace": dict(run.facts["trace"]) | {"overhead_share": 0.0299}})
    said = text_of(rendered(scaled_case(1, 1), run), "hot")
    assert "(tracing cost, in the kind of pass where it is largest: 3.0 % of the undisturbed time)" in said


# What must not be said

# A sign of what figures say -> these figures, whose needs decide whether it may be said; by part. The times of the
# phases are durations of passes, as those of the figure of tokens.
SIGNS = {
    "hot": {
        r"\| +pp\d": "rates",
        r"\| +tg\d": "rates",
        r"pp: \d": "rates",
        r"tracing cost": "rates",
        r"of weights touched per token \(": "bytes",
        r"of the file touched at least once \(": "file-use",
        r"\| attention ": "tensor-groups",
        r"\| `blk\.\*": "biggest-tensors",
        r"\| layer \d+, expert": "experts-load",
        r"- The most chosen expert of a layer: ": "experts-load",
    },
    "cache": {
        r"is in memory after|at the end": "residency",
        r"Read in measured passes +\| \d": "storage",
        r"Page faults that read nothing: ": "disk-split storage",
        r"Page faults that waited .* \| \d": "storage",
        r"Read again after it was dropped from memory: ": "disk-requests storage",
    },
    "load": {
        r"\| load +\| +1 \| +[\d.]+ [mµn]?s": "tokens",
        r"\| prompt .* \d+ \|$": "storage",
        r"in buffers at their peak \(": "buffers",
        r"\| compute ": "buffer-peaks",
        r"All weights|weight bytes": "bytes",
    },
    "ops": {r"\| `MUL_MAT` +\| +\d": "op-kinds", r"\| `ffn_\S+` +\| `": "top-operations"},
    "disk": {
        r"\| generate passes": "disk-sizes",
        r"\| device: random": "disk-sizes",
        r"kept it busy": "disk-sizes",
        r"\| `\S+` +\| +\d+ \| +\d+ \|": "disk-tensors",
        r"Page faults that read nothing: ": "disk-split storage",
    },
}


def failing(check: str) -> Collector:
    """The disk case with a failed check."""
    case = case_of("disk")
    checks = tuple(
        Check(c.key, f"Check {c.key}", "failed" if c.key == check else "passed", "17 found", "0") for c in all_checks()
    )
    return same_analyses(case, replace(case.run, checks=checks))


# Of checks that make the same figures false, one is tried: test_needs.py tries all.
TRIED = {figures_of(check.key): check.key for check in reversed(all_checks())}


@pytest.mark.parametrize("check", ["", *TRIED.values()])
def test_a_failed_check_leaves_out_exactly_what_it_makes_false(check: str) -> None:
    collector = failing(check)
    for part, signs in SIGNS.items():
        text = pasted(collector, part)
        shown, _, verdict = text.rpartition("Verdict: ")
        for sign, figures in signs.items():
            forbidden = any(check in checks_of(key) for key in figures.split())
            assert bool(re.search(sign, shown, re.MULTILINE)) != forbidden, (sign, part, text)
        if check:
            assert verdict.startswith(f"**not usable**. Failed: Check {check} (`17 found`; limit `0`).") or (
                verdict.startswith(f"**not usable**. Failed: Check {check.replace('_', chr(92) + '_')} (")
            )
            assert "Figures that depend on a failed check are not shown." in verdict
        else:
            assert verdict.startswith("**complete**.\n")


def test_checks_that_warned_are_listed_after_those_that_failed() -> None:
    collector = failing("one_run_id")
    checks = tuple(
        replace(c, state="warning") if n % 2 and c.state == "passed" else c for n, c in enumerate(collector.run.checks)
    )
    text = pasted(same_analyses(collector, replace(collector.run, checks=checks)), "ops")
    verdict = next(line for line in text.splitlines() if line.startswith("Verdict"))
    n_warned = sum(check.state == "warning" for check in checks)
    assert verdict.index("Failed: ") < verdict.index("Warned: ") and f"; {n_warned - 6} more." in verdict


def public(run: Run, tables: dict[str, pd.DataFrame]) -> dict[str, str]:
    """Part -> its lines, in the run's public form."""
    collector = Collector(privacy.public_run(run, ("countess-17",)), privacy.public_tables(run, tables))
    return {part: pasted(collector, part) for part in PARTS}


@pytest.mark.parametrize(
    ("run", "tables"), [(plain_run(), scaled_case(4, 2, moe=True)), (private_run(), private_tables())]
)
def test_no_path_no_host_no_user_no_prompt(run: Run, tables: dict[str, pd.DataFrame]) -> None:
    for text in public(run, tables).values():
        assert not [secret for secret in (*SECRETS, "Once upon", "umbrella", "71001", "/bin/") if secret in text]
        assert "`demo.gguf`" in text


def test_what_a_private_run_withholds_is_called_so() -> None:
    found = public(private_run(), private_tables())
    embedding = next(row for row in table(found["hot"], "touched per token") if row[0] == "embedding")
    assert embedding[1] == "withheld" and "- weights touched per token: withheld (" in found["hot"]
    assert "copied weights: withheld" in found["load"]


def test_names_that_want_to_be_code_stay_names() -> None:
    run = hostile_run()
    mentions = "@ada ada/repo#12 GH-7 https://evil.example www.evil.example |`*_"
    facts = {**run.facts, "more_models": [{"file": f"x{mentions}"}], "host": {"cpu": f"{mentions}{HOSTILE}"}}
    facts["model"] = {**facts["model"], "architecture": f"{mentions}{HOSTILE}", "file": f"/srv/{mentions}.gguf"}
    facts["settings"] = {**facts["settings"], "page_cache": mentions}
    facts["device"] = dict(measurements=[{**MEASURED[0], "pattern": mentions}])
    facts["trace"] = {**facts["trace"], "faults_recorded": True, "requests_recorded": True}
    tables = with_requests(with_faults(hostile_tables()))
    for text in public(replace(run, facts=facts), tables).values():
        page = html(text)
        assert set(re.findall(r"</?([a-z0-9]+)", page)) <= ALLOWED | {"strong", "ul", "li"} and not linked(page), page
        assert len(text.splitlines()) <= MOST_LINES
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
        for block in re.findall("<table>.*?</table>", page, re.DOTALL):
            rows = re.findall("<tr>.*?</tr>", block, re.DOTALL)
            assert len({len(re.findall(r"<t[hd](?: [^>]*)?>", row)) for row in rows}) == 1
        assert markdown.markdown(text)  # without tables, too
