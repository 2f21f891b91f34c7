"""The front page: the newest entries of the journal and the newest experiments, with picture and finding."""

import re
from functools import partial
from pathlib import Path

import pytest

from tests.stand_in import HOSTILE, a_project, a_report, a_run, a_run_folder, a_version, render
from tracegen.cli.commands.build import build_site
from tracegen.publishing import versions as publish
from tracegen.site import gather as site
from tracegen.site.home import LONGEST, journal_entry


@pytest.fixture(autouse=True)
def stand_in_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "gather", partial(site.gather, render=render))


def front(config: Path) -> str:
    html = build_site(config, strict=True).read_text()
    assert "tracegen:" not in html
    marks = ("<h1", '<section class="tracegen-lead"', '<div class="tracegen-home">')
    heading, own, rest = (html.find(mark) for mark in marks)
    assert heading < own < rest or own < 0, "the newest answer stands below the first heading"
    return html[own if own > 0 else rest :]


def test_the_newest_entries_and_experiments(tmp_path: Path) -> None:
    config = a_project(tmp_path)
    for day in (1, 2, 3, 4):
        (tmp_path / "journal" / f"2026-11-0{day}-found.md").write_text(f"# Day {day}\n\nSeen *on* day {day}.\n")
    (tmp_path / "journal" / "about.md").write_text("# About\n\nNo day.\n")
    a_version(tmp_path / "experiments", number=1, report=a_report(title=HOSTILE))
    a_run_folder(tmp_path / "experiments", a_run("later", 1))
    (tmp_path / "experiments" / "waiting").mkdir()
    (tmp_path / "experiments" / "waiting" / "experiment.toml").write_text("question =  + HOSTILE + \n")
    html = front(config)
    assert re.findall(r'<p><a href="([^"]+)">(Day \d)</a><br>(.*?)</p>', html) == [
        (f"2026-11-0{day}-found.html", f"Day {day}", f"Seen on day {day}.") for day in (4, 3, 2)
    ]
    assert "About" not in html[html.index("newest-entries") :].partition("</section>")[0]
    newest = html.partition("</section>")[0]
    assert ">sample@v1</a>" in newest and 'href="experiments/later' not in newest, (
        "a version comes before a newer draft"
    )
    assert 'href="experiments/sample/v1/index.html">sample@v1</a>' in html
    assert 'href="experiments/later/run-001/index.html">later/run-001, a draft</a>' in html
    assert "<code>tracegen run waiting</code>" in html
    assert "<script>alert" not in html and "<img src=x" not in html
    for address in re.findall(r'(?:href|src)="([^"#:]+)"', html.partition("</article>\n</div>")[0]):
        assert (tmp_path / "site" / address).is_file(), address


def test_a_withdrawn_version_is_named_and_leads_to_its_experiment(tmp_path: Path) -> None:
    config = a_project(tmp_path)
    a_version(tmp_path / "experiments", number=1)
    publish.withdraw(tmp_path / "experiments" / "sample", 1, "wrong", None, publish.datetime.now(publish.UTC))
    html = front(config)
    assert "Nothing to show yet" not in html and "sample@v1 is withdrawn" in html
    assert 'href="experiments/sample/index.html#versions">the page of the experiment</a>' in html


def test_an_empty_site_says_how_to_begin(tmp_path: Path) -> None:
    html = front(a_project(tmp_path))
    assert "The journal has no entry with a date yet" in html and "No experiment has been run yet" in html


def test_a_project_may_do_without(tmp_path: Path) -> None:
    config = a_project(tmp_path)
    config.write_text(config.read_text().replace("tracegen]", "{tracegen: {home: false}}]"))
    assert "tracegen-home" not in build_site(config, strict=True).read_text()


def test_the_date_of_an_entry() -> None:
    named = journal_entry("a.html", "notes/2026-11-20-a", "A", {}, f"<h1>x</h1><p>{'long ' * 100}</p>")
    assert named is not None and named.date == "2026-11-20" and len(named.summary) <= LONGEST + 2
    entry = journal_entry("a.html", "a", "A", {"date": "2026-01-02"}, "")
    assert entry is not None and (entry.date, entry.summary) == ("2026-01-02", "")
    assert journal_entry("a.html", "a", "A", {}, "<p>x</p>") is None
