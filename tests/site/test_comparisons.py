"""The comparisons of a site: which there are, their pages, the cache, and what mkdocs.yml may name."""

import os
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import markdown
import pytest

from tests.builders import a_run, scaled_case, stored
from tests.builders.runs import facts_of
from tests.comparing.made import slot
from tests.report.rendered import rendered
from tests.stand_in import NOW, a_project, a_report, a_version
from tracegen.cli.commands.build import build_site
from tracegen.contract.errors import CheckError, SettingsError
from tracegen.contract.model import Check, Run
from tracegen.publishing import privacy
from tracegen.publishing import versions as publish
from tracegen.site import gather, jobs, journal, output, references

pytestmark = pytest.mark.usefixtures("empty_figures")
BAD = (Check("dropped_events", "No event was dropped", "failed", "3", "0"),)
TABLES = scaled_case(1, 2)


def stored_run(experiments: Path, name: str, number: int, checks: tuple[Check, ...] = (), **facts: object) -> Run:
    return stored(experiments, replace(a_run(checks=checks, **facts), experiment=name, number=number), TABLES)


def version(experiments: Path, name: str, number: int, checks: tuple[Check, ...] = (), **facts: object) -> None:
    public = privacy.public_run(stored_run(experiments, name, number, checks, **facts))
    report = rendered(TABLES, replace(public, experiment="any", number=1))  # its pages are not looked at
    publish.publish(experiments / name, public, lambda planned: report, "why", NOW + timedelta(days=number))


