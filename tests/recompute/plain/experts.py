"""Which experts the generated tokens chose."""

from __future__ import annotations

from collections import defaultdict
from math import sqrt

from tests.recompute.plain.rows import Row, Rows

Chosen = dict[int, list[list[Row]]]


def choices(rows: Rows) -> Chosen:
    """The choices of each layer: one list per token row of the generate passes, in order of pass and row.

    The token row that holds a generated token chooses its experts. Prompt and warm-up are left out.
    """
    generate = {one["pass_id"] for one in rows.of_kind("generate")}
    found: dict[int, dict[tuple[int, int], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows["routing"]:
        if row["pass_id"] in generate:
            found[row["layer"]][row["pass_id"], row["row"]].append(row)
    return {
        layer: [sorted(of[key], key=lambda row: row["rank"]) for key in sorted(of)]
        for layer, of in sorted(found.items())
    }


def n_experts(rows: Rows, layer: int) -> int:
    """How many experts a layer has: as many as the file stacks in its tensors."""
    return int(max(row["n_experts"] for row in rows["tensors"] if row["layer"] == layer and row["n_experts"]))


def counts(rows: Rows) -> list[Row]:
    """How many token rows chose each expert of each layer, and how many would if all were chosen equally often."""
    made = []
    for layer, tokens in choices(rows).items():
        size = n_experts(rows, layer)
        chosen = [row["expert"] for token in tokens for row in token]
        for expert in range(size):
            made.append(
                {
                    "layer": layer, "expert": expert, "n_tokens": chosen.count(expert),
                    "n_tokens_if_even": len(chosen) / size,
                }
            )  # fmt: skip
    return made


def ranked(rows: Rows) -> list[Row]:
    """The experts of a layer from the most to the least chosen, those of lower number first among equals.

    share: of the layer's choices; covered: with those of all before it; even: the share of an even choice.
    """
    made = []
    for layer in choices(rows):
        of = [row for row in counts(rows) if row["layer"] == layer]
        total, sofar = sum(row["n_tokens"] for row in of), 0
        for place, row in enumerate(sorted(of, key=lambda row: (-row["n_tokens"], row["expert"])), 1):
            sofar += row["n_tokens"]
            made.append(
                {
                    "layer": layer, "place": place, "expert": row["expert"], "n_tokens": row["n_tokens"],
                    "share": row["n_tokens"] / total, "covered": sofar / total, "even": 1 / len(of),
                }
            )  # fmt: skip
    return made


def layers(rows: Rows) -> list[Row]:
    """How unevenly the choices of each layer fall on its experts.

    unevenness: the standard deviation (of all experts, not of a sample) of the counts over their mean. needed_50,
    needed_80, needed_95: the fewest experts that got at least this percentage of the choices.
    """
    made = []
    for layer in choices(rows):
        of = [row for row in ranked(rows) if row["layer"] == layer]
        n = [row["n_tokens"] for row in of]
        mean = sum(n) / len(n)
        row = {
            "layer": layer, "n_experts": len(n), "n_choices": sum(n), "most_chosen": of[0]["expert"],
            "most_share": n[0] / sum(n), "n_never": n.count(0),
            "unevenness": sqrt(sum((one - mean) ** 2 for one in n) / len(n)) / mean,
        }  # fmt: skip
        for percent in (50, 80, 95):
            taken = 0
            while sum(n[:taken]) * 100 < percent * sum(n):
                taken += 1
            row[f"needed_{percent}"] = taken
        made.append(row)
    return made


def reuse(rows: Rows) -> list[Row]:
    """How many of a token's experts the token before it, of the same sequence, had chosen in the same layer.

    n_tokens: those that have one before them. even: the mean, over their choices, of the share of the layer's experts
    that the token before had chosen.
    """
    made = []
    for layer, tokens in choices(rows).items():
        before: dict[int, set[int]] = {}
        n_tokens = n_choices = n_again = 0
        likely = 0.0
        for token in tokens:
            sequence, now = token[0]["sequence"], {row["expert"] for row in token}
            earlier = before.get(sequence)
            if earlier is not None:
                n_tokens += 1
                n_choices += len(now)
                n_again += len(now & earlier)
                likely += len(now) * len(earlier) / n_experts(rows, layer)
            before[sequence] = now
        if n_tokens:
            made.append(
                {
                    "layer": layer, "n_tokens": n_tokens, "n_choices": n_choices, "n_again": n_again,
                    "share": n_again / n_choices, "even": likely / n_choices,
                }
            )  # fmt: skip
    return made


def by_strength(token: list[Row]) -> list[Row]:
    """The experts of a token row in a layer, the one of greatest weight first; equal ones as the router named them."""
    return sorted(token, key=lambda row: (-row["weight"], row["rank"]))


def strength(rows: Rows) -> list[Row]:
    """The weight of each token's strongest expert in a layer (place 1), of its second, and so on: mean and range.

    The strongest is the one of greatest weight, which need not be the one that the router named first.
    """
    made = []
    for layer, tokens in choices(rows).items():
        weights = [[row["weight"] for row in by_strength(token)] for token in tokens]
        for place in range(1, max(map(len, weights)) + 1):
            of = [token[place - 1] for token in weights if place <= len(token)]
            made.append(
                {
                    "layer": layer, "place": place, "n": len(of), "mean": sum(of) / len(of), "lowest": min(of),
                    "highest": max(of),
                }
            )  # fmt: skip
    return made


def of_tokens(rows: Rows) -> list[Row]:
    """The choices in the layer of the greatest unevenness, the lowest of several: which token, and at which place."""
    uneven = layers(rows)
    most = max(row["unevenness"] for row in uneven)
    layer = next(row["layer"] for row in uneven if row["unevenness"] == most)
    return [
        row | {"generated_token": held(rows).get((row["pass_id"], row["row"])), "place": place}
        for token in choices(rows)[layer]
        for place, row in enumerate(by_strength(token), 1)
    ]


def held(rows: Rows) -> dict[tuple[int, int], int]:
    """Which generated token a token row holds, by pass and row: those of generate passes hold them in order."""
    generate = {one["pass_id"] for one in rows.of_kind("generate")}
    keys = sorted((row["pass_id"], row["row"]) for row in rows["tokens"] if row["pass_id"] in generate)
    return {key: k for k, key in enumerate(keys)}
