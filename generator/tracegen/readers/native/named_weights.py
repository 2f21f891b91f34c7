"""Weights that an attached tracer saw in memory: their place in the model file is found by their names."""

import numpy as np
import pandas as pd

from tracegen.readers.native.recorded import BUFFER_USAGES, NONE, Records, Weight

_WEIGHTS = BUFFER_USAGES.index("weights")


def named_weights(records: Records, files: pd.DataFrame, tensors: pd.DataFrame) -> list[Weight]:
    """The weights that graphs read from buffers of weights and that no weight record places, each once.

    When llama.cpp reads a file into memory, ggml does not learn the file offset. The tensor's name, looked up in the
    model of the context, gives it. A tensor whose name or size the model lacks is left out: nothing is guessed.
    """
    where = tensors.merge(files[["file", "model", "split_index"]], on="file")
    known = {
        (model, name): (split, offset, size)
        for model, name, split, offset, size in zip(
            *(where[column].tolist() for column in ("model", "name", "split_index", "offset", "size_bytes")),
            strict=True,
        )
    }
    placed_addresses = {weight.address for weight in records.weights}
    model_of = {row["context"]: row["model"] for row in records.contexts}
    weights: dict[int, Weight] = {}
    for placement, model in _models_of_placements(records, model_of).items():
        graph, places, _ = records.placements[placement]
        n_nodes, raw = records.graphs[graph]
        for at in range(n_nodes, len(places)):
            address, size = int(places["address"][at]), int(raw["size_bytes"][at])
            split, offset, expected = known.get((model, records.text(int(raw["name"][at]))), (0, 0, -1))
            if expected == size and address not in placed_addresses and _holds_weights(records, places[at]):
                name = records.text(int(raw["name"][at]))
                weights[address] = Weight(model, name, split, False, offset, size, address)
    return list(weights.values())


def _models_of_placements(records: Records, model_of: dict[int, int]) -> dict[int, int]:
    models = {}
    for p in records.passes.values():
        if p.placement is not None and p.context in model_of:
            models[p.placement] = model_of[p.context]
    return models


def _holds_weights(records: Records, place: np.void) -> bool:
    buffer = int(place["buffer"])
    return buffer != NONE and records.buffers[buffer].usage == _WEIGHTS
