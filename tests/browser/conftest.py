"""A Chromium, a web server with the site below a sub-path, and every page of the site opened once in both ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import chromium
from tests.site_project import Project
from tests.web import served

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
# What a script that should not run leaves behind.
TRIP = "window.tripped = false; window.alert = window.confirm = window.prompt = () => { window.tripped = true; };"


@dataclass
class Watched:
    """A browser page with all that goes wrong in it."""

    page: Any
    origin: str
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.add_init_script(TRIP)
        self.page.on("console", lambda m: self._note(f"console {m.type}: {m.text}"))
        self.page.on("pageerror", lambda error: self._note(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self._note(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("requestfailed", self._failed)
        self.page.on("response", lambda r: r.status >= 400 and self._note(f"{r.status}: {r.url}"))
        self.page.on("request", self._request)

    def _note(self, text: str) -> None:
        self.problems.append(text)

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
    width: int
    title: str


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


def visit_all(chrome: Any, start: str, pages: list[str], **options: Any) -> dict[str, Visit]:
    """Open every page once; `start` is the address of the site, with which every request must begin."""
    context = chrome.new_context(**options)
    page = context.new_page()
    watched = Watched(page, start)
    seen = {}
    for path in pages:
        watched.problems.clear()
        page.goto(start + path, wait_until="load")
        width = page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(() =>"
                              " done(document.documentElement.scrollWidth), 20)))")  # fmt: skip
        seen[path] = Visit(tuple(watched.problems), page.evaluate("window.tripped"), width, page.title())
    context.close()
    return seen


@pytest.fixture(scope="session")
def over_file(chrome: Any, project: Project) -> dict[str, Visit]:
    """Every page opened from its folder on a narrow screen."""
    return visit_all(
        chrome,
        f"{project.site.as_uri()}/",
        project.pages(),
        viewport={"width": 360, "height": 800},
        color_scheme="dark",
    )


@pytest.fixture(scope="session")
def over_http(chrome: Any, project: Project, web: str) -> dict[str, Visit]:
    """Every page opened from a server below a sub-path on a wide screen."""
    return visit_all(chrome, web, project.pages(), viewport={"width": 1280, "height": 800})


@pytest.fixture(scope="session")
def window(chrome: Any) -> Iterator[Any]:
    """A browser window that remembers what it loaded."""
    context = chrome.new_context()
    yield context
    context.close()


@pytest.fixture
def tab(window: Any, web: str) -> Iterator[Any]:
    """Open a page by `tab(address)`; every problem in any of them fails the test at its end."""
    opened: list[Watched] = []

    def open_(address: str | Path, context: Any = window, **emulated: str) -> Any:
        if isinstance(address, Path):
            address = address.as_uri()
        watched = Watched(context.new_page(), web if address.startswith("http") else "file:")
        opened.append(watched)
        if emulated:
            watched.page.emulate_media(**emulated)
        watched.page.goto(address, wait_until="load")
        return watched.page

    yield open_
    problems = [problem for watched in opened for problem in watched.problems]
    for watched in opened:
        watched.page.close()
    assert not problems


@pytest.fixture
def page(chrome: Any) -> Iterator[Any]:
    """A page for files alone; any message, error or request of the web fails the test at its end.

    That a canvas is read often, as tests do, is no message of ours.
    """
    page = chrome.new_page(viewport={"width": 1280, "height": 1000}, accept_downloads=True)
    problems: list[str] = []
    page.on("console", lambda message: "willReadFrequently" in message.text or problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: request.url.startswith(("file:", "blob:")) or problems.append(request.url))
    yield page
    page.close()
    assert not problems
