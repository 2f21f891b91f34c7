"""What the choices of experts show: how uneven they are, how few experts cover most, how often tokens repeat them."""

import numpy as np
import pandas as pd

COVERED = (0.5, 0.8, 0.95)


def ranked(counts: pd.DataFrame) -> pd.DataFrame:
    """Experts of each layer from the most to the least chosen, equally chosen ones by number.

    `counts` is that of `experts.choice`. Columns: layer, place (1 is the most chosen), expert, n_tokens,
    share (of the layer's choices), covered (cumulative share), even (the share if all were chosen equally often).
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
    """The share of a layer's choices that its most chosen expert gets (median over layers), and the even share.

    The even share is None where layers differ in their number of experts. `ranked` is the result of `ranked`; it must
    have rows.
    """
    even = ranked["even"].unique()
    return float(ranked.loc[ranked["place"] == 1, "share"].median()), float(even[0]) if len(even) == 1 else None


def most_chosen_by_chance(n_rows: int, n_chosen: int, n_experts: int, n_runs: int = 400) -> float | None:
    """The share that the most chosen expert of a layer would get if each row chose at random.

    With few rows chance alone makes the choice uneven. This is the mean over `n_runs` simulated layers with a fixed
    seed: the same input gives the same number. None above 2,000 rows, where chance matters little.
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
    records = []
    for layer, rows in counts.groupby("layer"):
        n = np.sort(rows["n_tokens"].to_numpy("int64"))[::-1]
        best = rows.sort_values(["n_tokens", "expert"], ascending=[False, True]).iloc[0]
        sums, total = np.cumsum(n), int(n.sum())
        needed = {f"needed_{round(100 * part)}": int((sums < _least(part, total)).sum()) + 1 for part in COVERED}
        records.append(
            {
                "layer": int(str(layer)),
                "n_experts": len(n),
                "n_choices": total,
                "most_chosen": int(best["expert"]),
                "most_share": float(n[0]) / total,
                "n_never": int((n == 0).sum()),
                "unevenness": float(n.std() / n.mean()),
            }
            | needed
        )
    columns = ["layer", "n_experts", "n_choices", "most_chosen", "most_share", "n_never", "unevenness"]
    return pd.DataFrame(records, columns=[*columns, *(f"needed_{round(100 * part)}" for part in COVERED)])


def _least(part: float, total: int) -> int:
    """The smallest number of choices that is at least this part of all choices."""
    return -(-round(100 * part) * total // 100)


def most_uneven(per_layer: pd.DataFrame) -> int | None:
    """The layer with the most uneven choice, the lowest of several; None when there is no layer."""
    if per_layer.empty:
        return None
    ordered = per_layer.sort_values(["unevenness", "layer"], ascending=[False, True])
    return int(ordered["layer"].iloc[0])


def by_strength(chosen: pd.DataFrame) -> pd.DataFrame:
    """The choices with `place`: the place of the expert by weight among those of its row and layer, 1 the strongest.

    llama.cpp's first choice (rank 0) is not always the strongest: some routers choose with a bias that the weight does
    not contain. `place` is null where a weight of the row is not known. Sorted by layer, pass, row and place; equal
    weights, and rows without places, by rank.
    """
    key = ["layer", "pass_id", "row"]
    weight = chosen["weight"].astype("Float64")
    whole = weight.notna().groupby([chosen[name] for name in key]).transform("all").astype(bool)
    ordered = chosen.assign(weaker=(-weight).where(whole, 0.0), whole=whole)
    ordered = ordered.sort_values([*key, "weaker", "rank"], ignore_index=True)
    place = (ordered.groupby(key).cumcount() + 1).astype("Int64").where(ordered["whole"])
    return ordered.drop(columns=["weaker", "whole"]).assign(place=place)


def weights(chosen: pd.DataFrame) -> pd.DataFrame:
    """Mean routing weight by layer and place (1 is the strongest), over tokens with all weights known.

    Columns: layer, place, n, mean, lowest, highest.
    """
    rows = by_strength(chosen).dropna(subset=["place"]).astype({"weight": "float64", "place": "int64"})
    grouped = rows.groupby(["layer", "place"])["weight"]
    table = grouped.agg(n="size", mean="mean", lowest="min", highest="max")
    return table.reset_index()


def grid(chosen: pd.DataFrame, layer: int, most: int) -> tuple[pd.DataFrame, int]:
    """The experts of each token in a layer, and how many tokens share one line of the drawing.

    Columns: line, first_pass, last_pass, expert, n_tokens. Tokens are in order of evaluation. More than `most` tokens
    share lines, equally many in each line but the last.
    """
    rows = chosen[chosen["layer"] == layer]
    tokens = rows[["pass_id", "row"]].drop_duplicates().sort_values(["pass_id", "row"], ignore_index=True)
    several = max(1, -(-len(tokens) // most))
    tokens = tokens.assign(line=tokens.index // several)
    ends = tokens.groupby("line")["pass_id"].agg(first_pass="first", last_pass="last")
    counts = rows.merge(tokens, on=["pass_id", "row"]).groupby(["line", "expert"]).size()
    lines = counts.rename("n_tokens").reset_index().join(ends, on="line")
    return lines[["line", "first_pass", "last_pass", "expert", "n_tokens"]], several
