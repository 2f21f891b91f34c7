"""The steps between versions: which became better or worse, by the comparison that the site has of each."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.trend_site import VERSIONS, shared_steps_site
from tracegen.publishing.bundle import Bundle
from tracegen.site import gather
from tracegen.site.comparisons import Asked, Compared
from tracegen.site.outcomes import Outcome, outcome
from tracegen.site.trend import Trend, trend

WORSE = {"kind": "timed", "measure": "generation, speed", "change": "−5 %", "better": False}
COUNTED = {"kind": "counted", "measure": "passes", "change": "+1", "better": None}


def compared(slug: str, document: dict[str, Any] | None) -> Compared:
    bundle = None if document is None else Bundle(Path("x"), document)
    return Compared(Asked("a", slug, ("a@v1", "a@v2"), Path("x")), bundle, "why not")


def test_an_outcome_is_that_of_the_newer_version() -> None:
    """Whichever version it was compared with, and not of a comparison that mkdocs.yml names."""
    listed = [
        compared("with-a-v1-a-v12", {}),
        compared("matrix", {}),
        compared("v12-from-v9", {"findings": [WORSE, {**WORSE, "better": True, "change": "+5 %"}, COUNTED]}),
        compared("v2-from-v1", {"findings": [], "timed": "not enough runs"}),
        compared("v3-from-v2", None),
    ]
    found = outcome(listed, "v12")
    assert found == Outcome(
        "v9", "v12-from-v9", ("generation, speed −5 %",), ("generation, speed +5 %",), ("passes +1",)
    )
    assert found.kinds == "worse better" and found.rest == ""
    assert [label for label, _ in found.lines] == ["Worse", "Better", "Counted differently"]
    second = outcome(listed, "v2")
    assert second is not None and (second.kinds, list(second.lines)) == ("", [])
    assert second.rest == "timed: not enough runs to tell; counted key figures: equal; "
    assert outcome(listed, "v3") == Outcome("v2") and outcome(listed, "v1") is None


@pytest.mark.parametrize(
    ("document", "found"),
    [
        *(
            (other, Outcome("v1"))
            for other in (
                {},
                {"findings": None},
                {"findings": {"kind": "timed"}},
                {"findings": ["worse", 3, None]},
                {"timed": 3},
            )
        ),
        ({"findings": [{"better": False}], "timed": "<b>"}, Outcome("v1", "v2-from-v1")),
        ({"findings": [{**WORSE, "better": "no"}], "timed": 3}, Outcome("v1", "v2-from-v1")),
    ],
)
def test_other_data_is_no_comparison_and_a_row_of_no_kind_no_outcome(document: dict[str, Any], found: Outcome) -> None:
    assert outcome([compared("v2-from-v1", document)], "v2") == found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_steps_site(tmp_path_factory)


@pytest.fixture(scope="module")
def shown(site: Path) -> Trend:
    gathered = gather.gather(site / "experiments", site / ".tracegen" / "cache")
    gathered.drawing.close()
    found = trend(gathered.entries[0])
    assert found is not None
    return found


def test_each_step_says_what_its_runs_say(shown: Trend) -> None:
    """Compared with the numbers in trend_site.VERSIONS: a change of 20 % and more in 7 runs, none in 3."""
    by_name = {step.name: step.outcome for step in shown.steps}
    assert list(by_name) == [f"v{n}" for n in range(len(VERSIONS), 1, -1)]
    assert by_name["v2"] is None
    known = {name: of for name, of in by_name.items() if of}
    assert {name: (of.worse, of.better, of.counted, of.timed) for name, of in known.items()} == {
        "v7": ((), (), (), "not enough runs to tell"),
        "v6": ((), ("generation, speed +25.0 %",), (), ""),
        "v5": ((), (), (), "same within 5 %"),
        "v4": (
            ("prompt, speed −30.0 %",),
            ("generation, speed +50.0 %",),
            ("generation, operations of a token +2.8 %",),
            "",
        ),
        "v3": (("generation, speed −20.8 %",), (), (), ""),
    }
    assert all(of.slug == f"{name}-from-{of.against}" for name, of in known.items())
    assert shown.not_compared is not None and shown.not_compared.name == "v2"


def test_the_page_links_each_comparison(site: Path) -> None:
    html = (site / "site" / "experiments" / "steps" / "index.html").read_text(encoding="utf-8")
    steps = html[html.index('class="tracegen-steps"') : html.index('id="comparisons"')]
    links = re.findall(r'<a href="(v\d-from-v\d)/index.html">compared with', steps)
    assert links == ["v7-from-v6", "v6-from-v5", "v5-from-v4", "v4-from-v3", "v3-from-v2"]
    assert all((site / "site" / "experiments" / "steps" / link / "index.html").is_file() for link in links)
    assert steps.count("not compared") == 1
    assert "<code>tracegen compare steps@v1 steps@v2</code>" in steps
    assert re.findall(r'data-step="(.*?)"', steps) == ["", "better", "", "worse better", "worse", ""]
    assert '<form class="tracegen-filters tracegen-steps-shown" aria-label="Which steps" hidden>' in html
