"""The journal quotes what is published, and nothing else."""

from __future__ import annotations

from pathlib import Path

import markdown
import pytest

from tests.stand_in import HOSTILE, NOW, SVG, a_report, a_version
from tracegen import journal, publish
from tracegen.bundle import HashCache
from tracegen.pages.page import Figure, Report


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> journal.References:
    folder = tmp_path_factory.mktemp("experiments")
    plain = a_report()
    hostile = Report(
        plain.title,
        plain.pages,
        {**plain.files, "figures/h.svg": SVG},
        values={**plain.values, "evil": {"value": HOSTILE, "unit": HOSTILE, "text": HOSTILE}},
        figures=(*plain.figures, Figure("fig-evil", HOSTILE, HOSTILE, HOSTILE, "graph", "figures/h.svg")),
    )
    a_version(folder, number=1)
    a_version(folder, number=2, report=hostile)
    publish.withdraw(folder / "sample", 1, "wrong", None, NOW)
    return journal.references(publish.read_published(folder / "sample", HashCache(Path("no-cache"))))


def shown(known: journal.References, text: str, path: str = "notes/entry.html") -> tuple[str, list[journal.Problem]]:
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
    ],
)
def test_inline(known: journal.References, text: str, html: str) -> None:
    assert shown(known, text) == (f"<p>{html}</p>", [])


def test_a_figure(known: journal.References) -> None:
    html, problems = shown(known, "Before.\n\n![[sample@v2#fig-memory]]\n\nAfter.", path="entry.html")
    assert not problems
    address = "experiments/sample/v2/memory/index.html#fig-memory"
    assert f'<a href="{address}"><img alt="A drawing of memory." loading="lazy" src="' in html
    assert 'src="experiments/sample/v2/figures/memory.svg"' in html
    assert f'The memory. Counted: memory. <a href="{address}">sample@v2</a></figcaption>' in html


def test_hostile_text_is_text(known: journal.References) -> None:
    html, problems = shown(known, "![[sample@v2#fig-evil]]\n\n{{ sample@v2:evil }} [[sample@v2#fig-evil]]")
    assert not problems
    assert "<script" not in html and "<img src=x" not in html
    assert html.count("<img ") == 1 and html.count("&lt;/script&gt;") >= 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[sample@v9]]", "no published version; published are sample@v2, sample@v1"),
        ("[[other@v1]]", "nothing of 'other' is published"),
        ("[[sample@latest]]", "a reference is NAME@vN"),
        ("[[sample@v2/nothing]]", "has no page 'nothing'; it has overview, memory"),
        ("[[sample@v2#fig-nothing]]", "has no anchor 'fig-nothing'; its figures are fig-overview"),
        ("[[sample@v2/graph#fig-memory]]", "has no anchor 'fig-memory'"),
        ("{{ sample@v2:nothing }}", "has no value 'nothing'; it has evil, touched_share"),
        ("![[sample@v2]]", "only a figure"),
        ("![[sample@v2#<script>]]", "has no anchor"),
    ],
)
def test_unknown_references_are_marked_and_named(known: journal.References, text: str, reason: str) -> None:
    html, (problem,) = shown(known, f"# Title\n\nA line.\n\n{text}\n")
    assert (problem.line, problem.literal) == (5, text)
    assert reason in problem.reason
    assert '<mark class="tracegen-unknown"' in html and "<script" not in html


def test_the_same_unknown_reference_twice(known: journal.References) -> None:
    _, problems = shown(known, "[[a@v1]]\n\nx\n\n[[a@v1]]\n")
    assert [problem.line for problem in problems] == [1, 5]
