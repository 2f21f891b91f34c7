"""The figures of a run in every form: SVG, PDF for a column and for a page, PNG. Drawn again from its tables."""

from pathlib import Path

from tracegen.charts import forms, svg
from tracegen.charts.policy import with_policy
from tracegen.charts.svg import PAPER_MM, Drawing
from tracegen.contract.errors import SettingsError
from tracegen.export.format import Format, Source
from tracegen.report.figures.catalogue import CHARTS
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Figure


def _write(source: Source, folder: Path) -> None:
    """KEY.svg, KEY.png, KEY.pdf (160 mm) and KEY-86mm.pdf of each figure that the run has, or of those asked for."""
    unknown = [key for key in source.figures if key not in CHARTS]
    if unknown:
        raise SettingsError(f"--figure: there is no figure {unknown[0]!r}; there are {', '.join(CHARTS)}")
    context = Context(source.run, source.tables)
    for key, figure in CHARTS.items():
        if source.figures and key not in source.figures:
            continue
        reason = _drawn(context, figure, folder)
        if reason and source.figures:
            raise SettingsError(f"--figure: {source.name} has no figure {key}: {reason}")
    if not any(folder.iterdir()):
        raise SettingsError(f"{source.name}: has no figure that can be drawn")


def _drawn(context: Context, figure: Figure, folder: Path) -> str:
    """Write a figure's files; or why it has none."""
    if not figure.when.holds(context):
        return f"only {figure.when.words} has it"
    if reason := context.refusal(figure.needs):
        return reason
    content = figure.content(context)
    if content.empty:
        return content.empty
    drawing = svg.draw_layouts(content.chart, figure.key, content.alt, widths=figure.widths)
    (folder / f"{figure.key}.svg").write_text(with_policy(drawing.svg), encoding="utf-8")
    (folder / f"{figure.key}.png").write_bytes(forms.to_png(drawing.svg))
    for name, layout in papers(figure.key, drawing):
        (folder / name).write_bytes(forms.to_pdf(svg.paper(layout)))
    return ""


def papers(key: str, drawing: Drawing) -> list[tuple[str, Drawing]]:
    """The PDFs of a figure: the one for a page's text is KEY.pdf."""
    if not drawing.narrower:
        return [(f"{key}.pdf", drawing)]
    most = max(PAPER_MM)
    return [
        (f"{key}.pdf" if width == most else f"{key}-{mm}mm.pdf", drawing.at(width)) for width, mm in PAPER_MM.items()
    ]


FIGURES = Format("figures", "a folder with the figures of the pages as SVG, PNG, and PDF of 86 and 160 mm", _write)
