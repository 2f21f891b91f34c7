"""Runs whose passes give embeddings: there is no prompt that a text goes on from, and no token is generated."""

from dataclasses import dataclass

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured
from tracegen.analysis.summary import median_bytes, pass_bytes
from tracegen.contract.tables import MEMORY_KINDS

RESULT = "result_embd_pooled"  # llama.cpp builds it where a context was asked for embeddings, and only there
_KINDS = ("mixed", "encode")  # the kinds of passes that give nothing else


@dataclass(frozen=True)
class Embeddings:
    """Medians over the measured passes of bytes touched: of weights, and in all; None where the trace does not say."""

    n_passes: int
    weight_bytes: int | None
    touched_bytes: int | None


def embeddings(tables: Tables, ops: pd.DataFrame) -> Embeddings | None:
    """The bytes of a run in which every measured pass gives embeddings; None for any other run.

    `ops` is the result of `operations.op_rows`.
    """
    passes, nodes = measured(tables), tables["graph_nodes"]
    pooling = set(nodes.loc[nodes["name"] == RESULT, "graph"])
    if passes.empty or not (passes["kind"].isin(_KINDS) & passes["graph"].isin(pooling)).all():
        return None
    sizes = pass_bytes(passes, ops).set_index("pass_id")
    weights = median_bytes(sizes, ["disk", "copied"], passes)
    return Embeddings(len(passes), weights, median_bytes(sizes, MEMORY_KINDS, passes))
