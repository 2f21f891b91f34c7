"""A report written to a folder as pages that open from there, without the site around them."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from tests.builders import a_run
from tracegen.contract.model import Run
from tracegen.report.document.page import EXPLORED, EXPLORERS, Report
from tracegen.report.pages.render import render_report

VEGA = "site-vega.js"


def written_report(folder: Path, tables: Mapping[str, pd.DataFrame], run: Run | None = None) -> Path:
    """Write the pages of a run with these tables and all they need into `folder`; returns it."""
    return write_report(folder, render_report(run or a_run(), tables, citable=None))


def write_report(folder: Path, report: Report, vega: bytes = b"") -> Path:
    """Write pages, files and assets into `folder`, and Vega as a site has it if there is any; returns it."""
    for name, content in {**report.files, **report.assets, **({VEGA: vega} if vega else {})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for page in report.pages:
        scripts = ["tracegen.js", *([EXPLORERS] if page.key in EXPLORED else [])]
        loaded = "".join(f'<script defer src="{page.up}{name}"></script>' for name in scripts)
        site = f' data-tracegen-vega="{page.up}{VEGA}"' if vega else ""
        (folder / page.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / page.path).write_text(
            f'<!doctype html><html lang="en"{site}>'
            f'<meta charset="utf-8"><title>{page.title}</title>'
            '<meta name="viewport" content="width=device-width">'
            f'<link rel="stylesheet" href="{page.up}tracegen.css">{loaded}'
            f'<body><main class="tracegen">{page.body}</main>',
            encoding="utf-8",
        )
    return folder
