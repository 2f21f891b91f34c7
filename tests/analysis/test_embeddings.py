"""Runs of embeddings have figures of a pass; those of prompt and tokens do not apply to them."""

import re

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case
from tests.report.rendered import body, rendered
from tracegen.analysis import operations, passes, summary
from tracegen.contract import quantities as q
from tracegen.reading.shown.figures import key_figures
from tracegen.reading.shown.words import in_words


def of_embeddings(kind: str = "mixed") -> dict[str, pd.DataFrame]:
    """The tables of a run whose passes are of this kind, and whose graphs end with the embeddings."""
    case = scaled_case(2, 1)
    rows, nodes = case["passes"].copy(), case["graph_nodes"].copy()
    inside = ~rows["kind"].isin(passes.OUTSIDE)
    rows["kind"] = rows["kind"].astype(object).where(~inside, kind).astype(rows["kind"].dtype)
    rows["produced_token"] = pd.array([pd.NA] * len(rows), "Int32")
    last = nodes[nodes["kind"] == "op"].groupby("graph")["node"].transform("max").eq(nodes["node"]).fillna(False)
    nodes.loc[last.reindex(nodes.index, fill_value=False), "name"] = summary.POOLED
    return {**case, "passes": rows, "graph_nodes": nodes}


@pytest.mark.parametrize("kind", ["mixed", "encode"])
def test_bytes_of_a_pass_of_embeddings(kind: str) -> None:
    tables = of_embeddings(kind)
    ops = operations.op_rows(tables)
    found = summary.embeddings(tables, ops)
    each = summary.pass_bytes(passes.measured(tables), ops).set_index("pass_id")
    assert found and found.n_passes == len(each) > 1
    assert found.weight_bytes == int((each["disk_bytes"] + each["copied_bytes"]).astype(float).median()) > 0
    assert found.touched_bytes == int(each.sum(axis=1).astype(float).median()) > found.weight_bytes


def test_other_runs_are_no_runs_of_embeddings() -> None:
    case, tables = scaled_case(2, 1), of_embeddings()
    for other in (
        case,
        {**tables, "passes": case["passes"]},  # a context that gives embeddings and generates
        {**tables, "graph_nodes": case["graph_nodes"]},  # mixed passes of several sequences
        {**tables, "passes": tables["passes"].assign(graph=pd.array([pd.NA] * len(tables["passes"]), "Int32"))},
        {**tables, "passes": tables["passes"][:0]},
    ):
        assert summary.embeddings(other, operations.op_rows(other)) is None


def test_show_and_pages_call_figures_of_tokens_not_applicable() -> None:
    tables, run = of_embeddings(), a_run()
    found = summary.embeddings(tables, operations.op_rows(tables))
    assert found
    figures = key_figures(run, tables)
    assert figures["measures"]["weight_bytes_per_pass"]["value"] == found.weight_bytes
    assert "weight_bytes_per_pass" not in key_figures(run, scaled_case(2, 1))["measures"]
    words = in_words(figures)
    named = {key for key, text in words.items() if text == q.NOT_APPLICABLE}
    assert named >= {
        "prompt speed, mean",
        "generation speed, mean",
        "operations per token, median",
        "weights touched per token, median",
    }
    assert words["weights touched per pass, median"] and words["touched per pass in total, median"]
    assert not [key for key, text in words.items() if text is None and "token" in key]
    report = rendered(tables, run)
    overview = body(report, "overview")
    shown = dict(re.findall(r'id="value-(\w+)"[^>]*>.*?<strong>([^<]*)</strong>', overview))
    assert shown["weight_bytes_per_pass"] == q.size(found.weight_bytes)
    assert shown["bytes_touched_per_pass"] == q.size(found.touched_bytes)
    for key in ("tokens_per_second_prompt", "tokens_per_second_generate", "weight_bytes_per_token"):
        assert shown[key] == q.NOT_APPLICABLE
    assert report.values["prompt_tokens"]["text"] == q.NOT_APPLICABLE
    assert "weight_bytes_per_pass" not in rendered(scaled_case(2, 1), run).values
    assert "speeds of prompt and generation do not apply" in overview