@pytest.fixture(scope="module")
def experiments(empty_figures: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "experiments"
    version(folder, "a", 1)
    version(folder, "a", 2, settings={**facts_of(a_run())["settings"], "threads": 7})
    version(folder, "b", 1)
    for number, threads in enumerate(("1", "2", "1", "2"), 1):
        stored_run(folder, "m", number, slot=slot(1 + number // 3, threads=threads))
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one test has drawn of `experiments`, another finds."""
    return tmp_path_factory.mktemp("cache")


def gathered(experiments: Path, cache: Path, *compare: object) -> gather.Site:
    site = gather.gather(experiments, cache, drafts=0, compare=compare)
    site.drawing.close()
    return site


def test_versions_and_matrices_are_compared_and_listed(experiments: Path, cache: Path, tmp_path: Path) -> None:
    site = gathered(experiments, cache, ["a@v1", "b@v1"], ["b@v1", "a@v2", "m:threads=1"])
    pages = [path for path in site.pages if "from" in path or "matrix" in path or "with" in path]
    assert sorted(pages) == [
        "experiments/a/v2-from-v1/index.md",
        "experiments/a/with-a-v1-b-v1/index.md",
        "experiments/b/with-b-v1-a-v2/index.md",
        "experiments/b/with-b-v1-m-threads-1/index.md",
        "experiments/m/matrix/effect-1/index.md",
        "experiments/m/matrix/index.md",
    ]
    page = site.pages["experiments/a/v2-from-v1/index.md"].content()
    assert "a@v1 → a@v2" in page and "threads" in page and "All counters are identical" in page
    assert "threads, 1 → 2" in site.pages["experiments/m/matrix/index.md"].content()
    listed = site.pages["experiments/a/index.md"].content()
    assert 'href="v2-from-v1/index.html"' in listed and "counted measures different, 0 of" in listed
    assert "a/v2-from-v1" in site.bundles
    for name, other in (("v1", "a@v2"), ("v2", "a@v1")):
        own = site.pages[f"experiments/a/{name}/file/index.md"].content()
        assert f'<a href="../../../a/v2-from-v1/index.html">compare with {other}</a>' in own
    assert "compare with" not in page, "a comparison is compared with nothing"
    target = tmp_path / "built"
    output.write_files(site, target)
    assert (target / "experiments/a/v2-from-v1/data/timed.csv").is_file()


def test_what_is_in_the_cache_is_not_drawn_again(
    experiments: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = gathered(experiments, cache)

    def worker() -> object:
        raise AssertionError("a process was started")

    monkeypatch.setattr(jobs, "worker", worker)
    again = gathered(experiments, cache)
    assert [e.comparisons for e in again.entries] == [e.comparisons for e in first.entries]
    place = again.entries[0].comparisons[0].planned.place
    (place / "version.json").write_text("{")
    with pytest.raises(AssertionError, match="a process was started"):
        gathered(experiments, cache)


def test_versions_that_cannot_be_compared_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "experiments"
    a_version(folder, "old", 1)
    a_version(folder, "old", 2, a_report())  # without tables
    version(folder, "bad", 1)
    version(folder, "bad", 2, BAD)
    version(folder, "gone", 1)
    version(folder, "gone", 2)
    publish.withdraw(folder / "gone", 2, "wrong", None, NOW)
    site = gathered(folder, tmp_path / "cache")
    assert [entry.comparisons for entry in site.entries] == [[], [], []]


@pytest.mark.usefixtures("processes")
def test_versions_in_a_folder_whose_name_is_no_utf_8_are_compared(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"nu\xff") / "experiments"
    version(folder, "a", 1)
    version(folder, "a", 2)
    site = gathered(folder, folder.parent / "cache", ["a@v1", "a@v9"])
    assert [of.bundle is not None for of in site.entries[0].comparisons] == [True, False]
    (problem,) = site.not_compared
    assert "there is no such version" in problem and "nu" not in problem.partition(": compare: ")[2]


def test_one_cell_is_no_matrix(tmp_path: Path) -> None:
    folder = tmp_path / "experiments"
    stored_run(folder, "m", 1, slot=slot(1, threads="1"))
    stored_run(folder, "m", 2, BAD, slot=slot(1, threads="2"))
    assert gathered(folder, tmp_path / "cache").entries[0].comparisons == []


def test_a_comparison_that_fails_says_so_and_the_others_stay(experiments: Path, cache: Path) -> None:
    site = gathered(experiments, cache, ["a@v1", "a@v9"], ["a@v1", "m:threads=3"])
    found = {of.title: of for of in site.entries[0].comparisons}
    assert found["a@v1 → a@v2"].bundle is not None
    assert found["a@v1 → a@v9"].bundle is None and "there is no such version" in found["a@v1 → a@v9"].brief
    listed = site.pages["experiments/a/index.md"].content()
    assert site.not_compared == [
        f"mkdocs.yml: compare: {title}: {found[title].brief}" for title in ("a@v1 → a@v9", "a@v1 → m:threads=3")
    ]
    assert "there is no such cell" in listed and str(cache) not in listed and str(experiments) not in listed


@pytest.mark.parametrize(
    "compare", ["a@v1", ["a@v1"], [], ["a@v1", 3], {"a": "b"}, [["a@v1"], "b"], ["nobody@v1", "a@v1"], ["../a@v1", "a"]]
)
def test_what_names_no_sides_is_refused(experiments: Path, cache: Path, compare: object) -> None:
    with pytest.raises(SettingsError, match=r"mkdocs.yml: tracegen: compare: "):
        gathered(experiments, cache, compare)


NAMED = """# Day

[[a@v1~b@v1]] and [[a@v1~b@v1|once more]], [[a@v1 ~ a@v2]], `[[b@v1~a@v1]]`, [[a@v1~a@v9]].

{{ a@v1~b@v1:ops_per_token }}, {{ a@v1~b@v1:tokens_per_second_generate:n }}, {{ a@v1~b@v1:nothing }},
{{ a@v1~b@v1:ops_per_token:p }}

With {{ b@v1:tokens_per_second_generate }} a token is faster than with {{ a@v1:tokens_per_second_generate }}.

```
[[b@v1~a@v2]]
```
"""


def test_the_journal_leads_to_a_comparison_that_it_names(experiments: Path, tmp_path: Path) -> None:
    """Pairs in code are no links; a step that the site compares anyway is not drawn twice."""
    config = a_project(tmp_path / "project")
    (config.parent / "journal" / "2026-11-01-day.md").write_text(NAMED)
    (config.parent / "journal" / "index.md").write_text("# Journal\n")
    (config.parent / "experiments").symlink_to(experiments)
    os.mkfifo(config.parent / "journal" / "pipe.md")
    with pytest.raises(SettingsError, match=r"pipe\.md: is not a regular file"):
        references.pairs_in(config.parent / "journal")
    (config.parent / "journal" / "pipe.md").unlink()
    assert references.pairs_in(config.parent / "journal") == [("a@v1", "b@v1"), ("a@v1", "a@v2"), ("a@v1", "a@v9")]
    with pytest.raises(CheckError, match="4 warnings"):
        build_site(config, strict=True)
    build_site(config)
    page = (config.parent / "site" / "2026-11-01-day.html").read_text()
    links = re.findall(r'<a href="(experiments/[^"]+)">([^<]+)</a>', page.partition("<article")[2])
    own = "experiments/b/v1-with-a-v1/index.html"
    assert links == [(own, "a@v1 → b@v1"), (own, "once more"), ("experiments/a/v2-from-v1/index.html", "a@v1 → a@v2")]
    for address, _ in links:
        assert "What differs?" in (config.parent / "site" / address).read_text()
    pages = {path.parent.name for path in (config.parent / "site").glob("experiments/*/v*-*/index.html")}
    assert pages == {"v1-with-a-v1", "v2-from-v1"}
    (ops, runs) = re.findall(r'<a class="tracegen-value" href="([^"]+)"[^>]*>([^<]+)</a>', page)
    assert ops[0] == own and re.fullmatch(r"[0-9]+ → [0-9]+ \((equal|different), n = 1 and 1\)", ops[1])
    assert runs == (own, "n = 1 and 1")
    assert (
        page.count('<mark class="tracegen-unknown"') == 3
        and "ops_per_token has no" in page
        and "<code>[[b@v1~a@v1]]</code>" in page
    )


def test_a_pair_that_cannot_be_compared_is_reported_where_it_stands(tmp_path: Path) -> None:
    folder = tmp_path / "experiments"
    version(folder, "good", 1)
    a_version(folder, "old", 1)  # without tables
    site = gather.gather(folder, tmp_path / "cache", drafts=0, pairs=[("good@v1", "old@v1")])
    site.drawing.close()
    (found,) = [of for entry in site.entries for of in entry.comparisons]
    assert found.bundle is None and site.not_compared == []
    published = [p for entry in site.entries for p in entry.published]
    text = "x\n\n[[good@v1~old@v1]]\n"
    extension = journal.makeExtension(references=references.references(published, comparisons=[found]))
    _, (problem,) = journal.settle(markdown.markdown(text, extensions=[extension]), path="x.html", source=text)
    assert problem.line == 3 and "old@v1: was published without its tables" in problem.reason
