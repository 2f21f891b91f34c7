"""Each sentence of the experts page: for one, several, none, and the case that a careless one gets wrong."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tracegen.report.words import expert_sentences as say

FOUR = (0, 1, 2, 3)


def test_a_row_is_named_by_the_token_that_its_pass_gives() -> None:
    assert say.line_name((1, 1), (3, 3)) == "token 1"
    assert say.line_name((1, 5), (3, 7)) == "tokens 1–5"
    assert say.line_name((None, None), (3, 3)) == "pass 3"
    assert say.line_name((None, 4), (3, 7)) == "passes 3–7", "half known would name two things at once"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (dict(has_routing=False, has_generate=True, kinds=[]), "The trace holds no routing: it does not say which"),
        (dict(has_routing=True, has_generate=True, kinds=["prompt"]), "The trace holds no routing of a generate pass."),
        (dict(has_routing=True, has_generate=False, kinds=["prompt"]), "only rows of prompt passes chose experts."),
        (dict(has_routing=True, has_generate=False, kinds=["warmup", "mixed", "prompt"]),
         "only rows of warm-up, mixed and prompt passes chose experts."),
        (dict(has_routing=True, has_generate=False, kinds=[]), "only rows of other passes chose experts."),
    ],
)  # fmt: skip
def test_why_nothing_is_shown(given: dict[str, Any], said: str) -> None:
    assert said in say.no_choice(**given)


def test_why_no_weight_is_shown() -> None:
    assert "the experiment is private" in say.no_weight(private=True)
    assert "holds no routing weight" in say.no_weight(private=False)


def choice_title(**more: Any) -> str:
    given = dict(n_never=0, n_pairs=32, layers=FOUR, best=(1, 3), most=4, n_best=1, n_rows=7)
    return say.choice_title(**{**given, **more})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (dict(n_never=6), "Generated tokens never choose 6 of 32 pairs of layer and expert"),
        (dict(n_never=1), "Generated tokens never choose 1 of 32 pairs of layer and expert"),
        (dict(n_never=6, n_pairs=8, layers=[2]), "Generated tokens never choose 6 of 8 experts of layer 2"),
        (dict(n_never=1, n_pairs=8, layers=[2]), "Generated tokens never choose 1 of 8 experts of layer 2"),
        (dict(), "Every expert of every layer is chosen; expert 3 of layer 1 most often, by 4 of 7 tokens"),
        (dict(most=7), "Every expert of every layer is chosen; expert 3 of layer 1 most often, by all 7 tokens"),
        (dict(layers=[1], n_pairs=8), "Every expert of layer 1 is chosen; expert 3 most often, by 4 of 7 tokens"),
        # several are chosen equally often: none of them alone is "the most often" chosen
        (dict(n_best=3), "Every expert of every layer is chosen, 3 of them most often, by 4 of 7 tokens each"),
        (dict(n_best=32), "Every expert of every layer is chosen, each by 4 of 7 tokens"),
        (dict(n_best=32, n_rows=1, most=1), "Every expert of every layer is chosen, by one token"),
    ],
)
def test_which_experts_the_tokens_choose(given: dict[str, Any], said: str) -> None:
    assert choice_title(**given) == said


def test_what_a_cell_counts_and_what_an_even_choice_gives() -> None:
    def caption(n_rows: int, n_experts: int | None, n_chosen: int | None, even: float | None = None) -> str:
        return say.choice_caption(n_rows=n_rows, n_experts=n_experts, n_chosen=n_chosen, even=even)

    many, one, none = caption(7, 8, 2, 1.75), caption(1, 8, 2, 0.25), caption(0, None, None)
    assert "n = 7 token rows; each chooses 2 of 8 experts" in many and "every cell 1.75." in many
    assert "n = 1 token row; it chooses 2 of 8 experts" in one
    assert "n =" not in none and none.endswith(say.LEFT_OUT)
    assert "layers differ" in caption(7, None, 2)
    assert "rows differ" in caption(7, 8, None) and "layers differ" not in caption(7, 8, None)


def test_which_experts_each_token_chooses() -> None:
    def title(layer: int | None, n_tokens: int, *, most_uneven: bool = False) -> str:
        return say.tokens_title(layer=layer, n_tokens=n_tokens, most_uneven=most_uneven)

    assert title(3, 7, most_uneven=True) == title(3, 7)[:-1] + ", where the choice is most uneven?"
    assert "each token choose in layer 3?" in title(3, 7) and "the one token choose in layer 0?" in title(0, 1)
    assert "layer" not in title(None, 0)


def tokens_caption(**more: Any) -> str:
    return say.tokens_caption(**{**dict(n_tokens=7, several=1, n_layers=4, most_uneven=True, last=""), **more})


def test_what_a_line_of_tokens_is() -> None:
    assert "One line per token." in tokens_caption() and say.HELD in tokens_caption()
    assert "In this layer the choice is most uneven" in tokens_caption()
    assert "n = 7 token rows of generate passes" in tokens_caption() and "n = 1 token row of" in tokens_caption(
        n_tokens=1
    )
    assert "Each line joins 3 tokens (the last line: 1);" in tokens_caption(several=3)
    assert "Each line joins 3 tokens;" in tokens_caption(several=3, n_tokens=9)
    assert "In no layer is the choice more uneven" in tokens_caption(most_uneven=False)
    assert "uneven" not in tokens_caption(n_layers=1, most_uneven=False), "a single layer is compared with none"
    assert "line" not in tokens_caption(n_tokens=0) and "n =" not in tokens_caption(n_tokens=0)
    assert "token 7, the last" in tokens_caption(last=say.last_token(7, windowed=False))


def test_the_last_token_chose_nothing() -> None:
    assert say.last_token(7, windowed=False) == "No pass takes in token 7, the last one generated: it chose no expert."
    assert say.last_token(None, windowed=False) == ""
    windowed = say.last_token(7, windowed=True)
    assert windowed == "No recorded pass takes in token 7, the last one generated.", "what came after was not recorded"


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
    caption = say.of_tokens_caption(**given, last="")
    assert said in caption and say.HELD in caption
    assert ("the CSV has all" in caption) == (given["n_shown"] < given["n_tokens"])


def test_captions_name_the_token_that_no_pass_takes_in_once() -> None:
    last = say.last_token(7, windowed=False)
    of_tokens = say.of_tokens_caption(n_ordered=7, n_tokens=7, n_shown=7, last=last)
    for caption in (of_tokens, tokens_caption(last=last)):
        assert caption.lower().count("no pass takes in") == 1 and last in caption
    assert "no pass takes in" not in tokens_caption().lower(), "a later row may hold it"


def test_what_the_most_chosen_expert_gets() -> None:
    several, one = (say.load_title(share=2 / 7, even=1 / 8, layers=layers) for layers in (FOUR, [3]))
    assert "28.6 % of its choices (median over 4 layers); an even choice would give it 12.5 %" in several
    assert "of layer 3 gets 28.6 % of its choices; an even choice" in one
    assert "even" not in say.load_title(share=2 / 7, even=None, layers=FOUR)


def test_what_bars_and_ticks_are() -> None:
    def caption(n_layers: int, n_rows: int, *, sizes_differ: bool = False) -> str:
        return say.load_caption(n_layers=n_layers, n_rows=n_rows, sizes_differ=sizes_differ)

    assert "highest of 4 layers, tick: their median" in caption(4, 7)
    assert "of 4 layers (of those that have so many experts)" in caption(4, 7, sizes_differ=True)
    assert "median" not in caption(1, 1) and "bar" not in caption(1, 1) and "n = 1 token row of" in caption(1, 1)
    assert "0" not in caption(0, 0)


def cover_title(needed: Sequence[int], sizes: Sequence[int] = ()) -> str:
    return say.cover_title(needed=needed, sizes=sizes or [8] * len(needed), layers=list(range(3, 3 + len(needed))))


@pytest.mark.parametrize(
    ("needed", "which", "enough"),
    [
        # four and five: the mean of the two is nobody's, and cut to 4 is right for one half only
        ((4, 5), "at least half", "4 of 8 experts or fewer are enough for"),
        ((4, 4, 5, 5), "at least half", "4 of 8 experts or fewer are enough for"),
        ((3, 6, 5), "at least half", "5 of 8 experts or fewer are enough for"),
        ((5, 5), "every layer", "5 of 8 experts are enough for"),
        ((4,), "In layer 3", "4 of 8 experts are enough for"),
        ((1,), "In layer 3", "1 of 8 experts is enough for"),
        ((1, 1, 2), "at least half", "1 of 8 experts is enough for"),
        ((8,), "In layer 3", "take all 8 experts"),
        ((8, 8), "every layer", "take all 8 experts"),
        ((2, 8, 8), "more than half", "take all 8 experts"),
        ((7, 8), "at least half", "7 of 8 experts or fewer are enough for"),
    ],
)
def test_how_few_experts_are_enough(needed: tuple[int, ...], which: str, enough: str) -> None:
    title = cover_title(needed)
    assert which in title and enough in title and "80 % of the choices" in title


def test_layers_with_other_numbers_of_experts_have_no_common_of() -> None:
    said = "In at least half of the layers with experts, 4 experts or fewer are enough for 80 % of the choices"
    assert cover_title((4, 9, 4), (8, 16, 8)) == said
    assert cover_title((1, 1), (8, 16)) == "In every layer with experts, 1 expert is enough for 80 % of the choices"


@pytest.mark.parametrize("seed", range(50))
def test_what_is_said_of_half_of_the_layers_is_so(seed: int) -> None:
    chance = random.Random(seed)
    needed = [chance.randint(1, 8) for _ in range(chance.randint(2, 9))]
    said = cover_title(needed)
    number = int(next(word for word in said.split() if word.isdigit() and word != "80"))
    if "at least half" in said:
        assert 2 * sum(n <= number for n in needed) >= len(needed)
    elif "more than half" in said:
        assert 2 * sum(n == 8 for n in needed) > len(needed)
    else:
        assert set(needed) == {number}


def test_how_strongly() -> None:
    assert "gets a weight of 0.354" in say.weights_title(mean=0.354, places=2, layers=FOUR)
    assert "strongest expert in layer 3 " in say.weights_title(mean=0.354, places=2, layers=[3])
    assert say.weights_title(mean=1.0, places=1, layers=FOUR).startswith("The one expert that ")


def test_rows_are_counted_by_layer() -> None:
    assert say.counted_rows([7, 7], "per layer") == " n = 7 token rows per layer."
    assert say.counted_rows([3, 1], "per layer") == " n = 1 to 3 token rows per layer."
    assert say.counted_rows([], "per layer") == ""


def test_few_rows_are_uneven_by_chance() -> None:
    said = say.load_title(share=5 / 14, even=1 / 8, layers=[0, 1, 2, 3], chance=0.2735)
    assert said.endswith("an even choice would give it 12.5 %, a random choice by so few rows about 27.4 %")
    assert "random" not in say.load_title(share=5 / 14, even=1 / 8, layers=[0, 1], chance=None)


def test_experts_used() -> None:
    def title(prompt: tuple[int, int] | None, generate: tuple[int, int] | None, n_experts: int | None = 32) -> str:
        return say.used_title(prompt=prompt, generate=generate, n_experts=n_experts)

    both = title((26, 30), (32, 32))
    assert "prompt uses 26 to 30 of 32 experts" in both and both.endswith("generated tokens together 32")
    assert "generated tokens use 3 to 4 of 32 experts" in title(None, (3, 4))
    assert "prompt uses 3 of 32 experts of a layer" in title((3, 3), None)
    assert title((3, 3), (3, 3), None).endswith("?") and title(None, None, 8).endswith("?")
