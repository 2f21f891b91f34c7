"""A bundle is whole, opens by itself, and says so when anything in it changed."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.contract.test_hostile import UNFIT
from tests.site_project import BREAKOUT, SCRIPT
from tests.site_project import HOSTILE as STEERING
from tests.stand_in import HOSTILE, KEYS, a_report
from tracegen.contract.errors import SettingsError, StoreError
from tracegen.publishing.bundle import read_bundle, verify_bundle, write_bundle
from tracegen.publishing.citation import site_facts
from tracegen.report.document.page import Page, Report
from tracegen.storing.hashes import HashCache

IDENTITY = {
    "citation": "sample@v1",
    "experiment": "sample",
    "version": 1,
    "created": "2026-11-20T12:00:00Z",
    "message": HOSTILE,
    "runs": [1],
    "verdict": "complete",
    "question": HOSTILE,
}


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def written(folder: Path, report: Report | None = None) -> Path:
    folder.mkdir()
    write_bundle(folder, report or a_report(), IDENTITY)
    return folder


def test_bodies_come_back_byte_for_byte(tmp_path: Path) -> None:
    report = a_report(extra="é \N{SNOWMAN}\r\n\t trailing  ")
    bundle = read_bundle(written(tmp_path / "b", report))
    assert [bundle.body(page.path).decode() for page in report.pages] == [page.body for page in report.pages]


def test_the_manifest_lists_every_other_file(tmp_path: Path) -> None:
    folder = written(tmp_path / "b")
    document = json.loads((folder / "version.json").read_text())
    assert set(document["manifest"]) == set(files_of(folder)) - {"version.json"}
    assert [page["path"] for page in document["pages"]] == [
        "index.html",
        *(f"{key}/index.html" for key in KEYS[1:]),
    ]
    verify_bundle(read_bundle(folder), HashCache(tmp_path / "cache"))


def test_hostile_text_is_text(tmp_path: Path) -> None:
    report = a_report(title=STEERING)
    report = replace(report, pages=tuple(replace(p, title=STEERING, summary=STEERING) for p in report.pages))
    folder = written(tmp_path / "b", report)
    for page in report.pages:
        html = (folder / page.path).read_text(encoding="utf-8")
        assert SCRIPT not in html and BREAKOUT not in html and not UNFIT.search(html)
        assert html.count("</script>") == html.count("<script")
        (data,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', html, re.DOTALL)
        assert "alert(1)" in json.loads(data)["name"]
    assert read_bundle(folder).document["title"] == STEERING


def test_a_page_loads_nothing_from_outside(tmp_path: Path) -> None:
    folder = written(tmp_path / "b")
    html = (folder / "file" / "index.html").read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy and "default-src 'none'" in policy[1] and "http" not in policy[1]
    loaded = re.findall(r'<(?:link|script|img)[^>]*(?:href|src)="([^"]*)"', html)
    assert len(loaded) == 4
    for address in loaded:
        assert (folder / "file" / address).resolve().is_file()
    for address in re.findall(r'<a href="([^"#]+)"', html):
        assert address.endswith("index.html") and (folder / "file" / address).is_file()


def test_a_citation_escapes_its_title_and_has_a_date(tmp_path: Path) -> None:
    folder = written(tmp_path / "b", a_report(title=HOSTILE))
    bib = (folder / "citation.bib").read_text()
    assert "\n@misc{sample-v1,\n" in bib and "year = {2026}" in bib
    assert r"\& " in bib and r"\$x\textasciicircum{}2\_\textbraceleft{}\%\textbraceright{}" in bib
    (csl,) = json.loads((folder / "citation.json").read_text())
    assert csl["id"] == "sample@v1" and csl["issued"] == {"date-parts": [[2026, 11, 20]]}


def test_a_citation_has_author_address_date_and_a_hash_that_others_can_compute(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    folder.mkdir()
    write_bundle(folder, a_report(), {**IDENTITY, "author": "Ada & Co", "url": "https://x.org/a/v1/index.html"})
    bib, (csl,) = (folder / "citation.bib").read_text(), json.loads((folder / "citation.json").read_text())
    command = "find * -type f ! -name version.json ! -name 'citation.*' | LC_ALL=C sort | xargs sha256sum | sha256sum"
    counted = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=True).stdout[:64]
    assert f"SHA-256 of the content: {counted}}}" in bib and csl["note"].endswith(counted)
    assert r"  author = {{Ada \& Co}}," in bib and csl["author"] == [{"literal": "Ada & Co"}]
    assert "  url = {https://x.org/a/v1/index.html}," in bib and csl["URL"] == "https://x.org/a/v1/index.html"
    assert "  date = {2026-11-20}," in bib
    plain = (written(tmp_path / "plain") / "citation.bib").read_text()
    assert plain.startswith("% No url: set site_url in mkdocs.yml") and "\n@misc{" in plain and not bib.startswith("%")
    assert "author" not in plain and "url =" not in plain and "SHA-256" in plain
    key = f"  key = {{{IDENTITY['citation']}}},"
    assert key in plain.split("\n") and "  key = " not in bib  # BibTeX sorts by author or key


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        (
            "site_author: Ada  Lovelace\nsite_url: https://x.org/b/\n",
            {"author": "Ada Lovelace", "url": "https://x.org/b/experiments/a/v1/index.html"},
        ),
        ("extra: {author: Ada}\nplugins: !ENV [X, y]\nx: !!python/name:os.system\n", {"author": "Ada"}),
        ("site_url: ''\nsite_author: 7\n", {}),
        ("site_url: 'javascript:alert(1)'\n", {}),
        ("- a\n", {}),
    ],
)
def test_author_and_address_come_from_the_settings_of_the_site(
    tmp_path: Path, settings: str, facts: dict[str, str]
) -> None:
    (tmp_path / "mkdocs.yml").write_text(settings)
    assert site_facts(tmp_path / "mkdocs.yml", "experiments/a/v1") == facts
    assert site_facts(tmp_path / "none.yml", "experiments/a/v1") == {}


def test_settings_that_cannot_be_read_stop_the_publishing(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: [")
    with pytest.raises(SettingsError, match=r"mkdocs\.yml: cannot be read"):
        site_facts(tmp_path / "mkdocs.yml", "experiments/a/v1")


@pytest.mark.parametrize("name", ["../outside.svg", "/etc/x", "index.html", "version.json", "a//b", "a\\b"])
def test_files_that_cannot_stand_in_a_bundle(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="the report"):
        written(tmp_path / "b", replace(a_report(), files={**a_report().files, name: b""}))


@pytest.mark.parametrize("page", [Page("assets", "A", "", ""), Page("overview", "O", "", ""), Page("a/b", "A", "", "")])
def test_pages_that_cannot_stand_in_a_bundle(tmp_path: Path, page: Page) -> None:
    with pytest.raises(StoreError, match="the report has"):
        written(tmp_path / "b", replace(a_report(), pages=(*a_report().pages, page)))


def test_a_body_with_our_mark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="body mark"):
        written(tmp_path / "b", a_report(extra="<!-- /tracegen:body -->"))


def change_content(folder: Path) -> Path:
    path = folder / "file" / "index.html"
    path.write_bytes(path.read_bytes().replace(b"file", b"f1le"))
    return path


def remove_file(folder: Path) -> Path:
    (folder / "figures" / "graph.svg").unlink()
    return folder / "figures" / "graph.svg"


def add_file(folder: Path) -> Path:
    (folder / "data" / "more.js").write_text("x")
    return folder / "data" / "more.js"


@pytest.mark.parametrize("damage", [change_content, remove_file, add_file])
def test_damage_is_named(tmp_path: Path, damage: object) -> None:
    folder = written(tmp_path / "b")
    hashes = HashCache(tmp_path / "cache")
    verify_bundle(read_bundle(folder), hashes)
    path = damage(folder)  # type: ignore[operator]
    with pytest.raises(StoreError, match=re.escape(str(path))):
        verify_bundle(read_bundle(folder), hashes)
