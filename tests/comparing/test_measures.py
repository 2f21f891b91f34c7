"""The measures of a run against sums in plain loops over its tables."""

from collections import Counter

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case
from tests.pages.rendered import CASES, rendered
from tracegen.comparing.measures import AFTER_LOADING, BY, COLUMNS, UNTIL_FIRST_TOKEN, WHILE_LOADING, measures
from tracegen.comparing.rules import NAMES
from tracegen.report.figures.context import Context

MOE = scaled_case(3, 2, moe=True, splits=2)


def value(table: pd.DataFrame, phase: str, by: str, item: str, what: str) -> float | None:
    rows = table[(table["phase"] == phase) & (table["by"] == by) & (table["item"] == item) & (table["what"] == what)]
    assert len(rows) <= 1
    return float(rows["value"].iloc[0]) if len(rows) else None


@pytest.mark.parametrize("case", CASES)
def test_any_run_has_measures_each_of_them_once(case: str) -> None:
    table = measures(Context(a_run(), CASES[case]))
    assert list(table.columns) == COLUMNS and table["value"].notna().all()
    assert not table.duplicated(["phase", "by", "item", "what"]).any()
    assert set(table["by"]) <= set(BY) and set(table["kind"]) <= {"counted", "timed"}
    assert set(table["unit"]) <= {"ns", "bytes", "tokens/s", ""}


@pytest.mark.parametrize("case", ["dense", "experts", "one token"])
def test_key_figures_are_those_of_the_pages(case: str) -> None:
    table, values = measures(Context(a_run(), CASES[case])), rendered(CASES[case]).values
    for name, (phase, what) in NAMES.items():
        if name in values:
            published = values[name]["value"]
            found = value(table, phase, "run", "", what)
            assert found == (None if published is None else pytest.approx(float(str(published)))), name
    shared = set(NAMES) & set(values)
    assert {"tokens_per_second_prompt", "ops_per_token", "peak_buffer_bytes"} <= shared


def test_operations_and_times_add_up() -> None:
    table, passes = measures(Context(a_run(), MOE)), MOE["passes"].set_index("pass_id")
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
        assert value(table, phase, "op", op_kind, "operations") == n
        per_token = took[phase, op_kind] / rows[phase]
        assert value(table, phase, "op", op_kind, "time for a token") == pytest.approx(per_token)


def test_choices_of_experts_are_counted() -> None:
    table, generate = measures(Context(a_run(), MOE)), MOE["passes"]
    generate = generate[(generate["kind"] == "generate").fillna(False)]["pass_id"]
    chosen = Counter((int(c.layer), int(c.expert)) for c in MOE["routing"].itertuples() if c.pass_id in set(generate))
    found = table[table["by"] == "expert"]
    assert sum(found["value"]) == sum(chosen.values()) > 0
    for (layer, expert), n in chosen.items():
        assert value(table, "generate", "expert", f"layer {layer}, expert {expert}", "times chosen") == n


def test_bytes_of_parts_and_layers_are_those_of_passes() -> None:
    table = measures(Context(a_run(), MOE))
    for phase in ("prompt", "generate"):
        for memory in ("mapped", "copied", "in buffers"):
            rows = table[(table["phase"] == phase) & (table["what"] == f"touched in a pass, {memory}")]
            of = rows.groupby("by")["value"].sum()
            assert of["component"] == pytest.approx(of["layer"]), (phase, memory)


def test_what_it_takes_until_the_first_token() -> None:
    """Load, warm-up and prompt passes together, without what lies between them; and what loading read."""
    tables = dict(scaled_case(3, 2))
    passes = tables["passes"]
    read = pd.array([700 if kind == "load" else 5 for kind in passes["kind"]], dtype="Int64")
    tables["passes"] = passes.assign(read_bytes=read)
    table = measures(Context(a_run(), tables))
    rows = tables["passes"].to_dict("records")
    spent = [row["end_ns"] - row["begin_ns"] for row in rows if row["kind"] in ("load", "warmup", "prompt")]
    assert {row["kind"] for row in rows} >= {"load", "warmup", "prompt", "generate"}
    assert value(table, "", "run", "", UNTIL_FIRST_TOKEN) == sum(spent)
    assert value(table, "", "run", "", "loading the model") == rows[0]["end_ns"] - rows[0]["begin_ns"] == 1_899_000
    assert value(table, "", "run", "", WHILE_LOADING) == 700
    assert value(table, "", "run", "", AFTER_LOADING) == 5 * sum(row["kind"] in ("prompt", "generate") for row in rows)


@pytest.mark.parametrize("loads", [0, 2])
def test_without_one_load_nothing_is_said_of_the_first_token(loads: int) -> None:
    tables = dict(scaled_case(3, 2))
    kinds = tables["passes"]["kind"].astype("object").tolist()
    changed = ["warmup" if loads == 0 else "load"] + (kinds[1:] if loads == 0 else ["load", *kinds[2:]])
    tables["passes"] = tables["passes"].assign(kind=pd.Categorical(changed, tables["passes"]["kind"].cat.categories))
    table = measures(Context(a_run(), tables))
    for what in (UNTIL_FIRST_TOKEN, WHILE_LOADING, "loading the model"):
        assert value(table, "", "run", "", what) is None


def test_a_run_without_a_prompt_has_no_first_token() -> None:
    tables = dict(CASES["only a load"])
    table = measures(Context(a_run(), tables))
    assert value(table, "", "run", "", UNTIL_FIRST_TOKEN) is None
