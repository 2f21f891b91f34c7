"""Links between a run and the trials of its remedies: on the site where both are, plain names elsewhere."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_run
from tests.builders.runs import with_groups
from tests.comparing.made import slot
from tests.publishing.test_tried import TRIED
from tests.report.rendered import rendered
from tests.site.test_comparisons import TABLES, stored_run
from tests.stand_in import NOW
from tracegen.publishing import privacy
from tracegen.publishing import versions as publish
from tracegen.publishing.tried import FILE
from tracegen.site import gather

pytestmark = pytest.mark.usefixtures("empty_figures")
TRIAL = "demo-run-003-memory"


def project(experiments: Path, of: str = "demo/run-003") -> None:
    """A version of a run whose page says what was tried, and the experiment of the trial with runs of both cells."""
    tried = {**TRIED, "of": of}
    public = privacy.public_run(with_groups(stored_run(experiments, "demo", 3), tried=[tried]))
    report = rendered(TABLES, with_groups(a_run(), tried=[tried]))
    publish.publish(experiments / "demo", public, lambda planned: report, "why", NOW)
    for number, limit in enumerate(("0.5", "1.5"), 1):
        stored_run(experiments, TRIAL, number, slot=slot(1, memory_limit_gb=limit))
    (experiments / TRIAL / FILE).write_text(json.dumps({"tried": tried}))


def pages(experiments: Path, cache: Path) -> dict[str, str]:
    site = gather.gather(experiments, cache, drafts=0)
    site.drawing.close()
    return {page.path: page.content() for page in site.pages.values()}


def linked(pages: dict[str, str], path: str, words: str) -> list[str]:
    """The pages that links with these words lead to."""
    hrefs = re.findall(rf'<a href="([^"]*)">{words}</a>', pages[path])
    return ["/".join(Path("/", path).parent.joinpath(href).resolve().parts[1:]) for href in hrefs]


@pytest.mark.parametrize("of", ["demo/run-003", "demo@v1"])
def test_run_and_trial_lead_to_each_other(of: str, tmp_path: Path) -> None:
    project(tmp_path / "experiments", of)
    found = pages(tmp_path / "experiments", tmp_path / "cache")
    for page in ("", "file/"):
        to_trial = linked(found, f"experiments/demo/v1/{page}index.html", f"tried in {TRIAL}")
        assert to_trial == [f"experiments/{TRIAL}/index.html"]
    for page in ("matrix/", "matrix/effect-1/"):
        to_run = linked(found, f"experiments/{TRIAL}/{page}index.html", f"prediction of {of}")
        assert to_run == ["experiments/demo/v1/index.html"]
    assert linked(found, f"experiments/{TRIAL}/index.html", f"Prediction of {of}") == ["experiments/demo/v1/index.html"]
    assert {*to_trial, *to_run} <= found.keys()


def test_without_the_other_side_names_stay_plain(tmp_path: Path) -> None:
    project(tmp_path / "experiments")
    alone: Any = tmp_path / "experiments/demo/versions/1/index.html"
    text = alone.read_text(encoding="utf-8")
    assert f"experiment {TRIAL}" in text and not re.search(rf'href="[^"]*{TRIAL}', text)
    (tmp_path / "experiments" / TRIAL / FILE).unlink()
    found = pages(tmp_path / "experiments", tmp_path / "cache")
    assert not any("tried in" in page or "rediction of demo" in page for page in found.values())
