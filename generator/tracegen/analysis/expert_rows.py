"""The choices of experts as arrays, a layer at a time: what tests by permutation shuffle.

A token's choices in different layers depend on each other, so a permutation moves whole tokens, with all their layers.
That takes layers in which the same tokens chose: they make up `SameRows`. Most runs have one; the last layer of a
prompt has a group of its own, for llama.cpp computes it only for the rows whose output is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

Chose = np.ndarray  # bool
MOST_ROWS = 2_000  # of more tokens the first are tested: a test compares each with each


@dataclass(frozen=True)
class Layer:
    """The choices of a layer: `chose` is of shape (tokens, experts), each row true for `n_chosen` experts."""

    layer: int
    n_chosen: int
    chose: Chose

    @property
    def n_experts(self) -> int:
        """How many experts the layer has."""
        return int(self.chose.shape[1])


@dataclass(frozen=True)
class SameRows:
    """Layers in which the same tokens chose. `rows`: pass_id, row, who (the sequence, -1: not known), in order."""

    rows: pd.DataFrame
    layers: tuple[Layer, ...]


def in_order(group: SameRows) -> SameRows:
    """The group with its rows in order of evaluation, so that later tokens are the last."""
    order = np.lexsort([group.rows[name].to_numpy() for name in ("row", "pass_id")])
    layers = tuple(Layer(of.layer, of.n_chosen, of.chose[order]) for of in group.layers)
    return SameRows(group.rows.iloc[order].reset_index(drop=True), layers)


def groups(chosen: pd.DataFrame, sizes: Mapping[int, int]) -> list[SameRows]:
    """The choices by groups of layers with the same tokens, the group of most layers first.

    `chosen` has the columns of the table `routing`; `sizes` the number of experts of each layer. Rows are in order of
    sequence, pass and row; of more than MOST_ROWS the first are taken. A layer is left out where its rows choose
    different numbers of experts, or all of them: there is no chance in that, and nothing to test.
    """
    key = ["who", "pass_id", "row"]
    rows = chosen.assign(who=chosen["sequence"].astype("Int64").fillna(-1).astype("int64"))
    rows = rows[[*key, "layer", "expert"]].astype("int64")
    number = rows.groupby(key, sort=True).ngroup().to_numpy()
    every = (
        rows.assign(number=number)
        .drop_duplicates("number")
        .sort_values("number", ignore_index=True, kind="stable")[key]
    )
    layers, experts = rows["layer"].to_numpy(), rows["expert"].to_numpy()
    found: dict[bytes, tuple[pd.DataFrame, list[Layer]]] = {}
    for layer in np.unique(layers).tolist():
        here = layers == layer
        tokens, at = np.unique(number[here], return_inverse=True)
        chose = np.zeros((len(tokens), sizes[layer]), dtype=bool)
        chose[at, experts[here]] = True
        n_chosen = chose.sum(axis=1)
        if (n_chosen != n_chosen[0]).any() or n_chosen[0] >= sizes[layer]:
            continue
        tokens, chose = tokens[:MOST_ROWS], chose[:MOST_ROWS]
        found.setdefault(tokens.tobytes(), (every.iloc[tokens], []))[1].append(Layer(layer, int(n_chosen[0]), chose))
    same_rows = [SameRows(tokens, tuple(layers)) for tokens, layers in found.values()]
    return sorted(same_rows, key=lambda group: (-len(group.layers), -len(group.rows), group.layers[0].layer))
