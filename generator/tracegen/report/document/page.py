"""The parts of a rendered report: pages, figures, values and files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracegen.contract.model import Run

EXPLORERS = "tracegen_explorers.js"  # an asset that some pages load, after tracegen.js
EXPLORED = ("file", "timeline", "operations", "graph", "experts")
ALONE = "data/overview.txt"  # the body of the first page without links to others, to mail; no page to open
ANCHORS = "data/anchors.json"  # the addresses in a report: see anchors.py
# The pages a report may have, in their order: key, title, summary.
OUTLINE = (
    ("overview", "Answer", "What was asked, what was found, and how sure it is."),
    ("file", "File and memory", "Which bytes of the file each token touched and waited for, and what memory serves."),
    (
        "timeline",
        "Timeline",
        "What each thread did during a token: work, and waiting inside and after operations.",
    ),
    ("operations", "Operations", "Every operation of every token, with its operands, bytes and times."),
    ("graph", "Graph", "The computation graph: its blocks, and one block of each kind in detail."),
    ("experts", "Experts", "Which experts the tokens chose, and how evenly."),
    ("method", "Method", "Checks, settings, versions, citation and downloads."),
    ("appendix", "Appendix", "Every other figure and table, by question."),
)


def outline(run: Run) -> tuple[tuple[str, str, str], ...]:
    """The pages of a run's report; needs no tables, because a site lists the pages of a draft before it reads them."""
    exists = {"experts": run.has_experts, "timeline": run.has_spans}
    return tuple(page for page in OUTLINE if exists.get(page[0], True))


@dataclass(frozen=True)
class Page:
    """One page: `body` is the HTML inside <main>, with relative links only.

    The page `overview` is `index.html` of the bundle, any other page is
    `KEY/index.html`. `title` and `summary` are plain text, not HTML.
    """

    key: str
    title: str
    summary: str
    body: str

    @property
    def path(self) -> str:
        """The path of the page in its bundle."""
        return "index.html" if self.key == "overview" else f"{self.key}/index.html"

    @property
    def described(self) -> dict[str, str]:
        """The entry of the page in the manifest of its bundle."""
        return {"key": self.key, "title": self.title, "summary": self.summary, "path": self.path}

    @property
    def up(self) -> str:
        """The relative path from the page's folder to the bundle's root: empty or `../`."""
        return "" if self.key == "overview" else "../"


@dataclass(frozen=True)
class PublishedFigure:
    """A figure that a journal can quote: its anchor `key` on `page`, and its drawing in the bundle.

    `layouts`: width in px -> path of the drawing for that width, where there are narrower ones.
    """

    key: str
    title: str
    caption: str
    alt: str
    page: str
    path_svg: str
    layouts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """A complete report in memory: `render_report` returns it, `publish` writes it.

    Paths of `files` are relative to the bundle's root ("figures/heatmap.svg"). `assets`
    have logical names ("tracegen.css") and are stored under their hash. Each of `values`
    has `value` (exact), `unit` and `text` (for a sentence, with its unit). `finding` is the
    first finding of the overview, for lists of experiments.
    """

    title: str
    pages: tuple[Page, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    assets: Mapping[str, bytes] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    figures: tuple[PublishedFigure, ...] = ()
    finding: str = ""
