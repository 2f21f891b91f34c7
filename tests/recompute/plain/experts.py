"""Which experts the generated tokens chose."""

from collections import defaultdict
from math import log2, sqrt

from tests.recompute.plain.rows import Row, Rows

Chosen = dict[int, list[list[Row]]]


def choices(rows: Rows, kind: str = "generate") -> Chosen:
    """The choices of each layer: one list per token of the passes of a kind, in order of pass and row.

    The token that holds a generated token chooses its experts.
    """
    passes = {one["pass_id"] for one in rows.of_kind(kind)}
    found: dict[int, dict[tuple[int, int], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows["routing"]:
        if row["pass_id"] in passes:
            found[row["layer"]][row["pass_id"], row["row"]].append(row)
    return {
        layer: [sorted(of[key], key=lambda row: row["rank"]) for key in sorted(of)]
        for layer, of in sorted(found.items())
    }


def n_experts(rows: Rows, layer: int) -> int:
    """How many experts a layer has: as many as the file stacks in its tensors."""
    return int(max(row["n_experts"] for row in rows["tensors"] if row["layer"] == layer and row["n_experts"]))


def counts(rows: Rows) -> list[Row]:
    """How many tokens chose each expert of each layer, and how many would if all were chosen equally often."""
    table = []
    for layer, tokens in choices(rows).items():
        size = n_experts(rows, layer)
        chosen = [row["expert"] for token in tokens for row in token]
        for expert in range(size):
            table.append(
                {
                    "layer": layer,
                    "expert": expert,
                    "n_tokens": chosen.count(expert),
                    "n_tokens_if_even": len(chosen) / size,
                }
            )
    return table


def ranked(rows: Rows) -> list[Row]:
    """The experts of a layer from the most to the least chosen, those of lower number first among equals.

    share: of the layer's choices; covered: with those of all before it; even: the share of an even choice.
    """
    table = []
    for layer in choices(rows):
        of = [row for row in counts(rows) if row["layer"] == layer]
        total, sofar = sum(row["n_tokens"] for row in of), 0
        for place, row in enumerate(sorted(of, key=lambda row: (-row["n_tokens"], row["expert"])), 1):
            sofar += row["n_tokens"]
            table.append(
                {
                    "layer": layer,
                    "place": place,
                    "expert": row["expert"],
                    "n_tokens": row["n_tokens"],
                    "share": row["n_tokens"] / total,
                    "covered": sofar / total,
                    "even": 1 / len(of),
                }
            )
    return table


def layers(rows: Rows) -> list[Row]:
    """How unevenly the choices of each layer fall on its experts.

    unevenness: the standard deviation (of all experts, not of a sample) of the counts over their mean. needed_50,
    needed_80, needed_95: the fewest experts that got at least this percentage of the choices.
    """
    table = []
    for layer in choices(rows):
        of = [row for row in ranked(rows) if row["layer"] == layer]
        n = [row["n_tokens"] for row in of]
        mean = sum(n) / len(n)
        row = {
            "layer": layer,
            "n_experts": len(n),
            "n_choices": sum(n),
            "most_chosen": of[0]["expert"],
            "most_share": n[0] / sum(n),
            "n_never": n.count(0),
            "unevenness": sqrt(sum((one - mean) ** 2 for one in n) / len(n)) / mean,
        }
        for percent in (50, 80, 95):
            taken = 0
            while sum(n[:taken]) * 100 < percent * sum(n):
                taken += 1
            row[f"needed_{percent}"] = taken
        table.append(row)
    return table


def reuse(rows: Rows) -> list[Row]:
    """How many of a token's experts the token before it, of the same sequence, had chosen in the same layer.

    n_tokens: those that have one before them. even: the mean, over their choices, of the share of the layer's experts
    that the token before had chosen.
    """
    table = []
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
            table.append(
                {
                    "layer": layer,
                    "n_tokens": n_tokens,
                    "n_choices": n_choices,
                    "n_again": n_again,
                    "share": n_again / n_choices,
                    "even": likely / n_choices,
                }
            )
    return table


def by_strength(token: list[Row]) -> list[Row]:
    """The experts of a token in a layer, the one of greatest weight first; equal ones as the router named them."""
    return sorted(token, key=lambda row: (-row["weight"], row["rank"]))


def strength(rows: Rows) -> list[Row]:
    """The weight of each token's strongest expert in a layer (place 1), of its second, and so on: mean and range.

    The strongest is the one of greatest weight, which need not be the one that the router named first.
    """
    table = []
    for layer, tokens in choices(rows).items():
        weights = [[row["weight"] for row in by_strength(token)] for token in tokens]
        for place in range(1, max(map(len, weights)) + 1):
            of = [token[place - 1] for token in weights if place <= len(token)]
            table.append(
                {
                    "layer": layer,
                    "place": place,
                    "n": len(of),
                    "mean": sum(of) / len(of),
                    "lowest": min(of),
                    "highest": max(of),
                }
            )
    return table


def of_tokens(rows: Rows) -> list[Row]:
    """The choices in the layer of the greatest unevenness, the lowest of several: which token, and at which place."""
    uneven = layers(rows)
    most = max(row["unevenness"] for row in uneven)
    layer = next(row["layer"] for row in uneven if row["unevenness"] == most)
    return [
        row | {"generated_token": token_of(rows).get((row["pass_id"], row["row"])), "place": place}
        for token in choices(rows)[layer]
        for place, row in enumerate(by_strength(token), 1)
    ]


def token_of(rows: Rows) -> dict[tuple[int, int], int]:
    """Which generated token a token holds, by pass and row: those of generate passes hold them in order."""
    generate = {one["pass_id"] for one in rows.of_kind("generate")}
    keys = sorted((row["pass_id"], row["row"]) for row in rows["tokens"] if row["pass_id"] in generate)
    return {key: k for k, key in enumerate(keys)}


def balance(rows: Rows) -> list[Row]:
    """How evenly the choices of each layer fall on its experts, by phase: what needs no simulation."""
    table = []
    for phase, layers_of in ((kind, choices(rows, kind)) for kind in ("generate", "prompt")):
        for layer, tokens in layers_of.items():
            size = n_experts(rows, layer)
            chosen = [row["expert"] for token in tokens for row in token]
            n = [chosen.count(expert) for expert in range(size)]
            shares = [one / len(chosen) for one in n if one]
            differences = sum(abs(a - b) for a in n for b in n)
            table.append(
                {
                    "phase": phase,
                    "layer": layer,
                    "n_layers": 1,
                    "n_rows": len(tokens),
                    "n_experts": size,
                    "n_chosen": len(tokens[0]),
                    "n_used": len(shares),
                    "entropy": -sum(share * log2(share) for share in shares) / log2(size),
                    "gini": differences / (2 * size * len(chosen)),
                    "largest": max(n) * size / len(chosen),
                }
            )
    return table


def sticky(rows: Rows) -> list[Row]:
    """How many experts of the token before are chosen again: observed, even, and the mean over all orders of tokens.

    In a random order each ordered pair of the n tokens of a sequence is as likely to be neighbours as any other.
    """
    table = []
    for row in reuse(rows):
        of: dict[int, list[set[int]]] = defaultdict(list)
        for token in choices(rows)[row["layer"]]:
            of[token[0]["sequence"]].append({one["expert"] for one in token})
        common = sum(
            sum(len(a & b) for i, a in enumerate(sets) for j, b in enumerate(sets) if i != j) / len(sets)
            for sets in of.values()
        )
        kept = {name: row[name] for name in ("layer", "n_choices", "n_again", "share", "even")}
        shuffled = common / row["n_choices"]
        table.append(
            kept | {"n_pairs": row["n_tokens"], "shuffled": shuffled, "effect": row["share"] - shuffled, "n_layers": 1}
        )
    return table


def at_random(of: list[Row], size: int) -> float:
    """How many of `size` experts as many rows would use on average that each choose as many at random."""
    n = len({(row["pass_id"], row["row"]) for row in of})
    never = 1.0
    for _ in range(n):
        never *= 1 - len(of) / n / size
    return size * (1 - never)


def used(rows: Rows) -> list[Row]:
    """How many experts of each expert tensor each pass of the prompt used, and all generate passes together."""
    table = []
    parts = [(one["pass_id"], {one["pass_id"]}) for one in rows.of_kind("prompt")]
    parts.append((None, {one["pass_id"] for one in rows.of_kind("generate")}))
    for number, passes in parts:
        for tensor in rows["tensors"]:
            of = [row for row in rows["routing"] if row["pass_id"] in passes and row["layer"] == tensor["layer"]]
            if tensor["n_experts"] and of:
                table.append(
                    {
                        "phase": "generate" if number is None else "prompt",
                        "pass_id": number,
                        "layer": tensor["layer"],
                        "tensor": tensor["name"],
                        "n_rows": len({(row["pass_id"], row["row"]) for row in of}),
                        "n_used": len({row["expert"] for row in of}),
                        "n_experts": tensor["n_experts"],
                        "if_even": at_random(of, tensor["n_experts"]),
                    }
                )
    return table
