"""Links to other files become text, and what stands for them goes."""

import pytest

from tracegen.export.unlinked import SAYS_SO, unlinked


@pytest.mark.parametrize(
    ("body", "becomes"),
    [
        ('<p id="a">x</p><a href="#a">y</a>', '<p id="a">x</p><a href="#a">y</a>'),
        ('<p id="a">x</p><a href="index.html#a">y</a>', '<p id="a">x</p><a href="#a">y</a>'),
        ('<a href="#b">y</a>', "<span>y</span>"),
        (
            '<a class="c" title="t &lt; u" href="memory/index.html#a">y &amp; z</a>',
            '<span class="c" title="t &lt; u">y &amp; z</span>',
        ),
        ('<a href="data/x.csv" download>CSV</a>', "<span>CSV</span>"),
        (
            '<svg viewBox="0 0 1 1"><a xlink:href="x.html" class="c"><path/></a></svg>',
            '<svg viewBox="0 0 1 1"><g class="c"><path/></g></svg>',
        ),
        ('a <span class="tg-links"><a href="x">CSV</a> <span>·</span></span>b', "a b"),
        ('x <a class="tg-figure-of" href="memory/index.html#f">figure</a>.', "x ."),
        (
            '<i id="f"></i><a class="tg-figure-of" href="index.html#f">x</a>',
            '<i id="f"></i><a class="tg-figure-of" href="#f">x</a>',
        ),
        ('<div class="tg-scripted" hidden><div id="a"></div><br></div><a href="#a">y</a>', "<span>y</span>"),
        ("a<script>if (a < b) {}</script>b", "ab"),
        ('a<img src="x.png">b<img src="data:image/png;base64,AA">', 'ab<img src="data:image/png;base64,AA">'),
        ('<div data-targets="figures/x.js" data-key="x">y</div>', '<div data-key="x">y</div>'),
        ("&#60;a href=x&gt; &notanentity; <!-- y -->", "&#60;a href=x&gt; &notanentity; "),
        ("<a>y</a>", "<span>y</span>"),
    ],
)
def test_what_becomes_of_a_link(body: str, becomes: str) -> None:
    assert unlinked(body) == becomes


def test_what_a_page_says_of_its_links_goes_with_them() -> None:
    assert unlinked(f"<p>A space is “·”. {SAYS_SO[0]}</p>") == "<p>A space is “·”. </p>"
    assert unlinked(f"<p>Means of 4 executions{SAYS_SO[1]}.</p>") == "<p>Means of 4 executions.</p>"
