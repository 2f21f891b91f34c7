"""The files beside the pages of a report: drawings in all their formats, data, scripts."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial

import pandas as pd

from tracegen.charts import forms, spec, svg, theme
from tracegen.charts.pointing import pass_rows, shared_values
from tracegen.charts.policy import with_policy
from tracegen.charts.stamp import Stamp, in_svg
from tracegen.charts.svg import Drawing
from tracegen.contract.model import Version
from tracegen.contract.text import without_controls
from tracegen.report.document import tex
from tracegen.report.document.blocks import FigureBlock
from tracegen.report.document.cells import Cell, Head
from tracegen.report.document.figure_data import figure_data
from tracegen.report.document.packing import call, script_json
from tracegen.report.document.page import PublishedFigure

FIRST, APPENDIX = "overview", "appendix"  # pages


@dataclass
class Assets:
    """The `files` beside the pages of a report by path, and its `figures`.

    `citable` is the version that the report becomes, or None for a draft or a comparison. `executor` draws charts in
    another process; `finish` waits for them.
    """

    citable: Version | None = None
    executor: Executor | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    figures: list[PublishedFigure] = field(default_factory=list)
    drawings: dict[str, Drawing] = field(default_factory=dict)
    _data: dict[str, str] = field(default_factory=dict)  # of drawings: the file of their data
    _on_paper: set[str] = field(default_factory=set)  # drawings that have PDFs
    _started: dict[str, tuple[Stamp | None, dict[str, Callable[[], bytes]]]] = field(default_factory=dict)

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

    def table_tex(
        self, key: str, title: str, caption: str, head: Sequence[Head], rows: Sequence[Sequence[Cell]]
    ) -> str:
        """Keep a version's table as LaTeX and return its path; a draft has none."""
        if self.citable is None:
            return ""
        columns = [(f"{column.label}{column.unit and f' ({column.unit})'}", column.number) for column in head]
        cells = [[cell.text for cell in row] for row in rows]
        return self.keep(
            f"data/{key}.tex", tex.table(self._label("tab", key), self._source, title, caption, columns, cells)
        )

    def figure(
        self,
        key: str,
        page: str,
        title: str,
        caption: str,
        alt: str,
        drawing: Drawing,
        data: pd.DataFrame,
        *,
        numbers: Mapping[str, object] | None = None,
        file: str = "",
        paper: bool = False,
    ) -> FigureBlock:
        """Keep a drawing with its data, and return its block.

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
        published = self.citable is not None and page != APPENDIX
        if paper or published:
            self._on_paper.add(key)
            links += [(label, name) for label, name, _ in _papers(key, drawing)]
        if published:
            links += [("LaTeX", self._figure_tex(key, title, caption, alt, drawing))]
        if published and page == FIRST:
            links += [("PNG", f"figures/{key}.png")]
        if drawing.spec is not None:
            links.append(("Vega-Lite", self.keep(f"figures/{key}.vl.json", spec.lean(drawing.spec))))
        self._data[key] = self.csv(file or key, data)
        links.insert(0, ("data (CSV)", self._data[key]))
        self.figures.append(PublishedFigure(key, title, caption, alt, page, path, layouts))
        targets = f"figures/{key}.js" if any(layout.targets for layout in drawing.layouts) or _rows(drawing) else ""
        rows = None if file else figure_data(data)
        return FigureBlock(key, title, caption, alt, drawing, "", tuple(links), numbers or {}, targets, rows)

    def start(self) -> None:
        """Start the PDFs and PNGs of the drawings so far: another process makes those of a version meanwhile."""
        pages = {figure.key: figure.page for figure in self.figures}
        for key, drawing in self.drawings.items():
            if key in self._started:
                continue
            stamp, started = self._started[key] = (self._stamp(key), {})
            if key in self._on_paper:
                for _, name, layout in _papers(key, drawing):
                    started[name] = self._made(forms.to_pdf, svg.paper(layout), stamp)
            if stamp and pages[key] == FIRST:
                started[f"figures/{key}.png"] = self._made(forms.to_png, drawing.svg, stamp)

    def _made(self, make: Callable[..., bytes], *of: object) -> Callable[[], bytes]:
        if self.executor is None or self.citable is None:  # drafts and comparisons keep what is drawn, as texts
            return partial(make, *of)
        return self.executor.submit(make, *of).result

    def finish(self) -> None:
        """Keep the files of all drawings."""
        self.start()
        for key, drawing in self.drawings.items():
            stamp, started = self._started[key]
            for layout in drawing.layouts:
                path = f"figures/{key}.svg" if layout is drawing else _layout_path(key, layout)
                self.keep(path, with_policy(in_svg(layout.svg, stamp) if stamp else layout.svg))
            targets = {str(layout.width): layout.targets() for layout in drawing.layouts if layout.targets}
            rows = _rows(drawing)
            if targets or rows:
                book = script_json(shared_values(targets) | ({"rows": rows} if rows else {}))
                self.keep(f"figures/{key}.js", call("tracegenFigure", script_json(key), book))
            for name, made in started.items():
                self.keep(name, made())

    def _stamp(self, key: str) -> Stamp | None:
        """What the files of a version's figure say of themselves; those of a draft say nothing."""
        if self.citable is None:
            return None
        data = self._data[key]
        digest = hashlib.sha256(self.files[data]).hexdigest()
        return Stamp(self.citable.citation, key, self.citable.verdict, data, digest, self.citable.licence)

    def _figure_tex(self, key: str, title: str, caption: str, alt: str, drawing: Drawing) -> str:
        """Keep a figure's LaTeX and return its path."""
        files = [
            (path.removeprefix("figures/"), f"{svg.PAPER_MM[layout.width]}mm" if drawing.narrower else r"\linewidth")
            for _, path, layout in _papers(key, drawing)
        ]
        written = tex.figure(self._label("fig", key), self._source, title, caption, alt, files)
        return self.keep(f"figures/{key}.tex", written)

    @property
    def _source(self) -> str:
        assert self.citable is not None
        return f"tracegen report {self.citable.citation}"

    def _label(self, kind: str, key: str) -> str:
        assert self.citable is not None
        return f"{kind}:{tex.name('tracegen', self.citable.experiment, self.citable.name, key)}"


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
