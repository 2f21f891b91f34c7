"""The journal quotes what is published, and nothing else."""

import re
from dataclasses import replace
from pathlib import Path

import markdown
import pytest

from tests.stand_in import HOSTILE, NOW, SVG, a_report, a_version, addresses
from tracegen.charts.theme import INK as INKS
from tracegen.publishing import versions as publish
from tracegen.report.document.page import ANCHORS, PublishedFigure, Report
from tracegen.site import journal, references
from tracegen.storing.hashes import HashCache

INK = INKS["ink"]  # variable, light, dark


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> references.References:
    folder = tmp_path_factory.mktemp("experiments")
    plain = a_report()
    pages = tuple(
        replace(page, body=f'{page.body}<figure id="fig-evil"></figure>') if page.key == "graph" else page
        for page in plain.pages
    )
    hostile = Report(
        plain.title,
        pages,
        {**plain.files, "figures/h.svg": SVG, ANCHORS: addresses(pages)},
        values={**plain.values, "evil": {"value": HOSTILE, "unit": HOSTILE, "text": HOSTILE}},
        figures=(*plain.figures, PublishedFigure("evil", HOSTILE, HOSTILE, HOSTILE, "graph", "figures/h.svg")),
    )
    a_version(folder, number=1)
    a_version(folder, number=2, report=hostile)
    publish.withdraw(folder / "sample", 1, "wrong", None, NOW)
    return references.references(publish.read_published(folder / "sample", HashCache(Path("no-cache"))))


def shown(known: references.References, text: str, path: str = "notes/entry.html") -> tuple[str, list[journal.Problem]]:
    html = markdown.markdown(text, extensions=[journal.makeExtension(references=known)])
    return journal.settle(html, path=path, source=text)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("[[sample@v2]]", '<a href="../experiments/sample/v2/index.html">sample@v2</a>'),
        (
            "[[sample@v2#fig-file]]",
            '<a href="../experiments/sample/v2/file/index.html#fig-file">sample@v2, The file</a>',
        ),
        (
            "[[sample@v2/file#fig-file|the *map* & <b>]]",
            '<a href="../experiments/sample/v2/file/index.html#fig-file">the *map* &amp; &lt;b&gt;</a>',
        ),
        ("[[sample@v2/graph]]", '<a href="../experiments/sample/v2/graph/index.html">sample@v2, Graph</a>'),
        ("[[sample@v2#top]]", '<a href="../experiments/sample/v2/index.html#top">sample@v2</a>'),
        ("[[sample@v1]]", '<a href="../experiments/sample/v1/index.html">sample@v1 (withdrawn)</a>'),
        (
            "{{ sample@v2:touched_share }}",
            '<a class="tracegen-value" href="../experiments/sample/v2/index.html" '
            'title="sample@v2: touched_share = 0.6123 share"><data value="0.6123">61 %</data></a>',
        ),
        ("`[[sample@v2]]`", "<code>[[sample@v2]]</code>"),
        ("[[1]] and {{ x }}", "[[1]] and {{ x }}"),
        ("[[samples]] and {{ config:site_name }}", "[[samples]] and {{ config:site_name }}"),
    ],
)
def test_references_become_links_and_values(known: references.References, text: str, html: str) -> None:
    assert shown(known, text) == (f"<p>{html}</p>", [])


def test_a_figure_that_is_laid_out_for_text_is_shown_so_and_narrow_on_a_phone(known: references.References) -> None:
    published = known.published["sample@v2"]
    figure = next(f for f in published.bundle.document["figures"] if f["path_svg"] == "figures/file.svg")
    for width in (360, 690):
        name = f"figures/file-{width}.svg"
        drawing = f'<svg width="{width}" height="200" viewBox="0 0 {width} 200"><path fill="{INK[1]}"/></svg>'
        (published.bundle.folder / name).write_text(drawing)
        figure["layouts"][str(width)] = name
    html, problems = shown(known, "![[sample@v2#fig-file]]", path="journal/entry.html")
    for name in figure["layouts"].values():
        (published.bundle.folder / name).unlink()
    figure["layouts"].clear()
    at = "../experiments/sample/v2/figures"
    assert not problems and "tracegen:" not in html
    assert f'srcset="{at}/file-360.svg" width="360"' in html and 'media="(max-width: 600px)"' in html
    assert f'src="{at}/file-690.svg" width="690"' in html and 'height="200"' in html
    dark = re.findall(r'(?:src|srcset)="\.\./(assets/tracegen/\w+\.svg)"', html.partition("tracegen-dark")[2])
    assert sorted(dark) == sorted(known.dark) and len(dark) == 2
    for content in known.dark.values():
        assert INK[2] in content.decode() and INK[1] not in content.decode()


def test_hostile_text_is_text(known: references.References) -> None:
    html, problems = shown(known, "![[sample@v2#fig-evil]]\n\n{{ sample@v2:evil }} [[sample@v2#fig-evil]]")
    assert not problems
    assert "<script" not in html and "<img src=x" not in html
    assert html.count("<img ") == 2 and html.count("&lt;/script&gt;") >= 3


