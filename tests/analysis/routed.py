"""Choices of experts with a known law, as tables of a run: what tests of chance are compared with."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from tests.builders import scaled_case
from tracegen.contract.tables import empty, frame

Choices = np.ndarray  # tokens, layers, choices


def chosen_of(choices: Choices, sequences: list[int] | None = None) -> pd.DataFrame:
    """The choices as the table `routing`, a pass for each token."""
    token, layer, rank = (index.ravel() for index in np.indices(choices.shape))
    sequence = np.zeros(len(choices), dtype=int) if sequences is None else np.array(sequences)
    return pd.DataFrame(
        {
            "pass_id": token,
            "row": 0,
            "sequence": pd.array(sequence[token], dtype="Int32"),
            "layer": layer,
            "rank": rank,
            "expert": choices.ravel(),
        }
    )


def run_of(prompt: Choices | None, generated: Choices | None, n_experts: int) -> dict[str, pd.DataFrame]:
    """Tables of a run whose prompt is pass 0 with a row for each token, and each generated token a pass."""
    rows: list[dict[str, Any]] = []
    passes: list[dict[str, Any]] = []
    n_layers = 1
    for kind, choices in (("prompt", prompt), ("generate", generated)):
        if choices is None:
            continue
        n_layers = choices.shape[1]
        numbers = [0] if kind == "prompt" else range(1, len(choices) + 1)
        passes += [dict(pass_id=number, kind=kind, n_tokens=1, begin_ns=0, end_ns=1) for number in numbers]
        for token, of_token in enumerate(choices):
            pass_id, row = (0, token) if kind == "prompt" else (token + 1, 0)
            rows += [
                dict(pass_id=pass_id, layer=layer, row=row, sequence=0, rank=rank, expert=int(expert))
                for layer, of in enumerate(of_token)
                for rank, expert in enumerate(of)
            ]
    tensors = tensors_of(n_layers)
    stated = tensors["n_experts"].mask(tensors["n_experts"].notna(), n_experts)
    return (
        empty()
        | {"routing": frame("routing", rows), "passes": frame("passes", passes)}
        | {"tensors": tensors.assign(n_experts=stated)}
    )


@cache
def tensors_of(n_layers: int) -> pd.DataFrame:
    """The tensors of a mixture."""
    return scaled_case(1, n_layers, moe=True)["tensors"]


def even(seed: int, n: int, n_layers: int, n_experts: int, k: int) -> Choices:
    """Rows that choose k of E at random, all sets alike, each by itself."""
    return np.argsort(np.random.default_rng(seed).random((n, n_layers, n_experts)), axis=2)[:, :, :k]


def uneven(seed: int, n: int, n_layers: int, n_experts: int, k: int, lasting: float = 0.0) -> Choices:
    """Rows that choose the k greatest of scores that differ by expert and last in time, each by itself."""
    random = np.random.default_rng(seed)
    liked = 0.4 * random.gumbel(size=(n_layers, n_experts))
    now, choices = random.normal(size=(n_layers, n_experts)), []
    for _ in range(n):
        now = lasting * now + np.sqrt(1 - lasting**2) * random.normal(size=now.shape)
        choices.append(np.argsort(-(liked + now), axis=1)[:, :k])
    return np.array(choices)


def sticky(seed: int, n: int, n_layers: int, n_experts: int, k: int, stay: float) -> Choices:
    """With probability `stay` a row keeps all experts of the row before, else it chooses k at random."""
    random = np.random.default_rng(seed)
    fresh = even(seed + 10_000, n, n_layers, n_experts, k)
    for row in range(1, n):
        keep = random.random(n_layers) < stay
        fresh[row, keep] = fresh[row - 1, keep]
    return fresh
