"""The lines for an issue: what they hold, that they say what the first page says, and what they leave out."""

import json
import re
from dataclasses import replace
from functools import cache
from html import unescape

import markdown
import pandas as pd
import pytest

from tests.builders import a_moe_run, a_run, scaled_case, with_facts, with_faults, with_requests
from tests.builders.runs import facts_of, with_groups
from tests.report.rendered import CASES, MEASURED, body, disk_case, rendered, same_analyses, words
from tests.report.test_markdown import ALLOWED, html, linked
from tests.site_project import (
    HOSTILE,
    SECRETS,
    hostile_run,
    hostile_tables,
    plain_run,
    private_run,
    private_tables,
)
from tracegen.contract import quantities as q
from tracegen.contract.check_keys import CHECKED
from tracegen.contract.model import Check, Run, Version
from tracegen.publishing import privacy
from tracegen.report.figures.catalogue import checks_of, figures_of
from tracegen.report.figures.context import Context
from tracegen.report.findings.found import findings
from tracegen.report.pages import issue
from tracegen.report.pages.issue import PATH


def issue_text(context: Context) -> str:
    return issue.issue_text(context, findings(context), None)


def lines_of(run: Run, tables: dict[str, pd.DataFrame]) -> str:
    return issue_text(Context(run, tables))


@cache
def case_of(name: str) -> Context:
    if name == "disk":
        return Context(*disk_case())
    return Context(a_moe_run() if name == "experts" else a_run(), dict(CASES[name]))


# Form


@pytest.mark.parametrize("case", [*CASES, "disk"])
def test_the_lines_are_valid_markdown_of_every_case(case: str) -> None:
    text = issue_text(case_of(case))
    assert text.endswith("\n") and "\n\n\n" not in text
    page = html(text)
    assert set(re.findall(r"</?([a-z0-9]+)", page)) <= ALLOWED | {"strong", "ul", "li"}
    assert page.count("<table>") == sum(block.startswith("|") for block in text.split("\n\n"))
    assert not [word for word in ("nan", "None", "<NA>") if word in text]
    assert text.splitlines()[-1] == "`demo/run-003`, not published; tracegen 0.2.0, recorded by 0.1.0"


def test_the_lines_name_model_processor_build_and_settings() -> None:
    model = {
        **facts_of(a_run())["model"],
        "file": "/home/ada/m/Q.gguf",
        "architecture": "qwen3",
        "random_weights": False,
    }
    model["metadata"] = {"general.file_type": 15, "general.size_label": "0.6B"}
    built = {"ggml.version": "0.25.3", "ggml.commit": "unknown", "build.hooked": "hooks = ab12, commit = 0123456789ab"}
    run = a_run(model=model, llama_cpp={"version": "given", "build": built})
    text = lines_of(run, scaled_case(5, 4))
    ran = "`Q.gguf`; Example CPU; llama.cpp, own build (ggml 0.25.3, commit 012345678)\n"
    assert f"\n\n{ran}mmap on, prefault on, repack on, warm-up on\n\n" in text
    head, rule, prompt, generate = (line for line in text.splitlines() if line.startswith("|"))
    assert head.replace("|", " ").split() == ["model", "size", "params", "backend", "threads", "test", "t/s"]
    assert set(rule) == set("|-: ")
    assert re.match(r"\| qwen3 0\.6B Q4_K_M \| .* \| +pp\d+ \| ", prompt) and re.search(r"\| +tg5 \| ", generate)
    attached = lines_of(with_facts(run, settings=dict(attach=True)), scaled_case(5, 4))
    assert "own build" not in attached and "llama.cpp as the program has it (ggml 0.25.3" in attached
    unknown = lines_of(a_run(model={}, host={}, llama_cpp={}, settings={}), scaled_case(1, 1))
    assert "\n\nmodel not recorded; CPU not recorded; llama.cpp build not recorded\n\n" in unknown


def test_a_model_of_which_nothing_is_known_is_called_so_in_the_table_of_speeds() -> None:
    tables = CASES["dense"] | {"tensors": CASES["dense"]["tensors"].iloc[:0]}
    text = lines_of(a_run(model={}), tables)
    row = next(line for line in text.splitlines() if re.search(r"\| +tg\d", line))
    assert row.split("|")[1].strip() == q.UNKNOWN


def test_more_models_and_random_weights_are_named() -> None:
    assert "`; `draft.gguf`; random weights; " in lines_of(
        a_run(more_models=[{"file": "/srv/x/draft.gguf"}]), scaled_case(1, 1)
    )


def test_the_cost_of_tracing_names_the_pass_that_it_is_of() -> None:
    """It is the largest of all kinds of pass, and no share of all passes together."""
    said = lines_of(with_facts(a_run(), trace=dict(overhead_share=0.0299)), scaled_case(1, 1))
    assert "(tracing cost, in the kind of pass where it is largest: 3.0 % of the undisturbed time)" in said


# The page


