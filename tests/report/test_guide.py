"""The reading guide is made of the definitions that the code uses, and every page leads to it."""

import re
from html import unescape
from pathlib import Path

import pytest

from tests.builders import scaled_case
from tests.report.rendered import rendered
from tracegen.charts import theme
from tracegen.contract import tables
from tracegen.contract.model import CheckState, Verdict
from tracegen.report.document.page import Report
from tracegen.report.pages.guide import guide
from tracegen.report.words import terms as words


@pytest.fixture(scope="module")
def report() -> Report:
    return rendered(scaled_case(1, 1))


@pytest.fixture(scope="module")
def style() -> str:
    return (Path(__file__).parents[2] / "templates/assets/styles/guide.css").read_text(encoding="utf-8")


def test_every_word_of_the_contract_is_explained_once() -> None:
    said = {group.key: [word.name for word in group.words] for group in guide()["groups"]}
    assert said == {
        "groups": list(theme.GROUPS),
        "memory": [{"disk": "mapped"}.get(kind, kind) for kind in tables.MEMORY_KINDS],  # as pages call them
        "threads": ["work", *theme.STATE_COLOURS],
        "passes": list(tables.PASS_KINDS),
        "states": list(tables.OP_STATES),
        "checks": [*Verdict.__args__, *CheckState.__args__],
    }
    assert set(words.GROUPS) == set(theme.GROUPS)
    assert "“disk”" in next(group.note for group in guide()["groups"] if group.key == "memory")


def test_what_a_thread_does_has_the_colour_of_the_charts(style: str) -> None:
    variables = {light: name for name, light, _ in theme.INK.values()}
    for state, colour in theme.STATE_COLOURS.items():
        assert f'.tg-dot[data-group="{state}"] {{ background: var({variables[colour]}); }}' in style


def test_a_group_names_its_components() -> None:
    meanings = {word.name: word.meaning for word in guide()["groups"][0].words}
    for component, group in theme.GROUP_OF.items():
        several = sum(other == group for other in theme.GROUP_OF.values()) > 1
        assert (f"{component}" in meanings[group].partition("Components: ")[2].rstrip(".").split(", ")) == several


def test_load_and_warm_up_are_said_to_be_outside() -> None:
    passes = next(group for group in guide()["groups"] if group.key == "passes")
    outside = {word.name for word in passes.words if "Left out of every statistic" in word.meaning}
    assert outside == {"load", "warmup"}


def test_the_method_ends_with_the_guide_and_every_page_leads_to_it(report: Report) -> None:
    for page in report.pages:
        assert page.body.count('id="reading-guide"') == (page.key == "method")
        assert f'href="{page.up}method/index.html#reading-guide"' in page.body.partition("</header>")[0], page.key
    method = next(page.body for page in report.pages if page.key == "method")
    assert method.index('id="reading-guide"') > method.index('id="tab-downloads"')


def test_the_guide_has_every_column_with_its_meaning(report: Report) -> None:
    text = unescape(next(p.body for p in report.pages if p.key == "method").partition('id="guide-columns"')[2])
    rows = re.findall(r'<th scope="row" class="tg-code">(.*?)</th><td>(.*?)</td><td>(.*?)</td>', text)
    expected = [
        (c.name, c.meaning + (f": {', '.join(c.values)}" if c.values else ""), c.unit)
        for table in tables.TABLES
        for c in table.columns
    ]
    assert rows == expected
