"""Draw charts: SVG, PDF and PNG files with fixed colours, and inline SVG with the colours of the page.

Vega's JavaScript takes a second to start, and Python waits while it draws. With an executor another process draws,
and Python waits only when it needs the drawing.

What is not seen is taken out here: of the 23 figures of hot-set@v1, 1.09 MB, 238 kB are left after 0.22 s. scour leaves
550 kB after 1.7 s, because it joins no neighbouring rectangles of one colour (6860 paths, here 616).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from markupsafe import escape

from tracegen.charts import forms, pointing, theme
from tracegen.charts.lazy import alt

# A file has the light colours and may be shown on a dark page, so it contains a ground.
GROUND = f'<rect width="100%" height="100%" fill="{theme.INK["ground"][1]}"/>'


# Width of a layout, px -> its width on paper, mm: a column of a two-column page, and a page's text. Type of 13 px
# becomes 8.8 and 8.5 pt.
PAPER_MM = {360: 86, 690: 160}
DIGITS = 7  # of a fraction in a Vega-Lite document
POINTS = 72 / 25.4  # in a millimetre; the PDF writer makes a point of each px


@dataclass(frozen=True)
class Drawing:
    """One figure in all its forms.

    `finished` returns the SVG file and the inline SVG; it is called once, on first use. `spec` is the Vega-Lite
    document with its data (None: not from a chart). `targets` returns the Vega document for the pointer; None: there
    are too many marks, or no chart. `width` is the width in px that it is laid out for, one of `theme.WIDTHS` (0: it
    has one layout); `narrower` are the drawings of the same figure for smaller widths, the narrowest first.
    """

    finished: Callable[[], tuple[str, str]]
    spec: str | None = None
    targets: Callable[[], dict[str, Any]] | None = None
    width: int = 0
    narrower: tuple[Drawing, ...] = ()

    @property
    def layouts(self) -> tuple[Drawing, ...]:
        """The drawings of the figure, the narrowest first; the last one is this."""
        return (*self.narrower, self)

    def at(self, width: int) -> Drawing:
        """The widest of the drawings that are at most `width` px wide; the narrowest if none is."""
        fitting = [drawing for drawing in self.layouts if drawing.width <= width]
        return (fitting or list(self.layouts))[-1 if fitting else 0]

    @cached_property
    def _forms(self) -> tuple[str, str]:
        return self.finished()

    @property
    def svg(self) -> str:
        """The figure as a file of its own."""
        return self._forms[0]

    @property
    def inline(self) -> str:
        """The figure as SVG inside a page."""
        return self._forms[1]


def paper(drawing: Drawing, widths: Mapping[int, int] = PAPER_MM) -> str:
    """The SVG of a figure for paper, without a ground, of the width that `widths` has for its layout: px -> mm.

    A drawing that is a little narrower than its layout keeps its scale: all figures have one size of type.
    """
    svg, width = drawing.svg.replace(GROUND, "", 1), drawing.width
    if width not in widths:
        return svg
    head = re.match(r"<svg[^>]*>", svg)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head[0]) if head else None
    if head is None or box is None:
        raise ValueError("not an SVG with a view box")
    wide, high = max(float(width), float(box[1])), float(box[2])
    scale = widths[width] * POINTS / wide
    attributes = re.sub(r'\s(width|height|viewBox)="[^"]*"', "", head[0].removesuffix(">"))
    size = f'width="{wide * scale:.4f}" height="{high * scale:.4f}" viewBox="0 0 {_n(wide)} {_n(high)}"'
    return f"{attributes} {size}>{svg[head.end() :]}"


def draw_layouts(
    chart: Callable[[int], Any],
    key: str,
    alt: str,
    executor: Executor | None = None,
    widths: Sequence[int] = theme.WIDTHS,
) -> Drawing:
    """Draw a chart for each of these widths, in px; ids of the narrower drawings begin with `KEY-WIDTH-`.

    A chart that is the same at every width is drawn once.
    """
    *less, most = widths
    widest = draw(chart(most), key, alt, executor, most)
    narrower = [draw(chart(width), f"{key}-{width}", alt, executor, width) for width in less]
    if any(drawing.spec == widest.spec for drawing in narrower):
        return widest
    return replace(widest, narrower=tuple(narrower))


def draw(chart: Any, key: str, alt: str, executor: Executor | None = None, width: int = 0) -> Drawing:
    """Draw a chart; `key` makes ids unique on a page, `alt` is the text alternative; `width`: see Drawing."""
    document = themed(chart)
    spec = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    pointable = pointing.is_pointable(document, width)
    if executor is None:
        targets = partial(pointing.targets, document) if pointable else None
        return Drawing(lambda: finish(forms.to_svg(document), key, alt, width), spec, targets, width)
    raw = executor.submit(forms.to_svg, document)
    overlay = executor.submit(pointing.targets, document).result if pointable else None
    return Drawing(lambda: finish(raw.result(), key, alt, width), spec, overlay, width)


def themed(chart: Any) -> dict[str, Any]:
    """The chart as a Vega-Lite document that carries the theme and its data.

    Tests compare it with the Vega-Lite schema; here that would take half as long as drawing.
    """
    with alt.data_transformers.disable_max_rows():  # altair's limit is 5,000 rows; runs of many threads have more
        document: dict[str, Any] = chart.to_dict(validate=False)
    document["config"] = theme.config()
    document["datasets"] = {name: [_short(row) for row in rows] for name, rows in document.get("datasets", {}).items()}
    return document


def _short(row: Any) -> Any:
    """A row of data whose fractions have DIGITS digits: more than a drawing of any size shows."""
    if not isinstance(row, dict):
        return row
    return {key: float(f"{v:.{DIGITS}g}") if isinstance(v, float) and v == v else v for key, v in row.items()}


def finish(raw: str, key: str, alt: str, width: int = 0) -> tuple[str, str]:
    """The SVG file and the inline SVG: a raw SVG with hatching, unique ids and text alternative.

    The inline SVG has the class `tg-at-WIDTH`, by which a page shows one of several.
    """
    body, hatches = _hatched(_merged(_unique_ids(_lean(raw), key)), key)
    head = re.match(r"<svg([^>]*)>", body)
    if head is None:
        raise ValueError("not an SVG")
    attributes = re.sub(r'\sstyle="[^"]*"', "", head.group(1))
    title, content = f"<title>{escape(alt)}</title>", f"{hatches}{body[head.end() :]}"
    svg = f'<svg{attributes} role="img">{title}{GROUND}{content}\n'
    loose = re.sub(r'\s(width|height)="[^"]*"', "", attributes)
    named = f' class="tg-at-{width}"' if width else ""
    inline = f'<svg{named}{loose} role="img">{_variables(title + content)}'
    return svg, inline


_FONT = f' font-family="{theme.FONT}"'
_SIZE = ' font-size="13px"'
_NOTHING = re.compile(
    r'\s(?:role|class|aria-[a-z]+)="[^"]*"| (?:opacity="1"|font-(?:weight|style)="normal"|pointer-events="none")'
)
_EMPTY = re.compile(r'<text [^>]*/>|<path (?:d="M0,0h0v0h0Z"[^>]*|[^>]*(?: display="none"| opacity="0"))/>')
_RIMMED = re.compile(r"(<text [^>]*)( stroke=)")
_LONG = re.compile(r"-?\d+\.\d{3,}(?:e-\d+)?")
_AT = r' transform="translate\(([^,]+),([^)]+)\)"'
_LINE = re.compile(rf'<line{_AT} x2="([^"]+)" y2="([^"]+)"([^>]*)/>')
_TEXT = re.compile(rf'<text( text-anchor="\w+")?{_AT}([^>]*)>([^<]*)</text>')


def _lean(raw: str) -> str:
    """The SVG without what is not seen, to hundredths of a px, and what elements have in common named once.

    The rim of a text is drawn below it.
    """
    svg = _flattened(_EMPTY.sub("", _NOTHING.sub("", _RIMMED.sub(r'\1 paint-order="stroke"\2', raw))))
    svg = svg.replace(_FONT, "").replace(_SIZE, "").replace("<svg", f"<svg{_FONT}{_SIZE}", 1)
    svg = re.sub(r"<[^>]+>", lambda tag: _LONG.sub(lambda number: _n(float(number[0]), 2), tag[0]), svg)
    svg = re.sub(rf"(?:{_LINE.pattern}){{2,}}", lambda lines: _ruled(_LINE.findall(lines[0])), svg)
    return re.sub(rf"(?:{_TEXT.pattern}){{2,}}", lambda texts: _written(_TEXT.findall(texts[0])), svg)


def _ruled(lines: list[tuple[str, ...]]) -> str:
    """Lines of one look as one path."""
    paths = (
        ("".join(f"M{x},{y}l{right},{down}" for x, y, right, down, _ in same), look)
        for look, same in groupby(lines, itemgetter(4))
    )
    return "".join(f'<path d="{d}"{look}/>' for d, look in paths)


def _written(texts: list[tuple[str, ...]]) -> str:
    """Texts of one look in a group that has it."""
    groups = (
        ("".join(f'<text x="{x}" y="{y}">{words}</text>' for _, x, y, _, words in same), "".join(look))
        for look, same in groupby(texts, itemgetter(0, 3))
    )
    return "".join(f"<g{look}>{inner}</g>" for inner, look in groups)


def _flattened(svg: str) -> str:
    """The SVG without groups that have no effect: the PDF writer allows 28 nested groups, charts have more."""
    keeps: list[bool] = []
    pieces = []
    for piece in re.split(r"(<g\b[^>]*>|</g>)", re.sub(r"<g\b[^>]*/>", "", svg)):
        if piece.startswith("<g"):
            keeps.append(piece not in ("<g>", '<g transform="translate(0,0)">'))
            pieces.append(piece if keeps[-1] else "")
        elif piece == "</g>":
            pieces.append(piece if keeps.pop() else "")
        else:
            pieces.append(piece)
    return "".join(pieces)


_RECT = re.compile(
    r'<path d="M([-\d.e]+),([-\d.e]+)h([-\d.e]+)v([-\d.e]+)h[-\d.e]+Z"'
    r'( fill="([^"]+)"(?: stroke="\6" stroke-width="[^"]+")?)/>'
)


def _merged(svg: str) -> str:
    """The SVG with neighbouring rectangles of one fill joined into one path: a tenth of the bytes."""

    def group(match: re.Match[str]) -> str:
        paths: dict[str, list[tuple[int, ...]]] = {}
        for x, y, width, height, look, _ in _RECT.findall(match.group(0)):
            ends = (float(x), float(y), float(x) + float(width), float(y) + float(height))
            left, top, right, bottom = (round(10 * end) for end in ends)
            same = paths.setdefault(look, [])
            if same and same[-1][1:] == (top, left, bottom):
                left = same.pop()[0]
            same.append((left, top, right, bottom))
        return "".join(f'<path d="{_rectangles(same)}"{look}/>' for look, same in paths.items())

    return re.sub(rf"(?:{_RECT.pattern}){{2,}}", group, svg)


def _rectangles(ends: list[tuple[int, ...]]) -> str:
    """A path of rectangles (left, top, right, bottom, in tenths of a px), each from where the one before began."""
    from_x = from_y = 0
    drawn = []
    for left, top, right, bottom in ends:
        x, y, wide, high = (_n(n / 10) for n in (left - from_x, top - from_y, right - left, bottom - top))
        drawn.append(f"m{x},{y}h{wide}v{high}h{_n((left - right) / 10)}z")
        from_x, from_y = left, top
    return "".join(drawn)


def _n(value: float, digits: int = 1) -> str:
    text = f"{value:.{digits}f}".rstrip("0").removesuffix(".")
    return "0" if text == "-0" else text


def _unique_ids(svg: str, key: str) -> str:
    """The SVG with each id replaced by `KEY-NUMBER`, in links too."""
    names = {name: f"{key}-{i}" for i, name in enumerate(dict.fromkeys(re.findall(r'\bid="([^"]+)"', svg)))}
    if not names:
        return svg
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    svg = re.sub(rf'\bid="({pattern})"', lambda m: f'id="{names[m.group(1)]}"', svg)
    return re.sub(rf"url\(#({pattern})\)", lambda m: f"url(#{names[m.group(1)]})", svg)


def _hatched(svg: str, key: str) -> tuple[str, str]:
    """The SVG with stripes over fills that mean `copied`, and the definition of the stripes."""
    shown = theme.COPIED
    marks = "|".join(shown)

    def striped(match: re.Match[str]) -> str:
        return (
            f"{match.group(1)}{shown[match.group(2)]}{match.group(3)}{match.group(1)}url(#{key}-hatch){match.group(3)}"
        )

    svg, n = re.subn(rf'(<path [^>]*fill=")({marks})("[^>]*/>)', striped, svg)
    ground = theme.INK["ground"][1]
    pattern = (
        f'<pattern id="{key}-hatch" width="4" height="4" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><rect width="1.2" height="4" fill="{ground}" fill-opacity="0.6"/></pattern>'
    )
    return svg, f"<defs>{pattern}</defs>" if n else ""


def _variables(svg: str) -> str:
    """The SVG with colours of the theme as CSS variables that fall back to the light value."""
    light, _ = theme.variables()
    names = {value: name for name, value in light.items()}
    return re.sub(
        r'\b(fill|stroke)="(#[0-9a-f]{6})"',
        lambda m: f'{m.group(1)}="var({names[m.group(2)]},{m.group(2)})"' if m.group(2) in names else m.group(0),
        svg,
    )
