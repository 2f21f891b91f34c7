"""The collector: the context of a run, and the drawings and files of its report so far."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import pandas as pd

from tracegen.charts import forms, spec, svg, theme
from tracegen.charts.pointing import pass_rows, shared_values
from tracegen.charts.policy import with_policy
from tracegen.charts.stamp import Stamp, in_svg
from tracegen.charts.svg import Drawing
from tracegen.contract import quantities as q
from tracegen.contract.model import Version
from tracegen.contract.text import without_controls
from tracegen.report.figures.amount import in_words
from tracegen.report.figures.catalogue import of_page
from tracegen.report.figures.cells import Cell, Head
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Figure, Part, Rows, Table
from tracegen.report.findings.finding import Finding
from tracegen.report.findings.found import findings
from tracegen.report.pages.explorers.packing import call, script_json
from tracegen.report.pages.figure_data import figure_data
from tracegen.report.pages.page import PublishedFigure
from tracegen.report.pages.views import FigureView, TableView
from tracegen.report.words import latex

Result = TypeVar("Result")
FIRST, APPENDIX = "overview", "appendix"  # pages
COLUMN = theme.WIDTHS[1:2]  # of a figure of the appendix, which has one layout


@dataclass
class Collector(Context):
    """A context that also collects the `files`, `figures` and `drawings` of the pages.

    `address` is the path of the report below the site, `citable` the version that it becomes, or None for a draft.
    `executor` draws charts in another process; `finish` waits for them.
    """

    address: str = ""
    citable: Version | None = None
    executor: Executor | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    figures: list[PublishedFigure] = field(default_factory=list)
    drawings: dict[str, Drawing] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)  # of drawings: the file of their data
    on_paper: set[str] = field(default_factory=set)  # drawings that have PDFs
    _begun: dict[str, tuple[Stamp | None, dict[str, Callable[[], bytes]]]] = field(default_factory=dict)  # of drawings
    _once: dict[str, Any] = field(default_factory=dict)

    def once(self, key: str, make: Callable[[], Result]) -> Result:
        """The result of `make`, which is called only the first time: several pages need it."""
        if key not in self._once:
            self._once[key] = make()
        result: Result = self._once[key]
        return result

    @cached_property
    def findings(self) -> list[Finding]:
        """What was found: the answer, then the others."""
        return findings(self)

    def sections(self, page: str) -> dict[str, list[FigureView | TableView]]:
        """The figures and tables of a page that this run has, by section, in their order."""
        views: dict[str, list[FigureView | TableView]] = {part.section: [] for part in of_page(page)}
        for part in of_page(page):
            if part.when.holds(self):
                views[part.section].append(self.figure(part) if isinstance(part, Figure) else self.table(part))
        return views

    def figure(self, figure: Figure, **options: object) -> FigureView:
        """Draw a figure with its downloads, or say why it is not drawn; `options` are arguments of its content."""
        refused = self.refusal(figure.needs)
        if refused:
            return FigureView(figure.key, figure.title, figure.counts, figure.title, None, refused)
        content = figure.content(self, **options)
        title = content.title or figure.title
        if content.empty:
            return FigureView(figure.key, title, content.caption, content.alt, None, content.empty)
        caption, answer = self._kept(content, figure), in_words(content.answer)
        alt = f"{content.alt} {q.ended(answer)}" if answer else content.alt
        widths = COLUMN if figure.page == APPENDIX else figure.widths
        drawing = svg.draw_layouts(content.chart, figure.key, alt, self.executor, widths)
        view = self.drawn(figure.key, figure.page, title, caption, alt, drawing, content.data, content.numbers)
        return replace(view, wide=figure.wide, answer=content.answer)

    def table(self, table: Table) -> TableView:
        """Keep a table with its CSV, or say why it is not shown."""
        return self.once(f"table {table.key}", lambda: self._table(table))

    def _table(self, table: Table) -> TableView:
        refused = self.refusal(table.needs)
        if refused:
            return TableView(table.key, table.title, table.counts, (), (), refused)
        content = table.content(self)
        rows = tuple(content.rows)
        reason = "" if rows else content.empty or "There are no rows."
        csv = "" if content.data is None else self.csv(content.file or table.key, content.data)
        caption = self._kept(content, table)
        title, head = content.title or table.title, tuple(content.head)
        answered = f"{q.ended(in_words(content.answer))} {caption}" if content.answer else caption
        tex = self._table_tex(table.key, title, answered, head, rows) if rows else ""
        return TableView(table.key, title, caption, head, rows, reason, csv, content.numbers, tex, content.answer)

    def _kept(self, content: Content | Rows, part: Part) -> str:
        """Keep the files of a figure or table, and return its caption with what it says of checks."""
        for path, file in content.files.items():
            self.keep(path, file)
        return content.caption + self.noted(part.needs)

    def drawn(
        self,
        key: str,
        page: str,
        title: str,
        caption: str,
        alt: str,
        drawing: Drawing,
        data: pd.DataFrame,
        numbers: Mapping[str, object] | None = None,
        file: str = "",
        paper: bool = False,
    ) -> FigureView:
        """Keep a drawing and describe it.

        A version has PDFs and LaTeX of the figures that are not in the appendix, and a PNG of the first page's; a draft
        has none, because it is drawn again at every change, and a comparison only PDFs of what is asked for on `paper`.

        `file` is the name of its data, where that is of another drawing too, below which the first rows stand.
        """
        self.drawings[key] = drawing
        path = f"figures/{key}.svg"
        links = [("SVG", path)]
        layouts = {str(layout.width): _layout_path(key, layout) for layout in drawing.narrower}
        if drawing.width in theme.WIDTHS[:-1]:
            layouts[str(drawing.width)] = path
        if paper or (self.citable is not None and page != APPENDIX):
            self.on_paper.add(key)
            links += [(label, name) for label, name, _ in _papers(key, drawing)]
        if self.citable is not None and page != APPENDIX:
            links += [("LaTeX", self._figure_tex(key, title, caption, alt, drawing))]
        if self.citable is not None and page == FIRST:
            links += [("PNG", f"figures/{key}.png")]
        if drawing.spec is not None:
            links.append(("Vega-Lite", self.keep(f"figures/{key}.vl.json", spec.lean(drawing.spec))))
        self.sources[key] = self.csv(file or key, data)
        links.insert(0, ("data (CSV)", self.sources[key]))
        self.figures.append(PublishedFigure(key, title, caption, alt, page, path, layouts))
        targets = f"figures/{key}.js" if any(layout.targets for layout in drawing.layouts) or _rows(drawing) else ""
        rows = None if file else figure_data(data)
        return FigureView(key, title, caption, alt, drawing, "", tuple(links), numbers or {}, targets, rows)

    def begin_files(self) -> None:
        """Begin the PDFs and PNGs of the drawings so far: another process makes those of a version meanwhile."""
        pages = {figure.key: figure.page for figure in self.figures}
        for key, drawing in self.drawings.items():
            if key in self._begun:
                continue
            stamp, begun = self._begun[key] = (self._stamp(key), {})
            if key in self.on_paper:
                for _, name, layout in _papers(key, drawing):
                    begun[name] = self._begin(forms.to_pdf, svg.paper(layout), stamp)
            if stamp and pages[key] == FIRST:
                begun[f"figures/{key}.png"] = self._begin(forms.to_png, drawing.svg, stamp)

    def _begin(self, make: Callable[..., bytes], *of: object) -> Callable[[], bytes]:
        if self.executor is None or self.citable is None:  # drafts and comparisons keep what is drawn, as texts
            return partial(make, *of)
        return self.executor.submit(make, *of).result

    def finish(self) -> None:
        """Keep the files of all drawings."""
        self.begin_files()
        for key, drawing in self.drawings.items():
            stamp, begun = self._begun[key]
            for layout in drawing.layouts:
                path = f"figures/{key}.svg" if layout is drawing else _layout_path(key, layout)
                self.keep(path, with_policy(in_svg(layout.svg, stamp) if stamp else layout.svg))
            targets = {str(layout.width): layout.targets() for layout in drawing.layouts if layout.targets}
            rows = _rows(drawing)
            if targets or rows:
                book = script_json(shared_values(targets) | ({"rows": rows} if rows else {}))
                self.keep(f"figures/{key}.js", call("tracegenFigure", script_json(key), book))
            for name, made in begun.items():
                self.keep(name, made())

    def _stamp(self, key: str) -> Stamp | None:
        """What the files of a version's figure say of themselves; those of a draft say nothing."""
        if self.citable is None:
            return None
        data = self.sources[key]
        digest = hashlib.sha256(self.files[data]).hexdigest()
        return Stamp(self.citable.citation, key, self.citable.verdict, data, digest, self.citable.licence)

    def _figure_tex(self, key: str, title: str, caption: str, alt: str, drawing: Drawing) -> str:
        """Keep a figure's LaTeX and return its path."""
        assert self.citable is not None
        files = [
            (path.removeprefix("figures/"), f"{svg.PAPER_MM[layout.width]}mm" if drawing.narrower else r"\linewidth")
            for _, path, layout in _papers(key, drawing)
        ]
        label = f"fig:{latex.name('tracegen', self.run.experiment, self.citable.name, key)}"
        tex = latex.figure(label, f"tracegen report {self.citable.citation}", title, caption, alt, files)
        return self.keep(f"figures/{key}.tex", tex)

    def _table_tex(
        self, key: str, title: str, caption: str, head: Sequence[Head], rows: Sequence[Sequence[Cell]]
    ) -> str:
        """Keep a version's table as LaTeX and return its path; a draft has none."""
        if self.citable is None:
            return ""
        columns = [(f"{column.label}{column.unit and f' ({column.unit})'}", column.number) for column in head]
        label = f"tab:{latex.name('tracegen', self.run.experiment, self.citable.name, key)}"
        source = f"tracegen report {self.citable.citation}"
        cells = [[cell.text for cell in row] for row in rows]
        return self.keep(f"data/{key}.tex", latex.table(label, source, title, caption, columns, cells))

    def keep(self, path: str, content: str | bytes) -> str:
        """Keep a file beside the pages and return its path."""
        self.files[path] = content.encode() if isinstance(content, str) else content
        return path

    def script(self, path: str, name: str, argument: str) -> str:
        """Keep a classic script of one call, whose argument is JSON, and return its path."""
        return self.keep(path, call(name, argument))

    def csv(self, name: str, data: pd.DataFrame) -> str:
        """Keep a table as CSV and return its path."""
        return self.keep(f"data/{name}.csv", without_controls(data.to_csv(index=False, lineterminator="\n")))


def _rows(drawing: Drawing) -> dict[str, list[list[float]]]:
    """The result of `pass_rows` by width of the layout; empty where no mark belongs to a pass."""
    marked = {str(of.width): json.loads(of.spec) for of in drawing.layouts if of.spec and '"pass_id"' in of.spec}
    return {width: rows for width, drawn in marked.items() if (rows := pass_rows(drawn.get("datasets", {})))}


def _layout_path(key: str, layout: Drawing) -> str:
    return f"figures/{key}-{layout.width}.svg"


def _papers(key: str, drawing: Drawing) -> list[tuple[str, str, Drawing]]:
    """The PDFs of a figure: label, path, drawing. `KEY.pdf` is the one for the width of a page's text."""
    if not drawing.narrower:
        return [("PDF", f"figures/{key}.pdf", drawing)]
    most = max(svg.PAPER_MM)
    return [
        (f"PDF, {mm} mm", f"figures/{key}.pdf" if width == most else f"figures/{key}-{mm}mm.pdf", drawing.at(width))
        for width, mm in sorted(svg.PAPER_MM.items())
    ]
