"""A run as pages: values in, a Report out; nothing is read or written but the templates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from tracegen import resources
from tracegen.charts import theme
from tracegen.figures.catalogue import part_of
from tracegen.figures.explanation import Explained, explained
from tracegen.model import Check, Run, Version
from tracegen.pages.anchors import write_anchors
from tracegen.pages.collector import Collector
from tracegen.pages.experts import experts
from tracegen.pages.explorers.packing import script_json
from tracegen.pages.graphs import graphs
from tracegen.pages.guide import guide
from tracegen.pages.memory import memory
from tracegen.pages.operations import operations
from tracegen.pages.overview import overview
from tracegen.pages.page import Page, Report, outline
from tracegen.pages.provenance import provenance
from tracegen.pages.timeline import timeline
from tracegen.words import quantities as q

CHECK_COLUMNS = [field.name for field in fields(Check)]
BUILDERS = {
    "overview": overview, "memory": memory, "operations": operations, "graph": graphs, "timeline": timeline,
    "experts": experts, "provenance": provenance,
}  # fmt: skip
STYLES = ("page", "figures", "operations", "memory", "graph", "graph_tools", "timeline", "guide", "print")
# One after the other: what a file uses stands before it.
SCRIPTS = (
    "base", "canvas", "packing", "passes",
    "op_window", "op_rows", "op_cells", "op_tools", "op_find", "operations",
    "memory_book", "memory_picture", "memory_log", "memory_passes", "memory_state", "memory_told", "memory_input",
    "memory",
    "graph_zoom", "graph_book", "graph_search", "graph_colours", "graph_facts", "graph_whole", "graph",
    "timeline_state", "timeline_told", "timeline_picture", "timeline_strip", "timeline_pointer", "timeline",
    "experts", "figures", "begin",
)  # fmt: skip


def render_report(
    run: Run,
    tables: Mapping[str, pd.DataFrame],
    *,
    address: str,
    citable: Version | None,
    executor: Executor | None = None,
) -> Report:
    """All pages of a run with their figures, values and files.

    `address` is where the report will stand below the site (`demo/v3`), `citable`
    the version it is published as, or None for a draft. `run` and `tables` must be
    what may become public. The same input gives the same bytes. `executor`, if there is
    one, draws charts while pages are made.
    """
    collector = Collector(run, tables, address, citable, executor)
    environment = resources.templates("pages")
    environment.filters["script_json"] = lambda data: Markup(script_json(data))
    environment.filters["inline"] = Markup  # an SVG of ours, its text escaped where it was made
    environment.globals["unknown"] = q.UNKNOWN
    environment.finalize = _shown
    name = citable.citation if citable else f"{run.experiment}/{run.name}"
    checks = collector.csv("checks", pd.DataFrame([asdict(c) for c in run.checks], columns=CHECK_COLUMNS))

    def explain(key: str, csv: str, numbers: Mapping[str, object]) -> Explained | None:
        found = part_of(key)
        return None if found is None else explained(found.explanation, name, csv, numbers)

    reading = guide()
    pages = outline(run)
    sections = {key: collector.sections(key) for key, *_ in pages}  # all charts are under way before one is waited for
    views = [BUILDERS[key](collector) for key, *_ in pages]
    made = []
    for (key, title, summary), view in zip(pages, views, strict=True):
        page = Page(key, title, summary, "")
        body = environment.get_template(f"{key}.html").render(
            view=view,
            sections=sections[key],
            page=page,
            up=page.up,
            run=run,
            name=name,
            time_note=collector.time_note,
            checks_csv=checks,
            explain=explain,
            guide=reading,
            citable=citable,
            random_weights=collector.flag("model", "random_weights"),
        )
        made.append(Page(key, title, summary, body))
    write_anchors(collector, made, explored=any(view.get("explorer") is True for view in views))
    collector.finish()
    values = json.dumps(collector.values, ensure_ascii=False, sort_keys=True, indent=1, allow_nan=False)
    collector.files.add("data/values.json", values + "\n")
    question = collector.fact("settings", "question")
    title = q.printable(question) if isinstance(question, str) and question.strip() else run.experiment
    return Report(
        title=title,
        pages=tuple(made),
        files=collector.files.made,
        assets=_assets(),
        values=collector.values,
        figures=tuple(collector.figures),
    )


def _shown(value: object) -> object:
    """What a template prints: plain text without control characters, markup of ours as it is."""
    return q.printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _assets() -> dict[str, bytes]:
    """The pages' own CSS, colours first, and their script: each one file, however many it is written in."""
    folder = resources.folder("templates") / "assets"
    css = theme.stylesheet() + "".join(_text(folder / "styles" / f"{name}.css") for name in STYLES)
    parts = "".join(_text(folder / "scripts" / f"{name}.js") for name in SCRIPTS)
    script = f'(function () {{\n"use strict";\n{parts}}}());\n'
    return {"tracegen.css": css.encode(), "tracegen.js": script.encode()}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
