"""What follows from the choices of experts: how uneven they are, how many cover most, how often the same ones again."""

from __future__ import annotations

import numpy as np
import pandas as pd

COVERED = (0.5, 0.8, 0.95)


def ranked(counts: pd.DataFrame) -> pd.DataFrame:
    """Experts of each layer from the most to the least chosen.

    `counts` as `experts.choice` gives them. Columns: layer, place (1 is the most chosen), expert, n_tokens,
    share (of the layer's choices), covered (share of this and all before it), even (share of an even choice).
    Equally chosen ones stand in order of their numbers.
    """
    rows = counts.sort_values(["layer", "n_tokens", "expert"], ascending=[True, False, True], ignore_index=True)
    grouped = rows.groupby("layer")["n_tokens"]
    total = grouped.transform("sum").astype("float64")
    return rows.assign(
        place=rows.groupby("layer").cumcount() + 1,
        share=rows["n_tokens"] / total,
        covered=grouped.cumsum() / total,
        even=1 / grouped.transform("size"),
    )[["layer", "place", "expert", "n_tokens", "share", "covered", "even"]]


def most_chosen(ranked: pd.DataFrame) -> tuple[float, float | None]:
    """What the most chosen expert of a layer gets of its choices, the median over layers; and an even choice.

    The even choice is None where layers differ in their number of experts. `ranked` as above, with rows.
    """
    even = ranked["even"].unique()
    return float(ranked.loc[ranked["place"] == 1, "share"].median()), float(even[0]) if len(even) == 1 else None


def most_chosen_by_chance(n_rows: int, n_chosen: int, n_experts: int, n_runs: int = 400) -> float | None:
    """The share of the choices that the most chosen expert of a layer gets where each row chooses at random.

    The mean of `n_runs` simulated layers, with a fixed seed: the same input gives the same number. Few rows are uneven
    by chance alone. None above 2,000 rows, where little of that is left.
    """
    if not 0 < n_rows <= 2_000 or not 0 < n_chosen <= n_experts:
        return None
    random = np.random.default_rng(0)
    counts = np.zeros((n_runs, n_experts), np.int64)
    run = np.arange(n_runs)[:, None]
    for _ in range(n_rows):
        chosen = np.argpartition(random.random((n_runs, n_experts)), n_chosen - 1, axis=1)[:, :n_chosen]
        counts[run, chosen] += 1
    return float(counts.max(axis=1).mean() / (n_rows * n_chosen))


def layers(counts: pd.DataFrame) -> pd.DataFrame:
    """How uneven the choice is in each layer.

    Columns: layer, n_experts, n_choices, most_chosen (expert), most_share, n_never (chosen by no token),
    unevenness (standard deviation of the counts over their mean; 0 is even), and needed_50, needed_80,
    needed_95: the fewest experts that make up this percentage of the choices.
    """
    made = []
    for layer, rows in counts.groupby("layer"):
        n = np.sort(rows["n_tokens"].to_numpy("int64"))[::-1]
        best = rows.sort_values(["n_tokens", "expert"], ascending=[False, True]).iloc[0]
        sums, total = np.cumsum(n), int(n.sum())
        needed = {f"needed_{round(100 * part)}": int((sums < _least(part, total)).sum()) + 1 for part in COVERED}
        made.append(
            {
                "layer": int(str(layer)), "n_experts": len(n), "n_choices": total,
                "most_chosen": int(best["expert"]), "most_share": float(n[0]) / total,
                "n_never": int((n == 0).sum()), "unevenness": float(n.std() / n.mean()),
            } | needed
        )  # fmt: skip
    columns = ["layer", "n_experts", "n_choices", "most_chosen", "most_share", "n_never", "unevenness"]
    return pd.DataFrame(made, columns=[*columns, *(f"needed_{round(100 * part)}" for part in COVERED)])


