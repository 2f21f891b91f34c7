"""A Chromium with windows that tests share, a web server with the site below a sub-path, and its pages opened once."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import chromium
from tests.builders import a_moe_run, scaled_case, with_facts, with_faults
from tests.report_files import written_report
from tests.shared import shared_folder
from tests.site_project import Project
from tests.web import served

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
# What a script that should not run leaves behind.
TRIP = "window.tripped = false; window.alert = window.confirm = window.prompt = () => { window.tripped = true; };"
# Each shift of the layout that no one asked for, from the first moment on.
WATCH_SHIFTS = """
window.shifts = [];
new PerformanceObserver(list => list.getEntries().forEach(e => {
  if (!e.hadRecentInput) shifts.push(e.value);
})).observe({ type: "layout-shift", buffered: true });
"""
# How wide a page is once it is drawn, and how far things on it have jumped.
SETTLED = """new Promise(done => requestAnimationFrame(() => setTimeout(() =>
  done([document.documentElement.scrollWidth, shifts.reduce((a, b) => a + b, 0)]), 80)))"""
# Whether the page has a table of operations that shows a pass: its rows come when the page is loaded.
HAS_ROWS = """() => {
  const state = document.getElementById("tg-operations");
  return state !== null && JSON.parse(state.textContent).shown !== null;
}"""
# The tables of `moe_report`: a load, a warm-up, a prompt and four tokens, experts in all three layers, page faults.
MOE_TABLES = with_faults(scaled_case(4, 3, moe=True))
MOE_RUN = with_facts(a_moe_run(), trace=dict(faults_recorded=True))


@dataclass
class Watched:
    """A browser page with all that goes wrong in it."""

    page: Any
    origin: str
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.add_init_script(TRIP)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self._note(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self._note(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("requestfailed", self._failed)
        self.page.on("response", lambda r: r.status >= 400 and self._note(f"{r.status}: {r.url}"))
        self.page.on("request", self._request)

    def _note(self, text: str) -> None:
        self.problems.append(text)

    def _console(self, message: Any) -> None:
        if "willReadFrequently" not in message.text:  # that a canvas is read often, as tests do, is no message of ours
            self._note(f"console {message.type}: {message.text}")

    def _failed(self, request: Any) -> None:
        if request.failure != "net::ERR_ABORTED":  # that is what opening the next page does to one still loading
            self._note(f"failed: {request.url} ({request.failure})")

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self._note(f"left the site: {request.url}")


@dataclass(frozen=True)
class Visit:
    """What was seen on one page."""

    problems: tuple[str, ...]
    tripped: bool
    title: str
    width: int
    shift: float


@pytest.fixture(scope="session")
def chrome() -> Iterator[Any]:
    """A Chromium for the whole session."""
    sync_api = pytest.importorskip("playwright.sync_api")
    path = chromium.find()
    if path is None:
        pytest.skip("no Chromium: python tests/chromium.py")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def web(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the site on a server that has it below /a/b/ and nothing else."""
    root = tmp_path_factory.mktemp("www")
    (root / "a").mkdir()
    (root / "a" / "b").symlink_to(project.site)
    with served(root) as address:
        yield f"{address}a/b/"


def drawn(page: Any) -> None:
    """Wait until scripts have drawn what was asked for: they do it in the next frame, however busy the machine is."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def pages_of_each_kind(project: Project) -> list[str]:
    """Lists, journal, the overview of each version and draft, all pages of the hostile one, one without figures."""
    whole = ("experiments/hostile/v1/", "experiments/broken/v1/file/")
    return [path for path in project.pages() if path.count("/") < 4 or path.startswith(whole)]


def visit_all(window: Any, start: str, pages: list[str]) -> dict[str, Visit]:
    """Open every page once; `start` is the address of the site, with which every request must begin."""
    page = window.new_page()
    watched = Watched(page, start)
    page.add_init_script(WATCH_SHIFTS)
    seen = {}
    for path in pages:
        watched.problems.clear()
        page.goto(start + path, wait_until="load")
        width, shift = page.evaluate(SETTLED)
        seen[path] = Visit(tuple(watched.problems), page.evaluate("window.tripped"), page.title(), width, shift)
    page.close()
    return seen


@pytest.fixture(scope="session")
def window(chrome: Any) -> Iterator[Callable[..., Any]]:
    """`window(**options)` is a browser window with these options that remembers what it loaded; tests share it."""
    opened: dict[str, Any] = {}

    def open_(**options: Any) -> Any:
        key = json.dumps(options, sort_keys=True)
        if key not in opened:
            opened[key] = chrome.new_context(**options)
        return opened[key]

    yield open_
    for context in opened.values():
        context.close()


@pytest.fixture
def tab(window: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """`tab(address, **options)` is a page in a window with these options, whose table of operations has its rows.

    Any message, error, or request that leaves the site of its first address fails the test at its end.
    """
    opened: list[Watched] = []

    def open_(address: str | Path = "about:blank", **options: Any) -> Any:
        if isinstance(address, Path):
            address = address.as_uri()
        site = "/".join(address.split("/")[:5]) if address.startswith("http") else "file:"  # http://HOST/a/b
        watched = Watched(window(**options).new_page(), site)
        opened.append(watched)
        watched.page.goto(address, wait_until="load")
        return unpacked(watched.page) if options.get("java_script_enabled", True) else watched.page

    yield open_
    problems = [problem for watched in opened for problem in watched.problems]
    for watched in opened:
        watched.page.close()
    assert not problems


def copied(page: Any, button: Any, said: str = "said") -> str:
    """What the page copies when this button is pressed, once it says so."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate(f"document.querySelector('[data-tg={said}]').textContent = ''")
    button.press("Enter")
    page.wait_for_selector(f"[data-tg={said}]:text-is('Copied.')")
    return str(page.evaluate("navigator.clipboard.readText()"))


def unpacked(page: Any) -> Any:
    """The same page, when its table of operations, if it has one, has unpacked its rows."""
    if page.evaluate(HAS_ROWS):
        page.wait_for_selector("[data-tg=operations] [data-tg=controls]:not([hidden])", state="attached")
    return page


@pytest.fixture
def page(tab: Callable[..., Any]) -> Any:
    """A page for files alone."""
    return tab(viewport={"width": 1280, "height": 1000})


@pytest.fixture(scope="session")
def moe_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of MOE_RUN with the tables MOE_TABLES; nobody changes them."""
    return shared_folder(tmp_path_factory, "moe-report", lambda at: written_report(at, MOE_TABLES, MOE_RUN))


@pytest.fixture(scope="session")
def long_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a run of 90 tokens and 24 layers."""
    tables = scaled_case(90, 24, moe=True)
    return shared_folder(tmp_path_factory, "long-report", lambda at: written_report(at, tables, a_moe_run()))
