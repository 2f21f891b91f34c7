"""MkDocs builds the site: strictly, with both themes, byte for byte, with nothing from outside."""

import os
import re
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from mkdocs.livereload import LiveReloadServer

from tests.publishing.test_bundle import files_of
from tests.stand_in import HOSTILE, a_project, a_report, a_run, a_run_folder, a_version, render
from tracegen.cli.commands import build as builds
from tracegen.cli.commands.build import build_site, loaded
from tracegen.contract.errors import CheckError, SettingsError, StoreError, TracegenError
from tracegen.site import gather as site
from tracegen.site import vega
from tracegen.storing import store


@pytest.fixture(autouse=True)
def stand_in_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "gather", partial(site.gather, render=render))


def a_full_project(folder: Path, **options: object) -> Path:
    config = a_project(folder, **options)  # type: ignore[arg-type]
    experiments = folder / "experiments"
    a_version(experiments, number=1)
    a_version(experiments, number=2, report=a_report(title=HOSTILE, extra="é\r\n\tkept  as it is &amp;"))
    a_run_folder(experiments, a_run(number=3, question=HOSTILE))
    (folder / "journal" / "entry.md").write_text(
        "# Entry\n\n[[sample@v1]], {{ sample@v2:touched_share }}\n\n![[sample@v2#fig-file]]\n"
    )
    return config


@pytest.mark.parametrize(("theme", "directory_urls"), [("material", False), ("mkdocs", True)])
def test_a_strict_build(tmp_path: Path, theme: str, directory_urls: bool) -> None:
    config = a_full_project(tmp_path, theme=theme, directory_urls=directory_urls)
    before = files_of(tmp_path / "experiments") | files_of(tmp_path / "journal")
    built = build_site(config, strict=True).parent
    assert files_of(tmp_path / "experiments") | files_of(tmp_path / "journal") == before
    report = a_report(title=HOSTILE, extra="é\r\n\tkept  as it is &amp;")
    for page in report.pages:
        html = (built / "experiments/sample/v2" / page.path).read_bytes()
        assert page.body.encode() in html
        assert html.count(b'<div class="tracegen" id="tracegen-content">') == 1
        assert b"<script>alert" not in html and b"<img src=x" not in html
    for name, content in report.files.items():
        assert (built / "experiments/sample/v2" / name).read_bytes() == content
    assert b"Superseded." in (built / "experiments/sample/v1/index.html").read_bytes()
    assert b"Draft, not citable." in (built / "experiments/sample/run-003/graph/index.html").read_bytes()
    # One copy of an asset, however many versions
    assert len(list(built.rglob("vega.*.js"))) == len(list(built.rglob("tracegen.*.js"))) == 1
    assert not list((built / "experiments").rglob("assets"))
    folder = built / "experiments/sample/v1/file"
    (address,) = re.findall(r'<html data-tracegen-vega="([^"]*)"', (folder / "index.html").read_text())
    assert (folder / address).resolve().read_bytes() == vega.script(tmp_path)
    if theme == "material":  # the navigation holds the index only
        html = (built / "index.html").read_text()
        (nav,) = re.findall(r'<nav class="md-nav md-nav--primary.*?</nav>\s*</div>', html, re.DOTALL)
        assert "experiments/index.html" in nav and "sample" not in nav


def test_two_builds_are_the_same(tmp_path: Path) -> None:
    """In the same folder, where all is verified, and in another one."""
    first, other = a_full_project(tmp_path / "a"), a_full_project(tmp_path / "b")
    built = files_of(build_site(first, strict=True).parent)
    assert built == files_of(build_site(first, strict=True, verify=True).parent)
    assert built == files_of(build_site(other, strict=True).parent)


