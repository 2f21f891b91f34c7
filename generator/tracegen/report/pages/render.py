"""Render the pages of a run: values in, a Report out; only templates are read, nothing is written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from tracegen.charts import theme
from tracegen.contract import quantities as q
from tracegen.contract.model import Check, Run, Version
from tracegen.contract.tables import small_tables
from tracegen.report.document import tex
from tracegen.report.document.assets import APPENDIX, Assets
from tracegen.report.document.body import assembled
from tracegen.report.document.packing import script_json
from tracegen.report.document.page import ALONE, EXPLORERS, Page, Report, outline
from tracegen.report.figures.catalogue import part_of
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explained, explained, shortened
from tracegen.report.pages import run_file
from tracegen.report.pages.anchors import write_anchors
from tracegen.report.pages.chosen import pass_names
from tracegen.report.pages.experts import experts
from tracegen.report.pages.file import file
from tracegen.report.pages.graphs import graphs
from tracegen.report.pages.guide import guide
from tracegen.report.pages.key_figures import published_values
from tracegen.report.pages.method import method
from tracegen.report.pages.operations import operations
from tracegen.report.pages.overview import overview
from tracegen.report.pages.parts import Sections, sections
from tracegen.report.pages.timeline import timeline
from tracegen.report.words import sentences
from tracegen.storing import resources

if TYPE_CHECKING:
    from jinja2 import Environment

CHECK_COLUMNS = [field.name for field in fields(Check)]
# What the templates print beside figures and tables; other pages have nothing else.
BUILDERS = {
    "overview": overview,
    "file": file,
    "operations": operations,
    "graph": graphs,
    "timeline": timeline,
    "experts": experts,
    "method": method,
}
STYLES = (
    "page",
    "figures",
    "operations",
    "selection",
    "memory",
    "graph",
    "graph_tools",
    "timeline",
    "guide",
    "layout",
    "print",
)
# In this order: a file may use what earlier files define. What every page loads, and what pages with explorers do.
SCRIPTS = (
    "base",
    "cite",
    "selection",
    "canvas",
    "figures",
    "figures_chosen",
    "compare",
    "sideways",
    "reveal",
    "begin",
)
EXPLORER_SCRIPTS = (
    "packing",
    "passes",
    "op_window",
    "op_rows",
    "op_cells",
    "op_tools",
    "op_find",
    "layer_table",
    "token_tensors",
    "token_panel",
    "operations",
    "memory_data",
    "memory_picture",
    "memory_log",
    "memory_passes",
    "memory_state",
    "memory_labels",
    "memory_input",
    "memory",
    "memory_slide",
    "graph_zoom",
    "graph_data",
    "graph_search",
    "graph_colours",
    "graph_facts",
    "graph_whole",
    "graph",
    "timeline_state",
    "timeline_labels",
    "timeline_picture",
    "timeline_strip",
    "timeline_pointer",
    "timeline",
    "experts",
)


@small_tables
def render_report(
    run: Run, tables: Mapping[str, pd.DataFrame], *, citable: Version | None, executor: Executor | None = None
) -> Report:
    """All pages of a run with their figures, values and files.

    `citable` is the version that it is published as, or None for a draft. `run` and `tables` must hold only what may
    become public. The same input gives the same bytes. `executor`, if given, draws charts in another process meanwhile.
    """
    context, assets = Context(run, tables), Assets(citable, executor)
    name = citable.citation if citable else f"{run.experiment}/{run.name}"
    checks_csv = assets.csv("checks", pd.DataFrame([asdict(c) for c in run.checks], columns=CHECK_COLUMNS))
    # All charts start to be drawn before any page waits for one.
    blocks: dict[str, Sections] = {}
    views: dict[str, Mapping[str, object]] = {}
    for key, *_ in outline(run):
        blocks[key] = sections(context, assets, key)
        views[key] = BUILDERS[key](context, assets) if key in BUILDERS else {}
    assets.start()
    environment = environment_of(name)
    environment.globals |= {
        "run": run,
        "name": name,
        "citable": citable,
        "checks_csv": checks_csv,
        "guide": guide(),
        "time_advice": context.time_advice,
        "time_care": sentences.with_care(context.care),
        "pass_names": json.dumps(pass_names(context.labels), ensure_ascii=False, separators=(",", ":")),
        "verdict": sentences.verdict_line(run.verdict, run.checks),
        "appendix": {name for name, parts in blocks[APPENDIX].items() if parts},
        "random_weights": context.facts.model.random_weights is True,
        "copied": context.copied,
    }
    pages = tuple(_page(environment, *of, views[of[0]], blocks[of[0]], context.left_out) for of in outline(run))
    first = outline(run)[0]
    mailed = _page(environment, *first, views[first[0]], blocks[first[0]], context.left_out, alone=True)
    assets.keep(ALONE, mailed.body)
    explored = any(view.get("explorer") is True for view in views.values())
    write_anchors(context, assets, pages, explored)
    assets.finish()
    values = published_values(context)
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, indent=1, allow_nan=False)
    assets.keep("data/values.json", text + "\n")
    assets.keep("data/values.tex", tex.values(run.experiment, name, values, citable.citation if citable else None))
    assets.keep(run_file.PATH, run_file.run_file(run))
    return Report(
        title=_title(context),
        pages=pages,
        files=assets.files,
        assets=shared(),
        values=values,
        figures=tuple(assets.figures),
        finding=_finding(views["overview"]),
    )


def _finding(overview: Mapping[str, Any]) -> str:
    """The answer as lists and archives have it; empty without one."""
    if not overview["answer"]:
        return ""
    return unbroken(f"{overview['answer'].brief} {overview['care']}".strip())


def environment_of(name: str) -> Environment:
    """The Jinja environment of the pages; `name` is how `tracegen.load` finds the run."""

    def explain(key: str, csv: str, numbers: Mapping[str, object]) -> Explained | None:
        part = part_of(key)
        return None if part is None else explained(part, name, csv, numbers)

    environment = resources.templates("pages")
    environment.filters["script_json"] = lambda data: Markup(script_json(data))
    environment.filters["unbroken"] = unbroken
    environment.filters["capital"] = lambda text: text[:1].upper() + text[1:]
    environment.filters["inline"] = Markup  # for SVG made here, whose text is escaped already
    environment.globals |= {"unknown": q.UNKNOWN, "alone": False, "explain": explain, "shortened": shortened}
    environment.finalize = _shown
    return environment


def unbroken(text: str) -> str:
    """The text in which no line begins with the sign of a percentage."""
    return text.replace(" %", "\u202f%")


def _page(
    environment: Environment,
    key: str,
    title: str,
    summary: str,
    view: Mapping[str, object],
    blocks: Sections,
    outside: str,
    *,
    alone: bool = False,
) -> Page:
    """One page with its body; `alone`: it links to nothing but itself."""
    page = Page(key, title, summary, "")
    template = environment.get_template(f"{key}.html")
    body = template.render(view=view, sections=blocks, page=page, up=page.up, alone=alone)
    return replace(page, body=assembled(environment, key, body, outside))


def _title(context: Context) -> str:
    """The question of the experiment, or its name if it has none."""
    question = context.facts.settings.question
    return q.printable(question) if isinstance(question, str) and question.strip() else context.run.experiment


def _shown(value: object) -> object:
    """The value that a template prints: text without control characters, markup made here unchanged."""
    return q.printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def shared() -> dict[str, bytes]:
    """What reports load: a CSS file, colours first, a script for all pages, and one for pages with explorers."""
    folder = resources.folder("templates") / "assets"
    css = theme.stylesheet() + "".join(_text(folder / "styles" / f"{name}.css") for name in STYLES)
    common, exploring = (
        "".join(_text(folder / "scripts" / f"{name}.js") for name in names) for names in (SCRIPTS, EXPLORER_SCRIPTS)
    )
    shared = ", ".join(re.findall(r"^(?:function|var) (\w+)", common, re.MULTILINE))
    parts = {
        "tracegen.js": f"{common}window.tracegenShared = {{ {shared} }};\n",
        EXPLORERS: f"const {{ {shared} }} = window.tracegenShared;\n{exploring}",
    }
    scripts = {name: f'(function () {{\n"use strict";\n{_bare(text)}}}());\n' for name, text in parts.items()}
    return {name: text.encode() for name, text in {"tracegen.css": _bare(css), **scripts}.items()}


def _bare(text: str) -> str:
    """A script or stylesheet without indentation, and without comments on lines of their own: the source has them."""
    return re.sub(r"^ +", "", re.sub(r"^ */\*.*?\*/ *\n", "", text, flags=re.DOTALL | re.MULTILINE), flags=re.MULTILINE)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
