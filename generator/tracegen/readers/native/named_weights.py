"""Weights whose place nobody told: an attached tracer sees them in memory, and knows them by their names."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracegen.readers.native.recorded import BUFFER_USAGES, NONE, Records, Weight

_WEIGHTS = BUFFER_USAGES.index("weights")


def named_weights(records: Records, files: pd.DataFrame, tensors: pd.DataFrame) -> list[Weight]:
    """The weights that graphs read from buffers of weights and that no record places, each once.

    llama.cpp reads a file into memory without telling ggml from where; in the model of its context a tensor's
    name says it. Tensors whose name or size the model does not have are left out: nothing is guessed.
    """
    where = tensors.merge(files[["file", "model", "split_index"]], on="file")
    known = {
        (model, name): (split, offset, size)
        for model, name, split, offset, size in zip(
            *(where[column].tolist() for column in ("model", "name", "split_index", "offset", "size_bytes")),
            strict=True,
        )
    }
    told = {weight.address for weight in records.weights}
    model_of = {context: load for context, load, *_ in records.contexts}
    made: dict[int, Weight] = {}
    for placement, model in _models_of_placements(records, model_of).items():
        graph, places, _ = records.placements[placement]
        n_nodes, raw = records.graphs[graph]
        for at in range(n_nodes, len(places)):
            address, size = int(places["address"][at]), int(raw["size_bytes"][at])
            split, offset, expected = known.get((model, records.text(int(raw["name"][at]))), (0, 0, -1))
            if expected == size and address not in told and _holds_weights(records, places[at]):
                name = records.text(int(raw["name"][at]))
                made[address] = Weight(model, name, split, False, offset, size, address)
    return list(made.values())


def _models_of_placements(records: Records, model_of: dict[int, int]) -> dict[int, int]:
    made = {}
    for one in records.passes.values():
        if one.placement is not None and one.context in model_of:
            made[one.placement] = model_of[one.context]
    return made


def _holds_weights(records: Records, place: np.void) -> bool:
    buffer = int(place["buffer"])
    return buffer != NONE and records.buffers[buffer].usage == _WEIGHTS
