"""The common look of all charts: what each colour means, on light and on dark ground.

Charts name colours by their light value; `svg.py` turns them into CSS variables, so
that one drawing follows the page's scheme. Hues follow Okabe and Ito, darkened until
they reach 3:1 on white; the sequential scale is mako, light to dark and back, a little
adjusted so that ink or ground is readable on every step.

Charts write channels as altair classes, and axes, scales and legends as plain dicts. The other
forms are slower: altair searches its schema for a channel written as a string, and copies all
eighty keys of an axis object at every step. Each costs a tenth of the time of drawing.
"""

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracegen.contract.components import GROUP_OF as GROUP_OF

WIDTHS = (360, 690, 1190)  # px: a figure is laid out for each: a phone, a column of text, a page
WIDTH = WIDTHS[-1]
SMALL = 12.2  # px: the smallest type, 8 pt on paper 160 mm wide
NARROW = 600  # px: a narrower figure stacks its parts and has less room for names
GLYPH = 7.2  # px: upper estimate of the mean width of a character in a text of 13 px
NAMES, NUMBERS = 128, 52  # px at the left for names or for numbers
RIGHT = 22  # px at the right: half a tick's label and the padding
FONT = "Arial, Liberation Sans, sans-serif"  # the renderer and browsers agree on its widths

# group -> CSS variable, colour on light ground, colour on dark ground
GROUPS: Mapping[str, tuple[str, str, str]] = {
    "embedding": ("--tg-embedding", "#b57600", "#e69f00"),
    "attention": ("--tg-attention", "#0072b2", "#4fa3e0"),
    "KV cache": ("--tg-kv", "#3b92c6", "#93cdf3"),
    "router": ("--tg-router", "#8a7f00", "#e2d64c"),
    "FFN": ("--tg-ffn", "#00916a", "#33c79a"),
    "experts": ("--tg-experts", "#d05a00", "#f28a4b"),
    "norm": ("--tg-norm", "#63686f", "#a9afb8"),
    "output": ("--tg-output", "#b8558d", "#e096c1"),
    "other": ("--tg-other", "#8b9097", "#7d848d"),
}

# What a runtime buffer holds -> CSS variable, light, dark; what belongs to one component group has that group's colour.
BUFFERS: Mapping[str, tuple[str, str, str]] = {
    "KV cache": GROUPS["KV cache"],
    "compute": ("--tg-compute", "#546a8c", "#97aedb"),
    "weights": ("--tg-weights", "#5b5ea6", "#a3a6e6"),
    "work": ("--tg-work", "#8a5f4a", "#c79a83"),
    "other": GROUPS["other"],
}

# What a process holds beside these -> CSS variable, light, dark.
HELD: Mapping[str, tuple[str, str, str]] = {
    "saved states": ("--tg-saved", "#a3365f", "#ef8fb0"),
    "other memory": ("--tg-heap", "#8c6d1f", "#d3b155"),
    "stacks": ("--tg-stacks", "#4d7d3a", "#93c47d"),
    "programs and libraries": ("--tg-libraries", "#6a6f7a", "#9aa3b0"),
    "memory of drivers": ("--tg-drivers", "#2a7f7a", "#5fc0ba"),
    "tracer": ("--tg-tracer", "#7a7568", "#b3ad9c"),
    "model file": ("--tg-model", "#2f7d93", "#3f9fb8"),
}

SEQUENTIAL_LIGHT = ("#bfe8cd", "#90d9b1", "#60ceac", "#3aaeac", "#2e7c9a", "#37659d", "#40457f", "#332547")
SEQUENTIAL_DARK = ("#46325f", "#3f3b78", "#3a5697", "#336a98", "#3491a8", "#43b2ab", "#84d8b4", "#def5e5")
LITTLE = ("--tg-small", "#efdf8a", "#57371a")  # a share of at most 1 %, step -1: CSS variable, light, dark
# The same steps for copied bytes, small shares last, one blue unit off: `svg.py` gives them a hatched fill.
COPIED = {f"{c[:-2]}{int(c[-2:], 16) - 1:02x}": c for c in (*SEQUENTIAL_LIGHT, LITTLE[1])}
SEQUENTIAL_COPIED = tuple(COPIED)
N_STEPS = len(SEQUENTIAL_LIGHT)

