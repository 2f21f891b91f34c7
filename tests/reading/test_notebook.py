"""In a notebook each figure of the pages is a chart: the same data, title and refusals."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import pytest

import tracegen
from tests.builders import a_moe_run, a_run, scaled_case, with_footprint
from tests.charts.expanded import expanded
from tests.drawn import empty_figures
from tests.report.rendered import Undrawn, render
from tests.report.test_explain import PAGE, with_residency
from tests.site_project import stored
from tests.stand_in import NOW
from tracegen.charts import pointing
from tracegen.charts.policy import with_policy
from tracegen.contract.errors import FigureError, StoreError
from tracegen.contract.model import Check, Run
from tracegen.publishing.freeze import freeze
from tracegen.reading.notebook.loaded import LoadedRun, LoadedTables, LoadedVersion
from tracegen.report.document.page import Report
from tracegen.report.figures.catalogue import CHARTS

MOE = with_footprint(scaled_case(2, 2, moe=True))
HOST = dict(memory_bytes=8 << 30, page_bytes=PAGE)
RUN, MOE_RUN = a_run(host=HOST), a_moe_run(host=HOST)


def a_loaded(tables: Mapping[str, pd.DataFrame] = MOE, run: Run = MOE_RUN) -> LoadedRun:
    return LoadedRun(LoadedTables("demo/run-003", tables), run)


@pytest.fixture(scope="module")
def report() -> Report:
    return render(MOE, MOE_RUN, executor=Undrawn())


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    """The chart of each figure, which is checked against the schema of Vega-Lite as it becomes a document."""
    charts = a_loaded().charts
    made = {key: getattr(charts, key.replace("-", "_"))() for key in set(CHARTS) - OF_SOME_RUNS}
    assert all(isinstance(chart, alt.TopLevelMixin) for chart in made.values())
    return {key: chart.to_dict() for key, chart in made.items()}


OF_SOME_RUNS = {
    "residency",
    "resident-groups",
    "disk-split",
    "disk-map",
    "experts-next",
    "memory-speed",
    "prompt-slots",
}


def bare(document: Any) -> Any:
    """A chart's document without what the notebook adds."""
    if isinstance(document, dict):
        return {k: bare(v) for k, v in document.items() if k not in ("tooltip", "config", "$schema")}
    return [bare(part) for part in document] if isinstance(document, list) else document


def test_every_chart_is_the_one_that_the_page_draws(report: Report, documents: dict[str, Any]) -> None:
    titles = {figure.key: figure.title for figure in report.figures}
    assert {key for key in titles if not key.startswith("graph-")} == documents.keys()
    for key, document in documents.items():
        assert document["title"]["text"] == titles[key]
        published = expanded(report.files[f"figures/{key}.vl.json"])
        untitled = {name: part for name, part in document.items() if name != "title"}
        assert bare(untitled) == bare(published), key
        assert document["config"]["axis"] == published["config"]["axis"], key


def test_every_mark_with_data_has_a_tooltip_of_what_it_is(documents: dict[str, Any]) -> None:
    for key, document in documents.items():
        tooltips = [
            [field["field"] for field in part["encoding"]["tooltip"]]
            for part, _ in pointing._parts(document, document)
            if "tooltip" in part.get("encoding", {})
        ]
        assert tooltips and all(names and not set(names) & set(pointing.LOOKS) for names in tooltips), key
    cells = json.dumps(documents["heatmap"]["vconcat"][1])
    assert '{"field": "used"' in cells and '{"field": "memory"' in cells


def test_the_list_of_charts() -> None:
    charts = a_loaded().charts
    names = {*(key.replace("-", "_") for key in CHARTS), "graph"}
    assert set(dir(charts)) == names
    listed = [line.split("()")[0] for line in repr(charts).splitlines()]
    assert set(listed) == names and len(listed) == len(names)
    assert all(len(line.split("()")[1].strip()) > 20 for line in repr(charts).splitlines())
    with pytest.raises(AttributeError, match=r"there is no figure 'heat'; there are: .*heatmap"):
        _ = charts.heat


def test_the_threads_of_any_measured_pass() -> None:
    charts, spans = a_loaded().charts, MOE["spans"]
    for pass_id in (2, 4):
        shown = charts.timeline(pass_id=pass_id).to_dict()
        (rows,) = shown["datasets"].values()
        passes = MOE["passes"].set_index("pass_id")
        begin = spans.loc[spans["pass_id"] == pass_id, "begin_ns"].min() - passes.loc[pass_id, "begin_ns"]
        assert min(row["begin"] for row in rows) * (1e6 if "ms" in json.dumps(shown["encoding"]["x"]) else 1e3) == (
            pytest.approx(begin)
        )
    with pytest.raises(FigureError, match="timeline: Pass 1 is not a measured pass"):
        charts.timeline(pass_id=1)


def test_graphs_are_drawings(report: Report) -> None:
    charts = a_loaded().charts
    assert with_policy(charts.graph()._repr_svg_()).encode() == report.files["figures/graph-0.svg"]
    assert with_policy(charts.graph(block=1).svg).encode() == report.files["figures/graph-0-block-1.svg"]
    assert repr(charts.graph()).startswith("<graph: ")
    for wanted in (dict(number=1), dict(block=99), dict(number=-1)):
        with pytest.raises(FigureError, match="counted from 0"):
            charts.graph(**wanted)


def test_what_a_page_refuses_is_an_error_with_its_reason() -> None:
    failed = Check("dropped_events", "No event was dropped", "failed", "3", "0")
    with pytest.raises(FigureError, match=r"heatmap: Not drawn: .*“No event was dropped” failed \(3; limit 0\)"):
        a_loaded(run=a_moe_run(checks=(failed,))).charts.heatmap()
    with pytest.raises(FigureError, match="tokens: This run has no generate pass"):
        a_loaded(scaled_case(0, 1)).charts.tokens()
    with pytest.raises(FigureError, match="experts-load: only for a model with experts"):
        a_loaded(scaled_case(1, 1), RUN).charts.experts_load()


def test_a_table_that_is_not_there_is_named() -> None:
    tables = {name: table for name, table in MOE.items() if name != "spans"}
    with pytest.raises(StoreError, match="holds no table 'spans'"):
        a_loaded(tables).charts.timeline()


def test_a_version_gives_the_charts_and_checks_of_its_run(here: Path) -> None:
    tables = with_residency()
    run = stored(Path("experiments"), RUN, tables)
    with empty_figures():
        freeze(Path("experiments/demo"), run, "First.", NOW)
    version, loaded = tracegen.load("demo@v1"), tracegen.load("demo")
    assert isinstance(version, LoadedVersion)
    pd.testing.assert_frame_equal(version.checks, loaded.checks)
    for key in ("heatmap", "components", "residency"):
        assert getattr(version.charts, key)().to_dict() == getattr(loaded.charts, key)().to_dict(), key


def test_the_sample_that_comes_with_tracegen_draws() -> None:
    sample = tracegen.load(Path(__file__).parents[2] / "experiments" / "sample" / "versions" / "1")
    assert sample.charts.heatmap().to_dict()["title"]["text"]
    assert "one_run_id" in set(sample.checks["key"])
