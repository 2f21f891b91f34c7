"""The policy of a site's pages in a browser: a script that got into a page's content does not run, the theme's do.

That no page has anything to refuse, `test_site.py` sees: it opens every one, and fails for each message.
"""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.site_project import Project
from tests.web import served

pytestmark = pytest.mark.browser

HOSTILE = (
    "<script>window.ran = true</script><img src=data:x onerror='window.ran = true'><object data=index.html></object>"
)
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>\n?')
PAGES = ("experiments/hostile/v1/index.html", "experiments/index.html", "reference/index.html")


def opened(window: Any, address: str) -> tuple[bool, bool]:
    """Whether what is hostile ran, and whether the theme's script did, which sets a class."""
    page = window().new_page()
    page.goto(address)
    page.wait_for_timeout(300)
    ran, themed = page.evaluate("[window.ran === true, typeof __md_get === 'function']")
    page.close()
    return ran, themed


@pytest.fixture(scope="module")
def site(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site once more, for pages that are changed: other tests read it meanwhile."""
    return Path(shutil.copytree(project.site, tmp_path_factory.mktemp("changed") / "site", copy_function=os.link))


@pytest.mark.parametrize("path", PAGES)
def test_a_script_in_the_content_of_a_page_does_not_run(path: str, window: Any, site: Path) -> None:
    text = (site / path).read_text(encoding="utf-8")
    end = re.search("</(?:article|main)>", text)
    assert end is not None
    hostile = text[: end.start()] + HOSTILE + text[end.start() :]
    with served(site) as web:
        for content, ran in ((hostile, False), (POLICY.sub("", hostile, count=1), True)):
            place = (site / path).with_name("changed.html")
            place.write_text(content, encoding="utf-8")
            for address in (place.as_uri(), web + place.relative_to(site).as_posix()):
                assert opened(window, address) == (ran, True), address


def test_every_page_of_ours_has_a_policy(project: Project) -> None:
    ours = [path for path in project.pages() if path.startswith(("experiments/", "reference/"))]
    assert len(ours) > 20
    for path in ours:
        assert len(POLICY.findall((project.site / path).read_text(encoding="utf-8"))) == 1, path


def test_figures_tell_their_values_though_nothing_may_be_compiled(tab: Any, web: str, project: Project) -> None:
    """Vega's expressions are functions that are compiled, or else interpreted."""
    path = next(p for p in project.pages() if "data-targets" in (project.site / p).read_text(encoding="utf-8"))
    page = tab(f"{web}{path}", viewport={"width": 1280, "height": 1000})
    page.evaluate("document.querySelectorAll('details').forEach(folded => { folded.open = true; })")
    figure = page.locator("[data-targets]:visible").first
    figure.dispatch_event("pointerenter")
    figure.locator(".tg-targets svg").wait_for(state="attached")
