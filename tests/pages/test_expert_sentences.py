"""Each sentence of the experts page: for one, several, none, and the case that a careless one gets wrong."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis.chance import LEVEL
from tracegen.report.words import expert_sentences as say

FOUR = (0, 1, 2, 3)
CHOICE = dict(n_never=0, n_pairs=32, layers=FOUR, best=(1, 3), most=4, n_best=1, n_rows=7)
ALONE = dict(layers=[2], n_pairs=8)
CELLS = dict(n_rows=7, n_experts=8, n_chosen=2, even=1.75)
TOKENS = dict(n_tokens=7, several=1, n_layers=4, most_uneven=True, last="")
LOAD = dict(n_layers=4, n_rows=7, sizes_differ=False)

# A sentence, what it is given by name, and what it says: nothing (empty), a question ("?"), or this.
SAID: list[tuple[Callable[..., str], dict[str, Any], str]] = [
    (say.line_name, dict(given=(1, 1), passes=(3, 3)), "token 1"),
    (say.line_name, dict(given=(1, 5), passes=(3, 7)), "tokens 1–5"),
    (say.line_name, dict(given=(None, None), passes=(3, 3)), "pass 3"),
    (say.line_name, dict(given=(None, 4), passes=(3, 7)), "passes 3–7"),  # half known would name two things at once
    (say.no_choice, dict(has_routing=False, has_generate=True, kinds=[]), "The trace holds no routing: it does not"),
    (say.no_choice, dict(has_routing=True, has_generate=True, kinds=["prompt"]), "no routing of a generate pass."),
    (
        say.no_choice,
        dict(has_routing=True, has_generate=False, kinds=["warmup", "mixed", "prompt"]),
        "only rows of warm-up, mixed and prompt passes chose experts.",
    ),
    (say.no_choice, dict(has_routing=True, has_generate=False, kinds=[]), "only rows of other passes chose experts."),
    (say.no_weight, dict(private=True), "the experiment is private"),
    (say.no_weight, dict(private=False), "holds no routing weight"),
    (say.choice_title, CHOICE | dict(n_never=6), "never choose 6 of 32 pairs of layer and expert"),
    (say.choice_title, CHOICE | ALONE | dict(n_never=1), "never choose 1 of 8 experts of layer 2"),
    (say.choice_title, CHOICE, "Every expert of every layer is chosen; expert 3 of layer 1 most often, by 4 "),
    (say.choice_title, CHOICE | dict(most=7), "expert 3 of layer 1 most often, by all 7 tokens"),
    (say.choice_title, CHOICE | ALONE, "Every expert of layer 2 is chosen; expert 3 most often, by 4 of 7 tokens"),
    # several are chosen equally often: none of them alone is "the most often" chosen
    (say.choice_title, CHOICE | dict(n_best=3), "is chosen, 3 of them most often, by 4 of 7 tokens each"),
    (say.choice_title, CHOICE | dict(n_best=32), "is chosen, each by 4 of 7 tokens"),
    (say.choice_title, CHOICE | dict(n_best=32, n_rows=1, most=1), "is chosen, by one token"),
    (
        say.choice_caption,
        CELLS,
        "n = 7 token rows; each chooses 2 of 8 experts in a layer, so that an even choice would give every cell 1.75.",
    ),
    (say.choice_caption, CELLS | dict(n_rows=1), "n = 1 token row; it chooses 2 of 8 experts"),
    (say.choice_caption, CELLS | dict(n_rows=0), f"one row of cells per layer. {say.LEFT_OUT}"),
    (say.choice_caption, CELLS | dict(n_experts=None), "layers differ"),
    (say.choice_caption, CELLS | dict(n_chosen=None), "rows differ"),
    (say.tokens_title, dict(layer=3, n_tokens=7, most_uneven=True), "in layer 3, where the choice is most uneven?"),
    (say.tokens_title, dict(layer=3, n_tokens=7, most_uneven=False), "each token choose in layer 3?"),
    (say.tokens_title, dict(layer=0, n_tokens=1, most_uneven=False), "the one token choose in layer 0?"),
    (say.tokens_title, dict(layer=None, n_tokens=0, most_uneven=False), "Which experts does each token choose?"),
    (say.tokens_caption, TOKENS, "One line per token. In this layer the choice is most uneven"),
    (say.tokens_caption, TOKENS | dict(several=3), "Each line joins 3 tokens (the last line: 1);"),
    (say.tokens_caption, TOKENS | dict(several=3, n_tokens=9), "Each line joins 3 tokens;"),
    (say.tokens_caption, TOKENS | dict(most_uneven=False), "In no layer is the choice more uneven"),
    (say.tokens_caption, TOKENS | dict(n_layers=1), f"One line per token. {say.NAMED_BY}"),  # it is compared with none
    (say.tokens_caption, TOKENS | dict(n_layers=1, n_tokens=0), f"in the layer. {say.NAMED_BY} {say.LEFT_OUT}"),
    (say.tokens_caption, TOKENS | dict(last="The last one."), f"{say.NAMED_BY} The last one. n = 7"),
    (say.last_token, dict(last=7, windowed=False), "No pass takes in token 7, the last one generated: it chose no"),
    (say.last_token, dict(last=7, windowed=True), "No recorded pass takes in token 7, the last one generated."),
    (say.last_token, dict(last=None, windowed=False), ""),
    (
        say.load_title,
        dict(share=2 / 7, even=1 / 8, layers=FOUR),
        "28.6 % of its choices (median over 4 layers); an even choice would give it 12.5 %",
    ),
    (say.load_title, dict(share=2 / 7, even=1 / 8, layers=[3]), "of layer 3 gets 28.6 % of its choices; an even"),
    (
        say.load_title,
        dict(share=5 / 14, even=1 / 8, layers=FOUR, chance=0.2735),
        "12.5 %, a random choice by so few rows about 27.4 %",
    ),
    (say.load_caption, LOAD, "highest of 4 layers, tick: their median"),
    (say.load_caption, LOAD | dict(sizes_differ=True), "of 4 layers (of those that have so many experts)"),
    (
        say.load_caption,
        LOAD | dict(n_layers=1, n_rows=1),
        "tick: the share of each, dashed: every expert chosen equally often. n = 1 token row of",
    ),
    (say.load_caption, LOAD | dict(n_layers=0, n_rows=0), "highest of the layers, tick: their median"),
    (say.weights_title, dict(mean=0.354, places=2, layers=FOUR), "gets a weight of 0.354"),
    (say.weights_title, dict(mean=0.354, places=2, layers=[3]), "strongest expert in layer 3 "),
    (say.weights_title, dict(mean=1.0, places=1, layers=FOUR), "The one expert that "),
    (say.counted_rows, dict(numbers=[7, 7], what="per layer"), " n = 7 token rows per layer."),
    (say.counted_rows, dict(numbers=[3, 1], what="per layer"), " n = 1 to 3 token rows per layer."),
    (say.counted_rows, dict(numbers=[], what="per layer"), ""),
    (
        say.used_title,
        dict(prompt=(26, 30), generate=(32, 32), n_experts=32),
        "prompt uses 26 to 30 of 32 experts of a layer, all generated tokens together 32",
    ),
    (say.used_title, dict(prompt=None, generate=(3, 4), n_experts=32), "generated tokens use 3 to 4 of 32 experts"),
    (say.used_title, dict(prompt=(3, 3), generate=None, n_experts=32), "prompt uses 3 of 32 experts of a layer"),
    (say.used_title, dict(prompt=(3, 3), generate=(3, 3), n_experts=None), "?"),
    (
        say.balance_title,
        dict(entropy=0.952, low=0.993, high=0.995),
        "95.2 % of the largest possible entropy, less than random choice by as many rows: 99.3 % to 99.5 %",
    ),
    (say.balance_title, dict(entropy=0.999, low=0.993, high=0.995), "more than random choice"),
    (say.balance_title, dict(entropy=0.994, low=0.993, high=0.995), "as random choice by as many rows has: 99.3 %"),
    (say.balance_title, dict(entropy=0.9, low=None, high=None), "90.0 % of the largest possible entropy"),
    (say.balance_title, dict(entropy=None, low=None, high=None), "?"),
    (say.no_next, dict(n_rows=1, n_layers=4, least=100), "1 token row is too few to learn a guess: it takes 100."),
    (say.no_next, dict(n_rows=200, n_layers=1, least=100), "Not applicable: fewer than two layers"),
]


@pytest.mark.parametrize(("sentence", "given", "said"), SAID)
def test_each_branch_says_what_was_found(sentence: Callable[..., str], given: dict[str, Any], said: str) -> None:
    text = sentence(**given)
    assert text.endswith("?") if said == "?" else said in text if said else text == ""


def test_what_is_not_known_is_not_said() -> None:
    assert "even" not in say.load_title(share=2 / 7, even=None, layers=FOUR)
    assert "random" not in say.load_title(share=2 / 7, even=1 / 8, layers=FOUR, chance=None)
    assert "layers differ" not in say.choice_caption(**CELLS | dict(n_chosen=None))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (dict(n_ordered=7, n_tokens=7, n_shown=7), "chose, the strongest first, and their routing weights. Each row"),
        (dict(n_ordered=0, n_tokens=7, n_shown=7), "chose, in llama.cpp’s order. Each row"),
        (dict(n_ordered=6, n_tokens=7, n_shown=7), "or in llama.cpp’s order where a weight is missing."),
        (dict(n_ordered=0, n_tokens=0, n_shown=0), "chose. Each row"),
        (dict(n_ordered=70, n_tokens=70, n_shown=20), " The first 20 of 70; the CSV has all."),
    ],
)
def test_in_which_order_the_experts_of_a_token_stand(given: dict[str, int], said: str) -> None:
    caption = say.of_tokens_caption(**given, last="It is the last.")
    assert said in caption and f"{say.NAMED_BY} It is the last." in caption
    assert ("the CSV has all" in caption) == (given["n_shown"] < given["n_tokens"])


def cover_title(needed: Sequence[int], sizes: Sequence[int] = ()) -> str:
    return say.cover_title(needed=needed, sizes=sizes or [8] * len(needed), layers=list(range(3, 3 + len(needed))))


@pytest.mark.parametrize(
    ("needed", "which", "enough"),
    [
        # four and five: the mean of the two is nobody's, and cut to 4 is right for one half only
        ((4, 5), "at least half", "4 of 8 experts or fewer are enough for"),
        ((3, 6, 5), "at least half", "5 of 8 experts or fewer are enough for"),
        ((5, 5), "every layer", "5 of 8 experts are enough for"),
        ((1,), "In layer 3", "1 of 8 experts is enough for"),
        ((8,), "In layer 3", "take all 8 experts"),
        ((2, 8, 8), "more than half", "take all 8 experts"),
    ],
)
def test_how_few_experts_are_enough(needed: tuple[int, ...], which: str, enough: str) -> None:
    title = cover_title(needed)
    assert which in title and enough in title and "80 % of the choices" in title


def test_layers_with_other_numbers_of_experts_have_no_common_of() -> None:
    said = "In at least half of the layers with experts, 4 experts or fewer are enough for 80 % of the choices"
    assert cover_title((4, 9, 4), (8, 16, 8)) == said
    assert cover_title((1, 1), (8, 16)) == "In every layer with experts, 1 expert is enough for 80 % of the choices"


@given(st.lists(st.integers(1, 8), min_size=2, max_size=9))
def test_what_is_said_of_half_of_the_layers_is_so(needed: list[int]) -> None:
    said = cover_title(needed)
    number = int(next(word for word in said.split() if word.isdigit() and word != "80"))
    if "at least half" in said:
        assert 2 * sum(n <= number for n in needed) >= len(needed)
    elif "more than half" in said:
        assert 2 * sum(n == 8 for n in needed) > len(needed)
    else:
        assert set(needed) == {number}


def test_stickiness_is_compared_with_shuffled_tokens() -> None:
    found = dict(share=0.306, low=0.153, high=0.17, share_low=None, share_high=None, shuffled=0.17)
    assert say.sticky_title(found | dict(effect=0.14, p=0.001), few=False) == (
        "A token chooses 30.6 % of its experts as the token before did, more than shuffled tokens: 15.3 % to 17.0 %"
    )
    assert ", fewer than shuffled tokens:" in say.sticky_title(found | dict(effect=-0.14, p=0.001), few=False)
    assert "no difference shown from shuffled" in say.sticky_title(found | dict(effect=0.14, p=LEVEL), few=False)
    assert "Too few tokens" in say.sticky_title(found | dict(effect=0.14, p=0.001), few=True)
    several = found | dict(effect=0.02, p=0.04, share_low=0.16, share_high=0.2)
    assert say.sticky_overall(several, n_layers=4, n_sure=1) == (
        " Effect over all layers: +2.0 percentage points (95 %: −1.0 to +3.0), p = 0.04; of 4 layers, 1 differ by "
        "Holm’s method."
    )
    alone = say.sticky_overall(found | dict(effect=-0.02, p=0.4), n_layers=1, n_sure=0)
    assert alone == " Effect over all layers: −2.0 percentage points, p = 0.40."


def test_what_the_layer_before_tells() -> None:
    found = dict(share=0.34, low=0.2, high=0.25, share_low=0.3, share_high=0.38, shifted=0.24, most=0.3, before=0.28)
    assert say.next_title(found | dict(effect=0.1, p=0.02)) == (
        "The layer before predicts 34.0 % of a token’s experts, more than chance: 20.0 % to 25.0 %"
    )
    assert "fewer than chance:" in say.next_title(found | dict(effect=-0.1, p=0.02))
    assert "no more than chance:" in say.next_title(found | dict(effect=0.1, p=LEVEL))
    assert say.next_overall(found | dict(effect=0.1, p=0.02, even=0.125)) == (
        " Effect over all layers: +10.0 percentage points (95 %: +6.0 to +14.0), p = 0.02. The most chosen experts "
        "find 30.0 %, those of the token before 28.0 %, any k of E 12.5 %."
    )