# name -> CSS variable, light, dark
INK: Mapping[str, tuple[str, str, str]] = {
    "ground": ("--tg-ground", "#fefefe", "#16181b"),
    "ink": ("--tg-ink", "#22262c", "#e4e7eb"),
    "muted": ("--tg-muted", "#59616b", "#a3abb6"),
    "hairline": ("--tg-hairline", "#dfe3e8", "#3a3f48"),
    "band": ("--tg-band", "#e9ecf0", "#343943"),
    "band2": ("--tg-band2", "#d3d8df", "#454b57"),
    "bar": ("--tg-bar", "#4c6a8a", "#8fb0d2"),
    "inside": ("--tg-inside", "#6f4fa3", "#bda3ea"),
    "after": ("--tg-after", "#a288c8", "#7d69a6"),
    "outside": ("--tg-outside", "#a08a5c", "#a8966a"),
    "touched": ("--tg-touched", "#b4bcc7", "#6f7886"),
    "disk": ("--tg-disk", "#c8102e", "#ff6b7d"),
    "behind": ("--tg-behind", "#e8909c", "#a8404f"),
    "processor": ("--tg-processor", "#d9b310", "#e6cf5c"),
    "elsewhere": ("--tg-elsewhere", "#00798c", "#4fc3d6"),
    "paging": ("--tg-paging", "#6b1a2e", "#ffd0d6"),
    "mark": ("--tg-mark", "#fff3d1", "#4a3f1e"),
    "good": ("--tg-good", "#0b6e4f", "#5ccfa5"),
    "warn": ("--tg-warn", "#8a5a00", "#f0b84a"),
    "bad": ("--tg-bad", "#b3261e", "#ff8a80"),
}

STATE_COLOURS = {
    "waiting for the disk": INK["disk"][1],
    "waiting inside": INK["inside"][1],
    "barrier wait": INK["after"][1],
    "between operations": INK["outside"][1],  # what follows an operation where one thread computes
}


def colour(component: object) -> str:
    """The light colour of a component or component group; an unknown one has the colour of `other`."""
    group = GROUP_OF.get(str(component), str(component))
    return GROUPS.get(group, GROUPS["other"])[1]


def group(component: object) -> str:
    """The group a component belongs to."""
    return GROUP_OF.get(str(component), "other")


def variables() -> tuple[dict[str, str], dict[str, str]]:
    """CSS variables and their values, for light and for dark ground."""
    named = list(dict.fromkeys([*GROUPS.values(), *BUFFERS.values(), *HELD.values(), *INK.values(), LITTLE]))
    steps = [(f"--tg-s{i}", a, b) for i, (a, b) in enumerate(zip(SEQUENTIAL_LIGHT, SEQUENTIAL_DARK, strict=True))]
    every = [*named, *steps]
    return {name: light for name, light, _ in every}, {name: dark for name, _, dark in every}


_COLOUR = re.compile(r'\b(fill|stroke)="([^"]+)"')


def on_dark(svg: str) -> str:
    """A standalone SVG with the colours of dark ground; a colour that the theme does not know stays."""
    light, dark = variables()
    values = {value: dark[name] for name, value in light.items()}
    return _COLOUR.sub(lambda m: f'{m.group(1)}="{values.get(m.group(2), m.group(2))}"', svg)


def stylesheet() -> str:
    """The colours as CSS; the surrounding `color-scheme` selects light or dark, and print is light."""
    light, dark = variables()
    plain = "".join(f"{name}:{value};" for name, value in light.items())
    pairs = {name: f"light-dark({value},{dark[name]})" for name, value in light.items()}
    ground, white, _ = INK["ground"]
    pairs[ground] = f"var(--md-default-bg-color,{pairs[ground]})"  # the ground of Material's scheme where it has one
    both = "".join(f"{name}:{value};" for name, value in pairs.items())
    return (
        f".tracegen{{{plain}}}\n"
        f"@supports (color:light-dark(red,red)){{.tracegen{{{both}}}}}\n"
        f"@media print{{.tracegen,.tracegen-alone{{color-scheme:light!important;{ground}:{white}}}}}\n"
    )


