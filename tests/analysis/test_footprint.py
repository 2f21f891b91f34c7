"""What fills the memory: each sample is added up by itself, and growth is found where it was planted."""

from collections import defaultdict

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case, with_footprint
from tests.builders.footprint import FIXED, HEAP, MIB
from tracegen.analysis import footprint
from tracegen.analysis.buffers import buffer_groups
from tracegen.report.figures.context import Context
from tracegen.report.findings import growth
from tracegen.report.findings.answer import quick

N_PASSES = 9


def case(**more: int) -> dict[str, pd.DataFrame]:
    return with_footprint(scaled_case(N_PASSES, 2), **more)


def test_the_groups_of_a_sample_are_its_mappings_without_what_lies_inside() -> None:
    tables = case(state_bytes=3 * MIB, heap_bytes=MIB)
    names = buffer_groups(tables)
    expected: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in tables["footprint"].to_dict("records"):
        kind, size, of = row["kind"], int(row["resident_bytes"]), expected[row["sample"]]
        if kind == "buffer":
            of[footprint.GROUPS[names[int(row["buffer_id"])]]] += size
            of["other memory"] -= size
        elif kind == "saved":
            of["saved states"] += size
            of["other memory"] -= size
        elif kind != "process":
            of[footprint.GROUPS[kind]] += size
    found = footprint.footprint(tables)
    for sample, rows in found.groupby("sample"):
        sizes = dict(zip(rows["group"], rows["resident_bytes"], strict=True))
        assert sizes == dict(expected[int(str(sample))])
    assert found["sample"].nunique() == len(expected) > N_PASSES
    assert found.loc[found["group"].eq("model file"), "resident_bytes"].eq(FIXED["model"]).all()


def test_saved_states_that_grow_are_counted() -> None:
    tables = case(state_bytes=3 * MIB)
    found = footprint.growth(tables)
    assert found is not None and found.group == "saved states"
    # from the sample after the first generated token to the last one
    n = tables["footprint"].query("occasion == 'pass'")["sample"].nunique()
    generated = tables["passes"].query("kind == 'generate'")
    assert found.grown_bytes == found.group_bytes == 3 * MIB * (len(generated) - 1)
    assert found.n_passes == len(generated) - 1 and found.n_samples == len(generated)
    states = found.states
    assert states is not None and (states.n, states.each_bytes, states.all_bytes) == (n, 3 * MIB, n * 3 * MIB)
    assert states.save_ns == 800 and states.alike


def test_the_tokens_of_a_state_are_those_that_its_sequence_had() -> None:
    tables = case()
    last = tables["tokens"]["position"].max() + 1
    states = footprint._n_tokens(tables, tables["saved_states"].set_index("saved"))
    assert states.iloc[-1] == last and states.is_monotonic_increasing


@pytest.mark.parametrize("more, group", [({"state_bytes": 0, "heap_bytes": 4 * MIB}, "other memory")])
def test_what_a_program_allocates_beside_grows_as_other_memory(more: dict[str, int], group: str) -> None:
    found = footprint.growth(case(**more))
    assert found is not None and found.group == group and found.states is None
    assert found.end_bytes > HEAP and found.group_bytes == found.grown_bytes


@pytest.mark.parametrize("more", [{"state_bytes": 0}, {"state_bytes": 1024}, {"state_bytes": 0, "heap_bytes": 1024}])
def test_little_is_no_growth(more: dict[str, int]) -> None:
    assert footprint.growth(case(**more)) is None


def test_without_samples_nothing_grows() -> None:
    tables = scaled_case(N_PASSES, 2)
    assert footprint.growth(tables) is None and footprint.footprint(tables).empty


def answer_of(tables: dict[str, pd.DataFrame], *command: str) -> str:
    said = quick(Context(a_run(command=command), tables))
    assert said is not None
    return said.text


def test_the_answer_of_a_server_names_what_it_keeps_and_what_bounds_it() -> None:
    said = answer_of(case(state_bytes=3 * MIB), "bin/llama-server", "-m", "m.gguf")
    assert said.startswith("Memory grows by 3.00 MiB with each finished request: llama-server keeps the KV state of ")
    assert "`--cache-ram N` bounds them" in said


def test_another_program_has_no_option_of_the_server() -> None:
    said = answer_of(case(state_bytes=3 * MIB), "python", "chat.py")
    assert said.startswith("Memory grows by 3.00 MiB with each saved state: the program keeps the KV state of ")
    assert "--cache-ram" not in said


def test_growth_is_said_once() -> None:
    context = Context(a_run(), case(state_bytes=3 * MIB))
    (one,) = growth.findings(context)
    said = quick(context)
    assert said is not None and said.text.count(one.text) == 1