def test_answer_findings_and_speeds_are_those_of_the_first_page() -> None:
    run, tables = disk_case()
    report = rendered(tables, run)
    first, text = body(report, "overview"), report.files[PATH].decode()
    (offered,) = re.findall(r"<textarea[^>]*>(.*?)</textarea>", first, re.DOTALL)
    assert unescape(offered) == text == issue_text(case_of("disk"))
    assert f'<a href="{PATH}" download' in first
    assert all("textarea" not in page.body and 'data-tg="issue"' not in page.body for page in report.pages[1:])
    seen = unescape(words(first.replace(offered, "")))
    answer, *findings = (line.strip("*- ") for line in text.splitlines() if line.startswith(("**", "- ")))
    assert len(findings) >= 2 and all(line in seen for line in (answer, *findings))
    values = json.loads(report.files["data/values.json"])
    speeds = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("| llama")]
    assert [row[-2].strip() for row in speeds] == [f"pp{values['prompt_tokens']['value']}", "tg5"]
    for row, key in zip(speeds, ("tokens_per_second_prompt", "tokens_per_second_generate"), strict=True):
        assert f"{row[-1].strip()} tokens/s" == values[key]["text"] == q.rate(values[key]["value"])


def test_a_version_is_named_as_it_is_cited() -> None:
    version = Version("demo", 7, "2026-11-20T12:00:00Z", "why", (3,), "complete", "title")
    text = rendered(scaled_case(1, 1), a_run(), version).files[PATH].decode()
    assert text.splitlines()[-1] == "`demo@v7`; tracegen 0.2.0, recorded by 0.1.0"


# What must not be said


def failing(check: str) -> Context:
    """The disk case with a failed check."""
    case = case_of("disk")
    checks = tuple(
        Check(key.value, f"Check {key}", "failed" if key == check else "passed", "17 found", "0") for key in CHECKED
    )
    return same_analyses(case, replace(case.run, checks=checks))


# Of checks that make the same figures false, one is tried: test_needs.py tries all.
TRIED = {figures_of(key): key.value for key in reversed(CHECKED)}


@pytest.mark.parametrize("check", ["", *TRIED.values()])
def test_a_failed_check_leaves_out_what_it_makes_false(check: str) -> None:
    context = failing(check)
    text = issue_text(context)
    shown, _, verdict = text.rpartition("Verdict: ")
    for sign in (r"\| +pp\d", r"\| +tg\d", r"pp: \d", r"tracing cost"):
        assert bool(re.search(sign, shown)) != (check in checks_of("rates")), (sign, text)
    if check:
        named = f"Check {check}".replace("_", "\\_")
        assert verdict.startswith((f"**not usable**. Failed: Check {check} (`", f"**not usable**. Failed: {named} (`"))
        assert "Figures that depend on a failed check are not shown." in verdict
    else:
        assert verdict.startswith("**complete**.\n")


def test_checks_that_warned_are_listed_after_those_that_failed() -> None:
    context = failing("one_run_id")
    checks = tuple(
        replace(c, state="warning") if n % 2 and c.state == "passed" else c for n, c in enumerate(context.run.checks)
    )
    text = issue_text(same_analyses(context, replace(context.run, checks=checks)))
    verdict = next(line for line in text.splitlines() if line.startswith("Verdict"))
    n_warned = sum(check.state == "warning" for check in checks)
    assert verdict.index("Failed: ") < verdict.index("Warned: ") and f"; {n_warned - 6} more." in verdict


def public(run: Run, tables: dict[str, pd.DataFrame]) -> str:
    """The lines about the public form of a run."""
    return lines_of(privacy.public_run(run, ("countess-17",)), privacy.public_tables(run, tables))


@pytest.mark.parametrize(
    ("run", "tables"), [(plain_run(), scaled_case(4, 2, moe=True)), (private_run(), private_tables())]
)
def test_no_path_no_host_no_user_no_prompt(run: Run, tables: dict[str, pd.DataFrame]) -> None:
    text = public(run, tables)
    assert not [secret for secret in (*SECRETS, "Once upon", "umbrella", "71001", "/bin/") if secret in text]
    assert "`demo.gguf`" in text


def test_names_that_want_to_be_code_stay_names() -> None:
    run = hostile_run()
    mentions = "@ada ada/repo#12 GH-7 https://evil.example www.evil.example |`*_"
    facts = {**facts_of(run), "more_models": [{"file": f"x{mentions}"}], "host": {"cpu": f"{mentions}{HOSTILE}"}}
    facts["model"] = {**facts["model"], "architecture": f"{mentions}{HOSTILE}", "file": f"/srv/{mentions}.gguf"}
    facts["settings"] = {**facts["settings"], "page_cache": mentions}
    facts["device"] = dict(measurements=[{**MEASURED[0], "pattern": mentions}])
    facts["trace"] = {**facts["trace"], "faults_recorded": True, "requests_recorded": True}
    text = public(with_groups(run, **facts), with_requests(with_faults(hostile_tables())))
    page = html(text)
    assert set(re.findall(r"</?([a-z0-9]+)", page)) <= ALLOWED | {"strong", "ul", "li"} and not linked(page), page
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    for block in re.findall("<table>.*?</table>", page, re.DOTALL):
        rows = re.findall("<tr>.*?</tr>", block, re.DOTALL)
        assert len({len(re.findall(r"<t[hd](?: [^>]*)?>", row)) for row in rows}) == 1
    assert markdown.markdown(text)  # without tables, too
