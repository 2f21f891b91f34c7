"""A report as small as it can be, hostile on request, and a project to publish it in."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from tests.builders import stored
from tracegen.contract import tables
from tracegen.contract.facts import Facts
from tracegen.contract.model import Check, Run, Version
from tracegen.contract.records import decode
from tracegen.publishing import privacy
from tracegen.publishing import versions as publish
from tracegen.report.document.page import ANCHORS, Page, PublishedFigure, Report, outline
from tracegen.report.pages import run_file
from tracegen.report.pages.anchors import ids_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOSTILE = "</script><script>alert(1)</script> <img src=x onerror=alert(2)> & \" ' $x^2_{%}"
KEYS = ("overview", "file", "timeline", "operations", "graph", "method", "appendix")
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 2"><rect width="10" height="2"/></svg>'


def a_run(experiment: str = "sample", number: int = 1, **settings: Any) -> Run:
    facts = {
        "settings": {"question": "What is read?", "prompt": "Hello there", "private": False, **settings},
        "command": ["/home/ada/llama/llama-completion", "-m", "/home/ada/models/m.gguf", "-p", "Hello there"],
        "text": {"generated": "General Kenobi, you are a bold one"},
        "host": {"hostname": "countess", "user": "ada", "cpu": "A CPU <b>fast</b>"},
    }
    checks = (Check("drops", "Dropped events", "passed", "0", "0"),)
    return Run(experiment, number, f"2026-11-{number:02d}T08:00:00Z", checks, decode(Facts, facts))


def a_report(title: str = "What is read?", extra: str = "", keys: tuple[str, ...] = KEYS) -> Report:
    pages = tuple(
        Page(
            key,
            key.capitalize(),
            f"The {key} of it.",
            f'<h1 id="top">{key}</h1>\n<p>{extra}</p>\n<figure id="fig-{key}"><img src="'
            f'{"" if key == "overview" else "../"}figures/{key}.svg" alt="{key}"></figure>\n',
        )
        for key in keys
    )
    return Report(
        title=title,
        pages=pages,
        files={f"figures/{key}.svg": SVG for key in keys}
        | {
            "data/ops/0.js": b"tracegen.rows(0, [])\n",
            "data/checks.csv": b"key,title,state,found,limit,detail\n",
            run_file.PATH: run_file.run_file(Run("sample", 1, "", (), Facts())).encode(),
            ANCHORS: addresses(pages),
        },
        assets={
            "tracegen.css": b".tracegen h1{font-size:32px}\n",
            "tracegen.js": b"'use strict';\n",
        },
        values={"touched_share": {"value": 0.6123, "unit": "share", "text": "61 %"}},
        figures=tuple(
            PublishedFigure(k, f"The {k}", f"Counted: {k}.", f"A drawing of {k}.", k, f"figures/{k}.svg") for k in keys
        ),
    )


def addresses(pages: Sequence[Page]) -> bytes:
    """The list of the addresses on these pages, without those of scripts."""
    ids = {page.key: ids_of(page.body) for page in pages}
    return json.dumps({"ids": ids, "nodes": [], "passes": {}, "tensors": [], "graphs": {}}).encode()


def keys_of(run: Run) -> tuple[str, ...]:
    """The pages of a draft."""
    return tuple(key for key, *_ in outline(run))


def render(
    run: Run, frames: Mapping[str, pd.DataFrame], *, citable: Version | None, executor: Executor | None = None
) -> Report:
    """Stands for pages.render.render_report."""
    assert set(frames) == set(tables.BY_NAME)
    return a_report(publish.question_of(run), f"body of {run.experiment}/{run.name}", keys_of(run))


def drawn(planned: Version) -> Report:
    """Stands for what `versions.publish` calls: the small report, whatever is planned."""
    return a_report()


def a_run_folder(experiments: Path, run: Run) -> Path:
    """Where it lies."""
    folder = stored(experiments, run, tables.empty()).folder
    assert folder is not None
    return folder


def a_version(experiments: Path, name: str = "sample", number: int = 1, report: Report | None = None) -> Version:
    folder = experiments / name
    folder.mkdir(parents=True, exist_ok=True)
    public = privacy.public_run(a_run(name, number))
    draw = (lambda planned: report) if report else drawn
    return publish.publish(folder, public, draw, f"why {number}", NOW + timedelta(days=number))


def a_project(folder: Path, *, theme: str = "material", directory_urls: bool = False) -> Path:
    """A project with a journal and no experiments; returns its mkdocs.yml."""
    (folder / "journal").mkdir(parents=True)
    (folder / "journal" / "index.md").write_text("# Journal\n\n[All](experiments/index.md)\n")
    options = {"material": "font: false", "mkdocs": "highlightjs: false"}[theme]
    config = folder / "mkdocs.yml"
    config.write_text(
        "site_name: test\ndocs_dir: journal\nsite_dir: site\n"
        f"use_directory_urls: {str(directory_urls).lower()}\n"
        f"theme:\n  name: {theme}\n  {options}\nplugins: [search, tracegen]\n"
    )
    return config
