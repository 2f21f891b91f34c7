"""The one file of `tracegen export … html` in a browser: wide and narrow, light and dark, without any request."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Watched
from tests.site_project import Project
from tracegen.cli.main import main

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", params=["sample@v1", "hot-set@v1", "demo@v2"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, project: Project) -> Path:
    """A published first page, exported."""
    written = tmp_path_factory.mktemp("mailed") / "overview.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project.root if request.param.startswith("demo") else ROOT)
        assert main(["export", request.param, "html", "--out", str(written)]) == 0
    return written


@pytest.mark.parametrize(
    ("width", "scheme", "ground"), [(1190, "light", "rgb(255, 255, 255)"), (360, "dark", "rgb(22, 24, 27)")]
)
def test_it_stands_alone(window: Any, file: Path, width: int, scheme: str, ground: str) -> None:
    page = window(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
    watched = Watched(page, file.as_uri())
    page.goto(file.as_uri(), wait_until="load")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground
    assert page.locator(".tg-verdict").bounding_box()["y"] < 900  # on the first screen
    assert page.evaluate("[...document.querySelectorAll('svg')].some(s => s.getBoundingClientRect().width > 200)")
    assert page.locator("summary").first.is_visible()
    hidden = page.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].filter(a => !document.getElementById(a.hash.slice(1))).length"
    )
    assert (hidden, watched.problems) == (0, [])
    page.close()
