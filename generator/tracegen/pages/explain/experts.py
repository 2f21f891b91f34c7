"""Explanations of the experts page: which experts the tokens chose, how evenly, how strongly, and which again."""

from __future__ import annotations

from tracegen.figures.explanation import Explanation

GENERATED = "Token rows of generate passes. Prompt and warm-up are left out."
HOLDS = "A row chooses the experts of the token that it holds: the one that the pass before it gave."
WHEN = "a model with experts"
COUNTS = """
from tracegen.analysis import experts, routing
counts = experts.choice(run.tables).counts
"""
CHOSEN = """
from tracegen.analysis import experts, routing
chosen = experts.generated(run.tables)
"""
OF_LAYER = """
from tracegen.analysis import experts
chosen = experts.generated(run.tables)
data = chosen[chosen["layer"] == $layer]
"""

BY_STRENGTH = """
from tracegen.analysis import experts, routing
chosen = experts.generated(run.tables)
data = routing.by_strength(chosen[chosen["layer"] == $layer])
"""

EXPERTS = (
    Explanation(
        "experts",
        "The number of token rows that chose an expert in a layer, as the router’s choice was read just before the "
        "experts ran.",
        GENERATED,
        "One row per layer, one cell per expert; white was never chosen. Compare with the even choice in the caption: "
        "a few strong cells in a row mean that the layer prefers experts, which a cache would then hold.",
        """
from tracegen.analysis import experts
choice = experts.choice(run.tables)
data = choice.counts.assign(n_tokens_if_even=choice.even)
""",
        when=WHEN,
    ),
    Explanation(
        "experts-tokens",
        "The experts that each generated token chose in one layer, the one whose choice is most uneven.",
        f"{GENERATED} {HOLDS} When they are many, equally many neighbours share a line; the data has each on its own.",
        "From top to bottom the tokens, from left to right the experts. A dark column is an expert that most tokens "
        "choose; marks that stay in place from line to line are experts that a cache would still hold.",
        OF_LAYER,
        when=WHEN,
    ),
    Explanation(
        "experts-of-tokens",
        "The experts that each token chose in that layer, with the weights that the router gave them.",
        f"{GENERATED} {HOLDS}",
        "The expert with the largest weight stands first, and the weights in the same order. “—” is a weight that was "
        "not recorded: then the experts stand as llama.cpp chose them, which may be with a bias.",
        BY_STRENGTH,
        when=WHEN,
    ),
    Explanation(
        "layer",
        "The experts that each generated token chose, in any layer: the list above the grid chooses it.",
        f"{GENERATED} {HOLDS} Up to 600 tokens have a line each; of more, equally many neighbours share one.",
        "As the figure of the most uneven layer. Pointer or arrow keys tell the token and its experts. The same is in "
        "the table routing of the downloads.",
        when=WHEN,
    ),
    Explanation(
        "experts-load",
        "The share of a layer’s choices that its most chosen expert gets, its second, and so on.",
        f"{GENERATED} An expert of a layer counts once for each token row that chose it there.",
        "Ticks near the dashed line are an even load. A steep begin means that few experts do most of the work; a long "
        "bar means that layers differ. Which expert stands at a place differs from layer to layer.",
        COUNTS + "data = routing.ranked(counts)",
        when=WHEN,
    ),
    Explanation(
        "experts-cover",
        "The fewest experts of a layer that together make up 50, 80 and 95 % of its choices.",
        GENERATED,
        "Low lines are good for a cache: so many experts per layer, held in memory, answer that part of the choices. "
        "The number says nothing of when they are chosen: see which are chosen again.",
        COUNTS + "data = routing.layers(counts)",
        when=WHEN,
    ),
    Explanation(
        "experts-layers",
        "How the choices of each layer are shared among its experts.",
        f"{GENERATED} Choices are token rows times the experts that each chooses.",
        "Unevenness 0 is an even choice; 1 says that the counts scatter as far as their mean. Of several experts that "
        "are chosen equally often the one with the lowest number is named.",
        COUNTS + "data = routing.layers(counts)",
        when=WHEN,
    ),
    Explanation(
        "experts-reuse",
        "The share of a token’s experts that the token before it chose in the same layer.",
        f"{GENERATED} The token before is the generated one before it in its sequence; the first has none and is not "
        "counted.",
        "The tick is what tokens that choose at random would share. A bar far above it: experts stay in use from token "
        "to token, so that keeping those of one token in memory saves reading.",
        CHOSEN + "data = routing.reuse(chosen, experts.choice(run.tables).counts)",
        when=WHEN,
    ),
    Explanation(
        "experts-again",
        "The same per layer in numbers: tokens, their choices, and how many the token before had chosen too.",
        f"{GENERATED} The first token of a sequence has none before it and is not counted.",
        "Compare the share with the even choice beside it: the difference is what the model prefers.",
        CHOSEN + "data = routing.reuse(chosen, experts.choice(run.tables).counts)",
        when=WHEN,
    ),
    Explanation(
        "experts-weights",
        "The mean weight that the router gave to a token’s strongest expert, its second, and so on.",
        f"{GENERATED} Rows of which all weights were recorded, as llama.cpp multiplies the experts’ outputs with them.",
        "Lines far apart: the strongest expert decides, the last adds little. Lines close together: all count alike. "
        "Whether the weights of a token add up to 1 is the model’s choice.",
        CHOSEN + "data = routing.weights(chosen)",
        when=WHEN,
    ),
    Explanation(
        "experts-strength",
        "The mean weight of each place per layer; lowest and highest stand in the data.",
        f"{GENERATED} Rows of which all weights were recorded.",
        "Place 1 is the strongest of a token. The pointer on a number shows its range and n.",
        CHOSEN + "data = routing.weights(chosen)",
        when=WHEN,
    ),
)
