"""The journal quotes what is published, and nothing else."""

import re
from pathlib import Path

import markdown
import pytest

from tests.stand_in import HOSTILE, NOW, SVG, a_report, a_version
from tracegen.charts.theme import INK as INKS
from tracegen.publishing import versions as publish
from tracegen.report.pages.page import PublishedFigure, Report
from tracegen.site import journal, references
from tracegen.storing.hashes import HashCache

INK = INKS["ink"]  # variable, light, dark


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> references.References:
    folder = tmp_path_factory.mktemp("experiments")
    plain = a_report()
    hostile = Report(
        plain.title,
        plain.pages,
        {**plain.files, "figures/h.svg": SVG},
        values={**plain.values, "evil": {"value": HOSTILE, "unit": HOSTILE, "text": HOSTILE}},
        figures=(*plain.figures, PublishedFigure("fig-evil", HOSTILE, HOSTILE, HOSTILE, "graph", "figures/h.svg")),
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
            "[[sample@v2#fig-memory]]",
            '<a href="../experiments/sample/v2/memory/index.html#fig-memory">sample@v2, The memory</a>',
        ),
        (
            "[[sample@v2/memory#fig-memory|the *map* & <b>]]",
            '<a href="../experiments/sample/v2/memory/index.html#fig-memory">the *map* &amp; &lt;b&gt;</a>',
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
def test_inline(known: references.References, text: str, html: str) -> None:
    assert shown(known, text) == (f"<p>{html}</p>", [])


def test_a_figure_that_is_laid_out_for_text_is_shown_so_and_narrow_on_a_phone(known: references.References) -> None:
    published = known.published["sample@v2"]
    figure = next(f for f in published.bundle.document["figures"] if f["path_svg"] == "figures/memory.svg")
    for width in (360, 690):
        name = f"figures/memory-{width}.svg"
        drawing = f'<svg width="{width}" height="200" viewBox="0 0 {width} 200"><path fill="{INK[1]}"/></svg>'
        (published.bundle.folder / name).write_text(drawing)
        figure.setdefault("layouts", {})[str(width)] = name
    html, problems = shown(known, "![[sample@v2#fig-memory]]", path="journal/entry.html")
    for name in figure.pop("layouts").values():
        (published.bundle.folder / name).unlink()
    at = "../experiments/sample/v2/figures"
    assert not problems and "tracegen:" not in html
    assert f'srcset="{at}/memory-360.svg" width="360"' in html and 'media="(max-width: 600px)"' in html
    assert f'src="{at}/memory-690.svg" width="690"' in html and 'height="200"' in html
    dark = re.findall(r'(?:src|srcset)="\.\./(assets/tracegen/\w+\.svg)"', html.partition("tracegen-dark")[2])
    assert sorted(dark) == sorted(known.dark) and len(dark) == 2
    for content in known.dark.values():
        assert INK[2] in content.decode() and INK[1] not in content.decode()


def test_a_figure(known: references.References) -> None:
    html, problems = shown(known, "Before.\n\n![[sample@v2#fig-memory]]\n\nAfter.", path="entry.html")
    assert not problems
    address = "experiments/sample/v2/memory/index.html#fig-memory"
    pictures = re.findall(r'<img alt="A drawing of memory." class="tracegen-(\w+)" loading="lazy" src="', html)
    assert f'<a href="{address}"><img alt=' in html and pictures == ["light", "dark"]
    assert 'src="experiments/sample/v2/figures/memory.svg"' in html
    assert f'The memory. Counted: memory. <a href="{address}">sample@v2</a></figcaption>' in html


def test_hostile_text_is_text(known: references.References) -> None:
    html, problems = shown(known, "![[sample@v2#fig-evil]]\n\n{{ sample@v2:evil }} [[sample@v2#fig-evil]]")
    assert not problems
    assert "<script" not in html and "<img src=x" not in html
    assert html.count("<img ") == 2 and html.count("&lt;/script&gt;") >= 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[sample@v9]]", "no published version; published are sample@v2, sample@v1"),
        ("[[other@v1]]", "nothing of 'other' is published"),
        ("[[sample]]", "a reference is NAME@vN, NAME@vN/PAGE or NAME@vN#ANCHOR; published are sample@v2, sample@v1"),
        ("{{ sample:touched_share }}", "a reference is NAME@vN"),
        ("[[sample@v2/nothing]]", "has no page 'nothing'; it has overview, memory"),
        (
            "[[sample@v2#fig-nothing]]",
            "has no anchor 'fig-nothing'; did you mean fig-operations, fig-timeline? it has 9",
        ),
        ("[[sample@v2/graph#fig-memory]]", "has no anchor 'fig-memory'"),
        ("{{ sample@v2:nothing }}", "has no value 'nothing'; its values are evil, touched_share"),
        ("{{sample@v2}}", "a value is {{ sample@v2:KEY }}; name one, or link with [[sample@v2]]"),
        ("[[sample@v2/memory#tensor=9999]]", "has no tensor at 'tensor=9999'; see its memory page"),
        ("![[sample@v2]]", "only a figure"),
        ("![[sample@v2#fig-memory]] and words", "stands alone in its paragraph"),
        ("![[sample@v2#<script>]]", "has no anchor"),
        ("[[sample@v1~sample@v9]]", "sample@v9 is no published version; published are sample@v2, sample@v1"),
        ("[[other@v1~sample@v1|the two]]", "other@v1 is no published version; nothing of 'other' is published"),
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
    _, (problem,) = shown(sample, "[[sample@v1/overview#tab-top-operation]]")
    assert "did you mean tab-top-operations" in problem.reason and "figures and tables" in problem.reason


@pytest.fixture(scope="module")
def sample() -> references.References:
    """The version that comes with tracegen: its operations page carries pass 2, a chunk carries all."""
    folder = Path(__file__).parents[1] / "experiments" / "sample"
    return references.references(publish.read_published(folder, HashCache(Path("no-cache"))))


@pytest.mark.parametrize("anchor", ["pass=3&node=6", "pass=9"])
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
        "memory#pass=3&node=6",
    ],
)
def test_an_op_that_is_not_there(sample: references.References, reference: str) -> None:
    _, (problem,) = shown(sample, f"[[sample@v1/{reference}]]")
    assert problem.reason.startswith(f"sample@v1 lists no op at {reference.partition('#')[2]!r}")


PLACES_OF_BEFORE = {
    "sample@v1/memory": "v1/memory/index.html",
    "sample@v2/memory#tensor=3": "v2/memory/index.html#tensor=3",
    "sample@v2/provenance#tab-downloads": "v2/provenance/index.html#tab-downloads",
    "sample@v2#fig-heatmap": "v2/memory/index.html#fig-heatmap",
    "sample@v2#fig-layers": "v2/index.html#fig-layers",
}


@pytest.mark.parametrize("reference", PLACES_OF_BEFORE)
def test_versions_of_before_keep_their_pages_and_addresses(sample: references.References, reference: str) -> None:
    html, problems = shown(sample, f"[[{reference}|there]]")
    assert (html, problems) == (f'<p><a href="../experiments/sample/{PLACES_OF_BEFORE[reference]}">there</a></p>', [])
