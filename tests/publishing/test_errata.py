"""What earlier versions of tracegen showed wrongly stands at what they published, from outside, and nowhere else."""

import hashlib
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.stand_in import a_run, a_run_folder, a_version, render
from tracegen.publishing.errata import ERRATA, errata_of
from tracegen.report.document.page import OUTLINE
from tracegen.site import gather as site
from tracegen.site import pages as site_pages
from tracegen.site import reference
from tracegen.storing import resources
from tracegen.storing.resources import package_version


@pytest.mark.parametrize(
    ("generator", "faulty"),
    [
        ("tracegen 0.1.0", True),
        ("tracegen 0.1.12", True),
        ("tracegen 0.2.0", False),
        ("tracegen 1.0.0", False),
        ("tracegen 0.10.0", False),
        ("tracegen unknown", True),
        ("", True),
    ],
)
def test_which_generators_made_the_fault(generator: str, faulty: bool) -> None:
    assert bool(errata_of(generator, created="2026-12-01T00:00:00Z")) == faulty


def test_a_fault_that_the_same_release_mended_stands_at_what_it_published_before() -> None:
    late = [one for one in ERRATA if one.until]
    assert late
    for one in late:
        before, after = "2026-11-26T02:56:01Z", "2026-12-01T00:00:00Z"
        assert one in errata_of(f"tracegen {one.since}", one.pages[0], created=before)
        assert one not in errata_of(f"tracegen {one.since}", one.pages[0], created=one.until)
        assert one not in errata_of(f"tracegen {one.since}", created=after)
        assert one in errata_of("tracegen 0.1.0", created=after)


def test_each_erratum_names_pages_that_there_are() -> None:
    keys = {key for key, *_ in OUTLINE}
    assert all(set(one.pages) <= keys and one.pages for one in ERRATA)
    assert {page for one in ERRATA for page in one.pages} <= keys
    since = [tuple(map(int, one.since.split("."))) for one in ERRATA]
    assert since == sorted(since)
    assert max(since) <= tuple(map(int, package_version().split(".")))


def test_a_version_of_before_says_what_is_false_and_stays_as_it_was(tmp_path: Path) -> None:
    experiments = tmp_path / "experiments"
    a_version(experiments, number=9)  # published after the faults that its own release mended
    folder = experiments / "sample" / "versions" / "1"
    document = json.loads((folder / "version.json").read_text())
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    pages = site.gather(experiments, tmp_path / "cache", render=render).pages
    assert "Erratum." not in pages["experiments/sample/v1/file/index.md"].content()

    ledger = experiments / "sample" / "ledger.json"
    old = (folder / "version.json").read_text().replace(document["generator"], "tracegen 0.1.0")
    (folder / "version.json").write_text(old)
    entries = json.loads(ledger.read_text())
    text = json.dumps(entries).replace(
        hashlib.sha256(before[folder / "version.json"]).hexdigest(), hashlib.sha256(old.encode()).hexdigest()
    )
    ledger.write_text(text)
    a_run_folder(experiments, a_run(number=7))
    pages = site.gather(experiments, tmp_path / "other", render=render).pages
    html = pages["experiments/sample/v1/file/index.md"].content()
    assert "Erratum." in html and ERRATA[0].title in html
    assert 'href="../../../../reference/index.html#since-0.2.0"' in html
    assert "Erratum." not in pages["experiments/sample/run-007/index.md"].content()
    assert html.index("Erratum.") < html.index("</header>")
    assert all(path.read_bytes() == content for path, content in before.items() if path.name != "version.json")


def test_a_comparison_is_drawn_anew_and_has_no_fault_of_before() -> None:
    """It is not a version, and has no moment of its own: it stood under each fault that its release mended."""
    drawn: Any = SimpleNamespace(document={"generator": "tracegen 0.2.0", "created": ""})
    page = ERRATA[-1].pages[0]
    assert site_pages.errata_on("current", drawn, page)
    assert not site_pages.errata_on("comparison", drawn, page) and not site_pages.errata_on("draft", drawn, page)


def test_the_reference_says_since_when() -> None:
    page = reference.render()
    assert set(re.findall(r'id="since-([0-9.]+)"', page)) == {one.since for one in ERRATA}
    assert all(one.title in page for one in ERRATA)
    assert resources.package_version() != "unknown"
