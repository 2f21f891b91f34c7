"""The amounts that answer the questions about experts, worked out by hand; none where they would be false."""

import re

import numpy as np
import pytest

from tests.analysis.routed import Choices, even, run_of
from tests.builders import a_moe_run
from tracegen.report.document.amount import in_words
from tracegen.report.figures.context import Context
from tracegen.report.figures.expert_chance import EXPERTS_NEXT, EXPERTS_STICKY
from tracegen.report.figures.expert_choices import EXPERTS, EXPERTS_TOKENS, EXPERTS_USED, _line_name
from tracegen.report.figures.expert_shares import EXPERTS_BALANCE, EXPERTS_COVER, EXPERTS_LOAD
from tracegen.report.figures.expert_weights import EXPERTS_WEIGHTS
from tracegen.report.figures.figure import Content, Figure, Rows, Table

# Four tokens choose one of 4 experts: in layer 0 all the same, in layer 1 each another.
ALIKE_AND_APART = np.array([[[0], [expert]] for expert in range(4)])
ONE_LAYER = ALIKE_AND_APART[:, 1:]
CHANCE = r"[\d.]+ % to [\d.]+ %"


def content(part: Figure | Table, generated: Choices | None, prompt: Choices | None = None) -> Content | Rows:
    return part.content(Context(a_moe_run(), run_of(prompt, generated, 4)))


@pytest.mark.parametrize(
    ("part", "choices", "said"),
    [
        (
            EXPERTS,
            ALIKE_AND_APART,
            "3 of 8 experts in 2 layers never chosen, 100 % of tokens choose the most chosen expert (number 0 in "
            "layer 0)",
        ),
        (
            EXPERTS,
            ONE_LAYER,
            "0 of 4 experts in 1 layer never chosen, 25.0 % of tokens choose the most chosen expert",
        ),
        (
            EXPERTS_COVER,
            ALIKE_AND_APART,
            "1 of 4 experts for 80 % of the choices in at least half of the layers, 4 in every layer",
        ),
        (EXPERTS_COVER, np.tile(ONE_LAYER, (1, 2, 1)), "4 of 4 experts for 80 % of the choices in every layer"),
        (EXPERTS_COVER, ONE_LAYER, "4 of 4 experts for 80 % of the choices"),
        (EXPERTS_USED, ALIKE_AND_APART, "62.5 % of a layer’s experts used by all generated tokens together (mean)"),
    ],
)
def test_choices_are_counted(part: Figure | Table, choices: Choices, said: str) -> None:
    assert in_words(content(part, choices).answer) == said


@pytest.mark.parametrize(
    ("part", "choices", "said"),
    [
        (
            EXPERTS_LOAD,  # at random 53.1 %: the mean of the largest count over all 4⁴ choices, here simulated
            ALIKE_AND_APART,
            r"62.5 % of a layer’s choices go to its most chosen expert \(median over layers\), "
            r"25.0 % if chosen evenly, 5\d.\d % if as many tokens choose at random$",
        ),
        (
            EXPERTS_BALANCE,
            ALIKE_AND_APART,
            rf"50.0 % of the largest possible entropy in generation, {CHANCE} by chance",
        ),
        (
            EXPERTS_STICKY,
            np.repeat(even(1, 20, 1, 4, 1), 2, axis=0),
            rf"[\d.]+ % of a token’s experts were chosen by the token before too, {CHANCE} in shuffled order \(95 %\), "
            "p [=<]",
        ),
        (
            EXPERTS_NEXT,
            np.stack([even(1, 120, 1, 4, 1)[:, 0]] * 2, axis=1),
            rf"100 % of a token’s experts are predicted from the layer before, {CHANCE} by chance \(95 %\), p ",
        ),
    ],
)
def test_shares_stand_beside_chance(part: Figure | Table, choices: Choices, said: str) -> None:
    assert re.match(said, in_words(content(part, choices).answer))


def test_use_is_split_by_phase() -> None:
    prompt, generated = content(EXPERTS_USED, ONE_LAYER, ALIKE_AND_APART[:2, :1]).answer
    assert (prompt.value, generated.value) == (0.25, 1.0) and "prompt" in prompt.words


def test_what_nobody_chose_has_no_amounts() -> None:
    of_generation = (EXPERTS, EXPERTS_TOKENS, EXPERTS_LOAD, EXPERTS_COVER, EXPERTS_BALANCE, EXPERTS_STICKY)
    for part in (*of_generation, EXPERTS_NEXT, EXPERTS_WEIGHTS):
        assert content(part, None, ALIKE_AND_APART).answer == (), part.key


def test_layers_of_several_sizes_have_no_even_choice() -> None:
    tables = run_of(None, ALIKE_AND_APART, 4)
    larger = tables["tensors"]["n_experts"].mask(tables["tensors"]["layer"] == 1, 8)
    context = Context(a_moe_run(), tables | {"tensors": tables["tensors"].assign(n_experts=larger)})
    (share,), cover = (part.content(context).answer for part in (EXPERTS_LOAD, EXPERTS_COVER))
    assert share.value == 0.625 and cover[0].words.startswith("of a layer’s experts")
    assert "Layers differ in their number of experts" in EXPERTS.content(context).caption


def test_many_tokens_share_a_line() -> None:
    drawn = content(EXPERTS_TOKENS, even(1, 100, 1, 4, 1))
    assert drawn.title == "Which experts does each generated token choose in layer 0?"
    assert "Each line joins 3 tokens" in drawn.caption
    assert "One line per token" in content(EXPERTS_TOKENS, ONE_LAYER).caption


def test_a_line_is_named_by_its_tokens_or_by_passes_where_one_is_not_known() -> None:
    given = {3: 1, 4: 2}
    ends = ((3, 3), (3, 4), (5, 5), (3, 5))
    assert [_line_name(given, *of_line) for of_line in ends] == ["token 1", "tokens 1–2", "pass 5", "passes 3–5"]
