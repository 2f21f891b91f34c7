"""Which weights a device with so much memory should hold, by llama.cpp's own options, and what the CPU keeps then.

llama.cpp puts whole layers on a device, from the last one on (`-ngl N`; the output counts as one), with their KV cache,
and leaves the experts of the first layers to the CPU if asked (`--n-cpu-moe N`, `--cpu-moe`). Of all pairs of the two
that fit, the best is the one with which the CPU keeps least of a token's time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from tracegen.analysis import buffers
from tracegen.analysis.accesses import Tables
from tracegen.analysis.analyses import Analyses

_EXPERTS = re.compile(r"\.ffn_(?:up|down|gate|gate_up)_(?:ch)?exps\b")
ALL = 99  # layers: how all of a model that has no more are asked for
COLUMNS = ("size_bytes", "touched_bytes", "time_ns")
_STEPS = (1, 1.5)  # sizes of memory: these times powers of two
_LEAST = 64 << 20


@dataclass(frozen=True)
class Model:
    """What a model holds and takes: an array of a value for each layer, and for the output last.

    `rest` is what lies outside of experts, `experts` what lies in them; each has the rows of COLUMNS: bytes, bytes that
    a token touches, and time of a token, ns. `kv_bytes` is the KV cache of a layer, `compute_bytes` the buffer of
    intermediate results, `token_ns` what a token takes.
    """

    rest: np.ndarray
    experts: np.ndarray
    kv_bytes: int
    compute_bytes: int
    token_ns: float

    @property
    def n_layers(self) -> int:
        """The number of layers, without the output."""
        return int(self.rest.shape[1]) - 1

    @cached_property
    def held(self) -> np.ndarray:
        """Sums of COLUMNS over what a device holds, by `-ngl` and `--n-cpu-moe`; with `-ngl 0` it holds nothing."""
        return sums_of(self.rest, self.experts)

    @cached_property
    def needed(self) -> np.ndarray:
        """The memory that a device needs, bytes, by `-ngl` and `--n-cpu-moe`: weights, KV cache, results in between."""
        n_gpu_layers = np.arange(self.n_layers + 2)
        more = np.where(n_gpu_layers > 0, self.kv_bytes * (n_gpu_layers - 1) + self.compute_bytes, 0)
        needed: np.ndarray = self.held[0] + more[:, None]
        return needed

    @property
    def whole_bytes(self) -> int:
        """The memory that a device needs for all of it."""
        needed: np.ndarray = self.needed
        return int(needed[-1, 0])


def sums_of(rest: np.ndarray, experts: np.ndarray) -> np.ndarray:
    """Sums over what a device holds, by `-ngl` and `--n-cpu-moe`, of rows that have a value for each layer."""
    n_layers = rest.shape[1] - 1
    of_rest, of_experts = (np.cumsum(of[:, ::-1], axis=1) for of in (rest, experts))  # [i]: of the last i + 1 layers
    of_rest, of_experts = (np.concatenate([np.zeros((len(of), 1)), of], axis=1) for of in (of_rest, of_experts))
    n_gpu_layers, left = np.arange(n_layers + 2), np.arange(n_layers + 1)
    with_experts = np.minimum(n_gpu_layers[:, None], n_layers + 1 - left[None, :])
    both: np.ndarray = of_rest[:, :, None] + of_experts[:, with_experts]
    return both


@dataclass(frozen=True)
class Placed:
    """What a device of `memory_bytes` should hold; the options are those of llama.cpp's programs."""

    memory_bytes: int
    n_gpu_layers: int
    n_cpu_moe: int
    options: str
    needed_bytes: int
    touched_bytes: float
    kept_ns: float


def is_of_experts(name: str) -> bool:
    """Whether a tensor of this name is one of experts that --n-cpu-moe leaves to the CPU."""
    return _EXPERTS.search(name) is not None