def test_two_builds_into_one_site_take_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second build begins in the middle of the first one; it says for whom it waits."""
    config, second_waits, said = a_project(tmp_path), threading.Event(), builds._say_who_builds
    order: list[str] = []
    second = threading.Thread(target=build_site, args=(config,))

    def fake(_: object) -> None:
        order.append("begin")
        if second.ident is None:
            second.start()
            assert second_waits.wait(60)
        second_waits.set()
        order.append("end")

    def say_and_go_on(site: Path, who: str) -> None:
        said(site, who)
        second_waits.set()

    monkeypatch.setattr("mkdocs.commands.build.build", fake)
    monkeypatch.setattr(builds, "_say_who_builds", say_and_go_on)
    build_site(config)
    second.join()
    assert order == ["begin", "end"] * 2
    assert re.fullmatch(
        rf"wait for (process {os.getpid()}|another process), which builds {tmp_path}/site\n", capsys.readouterr().err
    )


def test_a_build_that_fails_leaves_no_empty_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise StoreError("so")

    monkeypatch.setattr("mkdocs.commands.build.build", fail)
    config = a_project(tmp_path)
    with pytest.raises(StoreError):
        build_site(config)
    assert not (tmp_path / "site").exists()


def test_an_unknown_reference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = a_full_project(tmp_path)
    (tmp_path / "journal" / "entry.md").write_text("---\ntitle: Entry\n---\n\n# Entry\n\nSee [[sample@v7]].\n")
    with pytest.raises(CheckError, match="1 warning"):
        build_site(config, strict=True)
    assert (
        "entry.md:7: unknown reference [[sample@v7]]: sample@v7 is not a published version" in capsys.readouterr().err
    )
    built = build_site(config).parent
    assert '<mark class="tracegen-unknown"' in (built / "entry.html").read_text()


def test_a_draft_that_cannot_be_shown_fails_a_strict_build_and_has_no_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = a_full_project(tmp_path)
    a_run_folder(tmp_path / "experiments", a_run(number=4))
    (tmp_path / "experiments" / "sample" / "runs" / "004" / "tables" / "ops.parquet").unlink()
    with pytest.raises(CheckError):
        build_site(config, strict=True)
    assert "Run 004: sample/runs/004/tables/ops.parquet: is missing" in capsys.readouterr().err
    built = build_site(config).parent
    index = (built / "search" / "search_index.json").read_text()
    assert (built / "experiments/sample/run-003/index.html").is_file() and "run-003" in index
    assert not (built / "experiments/sample/run-004").exists() and "run-004" not in index
    assert "Run 004: " in (built / "experiments/sample/index.html").read_text()
    for page in ("v1/index.html", "v2/file/index.html", "run-003/index.html"):
        html = (built / "experiments/sample" / page).read_text()
        assert 'data-folder="run-003"' in html and 'data-folder="run-004"' not in html, page
    assert (built / "search" / "search_index.js").read_text() == f"var __index = {index}"


def test_a_page_of_the_journal_in_our_place(tmp_path: Path) -> None:
    config = a_full_project(tmp_path)
    (tmp_path / "journal" / "experiments").mkdir()
    (tmp_path / "journal" / "experiments" / "index.md").write_text("# Mine\n")
    with pytest.raises(TracegenError, match=r"experiments/index\.md"):
        build_site(config)


def test_wrong_settings(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is missing"):
        build_site(tmp_path / "mkdocs.yml")
    config = a_project(tmp_path)
    config.write_text(config.read_text().replace("tracegen]", "]"))
    with pytest.raises(SettingsError, match="lacks the plugin"):
        build_site(config)
    config.write_text("site_name: [")
    with pytest.raises(SettingsError, match="cannot use it"):
        build_site(config)


def test_serve_waits_until_a_run_is_whole(tmp_path: Path) -> None:
    """What a run writes into its hidden folder makes no new site; the rename that ends it does."""
    (tmp_path / "experiments" / "sample" / "runs").mkdir(parents=True)
    config = loaded(a_project(tmp_path), strict=False)
    plugin = config.plugins["tracegen"]
    server = LiveReloadServer(lambda: None, "127.0.0.1", 0, str(tmp_path / "site"), polling_interval=0.02)
    watching = server.observer
    assert plugin.on_serve(server, config=config, builder=lambda: None) is None
    assert server.observer is watching
    server.observer.start()
    try:
        with store.whole_folder(tmp_path / "experiments" / "sample" / "runs" / "001") as part:
            for name in ("one", "two"):
                (part / name).write_text(name)
                time.sleep(0.2)
            (part / "one").unlink()
            time.sleep(0.2)
            assert not server._want_rebuild
        assert wanted(server)
        (tmp_path / "experiments" / "sample" / "experiment.toml").write_text("")
        assert wanted(server)
    finally:
        server.shutdown(wait=False)


def wanted(server: LiveReloadServer) -> bool:
    """Whether the server comes to want a new site; forgets it again."""
    with server._rebuild_cond:
        found = server._rebuild_cond.wait_for(lambda: server._want_rebuild, timeout=60)
        server._want_rebuild = False
    return found
