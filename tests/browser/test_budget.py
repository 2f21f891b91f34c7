"""A page is short: what its reader must load, scroll past, read and print is counted, and printed by `pytest -rP`."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.builders import a_run, scaled_case, with_facts, with_faults
from tests.report.rendered import MOST, OF_THE_FIRST, Prose
from tests.shared import shared_folder
from tests.site_project import Project
from tracegen.publishing.bundle import read_bundle, write_bundle
from tracegen.report.pages.render import render_report

pypdf = pytest.importorskip("pypdf")
pytestmark = pytest.mark.browser

SCREENS, SHEETS, FIRST_BYTES = 2.5, 14, 400_000  # of a page, of all pages but the appendix, of the first page
ABOVE = {1280: (800, 140), 390: (844, 844 / 3)}  # width of a window -> its height, px above its first figure
IDENTITY = {
    "citation": "",
    "draft": "demo/run-001",
    "experiment": "demo",
    "created": "",
    "message": "",
    "runs": [1],
    "verdict": "complete",
    "question": "Where does the time go?",
}


@pytest.fixture(scope="module", params=["dense", "mixture"])
def bundle(request: Any, project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "mixture":
        return project.bundle("demo", 2)
    run, tables = with_facts(a_run(), trace=dict(faults_recorded=True)), with_faults(scaled_case(6, 4))

    def make(at: Path) -> None:
        at.mkdir(parents=True, exist_ok=True)
        write_bundle(at, render_report(run, tables, citable=None), IDENTITY)

    return shared_folder(tmp_path_factory, "budget-dense", make)


def test_every_page_is_within_its_budget(window: Callable[..., Any], bundle: Path) -> None:
    counted: dict[str, tuple[float, int, int, int]] = {}
    for page in read_bundle(bundle).pages:
        tab, loaded = window(viewport={"width": 1280, "height": 800}).new_page(), set[str]()
        tab.on("request", lambda request, loaded=loaded: loaded.add(urlsplit(request.url).path))
        tab.goto((bundle / page["path"]).as_uri(), wait_until="networkidle")
        screens = tab.evaluate("document.documentElement.scrollHeight / innerHeight")
        sheets = pypdf.PdfReader(io.BytesIO(tab.pdf(format="A4", prefer_css_page_size=True))).pages
        assert all(sheet.extract_text().strip() for sheet in sheets), page["key"]  # none is void
        size = sum(Path(unquote(path)).stat().st_size for path in loaded)
        words = len(Prose(read_bundle(bundle).body(page["path"]).decode()).words)
        counted[page["key"]] = round(screens, 2), len(sheets), size, words
        tab.close()
    print(f"{bundle.name}: screens, sheets, bytes, words {counted}")
    pages = {key: counts for key, counts in counted.items() if key != "appendix"}
    assert {key: screens for key, (screens, *_) in pages.items() if screens > SCREENS} == {}
    assert {key: n for key, (*_, n) in pages.items() if n > (OF_THE_FIRST if key == "overview" else MOST)} == {}
    assert sum(sheets for _, sheets, *_ in pages.values()) <= SHEETS
    assert 0 < counted["overview"][2] <= FIRST_BYTES
    assert counted["appendix"][1] > 5  # so that a count of sheets that finds none is missed


def test_little_stands_above_the_first_figure_of_a_page(page: Any, bundle: Path) -> None:
    """Above the answer, on the first page; above the name of the first figure, table or control on the others."""
    names = ".tg-answer, .tg-main :is(h2, .tg-title, .tg-label)"
    seen = f"[...document.querySelectorAll('{names}')].filter(e => e.checkVisibility())"
    for width, (height, most) in ABOVE.items():
        page.set_viewport_size({"width": width, "height": height})
        above = {}
        for one in read_bundle(bundle).pages:
            page.goto((bundle / one["path"]).as_uri(), wait_until="networkidle")
            above[one["key"]] = round(page.evaluate(f"Math.min(...{seen}.map(e => e.getBoundingClientRect().top))"))
        print(f"{bundle.name}: px above the first figure at {width}: {above}")
        assert {key: top for key, top in above.items() if not 0 < top <= most} == {}
