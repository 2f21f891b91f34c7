"""What the bar of what is chosen knows of passes, against every single pass."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tracegen.report.pages.chosen import graph_runs, pass_names

LABELS = st.dictionaries(
    st.integers(0, 40),
    st.one_of(st.integers(0, 45).map(lambda token: f"token {token}"), st.sampled_from(["warm-up", "prompt → token 0"])),
)


@given(LABELS)
def test_every_name_is_listed(labels: dict[int, str]) -> None:
    named = {}
    for first, last, name in pass_names(labels):
        for pass_id in range(first, last + 1):
            assert pass_id not in named
            named[pass_id] = name if isinstance(name, str) else f"token {name + pass_id - first}"
    assert named == labels


def test_a_long_run_has_few_entries() -> None:
    labels = {1: "warm-up", 2: "prompt → token 0"} | {pass_id: f"token {pass_id - 2}" for pass_id in range(3, 2003)}
    assert pass_names(labels) == [(1, 1, "warm-up"), (2, 2, "prompt → token 0"), (3, 2002, 1)]


@given(st.lists(st.integers(0, 3)))
def test_every_pass_ran_the_graph_that_is_listed(graphs: list[int]) -> None:
    runs = graph_runs(enumerate(graphs, 5))
    for pass_id, graph in enumerate(graphs, 5):
        assert [of for first, of in runs if first <= pass_id][-1] == graph
    assert all(one != other for (_, one), (_, other) in itertools.pairwise(runs))
