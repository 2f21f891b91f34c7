"""The formats of `tracegen export`, in the order of its help."""

from tracegen.export import archive, columns, dot, experts_profile, figures, html, latex, older_json
from tracegen.export.format import Format
from tracegen.export.perfetto import trace

FORMATS: tuple[Format, ...] = (
    trace.PERFETTO,
    columns.PARQUET,
    columns.CSV,
    html.HTML,
    figures.FIGURES,
    latex.LATEX,
    archive.ARCHIVE,
    older_json.JSON,
    dot.DOT,
    experts_profile.EXPERTS_PROFILE,
)
BY_KEY = {written.key: written for written in FORMATS}
