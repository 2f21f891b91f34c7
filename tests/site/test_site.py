"""The site shows every version and the newest drafts, and writes nothing but its own folder and cache."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from tests.builders.runs import with_groups
from tests.publishing.test_bundle import files_of
from tests.stand_in import KEYS, a_report, a_run, a_run_folder, a_version, keys_of, render
from tracegen.contract.errors import StoreError
from tracegen.contract.model import Run, Version
from tracegen.report.document.page import Report
from tracegen.site import gather as site
from tracegen.site import output


def gathered(root: Path, **options: object) -> site.Site:
    return site.gather(root / "experiments", root / "cache", **{"render": render, **options})  # type: ignore[arg-type]


def never(run: Run, frames: Mapping[str, pd.DataFrame], *, citable: Version | None) -> Report:
    raise AssertionError("rendered again")


def test_a_site_without_experiments(tmp_path: Path) -> None:
    empty = gathered(tmp_path)
    assert list(empty.pages) == ["reference/index.md", "experiments/index.md"]
    text = empty.pages["experiments/index.md"].content()
    assert "No experiment has been published" in text and "tracegen run" in text and "tracegen publish" in text


def test_an_experiment_without_runs(tmp_path: Path) -> None:
    folder = tmp_path / "experiments" / "sample"
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text('question = "Why <b>?"\n')
    (one,) = gathered(tmp_path).entries
    assert (one.question, one.published, one.drafts) == ("Why <b>?", [], [])
    html = gathered(tmp_path).pages["experiments/sample/index.md"].content()
    assert "Why &lt;b&gt;?" in html and "Nothing is published yet" in html
    assert "tracegen run sample" in html and "tracegen publish" not in html


def test_pages_of_versions_and_drafts(tmp_path: Path) -> None:
    a_version(tmp_path / "experiments", number=1)
    for number in range(1, 9):
        a_run_folder(tmp_path / "experiments", a_run(number=number))
    site = gathered(tmp_path)
    (one,) = site.entries
    assert [draft.run.number for draft in one.drafts] == [8, 7, 6, 5, 4]
    assert one.older == 2
    folders = {"v1": KEYS, **{f"run-00{n}": keys_of(a_run()) for n in (8, 7, 6, 5, 4)}}
    expected = {
        f"experiments/sample/{folder}/{'' if key == 'overview' else f'{key}/'}index.md"
        for folder, keys in folders.items()
        for key in keys
    }
    assert set(site.pages) == expected | {
        "reference/index.md",
        "experiments/index.md",
        "experiments/sample/index.md",
    }
    assert "Draft, not citable" in site.pages["experiments/sample/run-008/index.md"].content()
    assert "tracegen run sample" not in site.pages["experiments/sample/index.md"].content()
    assert [page.path for page in site.pages.values() if page.listed] == [
        "reference/index.html",
        "experiments/index.html",
    ]


def test_each_cell_of_a_matrix_is_shown_by_its_newest_run(tmp_path: Path) -> None:
    for number, threads in enumerate("121212", start=2):
        place = {
            "matrix": "ada/0a1b",
            "factors": {"threads": threads},
            "round": 1,
            "number": 1,
            "of": 6,
            "cell": "",
            "cells": 2,
            "repeat": 3,
        }
        a_run_folder(tmp_path / "experiments", with_groups(a_run(number=number), slot=place))
    for number in (1, 8):
        a_run_folder(tmp_path / "experiments", a_run(number=number))
    (one,) = gathered(tmp_path).entries
    assert [draft.run.number for draft in one.drafts] == [8, 7, 6, 1] and one.older == 4
    factors = [draft.bundle.cell.get("factors") for draft in one.drafts]
    assert factors == [None, {"threads": "2"}, {"threads": "1"}, None]


def test_drafts_come_from_the_cache_until_something_changes(tmp_path: Path) -> None:
    a_run_folder(tmp_path / "experiments", a_run())
    before = files_of(tmp_path / "experiments")
    first = gathered(tmp_path)
    again = gathered(tmp_path, render=never)
    assert first.entries[0].drafts == again.entries[0].drafts
    assert files_of(tmp_path / "experiments") == before
    (problem,) = gathered(tmp_path, render=never, known=("another",)).problems
    assert "rendered again" in problem
    (cached,) = (tmp_path / "cache" / "drafts" / "sample" / "run-001").iterdir()
    (cached / "version.json").write_text("{")
    assert gathered(tmp_path).entries[0].drafts == first.entries[0].drafts


def test_an_experiment_of_which_every_run_failed_is_not_listed(tmp_path: Path) -> None:
    a_version(tmp_path / "experiments", report=a_report())
    for name in ("runs", "failed/20261122T210000"):
        (tmp_path / "experiments" / "tried" / name).mkdir(parents=True)
    assert not any("tried" in path for path in gathered(tmp_path).pages)


def test_compose_puts_body_and_head_in(tmp_path: Path) -> None:
    a_version(tmp_path / "experiments")
    site = gathered(tmp_path)
    page = site.pages["experiments/sample/v1/file/index.md"]
    shell = f'<html lang="en"><head><title>x</title></head><body>{output.placeholder(page)}</body></html>'
    html = output.compose(site, page, shell)
    assert next(p.body for p in a_report().pages if p.key == "file") in html
    assert html.startswith('<html data-tracegen-vega="../../../../assets/tracegen/vega.')
    assert 0 < html.index("<script defer") < html.index("</head>")
    assert output.PAGE_BEGIN not in html
    with pytest.raises(StoreError, match="use a theme that has"):
        output.compose(site, page, "<html></html>")