def test_a_figure_is_shown_with_caption_and_link(known: references.References) -> None:
    html, problems = shown(known, "Before.\n\n![[sample@v2#fig-file]]\n\nAfter.", path="entry.html")
    assert not problems
    address = "experiments/sample/v2/file/index.html#fig-file"
    pictures = re.findall(r'<img alt="A drawing of file." class="tracegen-(\w+)" loading="lazy" src="', html)
    assert f'<a href="{address}"><img alt=' in html and pictures == ["light", "dark"]
    assert 'src="experiments/sample/v2/figures/file.svg"' in html
    assert f'The file. Counted: file. <a href="{address}">sample@v2</a></figcaption>' in html


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[sample@v9]]", "not a published version; published are sample@v2, sample@v1"),
        ("[[other@v1]]", "nothing of 'other' is published"),
        ("[[sample]]", "a reference is NAME@vN, NAME@vN/PAGE or NAME@vN#ANCHOR; published are sample@v2, sample@v1"),
        ("{{ sample:touched_share }}", "a reference is NAME@vN"),
        ("[[sample@v2/nothing]]", "has no page 'nothing'; it has overview, file, timeline"),
        (
            "[[sample@v2#fig-nothing]]",
            "has no anchor 'fig-nothing'; its figures and tables are fig-overview, fig-file",
        ),
        ("[[sample@v2/graph#fig-file]]", "has no anchor 'fig-file'"),
        ("{{ sample@v2:nothing }}", "has no value 'nothing'; its values are evil, touched_share"),
        ("{{sample@v2}}", "a value is {{ sample@v2:KEY }}; name one, or link with [[sample@v2]]"),
        ("[[sample@v2/file#tensor=9999]]", "has no tensor at 'tensor=9999'; see its file page"),
        ("![[sample@v2]]", "only a figure"),
        ("![[sample@v2#fig-file]] and words", "stands alone in its paragraph"),
        ("![[sample@v2#<script>]]", "has no anchor"),
        ("[[sample@v1~sample@v9]]", "sample@v9 is not a published version; published are sample@v2, sample@v1"),
        ("[[other@v1~sample@v1|the two]]", "other@v1 is not a published version; nothing of 'other' is published"),
        ("[[sample@v1~sample@v1]]", "sample@v1 is on both sides"),
        ("[[sample@v1~sample@v2/graph]]", "a comparison is NAME@vN~NAME@vN"),
        ("[[sample@v1~sample@v2]]", "this comparison was not drawn"),
    ],
)
def test_unknown_references_are_marked_and_named(known: references.References, text: str, reason: str) -> None:
    html, (problem,) = shown(known, f"# Title\n\nA line.\n\n{text}\n")
    assert problem.line == 5 and text.startswith(problem.literal)
    assert reason in problem.reason
    assert '<mark class="tracegen-unknown"' in html and "<script" not in html


def test_the_same_unknown_reference_twice(known: references.References) -> None:
    _, problems = shown(known, "[[a@v1]]\n\nx\n\n[[a@v1]]\n")
    assert [problem.line for problem in problems] == [1, 5]


def test_a_warning_names_what_is_near_and_how_many_there_are(sample: references.References) -> None:
    version = sample.published["sample@v1"]
    values = version.bundle.document["values"]
    assert len(values) > 10
    _, (problem,) = shown(sample, "{{ sample@v1:weight_byte_per_token }}")
    assert (
        "did you mean weight_bytes_per_token, " in problem.reason and f"it has {len(values)} values" in problem.reason
    )
    assert len(problem.reason) < 250
    _, (problem,) = shown(sample, "[[sample@v1/operations#tab-top-operation]]")
    assert "did you mean tab-top-operations" in problem.reason and "figures and tables" in problem.reason


@pytest.fixture(scope="module")
def sample() -> references.References:
    """The version that comes with tracegen: its operations page carries one pass, a chunk carries all."""
    folder = Path(__file__).parents[2] / "experiments" / "sample"
    return references.references(publish.read_published(folder, HashCache(Path("no-cache"))))


@pytest.mark.parametrize("anchor", ["pass=3&node=10", "pass=9"])
@pytest.mark.parametrize("page", ["", "/operations"])
def test_an_op_of_any_pass(sample: references.References, page: str, anchor: str) -> None:
    html, problems = shown(sample, f"[[sample@v1{page}#{anchor}|an op]]")
    address = f"../experiments/sample/v1/operations/index.html#{anchor}".replace("&", "&amp;")
    assert (html, problems) == (f'<p><a href="{address}">an op</a></p>', [])


@pytest.mark.parametrize(
    "reference",
    [
        "operations#pass=3&node=4",  # only reshapes: no row
        "operations#pass=0",  # the load
        "file#pass=3&node=10",
    ],
)
def test_an_op_that_is_not_there(sample: references.References, reference: str) -> None:
    _, (problem,) = shown(sample, f"[[sample@v1/{reference}]]")
    assert problem.reason.startswith(f"sample@v1 lists no op at {reference.partition('#')[2]!r}")
