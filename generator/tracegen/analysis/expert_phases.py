"""Are other experts chosen for the prompt than while tokens are generated?

The distance of a layer is the total variation between the shares of choices that its experts get in the two phases:

    distance = ½ Σ_e |p_prompt(e) - p_generate(e)|      0: the same shares, 1: no expert in common

It is the share of choices that would have to go to other experts. With few rows it is never near 0, so beside it stands
what the same rows give when they are dealt to the two phases at random, as many to each. Rows in a row resemble each
other: they are dealt in blocks of up to `BLOCK` rows that follow each other, each with all its layers; the block is
shorter where a phase has fewer than `LEAST_BLOCKS` of them. p is one-sided, for a distance can
only be too large: (1 + permutations with at least the observed distance) / (1 + `chance.DRAWS`).
"""

import numpy as np
import pandas as pd

from tracegen.analysis import chance, experts
from tracegen.analysis.accesses import Tables
from tracegen.analysis.expert_rows import SameRows, groups, over_layers

BLOCK, LEAST_BLOCKS = 8, 5
MOST_ROWS = 1_000  # of a phase; of more the last of the prompt and the first generated
COLUMNS = [
    "layer",
    "n_layers",
    "n_prompt",
    "n_generate",
    "block",
    "distance",
    "shuffled",
    "high",
    "effect",
    "p",
    "p_adjusted",
]
_TYPES = {name: "Int64" if name in ("layer", "block") or name.startswith("n_") else "Float64" for name in COLUMNS}


def phases(tables: Tables) -> pd.DataFrame:
    """How far the choices of prompt and generate passes lie apart, over all layers (layer null) and in each.

    Columns: layer, n_layers, n_prompt and n_generate (token rows), block (rows that are dealt together), distance,
    shuffled (mean of the permutations), high (95 % of them lie below), effect (distance - shuffled), p, p_adjusted (for
    all layers by Holm's method; over all layers it is p). Over all layers distances are means, of the layers in which
    the same rows chose, if they are most. A layer has no row if a phase lacks it, or if its rows choose different
    numbers of experts, or all.
    """
    both = {phase: experts.of_phase(tables, phase) for phase in ("prompt", "generate")}
    common = set(both["prompt"]["layer"]) & set(both["generate"]["layer"])
    rows = pd.concat([_in_line(of, phase) for phase, of in both.items()], ignore_index=True)
    rows = rows[rows["layer"].isin(common)]
    generate = set(both["generate"]["pass_id"].tolist())
    sizes = experts.sizes(tables, pd.concat(list(both.values()), ignore_index=True))
    by_group = [_group(group, generate) for group in groups(rows, sizes)] if len(rows) else []
    return chance.with_older_name(over_layers(by_group, COLUMNS).astype(_TYPES))


def _in_line(rows: pd.DataFrame, phase: str) -> pd.DataFrame:
    """The rows of a phase in one line, by pass and row; of more than MOST_ROWS those nearest to the other phase."""
    rows = rows.assign(sequence=pd.array([0] * len(rows), dtype="Int64"))
    tokens = rows[["pass_id", "row"]].drop_duplicates().sort_values(["pass_id", "row"])
    kept = tokens.tail(MOST_ROWS) if phase == "prompt" else tokens.head(MOST_ROWS)
    return rows.merge(kept, on=["pass_id", "row"])


def _group(group: SameRows, generate: set[int]) -> pd.DataFrame:
    """The rows of one group: over its layers, then each layer."""
    is_generate = group.rows["pass_id"].isin(generate).to_numpy()
    n_generate, n_prompt = int(is_generate.sum()), int((~is_generate).sum())
    block = max(1, min(BLOCK, min(n_generate, n_prompt) // LEAST_BLOCKS))
    labels = np.vstack([is_generate, _dealt(is_generate, block)]).astype(np.float32)
    distances = np.array([_distance(layer.chose, labels) for layer in group.layers])  # layers by (observed, draws …)
    sizes = {"n_prompt": n_prompt, "n_generate": n_generate, "block": block}
    overall = {"layer": None, "n_layers": len(group.layers)} | sizes | _tested(distances.mean(axis=0))
    records = [
        {"layer": layer.layer, "n_layers": 1} | sizes | _tested(of)
        for layer, of in zip(group.layers, distances, strict=True)
    ]
    return pd.DataFrame([overall, *records], columns=COLUMNS)


def _dealt(is_generate: np.ndarray, block: int) -> np.ndarray:
    """Which rows each draw takes as generated: blocks of a phase in random order, the last so many rows of the line."""
    n, n_generate = len(is_generate), int(is_generate.sum())
    number = np.empty(n, dtype=np.int64)
    first = 0
    for phase in (False, True):
        mine = np.flatnonzero(is_generate == phase)
        number[mine] = first + np.arange(len(mine)) // block
        first = int(number[mine].max()) + 1
    random = np.random.default_rng(0)
    dealt = np.zeros((chance.DRAWS, n), dtype=bool)
    for labels in dealt:
        order = np.argsort(random.random(first)[number], kind="stable")
        labels[order[n - n_generate :]] = True
    return dealt


def _distance(chose: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The distance of a layer by labelling (labellings by rows, 1 if generated): total variation of the shares."""
    x = chose.astype(np.float32)
    generated = (labels @ x).astype(np.float64)
    prompt = x.sum(axis=0, dtype=np.float64) - generated
    shares = [of / of.sum(axis=1, keepdims=True) for of in (prompt, generated)]
    distances: np.ndarray = np.abs(shares[0] - shares[1]).sum(axis=1) / 2
    return distances


def _tested(distances: np.ndarray) -> dict[str, float | None]:
    """The observed distance, which comes first, against the drawn ones."""
    observed, drawn = float(distances[0]), distances[1:]
    high = float(np.quantile(drawn, 0.95))
    mean = float(drawn.mean())
    p = float((1 + (drawn >= observed - 1e-9).sum()) / (1 + len(drawn)))  # a distance can only be too large
    return {"distance": observed, "shuffled": mean, "high": high, "effect": observed - mean, "p": p}
