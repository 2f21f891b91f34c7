"""A model as a table: its metadata, and its tensors with their components and shapes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from tracegen.contract.ggml_types import BLOCKS

Value = bool | int | float | str | list[int]


@dataclass(frozen=True)
class Weight:
    """A tensor: its name (in a layer without `blk.N.`), its component and its shape, the length of a row first.

    Vectors and `plain` weights are F32 whatever the type of the model; llama.cpp demands it of the latter.
    """

    name: str
    component: str
    shape: tuple[int, ...]
    plain: bool = False


@dataclass(frozen=True)
class Architecture:
    """A model of the architecture `name`.

    `metadata` has keys without the architecture, and whole keys that begin with `tokenizer.`. `outside` are the tensors
    that belong to no layer, `layers` those of each layer. `unread` are tensors that llama.cpp loads but never reads.
    """

    name: str
    metadata: Mapping[str, Value]
    outside: tuple[Weight, ...]
    layers: tuple[tuple[Weight, ...], ...]
    unread: frozenset[str] = frozenset()
    context: int = 512

    @property
    def weights(self) -> list[Weight]:
        """All tensors with their whole names, in the order of the file."""
        inside = [replace(w, name=f"blk.{i}.{w.name}") for i, layer in enumerate(self.layers) for w in layer]
        return [*self.outside, *inside]

    @property
    def n_vocab(self) -> int:
        """The size of the vocabulary: the number of rows of the token embedding."""
        return next(weight.shape[1] for weight in self.outside if weight.name == "token_embd.weight")


def types_of(architecture: Architecture, dtype: str, mix: Mapping[str, str]) -> dict[str, str]:
    """The type of each tensor by name: `dtype`, or the type of its component in `mix`."""
    return {
        weight.name: "F32" if weight.plain or len(weight.shape) == 1 else mix.get(weight.component, dtype)
        for weight in architecture.weights
    }


def size_of(architecture: Architecture, dtype: str, mix: Mapping[str, str]) -> int:
    """Bytes of all tensors; a file has a header beside them."""
    types = types_of(architecture, dtype, mix)
    return sum(bytes_of(weight, types[weight.name]) for weight in architecture.weights)


def bytes_of(weight: Weight, dtype: str) -> int:
    """Bytes of a tensor of type `dtype`. Raises ValueError when its rows are no whole blocks of that type."""
    length, size = BLOCKS[dtype]
    if weight.shape[0] % length:
        raise ValueError(f"{weight.name}: rows of {weight.shape[0]} elements cannot be {dtype}, in blocks of {length}")
    return prod(weight.shape) // length * size
