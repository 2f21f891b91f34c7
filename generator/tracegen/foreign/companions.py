"""What lies beside a trace of operations and says more of the same run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.naming import component_of, layer_of
from tracegen.foreign.buffer_log import BufferLog
from tracegen.foreign.dot import DotGraph
from tracegen.foreign.memory_map import MapTensor, MemoryMap
from tracegen.readers.gguf.file import Model


@dataclass(frozen=True)
class Companions:
    """Dumps of graphs by file name, the log of buffers, and the model: its file, or else a list of its tensors."""

    dumps: Mapping[str, DotGraph] = field(default_factory=dict)
    buffers: BufferLog | None = None
    map: MemoryMap | None = None
    model: Model | None = None

    def names(self) -> frozenset[str]:
        """The names of the model's tensors, as far as they are known."""
        if self.model is not None:
            return frozenset(self.model.tensors["name"].astype(str))
        return frozenset(tensor.name for tensor in self.map.tensors) if self.map is not None else frozenset()


class Weight(NamedTuple):
    """A tensor of the model: its number, that of its file, and its place there in bytes."""

    tensor: int
    file: int
    offset: int
    size_bytes: int


@dataclass(frozen=True)
class Weights:
    """The tensors of the model: the tables `files` and `tensors`."""

    files: pd.DataFrame
    tensors: pd.DataFrame

    @cached_property
    def by_name(self) -> Mapping[str, Weight]:
        """The tensors by name."""
        columns = [self.tensors[name].tolist() for name in Weight._fields]
        return dict(zip(self.tensors["name"].astype(str), map(Weight, *columns), strict=True))

    def holding(self, place: int) -> int | None:
        """The number of the tensor that holds this byte of the only file; None: no tensor does."""
        begins = self.tensors["offset"].to_numpy("int64")
        at = int(np.searchsorted(begins, place, "right")) - 1
        if at < 0 or place >= begins[at] + int(self.tensors["size_bytes"].iloc[at]):
            return None
        return int(self.tensors["tensor"].iloc[at])


def weights_of(companions: Companions, recorded: Mapping[str, tuple[int, int]]) -> tuple[Weights, int | None]:
    """The tensors of the model, and by how much the trace's offsets exceed those of the list (None: they do not agree).

    `recorded` has place in the file and size of each weight that the trace names: its sizes are those of the loaded
    model, so they replace the sizes of an older list.
    """
    if companions.model is not None:
        weights = Weights(companions.model.files, companions.model.tensors)
        return weights, _shift(weights.by_name, recorded)
    if companions.map is None:
        return Weights(contract.frame("files"), contract.frame("tensors")), None
    listed = {tensor.name: tensor for tensor in companions.map.tensors}
    shift = _shift(listed, recorded)
    begin = shift or 0
    tensors = [
        MapTensor(t.name, t.offset + begin, recorded.get(t.name, (0, t.size_bytes))[1], t.shape, t.n_experts, t.dtype)
        for t in companions.map.tensors
    ]
    size = max(companions.map.size_bytes + begin, max(tensor.end for tensor in tensors))
    files = contract.frame(
        "files",
        [dict(file=0, model=0, split_index=0, path=companions.map.model or "model", size_bytes=size, axis_begin=0)],
    )
    return Weights(files, _table(tensors)), shift


def _shift(listed: Mapping[str, MapTensor | Weight], recorded: Mapping[str, tuple[int, int]]) -> int | None:
    """What the places in the trace have more than the list; None where it is not the same for all of them."""
    shifts = {place - listed[name].offset for name, (place, _) in recorded.items() if name in listed}
    return shifts.pop() if len(shifts) == 1 and min(shifts) >= 0 else None


def _table(tensors: Sequence[MapTensor]) -> pd.DataFrame:
    rows = []
    for number, tensor in enumerate(tensors):
        shape = (*tensor.shape, 1, 1, 1, 1)[:4] if tensor.shape else (None,) * 4
        experts = tensor.n_experts or (tensor.shape[2] if "_exps" in tensor.name and len(tensor.shape) == 3 else None)
        rows.append(
            dict(
                tensor=number,
                name=tensor.name,
                file=0,
                offset=tensor.offset,
                size_bytes=tensor.size_bytes,
                dtype=tensor.dtype,
                **{f"ne{axis}": n for axis, n in enumerate(shape)},
                layer=layer_of(tensor.name),
                component=component_of(tensor.name),
                n_experts=experts,
            )
        )
    return contract.frame("tensors", rows)