def _least(part: float, total: int) -> int:
    """The fewest whole choices that are at least this part of all."""
    return -(-round(100 * part) * total // 100)


def most_uneven(per_layer: pd.DataFrame) -> int | None:
    """The layer with the most uneven choice, the lowest of several; None when there is no layer."""
    if per_layer.empty:
        return None
    ordered = per_layer.sort_values(["unevenness", "layer"], ascending=[False, True])
    return int(ordered["layer"].iloc[0])


def reuse(chosen: pd.DataFrame, counts: pd.DataFrame) -> pd.DataFrame:
    """How many of a token's experts the token before had chosen too, per layer.

    `chosen` as `experts.generated` gives it. The token before is the row before of the same sequence in that layer;
    the first of a sequence has none and is not counted. Columns: layer, n_tokens (that have one before),
    n_choices (theirs), n_again (chosen by the token before too), share, even (what an even choice gives: the
    share of the layer's experts that the token before had chosen).
    """
    rows = chosen.assign(who=chosen["sequence"].astype("Int64").fillna(-1).astype("int64"))
    tokens = rows[["layer", "who", "pass_id", "row"]].drop_duplicates().sort_values(["layer", "who", "pass_id", "row"])
    tokens = tokens.assign(number=tokens.groupby(["layer", "who"]).cumcount())
    rows = rows.merge(tokens, on=["layer", "who", "pass_id", "row"])
    held = rows.groupby(["layer", "who", "number"]).size().rename("before").reset_index()
    now = rows[rows["number"] > 0][["layer", "who", "number", "expert"]]
    earlier = rows[["layer", "who", "number", "expert"]].assign(number=rows["number"] + 1, again=True)
    now = now.merge(earlier, on=["layer", "who", "number", "expert"], how="left")
    now = now.merge(held.assign(number=held["number"] + 1), on=["layer", "who", "number"])
    size = counts.groupby("layer").size()
    grouped = now.assign(again=now["again"].notna(), even=now["before"] / now["layer"].map(size)).groupby("layer")
    made = grouped.agg(n_choices=("expert", "size"), n_again=("again", "sum"), even=("even", "mean")).reset_index()
    n_tokens = now.drop_duplicates(["layer", "who", "number"]).groupby("layer").size()
    made["n_tokens"] = made["layer"].map(n_tokens)
    made["share"] = made["n_again"] / made["n_choices"]
    return made[["layer", "n_tokens", "n_choices", "n_again", "share", "even"]]


def by_strength(chosen: pd.DataFrame) -> pd.DataFrame:
    """The choices with `place`, that of the weight among those of the token row in the layer: 1 is the strongest.

    llama.cpp's first choice (rank 0) is not always the strongest: some routers choose with a bias which the
    weight lacks. Null where a weight of the row is not known. Ordered by layer, pass, row and place; equal weights,
    and rows without places, as llama.cpp chose.
    """
    key = ["layer", "pass_id", "row"]
    weight = chosen["weight"].astype("Float64")
    whole = weight.notna().groupby([chosen[name] for name in key]).transform("all").astype(bool)
    made = chosen.assign(weaker=(-weight).where(whole, 0.0), whole=whole)
    made = made.sort_values([*key, "weaker", "rank"], ignore_index=True)
    place = (made.groupby(key).cumcount() + 1).astype("Int64").where(made["whole"])
    return made.drop(columns=["weaker", "whole"]).assign(place=place)


def weights(chosen: pd.DataFrame) -> pd.DataFrame:
    """Mean routing weight by layer and place (1 is the strongest), over token rows of which all weights are known.

    Columns: layer, place, n, mean, lowest, highest.
    """
    rows = by_strength(chosen).dropna(subset=["place"]).astype({"weight": "float64", "place": "int64"})
    grouped = rows.groupby(["layer", "place"])["weight"]
    made = grouped.agg(n="size", mean="mean", lowest="min", highest="max")
    return made.reset_index()


def grid(chosen: pd.DataFrame, layer: int, most: int) -> tuple[pd.DataFrame, int]:
    """The experts of each token in a layer, and how many tokens stand in one line.

    Columns: line, first_pass, last_pass, first_token, last_token (the generated tokens that the first and the last
    row of the line hold; null: not known), expert, n_tokens. Tokens in the order in which they were evaluated;
    more than `most` are joined, equally many in each line but the last.
    """
    rows = chosen[chosen["layer"] == layer]
    tokens = rows[["pass_id", "row", "generated_token"]].drop_duplicates(["pass_id", "row"])
    tokens = tokens.sort_values(["pass_id", "row"], ignore_index=True)
    several = max(1, -(-len(tokens) // most))
    tokens = tokens.assign(line=tokens.index // several)
    ends = [
        tokens.drop_duplicates("line", keep=keep)[["line", "pass_id", "generated_token"]].set_axis(
            ["line", f"{keep}_pass", f"{keep}_token"], axis="columns"
        )
        for keep in ("first", "last")
    ]
    made = rows.merge(tokens[["pass_id", "row", "line"]], on=["pass_id", "row"]).groupby(["line", "expert"]).size()
    lines = ends[0].merge(ends[1], on="line").merge(made.rename("n_tokens").reset_index(), on="line")
    names = ["line", "first_pass", "last_pass", "first_token", "last_token", "expert", "n_tokens"]
    return lines[names], several
