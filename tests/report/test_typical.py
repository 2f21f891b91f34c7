"""What stands for several passes in the one picture: one pass, whole; and which parts of a time have a name."""

from statistics import median_low

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case
from tests.report.rendered import disk_case
from tracegen.charts.file_memory import _listed
from tracegen.comparing.picture import picture
from tracegen.contract import quantities as q
from tracegen.report.figures.context import Context
from tracegen.report.figures.file_tokens import joined, median_passes, seen
from tracegen.report.findings.computing import _computing


def test_of_a_row_the_pass_of_median_length_stands_for_all() -> None:
    times = pd.DataFrame(
        {
            "row": [0, 1, 1, 1, 1, 2, 2, 2],
            "pass_id": range(8),
            "duration_ns": [5, 40, 10, 20, 30, 7, 7, 9],
        }
    )
    assert median_passes(times)["pass_id"].to_dict() == {0: 0, 1: 3, 2: 6}


def test_a_part_that_is_much_of_one_row_keeps_its_name() -> None:
    """The output matrix: little of a long prompt, a fifth of a token."""
    by_row = pd.DataFrame(
        {
            "duration_ns": [1000.0, 10.0],
            "FFN": [900.0, 7.0],
            "output": [2.0, 2.0],
            "norm": [5.0, 0.1],
            "other": [1.0, 0.1],
        }
    )
    assert joined(by_row) == ["FFN", "output", "other"]
    assert by_row["other"].tolist() == pytest.approx([6.0, 0.2]), "what is little of every row"


def test_each_row_of_a_comparison_is_the_pass_that_took_the_median_time() -> None:
    run, tables = disk_case()
    context = Context(run, tables)
    data, draw = picture(context, context)
    rows, of = draw.args[3], seen(context)  # type: ignore[attr-defined]
    for label, kind in (("A: prompt", "prompt"), ("B: token", "generate")):
        passes = tables["passes"][(tables["passes"]["kind"] == kind) & tables["passes"]["graph"].notna()]
        took = {int(p.pass_id): int(p.end_ns - p.begin_ns) for p in passes.itertuples()}
        typical = min(number for number, ns in took.items() if ns == median_low(took.values()))
        (row,) = (at for at, name in enumerate(data["label"]) if name == label)
        assert data["duration_ns"][row] == took[typical]
        read = of.sizes["read"].get(typical, 0)
        assert rows["read"][row] == (q.size(int(read)) if read else "–")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["1.91 MiB", "2.96 MiB", "4.12 MiB"], "1.91, 2.96, 4.12 MiB"),
        (["92.1 MiB"] * 3, "92.1 MiB"),
        (["900 KiB", "2.96 MiB"], "900 KiB, 2.96 MiB"),
    ],
)
def test_marks_that_lie_together_keep_each_of_their_numbers(texts: list[str], said: str) -> None:
    assert _listed(texts) == said


def test_shares_of_computing_are_of_passes_whose_time_is_known() -> None:
    tables = scaled_case(3, 2)
    whole = _computing(Context(a_run(), tables))
    passes = tables["passes"]
    first = passes["pass_id"] == passes.loc[passes["kind"] == "generate", "pass_id"].iloc[0]
    cut = tables | {"passes": passes.assign(end_ns=passes["end_ns"].mask(first))}
    assert 0 < float(_computing(Context(a_run(), cut)).to_numpy().sum()) <= 1
    assert 0 < float(whole.to_numpy().sum()) <= 1
