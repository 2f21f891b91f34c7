"""What a thesis takes from a version: figures in three widths, tables, values, the entry of a bibliography, a sample.

A document inputs one file, `NAME-vN/tracegen`, and then uses `\\tracegentext`, `\\tracegenfigure`, `\\tracegentable`.
Another version is another file there: labels and keys stay.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tracegen.charts import forms, svg
from tracegen.charts.stamp import Stamp
from tracegen.contract.errors import SettingsError
from tracegen.contract.quantities import SIUNITX
from tracegen.export.format import Format, Source
from tracegen.publishing.bundle import VERSION_FILE, read_bundle
from tracegen.report.document import tex
from tracegen.report.figures.catalogue import CHARTS
from tracegen.report.figures.context import Context
from tracegen.storing.store import sha256_of

WIDTHS_MM = {360: 86, 515: 120, 690: 160}  # px of a layout -> mm: a column, the line of a plain article, a wide page
_HASH = re.compile(r"\b[0-9a-f]{64}\b")
_LEFT_OUT = {"values", "downloads"}  # of data/*.tex: no table of what was measured
_QUANTITY = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>\S+)?")
_SPACES = re.compile(r"(?<=[0-9])[\u00a0\u2009\u202f](?=[0-9]{3})")


def _write(source: Source, folder: Path) -> None:
    if not (source.folder / VERSION_FILE).is_file():
        raise SettingsError(f"{source.name}: is a run; LaTeX cites a version: publish it, and export NAME@vN")
    bundle = read_bundle(source.folder)
    document = bundle.document
    name = source.stem
    for part in ("figures", "data"):
        (folder / part).mkdir()
    drawn = list(_figures(source, document, folder / "figures"))
    tables = list(_tables(bundle.folder, source, document, folder / "data"))
    for file, target in (("data/values.tex", "data/values.tex"), ("citation.bib", "references.bib")):
        _text(folder / target, _HASH.sub(_breakable, (bundle.folder / file).read_text(encoding="utf-8")))
    _text(folder / "data" / "quantities.tex", _quantities(document["values"]))
    _text(folder / "tracegen.tex", _commands(name, source.name, drawn, tables))
    _text(folder / "sample.tex", _sample(name, source.name, document["values"], drawn, tables))
    files = {path.relative_to(folder).as_posix(): sha256_of(path) for path in sorted(folder.rglob("*.*"))}
    _text(folder / "tracegen.json", json.dumps({"version": source.name, "files": files}, indent=1) + "\n")


def _breakable(hashed: re.Match[str]) -> str:
    """A hash that a line of LaTeX may break every 16 digits."""
    return r"\allowbreak ".join(re.findall(".{16}", hashed[0]))


def _text(path: Path, words: str) -> None:
    path.write_text(words, encoding="utf-8")


def _figures(source: Source, document: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Draw the figures of the pages, but for the appendix; yields their keys."""
    context = Context(source.run, source.tables)
    for entry in document["figures"]:
        key = entry["key"]
        figure = CHARTS.get(key)
        if entry["page"] == "appendix" or figure is None or context.refusal(figure.needs):
            continue
        content = figure.content(context)
        if content.empty or not figure.when.holds(context):
            continue
        data = f"data/{key}.csv"
        known = document["manifest"].get(data)
        licence = str(document.get("licence") or "")
        verdict = str(document.get("verdict"))
        stamp = Stamp(source.name, key, verdict, data, known["sha256"], licence) if known else None
        for width, mm in WIDTHS_MM.items():
            drawing = svg.draw(content.chart(width), key, content.alt, width=width)
            (folder / f"{key}-{mm}mm.pdf").write_bytes(forms.to_pdf(svg.paper(drawing, WIDTHS_MM), stamp))
        file = f"\\tracegenfolder/figures/{key}-\\tracegenfits mm.pdf"
        label, note = f"fig:{tex.name('tracegen', *source.name.split('@'), key)}", f"tracegen report {source.name}"
        words = tex.figure(label, note, entry["title"], entry["caption"], entry["alt"], [(file, r"\linewidth")])
        words = words.replace(r"[width=\linewidth,", r"[width=\tracegenwidth,")
        words = words.replace("  \\centering\n", "  \\centering\\tracegenfit\n", 1)
        _text(folder / f"{key}.tex", _labelled(words, source))
        yield key


