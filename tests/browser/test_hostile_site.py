"""Text that wants to be code, runs that lack something, addresses that lead nowhere: shown and named, never run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import unpacked
from tests.builders import a_run, only, scaled_case, without
from tests.report.rendered import undrawn
from tests.report_files import write_report
from tests.site_project import HOSTILE, Project
from tracegen.contract.model import Check

pytestmark = pytest.mark.browser

REPORT = ("index.html", "file/index.html", "operations/index.html", "graph/index.html", "method/index.html")
EVERY = (*REPORT, *(f"{key}/index.html" for key in ("experts", "timeline", "appendix")))
# Counts what the page's Content-Security-Policy refused: where it refuses something, something hostile was tried.
VIOLATED = """window.violated = [];
document.addEventListener("securitypolicyviolation", event => window.violated.push(event.violatedDirective));"""
NARROW = {"width": 360, "height": 800}
CLICK = "element => element.click()"
# Every control that a reader has, used as a reader would: searched for hostile text, moved, chosen.
USE = """text => {
  let used = 0;
  const tell = (element, ...kinds) => kinds.forEach(kind => element.dispatchEvent(new Event(kind, { bubbles: true })));
  for (const field of document.querySelectorAll(".tracegen input[type=search]")) {
    for (const typed of [text, "a", ""]) { field.value = typed; tell(field, "input", "change"); used += 1; }
  }
  for (const slider of document.querySelectorAll(".tracegen input[type=range]")) {
    for (const end of [slider.max, slider.min]) { slider.value = end; tell(slider, "input", "change"); used += 1; }
  }
  for (const box of document.querySelectorAll(".tracegen :is(input[type=radio], input[type=checkbox])")) {
    box.click(); used += 1;
  }
  for (const list of document.querySelectorAll(".tracegen select")) {
    for (const option of [...list.options].slice(-4)) { list.value = option.value; tell(list, "change"); used += 1; }
  }
  return used;
}"""


def operate(page: Any) -> int:
    """Use the controls of a page once; returns how many there were."""
    page.set_default_timeout(10_000)
    for summary in page.locator(".tracegen summary").all():
        summary.evaluate(CLICK)
    buttons = page.locator("tbody[data-tg=rows] button").all()[:4]
    for button in buttons:
        button.evaluate(CLICK)
    used = len(buttons)
    for control in ("next", "previous"):
        button = page.locator(f"[data-tg={control}]")
        if button.count() and button.is_enabled():
            button.evaluate(CLICK)
            used += 1
            page.wait_for_selector("[data-tg=status]:empty", state="attached")  # a function is refused by the policy
    page.keyboard.press("n")
    return used


@pytest.mark.parametrize(
    ("where", "path"),
    [*(("site", path) for path in EVERY), ("bundle", "operations/index.html")],
)
def test_a_hostile_run_is_only_text(tab: Any, project: Project, where: str, path: str) -> None:
    """Vocabulary, metadata, prompt, question and names want to be code: each explorer is used, none of them runs.

    The site has the bodies and scripts of a bundle, and more around them.
    """
    root = project.bundle("hostile") if where == "bundle" else project.site / "experiments/hostile/v1"
    page = tab(viewport=NARROW)
    page.add_init_script(VIOLATED)
    page.goto((root / path).as_uri())
    used = operate(unpacked(page))
    assert used >= 5 or path != "operations/index.html"
    used = page.evaluate(USE, HOSTILE)
    assert used > 0 or path in ("index.html", "method/index.html", "appendix/index.html")
    page.wait_for_timeout(100)
    assert page.evaluate("window.violated") == []
    assert not page.evaluate("window.tripped")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator(".tracegen :is(img[src=x], [onerror], script:not([type]))").count() == 0


def test_what_a_policy_refuses_is_counted(window: Any, project: Project) -> None:
    page = window().new_page()
    page.add_init_script(VIOLATED)
    page.goto((project.bundle("hostile") / "index.html").as_uri())
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(1)>')")
    page.wait_for_function("window.violated.length > 0")
    assert page.evaluate("window.violated") == ["script-src-attr"]
    page.close()


# Runs that lack something


def lacking() -> dict[str, tuple[Any, dict[str, Any], dict[str, str]]]:
    """Runs by name: the run, its tables, and what a page must say."""
    whole, run = scaled_case(2, 1), a_run()
    failed = Check("one_run_id", "All files carry one run id", "failed", "2", "1", "Segments of two runs.")
    first = {name: table.head(1) if name in ("ops",) else table for name, table in whole.items()}
    no_pass = only(whole, ("load",))
    return {
        "no graph": (
            run,
            without(no_pass, "graphs", "graph_nodes", "graph_edges", "ops", "spans"),
            {"graph": "no graph"},
        ),
        "no disk": (run, without(whole, "files", "tensors"), {"method": "names no model file"}),
        "one op": (run, first, {}),
        "neither buffers nor a prompt": (run, only(without(whole, "buffers"), ("load", "warmup", "generate")), {}),
        "no tokens": (run, only(whole, ("load", "warmup")), {}),
        "not usable": (
            replace(run, checks=(failed,)),
            whole,
            {"file": "All files carry one run id", "index": "not usable"},
        ),
    }


@pytest.mark.parametrize("name", sorted(lacking()))
def test_what_is_missing_is_said(tab: Any, tmp_path: Path, name: str) -> None:
    """Nothing is drawn in figures: tests/report draw such runs."""
    run, tables, said = lacking()[name]
    write_report(tmp_path, undrawn(tables, run))
    page = tab(viewport=NARROW)
    for path in REPORT:
        page.goto((tmp_path / path).as_uri())
        operate(page)
        text = page.locator("main").inner_text()
        key = path.partition("/")[0].removesuffix(".html")
        assert said.get(key, "") in text, (path, text[:600])
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        for figure in page.locator("figure.tg-figure").all():  # drawn, tabled, or refused with the reason
            assert figure.locator("svg, table").count() or figure.locator(".tg-reason").inner_text().strip()
        if name == "not usable" and key == "file":
            assert page.locator("#explorer canvas").count() == 0
    assert not page.evaluate("window.tripped")


# Addresses

DIGITS = "9" * 300
ADDRESSES = {  # and what is said of each
    f"pass={DIGITS}&node=1": "no pass",
    f"pass=3&node={DIGITS}": "no node",
    "pass=99&node=1": "no pass 99",
    "pass=3&node=99999": "no node 99999",
    "pass=-1&node=1": "",
    "pass=": "",
    "pass=1e3": "",
    "pass=%00%ff%E0%A4%A&node=%3Cscript%3E": "",
    "__proto__=1&constructor=2&toString=3&pass=hasOwnProperty": "",
    "pass=3&pass=4&node=<img src=x onerror=alert(1)>": "",
    "unknown=7&&&===&" + "x=1&" * 2000: "",
}


def test_an_address_is_answered_or_left_alone(tab: Any, project: Project) -> None:
    page = tab(project.bundle("demo", 2) / "operations/index.html")
    for address, text in ADDRESSES.items():
        page.evaluate("hash => { location.hash = hash; }", address)
        # a function is refused by the policy
        said = f"[data-tg=status]:has-text('{text}')" if text else "[data-tg=status]"
        page.wait_for_selector(said, state="attached")
        assert len(page.locator("[data-tg=status]").inner_text()) < 200, address[:24]
        assert page.locator("tr.tg-op").count() > 10 and not page.evaluate("window.tripped"), address[:24]
        page.reload()
        unpacked(page).wait_for_selector(said, state="attached")
        assert page.locator("tr.tg-op").count() > 10, address[:24]


def test_a_node_that_is_not_there_is_harmless(tab: Any, project: Project) -> None:
    page = tab(project.bundle("demo", 2) / "graph/index.html")
    for address in (f"g{DIGITS}-n1", f"g0-n{DIGITS}", "g99-n1", "g__proto__-n1", "%E0%A4%A", "<img src=x>"):
        page.evaluate("hash => { location.hash = hash; }", address)
        page.wait_for_timeout(50)
        assert page.locator(".tg-graph .tg-chosen").count() == 0, address