def model_of(tables: Tables, timed: pd.DataFrame, used: pd.DataFrame, sizes: dict[str, int], n_tokens: int) -> Model:
    """What the model of a run holds and takes.

    `timed` and `used` are the rows of generate passes of `timing.timed_ops` and `accesses.ranges`; `sizes` has the
    bytes of buffers by group (`buffers.peaks`). What inputs are looked up in stays with the CPU; where the output has
    no tensor of its own, a device gets a copy of the embedding for it.
    """
    tensors = tables["tensors"]
    touched = (used["end"] - used["begin"]).groupby(used["tensor"]).sum() / n_tokens
    rows = tensors[["name", "size_bytes"]].assign(
        layer=_layers(tensors),
        touched_bytes=tensors["tensor"].map(touched).fillna(0.0).to_numpy("float64"),
        experts=[is_of_experts(name) for name in tensors["name"].astype(str)],
    )
    embedding = tensors["component"].eq("embedding").to_numpy(bool)
    tied = rows["name"].eq("token_embd.weight").to_numpy(bool) & (not rows["name"].eq("output.weight").any())
    rows = rows.assign(layer=np.where(embedding, -1, rows["layer"]))[~embedding | tied]
    ops = timed[timed["component"].ne("embedding").to_numpy(bool)]
    times = ops[["duration_ns"]].astype("float64").fillna(0) / n_tokens
    times = times.assign(layer=_layers(ops), experts=ops["component"].astype(str).str.startswith("expert_").to_numpy())
    n_layers = int(max(rows["layer"].max(), times["layer"].max(), -1)) + 1
    arrays = []
    for experts in (False, True):
        of, spent = rows[rows["experts"] == experts], times[times["experts"] == experts]
        parts = np.zeros((len(COLUMNS), n_layers + 1))
        for i, name in enumerate(COLUMNS[:2]):
            np.add.at(parts[i], of["layer"].to_numpy(), of[name].to_numpy("float64"))
        np.add.at(parts[2], spent["layer"].to_numpy(), spent["duration_ns"].to_numpy())
        arrays.append(parts)
    passes = tables["passes"][tables["passes"]["pass_id"].isin(timed["pass_id"])]
    token_ns = float((passes["end_ns"] - passes["begin_ns"]).sum()) / n_tokens
    return Model(arrays[0], arrays[1], sizes.get("KV cache", 0) // max(n_layers, 1), sizes.get("compute", 0), token_ns)


def of_run(of: Analyses) -> Model:
    """The model of a run that generated tokens."""
    timed = of.timed[of.timed["phase"].eq("generate").to_numpy(bool)]
    used, sizes = of.of_kind(of.used, "generate"), buffers.peak_sizes(of.tables)
    return model_of(of.tables, timed, used, sizes, of.tokens["generate"])


def _layers(rows: pd.DataFrame) -> np.ndarray:
    """The layer of each row, and -1, the last place, for what is in none."""
    return rows["layer"].fillna(-1).to_numpy("int64")


def placed(model: Model, memory_bytes: int) -> Placed | None:
    """The best that fits into a device of so much memory; None: not even the output does."""
    fits = model.needed <= memory_bytes
    fits[0] = False
    if not fits.any():
        return None
    moved = np.where(fits, model.held[2], -1.0)
    best = moved >= moved.max()
    layers, n_cpu_moe = (int(n) for n in np.argwhere(best & (model.needed == model.needed[best].min()))[0])
    return Placed(
        memory_bytes=memory_bytes,
        n_gpu_layers=layers,
        n_cpu_moe=n_cpu_moe,
        options=options_of(model, layers, n_cpu_moe),
        needed_bytes=int(model.needed[layers, n_cpu_moe]),
        touched_bytes=float(model.held[1][layers, n_cpu_moe]),
        kept_ns=model.token_ns - float(model.held[2][layers, n_cpu_moe]),
    )


def options_of(model: Model, layers: int, n_cpu_moe: int) -> str:
    """The options of llama.cpp's programs: `-ngl 99`, `-ngl 12 --n-cpu-moe 20`."""
    every = layers > model.n_layers and layers <= ALL
    options = f"-ngl {ALL if every else layers}"
    if n_cpu_moe <= model.n_layers + 1 - layers:
        return options  # those layers are the CPU's anyway
    return f"{options} --cpu-moe" if n_cpu_moe == model.n_layers else f"{options} --n-cpu-moe {n_cpu_moe}"


def sizes_of(model: Model, most: int) -> Sequence[int]:
    """Sizes of memory from what holds something to what holds all: the largest `most` of them, bytes."""
    size, found = _LEAST, list[int]()
    while True:
        for step in _STEPS:
            found.append(int(size * step))
            if found[-1] >= model.whole_bytes:
                return [n for n in found if placed(model, n)][-most:]
        size *= 2


def table(model: Model, most: int) -> pd.DataFrame:
    """A row for each size of memory: the fields of `Placed`."""
    rows = [vars(of) for size in sizes_of(model, most) if (of := placed(model, size))]
    return pd.DataFrame(rows, columns=list(Placed.__dataclass_fields__))
