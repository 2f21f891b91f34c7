"""Every width from a telephone to 4K: no sideways scroll, lines that can be read, nothing that moves."""

from pathlib import Path
from typing import Any

import pytest

from tests.site_project import Project

pytestmark = pytest.mark.browser

PAGES = (
    "experiments/demo/v2/index.html",
    "experiments/demo/v2/file/index.html",
    "experiments/demo/v2/operations/index.html",
    "experiments/demo/v2/graph/index.html",
    "experiments/demo/v2/appendix/index.html",
    "experiments/demo/v2/method/index.html",
    "experiments/hostile/v1/index.html",
    "experiments/broken/v1/file/index.html",
    "experiments/index.html",
    "reference/index.html",
    "notes/entry.html",
)
# How many characters stand in each full line of a paragraph: all of it but its last line. What ran is no prose.
LINES = """
() => Array.from(document.querySelectorAll(".tracegen :is(p, li, figcaption, dd), article.md-typeset > p"))
  .filter(e => e.checkVisibility() && !e.closest("table, svg, nav, .tg-verdict"))
  .filter(e => !e.querySelector("code, strong, small, p, li"))
  .map(e => {
    const range = document.createRange(), lines = [];
    const walker = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
    let last = null;
    while (walker.nextNode()) for (let i = 0; i < walker.currentNode.length; i++) {
      range.setStart(walker.currentNode, i); range.setEnd(walker.currentNode, i + 1);
      const box = range.getBoundingClientRect();
      if (!box.width) continue;
      if (last === null || Math.abs(box.bottom - last) > 8) { lines.push(0); last = box.bottom; }  // or the next column
      lines[lines.length - 1] += 1;
    }
    return lines.slice(0, -1);
  }).filter(full => full.length > 0)
"""
MOVING = """
() => document.getAnimations().length + Array.from(document.querySelectorAll("*")).filter(e => {
  const s = getComputedStyle(e);
  return s.transitionDuration.split(",").some(d => parseFloat(d) > 0) || s.animationName !== "none"
    || s.scrollBehavior === "smooth";
}).length
"""


@pytest.mark.parametrize("path", PAGES)
def test_every_width_is_used_and_none_exceeded(tab: Any, project: Project, path: str) -> None:
    page = tab(project.site / path)
    # a layout for 690 px ends before its type is too large
    for width, least in ((360, 0.95), (1024, 0.8), (3840, 0.8)):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
        for lines in page.evaluate(LINES) if width > 360 else ():
            assert sum(lines) / len(lines) <= 75, lines
        room = page.evaluate(
            "Array.from(document.querySelectorAll('.tg-drawing > svg:not(.tg-graph)'))"
            ".filter(svg => svg.checkVisibility()).map(svg => svg.getBoundingClientRect().width"
            " / svg.closest('.tg-drawing').getBoundingClientRect().width)"
        )
        assert all(share >= least for share in room), (width, room)
    assert page.evaluate(MOVING) > 0, "the theme moves"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(MOVING) == 0, "nothing moves where less motion is asked for"


def test_the_measure_can_be_exceeded(page: Any) -> None:
    """The test above can fail: a paragraph as wide as the screen."""
    page.set_viewport_size({"width": 1920, "height": 900})
    page.set_content(f"<div class=tracegen><p>{'word ' * 200}</div>")
    (lines,) = page.evaluate(LINES)
    assert sum(lines) / len(lines) > 150


# Whether what copies a link lies on the words of the verdict.
COVERED = """() => {
  const bar = document.querySelector(".tg-selection").getBoundingClientRect(), words = document.createRange();
  words.selectNodeContents(document.querySelector(".tg-head .tg-verdict"));
  return [...words.getClientRects()].some(line =>
    line.right > bar.left && line.left < bar.right && line.bottom > bar.top && line.top < bar.bottom);
}"""


def test_nothing_lies_on_the_verdict(page: Any, moe_report: Path, project: Project) -> None:
    """By itself and in a site; with the badge of random weights the line is at its longest."""
    for root in (moe_report, project.site / "experiments/hostile/v1"):
        for key in ("file", "timeline", "operations", "graph", "experts", "method", "appendix"):
            page.goto((root / key / "index.html").as_uri())
            for width in (1280, 1440):
                page.set_viewport_size({"width": width, "height": 800})
                assert not page.evaluate(COVERED), (root.name, key, width)
