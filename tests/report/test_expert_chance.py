"""What the page of experts says where chance is not known: a reason in words, never a number that looks like one."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.analysis.routed import even, run_of
from tests.builders import a_moe_run
from tracegen.report.figures.context import Context
from tracegen.report.figures.expert_chance import EXPERTS_NEXT, EXPERTS_STICKY
from tracegen.report.figures.expert_choices import EXPERTS_USED
from tracegen.report.figures.expert_shares import EXPERTS_BALANCE
from tracegen.report.figures.figure import Content, Rows
from tracegen.report.findings import experts

Tables = dict[str, pd.DataFrame]
ALL = (EXPERTS_BALANCE, EXPERTS_STICKY, EXPERTS_NEXT, EXPERTS_USED)


def contents(tables: Tables) -> list[Content | Rows]:
    context = Context(a_moe_run(), tables)
    return [part.content(context) for part in ALL]


def texts(tables: Tables) -> list[str]:
    """What stands in place of each figure, or empty; and every cell of the tables."""
    return [of.empty if isinstance(of, Content) or not of.rows else "" for of in contents(tables)]


def cells(rows: Content | Rows) -> list[list[str]]:
    assert isinstance(rows, Rows)
    return [[cell.text for cell in row] for row in rows.rows]


def test_one_token_is_too_few_for_all_but_counting() -> None:
    tables = run_of(even(1, 1, 2, 8, 2), even(2, 1, 2, 8, 2), 8)
    balance, sticky, after, used = texts(tables)
    assert (balance, used) == ("", "")
    assert "No generated token that chose experts follows another one" in sticky
    assert after == "A guess needs at least 100 tokens to learn from; n = 1."


def test_the_warm_up_is_not_said_to_use_all_experts() -> None:
    """llama.cpp of 2026 chooses as many experts in it as in any other pass."""
    used = contents(run_of(even(1, 9, 2, 8, 2), even(2, 9, 2, 8, 2), 8))[3]
    assert isinstance(used, Rows) and used.caption.endswith("Warm-up is left out.")


def test_all_experts_or_one_expert_leave_nothing_to_chance() -> None:
    for choices, size in ((even(1, 9, 2, 4, 4), 4), (np.zeros((9, 2, 1), int), 1)):
        tables = run_of(choices, choices, size)
        _, sticky, after, _ = texts(tables)
        assert all(text.startswith("Not applicable: in no layer") for text in (sticky, after))
        for row in cells(contents(tables)[0]):
            assert row[3:] == ["not applicable"] * 7
        assert all("experts used" in row[1] and row[2] == "100 %" for row in cells(contents(tables)[3]))


def test_no_routing_and_no_generation() -> None:
    tables = run_of(even(1, 9, 2, 8, 2), even(2, 9, 2, 8, 2), 8)
    bare = tables | {"routing": tables["routing"].iloc[:0]}
    assert all(text.startswith("The trace holds no routing:") for text in texts(bare))
    prompt = run_of(even(1, 9, 2, 8, 2), None, 8)
    *others, used = texts(prompt)
    assert all("The run has no generate pass" in text for text in others) and not used


def test_layers_that_differ_are_kept_apart() -> None:
    """Layer 1 has 4 experts, of which a row chooses 3; layer 0 has 8 and 2."""
    one, two = run_of(None, even(1, 60, 1, 8, 2), 8), run_of(None, even(2, 60, 1, 4, 3), 4)
    tensors = [of["tensors"].assign(layer=layer) for layer, of in enumerate((one, two))]
    routing = [of["routing"].assign(layer=layer) for layer, of in enumerate((one, two))]
    tables = one | {"tensors": pd.concat(tensors), "routing": pd.concat(routing)}
    balance = cells(contents(tables)[0])
    assert [(row[0], row[3]) for row in balance] == [("all", "12"), ("0", "8 of 8"), ("1", "4 of 4")]
    data = contents(tables)[1].data
    assert data is not None and data["even"].tolist()[1:] == [0.25, 0.75]


def found(choices: np.ndarray) -> list[str]:
    """The figures of the findings about generated tokens with these choices."""
    return [f.part.key for f in experts.findings(Context(a_moe_run(), run_of(None, choices, 8)))]


def test_choices_at_random_are_no_finding_and_repeated_ones_are() -> None:
    plain = even(1, 60, 2, 8, 2)
    assert "experts-sticky" not in found(plain)
    assert "experts-sticky" in found(np.repeat(plain[:20], 3, axis=0))


def test_the_file_of_experts_used_has_a_line_for_each_tensor() -> None:
    used = contents(run_of(even(1, 3, 1, 8, 2), even(2, 2, 1, 8, 2), 8))[3]
    assert isinstance(used, Rows)
    lines = used.files["data/experts-used.txt"]
    assert isinstance(lines, str) and lines.endswith("experts used\n")
    titles = [line for line in lines.splitlines() if line.startswith("#")]
    assert titles == ["# prompt (pass 0): 3 tokens", "# all generated tokens: 2 tokens"]
    assert re.search(r"^blk\.0\.ffn_gate_exps\.weight: [1-8]/8 experts used$", lines, re.MULTILINE)


@pytest.mark.parametrize("n", [4, 5])
def test_few_tokens_are_not_tested(n: int) -> None:
    sticky = contents(run_of(None, even(1, n, 1, 8, 2), 8))[1]
    assert ("too few tokens to test" in sticky.caption) == (len(sticky.answer) == 1) == (n == 4)


def test_a_guess_needs_enough_tokens_and_two_layers() -> None:
    def said(n: int, layers: int = 2) -> str:
        return texts(run_of(None, even(1, n, layers, 8, 2), 8))[2]

    assert said(99) == "A guess needs at least 100 tokens to learn from; n = 99." and said(100) == ""
    assert said(100, layers=1).startswith("Not applicable: fewer than two layers")


def test_the_layer_before_is_a_finding_only_where_it_predicts_more_than_use() -> None:
    plain = even(1, 120, 2, 8, 2)
    assert "experts-next" not in found(plain)
    assert "experts-next" in found(np.stack([plain[:, 0], (plain[:, 0] + 1) % 8], axis=1))