def _tables(version: Path, source: Source, document: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Copy the tables; yields their keys."""
    for name in sorted(document["manifest"]):
        key = Path(name).stem
        if re.fullmatch(r"data/[\w-]+\.tex", name) and key not in _LEFT_OUT:
            words = (version / name).read_text(encoding="utf-8")
            _text(folder / f"{key}.tex", _labelled(words, source))
            yield key


def _labelled(words: str, source: Source) -> str:
    """With a second label, which is the same for every version: `fig:fits-heatmap`."""
    experiment, _, version = source.name.partition("@")
    label = re.compile(
        rf"\\label\{{(?P<kind>fig|tab):tracegen-{re.escape(tex.name(experiment, version))}-(?P<key>[^}}]+)\}}"
    )
    return label.sub(lambda m: f"{m[0]}\\label{{{m['kind']}:{tex.name(experiment)}-{m['key']}}}", words)


def _quantities(values: Mapping[str, Mapping[str, Any]]) -> str:
    """The values for siunitx; what is not a number with a unit stays text."""
    lines = ["% \\tracegenqty{KEY}: a value as siunitx writes it.\n"]
    for key, value in sorted(values.items()):
        shown = _SPACES.sub("", str(value.get("text", "")))
        found = _QUANTITY.fullmatch(shown)
        unit = SIUNITX.get(found["unit"] or "") if found else None
        macro = tex.text(shown)
        if found and unit:
            macro = f"\\qty{{{found['number']}}}{{{unit}}}"
        elif found and not found["unit"]:
            macro = f"\\num{{{found['number']}}}"
        lines.append(f"\\expandafter\\def\\csname tracegenqty:{tex.name(key)}\\endcsname{{{macro}}}%\n")
    return "".join(lines)


def _commands(folder: str, citation: str, figures: list[str], tables: list[str]) -> str:
    least, *wider = WIDTHS_MM.values()
    larger = "".join(rf"\ifdim\linewidth<{mm}mm\else\def\tracegenfits{{{mm}}}\fi" for mm in wider)
    width = rf"\edef\tracegenwidth{{\ifdim\linewidth<{least}mm\the\linewidth\else\tracegenfits mm\fi}}"
    fit = rf"\def\tracegenfit{{\def\tracegenfits{{{least}}}{larger}{width}}}"
    return rf"""% What {tex.text(citation)} says, for LaTeX. Needs graphicx, booktabs and siunitx.
% \tracegentext{{KEY}}, \tracegenqty{{KEY}} (siunitx), \tracegenfigure{{KEY}}, \tracegentable{{KEY}}
% Labels: fig:NAME-KEY, tab:NAME-KEY, the same for every version.
% Figures: {", ".join(figures)}
% Tables: {", ".join(tables)}
% Where this folder lies, from the main file; change it if you move the folder.
\def\tracegenfolder{{{folder}}}
\input{{\tracegenfolder/data/values}}
\input{{\tracegenfolder/data/quantities}}
\ifcsname DeclareSIUnit\endcsname\DeclareSIUnit\tokens{{tokens}}\fi
% The widest form of a figure that fits the line, so that its type stays as large as it was drawn.
{fit}
\def\tracegentext#1{{\tracegen{{{citation}}}{{#1}}}}
\def\tracegenqty#1{{\tracegenknown{{tracegenqty:#1}}}}
\def\tracegenfigure#1{{\input{{\tracegenfolder/figures/#1}}}}
\def\tracegentable#1{{\input{{\tracegenfolder/data/#1}}}}
"""


_FIRST = ("tokens_per_second_generate", "tokens_per_second_prompt", "mapped_bytes_per_token", "touched_share")


def _sample(folder: str, citation: str, values: Mapping[str, Any], figures: list[str], tables: list[str]) -> str:
    key = citation.replace("@", "-")
    chosen = [name for name in _FIRST if name in values] or sorted(values)[:4]
    rows = "".join(f"{tex.text(name)} & \\tracegentext{{{name}}} & \\tracegenqty{{{name}}} \\\\\n" for name in chosen)
    parts = "".join(f"\\tracegenfigure{{{name}}}\n\\clearpage\n" for name in figures)
    parts += "".join(f"\\tracegentable{{{name}}}\n\\clearpage\n" for name in tables)
    return rf"""% All that {tex.text(citation)} holds. Copy this beside the folder {folder}, and compile it.
\documentclass[11pt,a4paper]{{article}}
\usepackage{{iftex}}
\ifpdftex\usepackage[T1]{{fontenc}}\usepackage{{lmodern}}\fi
\usepackage{{graphicx,booktabs,siunitx,url}}
\input{{{folder}/tracegen}}
\begin{{document}}
\section*{{{tex.text(citation)}}}
As measured \cite{{{key}}}:

\noindent\resizebox{{\ifdim\width>\linewidth\linewidth\else\width\fi}}{{!}}{{%
\begin{{tabular}}{{lrr}}
{rows}\end{{tabular}}}}

\clearpage
{parts}\bibliographystyle{{plain}}
\bibliography{{{folder}/references}}
\end{{document}}
"""


LATEX = Format(
    "latex",
    "a folder for a thesis: figures as PDF of 86, 120 and 160 mm, tables, values, BibTeX, a sample",
    _write,
    plain=True,
    whole=True,
)