def config() -> dict[str, Any]:
    """Vega-Lite's config of the theme."""
    ink, muted, line = (INK[n][1] for n in ("ink", "muted", "hairline"))
    text = {"font": FONT, "fontSize": 13, "color": ink}
    return {
        "background": None,
        "font": FONT,
        "aria": False,
        "padding": 4,
        "view": {"stroke": None},
        "axis": {
            "labelFontSize": 13,
            "titleFontSize": 13,
            "titleFontWeight": "normal",
            "labelColor": muted,
            "titleColor": muted,
            "domainColor": line,
            "tickColor": line,
            "gridColor": line,
            "gridOpacity": 0.7,
            "labelLimit": NAMES - 8,
            "titlePadding": 8,
        },
        "legend": {
            "labelFontSize": 13,
            "titleFontSize": 13,
            "titleFontWeight": "normal",
            "labelColor": ink,
            "labelLimit": 240,
            "titleColor": muted,
            "symbolType": "square",
            "symbolStrokeWidth": 0,
            "orient": "top",
            "columnPadding": 14,
        },
        "header": {"labelFontSize": 13, "labelColor": ink, "title": None, "labelAnchor": "start"},
        "title": {"fontSize": 14, "fontWeight": "normal", "color": ink, "anchor": "start", "offset": 8},
        "text": text,
        "bar": {"color": INK["bar"][1]},
        "concat": {"spacing": 12},
    }


def plot(room: int, width: int = WIDTH) -> int:
    """The width of the plot, px, in a figure that is `width` wide with axis labels `room` wide."""
    return width - room - RIGHT


def narrow(width: int) -> bool:
    """Whether a figure that is `width` px wide stands on a phone or in one column of a printed page."""
    return width < NARROW


def names(width: int, longest: int = 128) -> int:
    """The room at the left, px, for names of at most `longest` characters in a figure that is `width` wide."""
    return min(NAMES - 2, int(GLYPH * longest) + 10) if narrow(width) else NAMES


def ticks(many: int, width: int) -> int:
    """How many ticks an axis has in a figure `width` px wide that would have `many` at full width."""
    return many if width >= WIDTH else max(3, many * width // 900)


def legend(entries: Sequence[str], width: int, **more: Any) -> dict[str, Any]:
    """A legend above the plot that takes as many lines as its entries need in a figure `width` px wide."""
    if sum(GLYPH * len(entry) + 30 for entry in entries) <= width - 8:
        return more
    entry = GLYPH * max(map(len, entries), default=1) + 30
    columns = max(1, int((width - 8) // entry))
    return ({"columns": columns} if columns < len(entries) else {}) | more


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a title of 14 px in a figure `width` px wide."""
    return textwrap.wrap(text, int(width / GLYPH)) or [""]


def x_axis(width: int, **more: Any) -> dict[str, Any]:
    """A lower axis; the title of a narrow one ends at the right and may reach below the names at the left."""
    return ({"titleAnchor": "end"} if narrow(width) else {}) | more


def y_axis(room: int, **more: Any) -> dict[str, Any]:
    """A left axis exactly `room` px wide; its title is horizontal and stands above it."""
    above = {"titleAngle": 0, "titleAnchor": "end", "titleAlign": "left", "titleX": -room, "titleY": -14}
    return {"minExtent": room, "maxExtent": room, "labelPadding": 8, "labelLimit": room - 8} | above | more


def step_colours(steps: Iterable[int], copied: Iterable[bool] | None = None) -> list[str]:
    """The colour of each step of the sequential scale, -1: LITTLE; where `copied` is true, the hatched one."""
    numbers = [int(step) for step in steps]
    which = [False] * len(numbers) if copied is None else list(copied)
    return [
        (SEQUENTIAL_COPIED if c else (*SEQUENTIAL_LIGHT, LITTLE[1]))[n] for n, c in zip(numbers, which, strict=True)
    ]


def group_scale(present: list[str]) -> dict[str, Any]:
    """Colours of the component groups that occur, in the theme's order."""
    shown = [name for name in GROUPS if name in present]
    return dict(domain=shown, range=[GROUPS[name][1] for name in shown])
