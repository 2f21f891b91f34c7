"""The measures of a run against sums in plain loops over its tables."""

from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case
from tests.report.rendered import CASES, rendered
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.measure_families import BY, FAMILIES
from tracegen.analysis.measures import ASKED, COLUMNS, MEASURES, OF_SOME_RUNS, compared
from tracegen.contract.model import Check

MOE = scaled_case(3, 2, moe=True, splits=2)


def value(table: pd.DataFrame, key: str) -> float | None:
    rows = table[table["key"] == key]
    assert len(rows) <= 1
    return float(rows["value"].iloc[0]) if len(rows) else None


@pytest.mark.parametrize("case", CASES)
def test_any_run_has_measures_each_of_them_once(case: str) -> None:
    table = compared(Analyses(a_run(), CASES[case]))
    assert list(table.columns) == COLUMNS and table["value"].notna().all()
    assert not table.duplicated(["key"]).any() and not table.duplicated(["phase", "by", "item", "label"]).any()
    assert set(table["by"]) <= set(BY) and set(table["kind"]) <= {"counted", "timed"}
    assert set(table["unit"]) <= {"ns", "bytes", "tokens/s", "share", ""}


@pytest.mark.parametrize("case", CASES)
def test_published_values_are_measures_and_equal_those_of_comparisons(case: str) -> None:
    table, values = compared(Analyses(a_run(), CASES[case])), rendered(CASES[case]).values
    assert {measure.key for measure in MEASURES} - set(OF_SOME_RUNS) <= set(values)
    others = set(values) - {measure.key for measure in MEASURES}
    families = tuple(f"{family.key}_" for family in FAMILIES if family.published)
    assert all(key.startswith(families) for key in others)
    for key in set(table["key"]) & set(values):
        published = values[key]["value"]
        assert value(table, key) == (None if published is None else pytest.approx(float(str(published)))), key


def test_what_comparisons_are_made_for_are_timed_measures() -> None:
    assert {measure.key for measure in MEASURES if measure.kind == "timed" and measure.compared} >= set(ASKED)
    assert len({measure.key for measure in MEASURES}) == len(MEASURES) == len({m.label for m in MEASURES})


def test_operations_and_times_add_up() -> None:
    table, passes = compared(Analyses(a_run(), MOE)), MOE["passes"].set_index("pass_id")
    kinds = MOE["graph_nodes"].set_index(["graph", "node"])["op"]
    n_ops: Counter[tuple[str, str]] = Counter()
    took: Counter[tuple[str, str]] = Counter()
    for op in MOE["ops"].itertuples():
        kind = passes.loc[op.pass_id, "kind"]
        if kind in ("prompt", "generate") and op.state == "executed":
            key = (str(kind), str(kinds[passes.loc[op.pass_id, "graph"], op.node]))
            n_ops[key] += 1
            took[key] += int(op.end_ns) - int(op.begin_ns)
    rows = {kind: int(passes.loc[passes["kind"] == kind, "n_tokens"].sum()) for kind in ("prompt", "generate")}
    assert n_ops
    for (phase, op_kind), n in n_ops.items():
        assert value(table, f"n_ops_{phase}_{op_kind}") == n
        per_token = took[phase, op_kind] / rows[phase]
        assert value(table, f"op_ns_per_token_{phase}_{op_kind}") == pytest.approx(per_token)


def test_choices_of_experts_are_counted() -> None:
    table, generate = compared(Analyses(a_run(), MOE)), MOE["passes"]
    generate = generate[(generate["kind"] == "generate").fillna(False)]["pass_id"]
    chosen = Counter((int(c.layer), int(c.expert)) for c in MOE["routing"].itertuples() if c.pass_id in set(generate))
    found = table[table["by"] == "expert"]
    assert sum(found["value"]) == sum(chosen.values()) > 0
    for (layer, expert), n in chosen.items():
        assert value(table, f"n_tokens_generate_{layer}_expert_{expert}") == n


def test_bytes_of_parts_and_layers_are_those_of_passes() -> None:
    table = compared(Analyses(a_run(), MOE))
    for phase in ("prompt", "generate"):
        for memory in ("mapped", "copied", "in buffers"):
            rows = table[(table["phase"] == phase) & (table["label"] == f"touched per pass, {memory}")]
            of = rows.groupby("by")["value"].sum()
            assert of["component"] == pytest.approx(of["layer"]), (phase, memory)


def test_what_it_takes_until_the_first_token() -> None:
    """Load, warm-up and prompt passes together, without what lies between them; and what loading read."""
    tables = dict(scaled_case(3, 2))
    passes = tables["passes"]
    read = pd.array([700 if kind == "load" else 5 for kind in passes["kind"]], dtype="Int64")
    tables["passes"] = passes.assign(read_bytes=read)
    table = compared(Analyses(a_run(), tables))
    rows = tables["passes"].to_dict("records")
    spent = [row["end_ns"] - row["begin_ns"] for row in rows if row["kind"] in ("load", "warmup", "prompt")]
    assert {row["kind"] for row in rows} >= {"load", "warmup", "prompt", "generate"}
    assert value(table, "ttft_ns") == sum(spent)
    assert value(table, "load_ns") == rows[0]["end_ns"] - rows[0]["begin_ns"] == 1_899_000
    assert value(table, "disk_read_bytes_load") == 700
    assert value(table, "disk_read_bytes") == 5 * sum(row["kind"] in ("prompt", "generate") for row in rows)


@pytest.mark.parametrize("loads", [0, 2])
def test_without_one_load_nothing_is_said_of_the_first_token(loads: int) -> None:
    tables = dict(scaled_case(3, 2))
    kinds = tables["passes"]["kind"].astype("object").tolist()
    changed = ["warmup" if loads == 0 else "load"] + (kinds[1:] if loads == 0 else ["load", *kinds[2:]])
    tables["passes"] = tables["passes"].assign(kind=pd.Categorical(changed, tables["passes"]["kind"].cat.categories))
    table = compared(Analyses(a_run(), tables))
    for key in ("ttft_ns", "disk_read_bytes_load", "load_ns"):
        assert value(table, key) is None


def test_a_run_without_a_prompt_has_no_first_token() -> None:
    tables = dict(CASES["only a load"])
    table = compared(Analyses(a_run(), tables))
    assert value(table, "ttft_ns") is None


@pytest.mark.parametrize(
    ("check", "missing"),
    [
        ("faults_recorded", {"disk_wait_ns_per_token", "processor_wait_ns_per_token"}),
        ("monotone_time", {"ttft_ns", "load_ns", "token_ns_median", "tokens_per_second_generate"}),
        ("dropped_events", {"disk_read_bytes", "disk_read_bytes_generate", "major_page_faults", "touched_bytes"}),
    ],
)
def test_a_failed_check_withholds_what_it_makes_false(check: str, missing: set[str]) -> None:
    run = replace(a_run(), checks=(Check(check, check, "failed", "17", "0"),))
    values = rendered(CASES["dense"], run).values
    assert {key for key in missing if values[key] != values[key] | {"value": None, "text": "not shown"}} == set()
    assert values["prompt_tokens"]["value"] is not None
