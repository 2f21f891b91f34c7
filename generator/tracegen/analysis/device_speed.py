"""How long a token would take with other layers on a device, from a run in which the CPU and one device computed.

A layer that moves takes, for a byte of its weights that a token touches, as long as the other side for what it has.
Each change from the CPU to the device and back takes up to its part of the time in which neither of them computed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from tracegen.analysis import backends, device_place
from tracegen.analysis.accesses import Tables
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.device_ops import timed
from tracegen.analysis.device_place import COLUMNS, Model, is_of_experts, options_of, sizes_of, sums_of
from tracegen.analysis.remedies.remedy import WIDEST

PHASE = "generate"
SPREAD = 1.15  # times: by so much equal runs differed, with a device and without, on the machine that this was tried on


@dataclass(frozen=True)
class Speed:
    """A choice of `-ngl` and `--n-cpu-moe`: what the device holds then, and between which times a token takes, ns."""

    n_gpu_layers: int
    n_cpu_moe: int
    options: str
    needed_bytes: int
    more_bytes: int
    touched_bytes: float
    low_ns: float
    high_ns: float


@dataclass(frozen=True)
class Mixed:
    """What a run says of both sides.

    `on_device`: whether the device has each layer, and the output last: a row for what is outside of experts, and one
    for experts. `there` and `here` are the times, ns, that the device and the CPU take for each of them in a token, in
    two cases (first axis): least and most; NaN where that is not known. `neither_ns`: how long neither of them
    computed. `rates`: bytes of weights that each side computes in a second, here: `cpu`, `device_low`, and
    `device_high`, if that is known.
    """

    model: Model
    backend: str
    device: str
    on_device: np.ndarray
    there: np.ndarray
    here: np.ndarray
    neither_ns: float
    rates: Mapping[str, float]

    @cached_property
    def _times(self) -> np.ndarray:
        """What a token takes, at least and at most, by `-ngl` and `--n-cpu-moe`; infinite where that is not known."""
        to_cpu, to_device = self.here - self.there[::-1], self.there - self.here[::-1]
        moving = np.where(self.on_device, to_cpu, to_device)
        unknown = np.isnan(moving).any(axis=0)
        turns = self._turns()
        times = [
            self.model.token_ns + self._moved(np.where(unknown, 0.0, of)) + clip(turns, 0.0)
            for of, clip in zip(moving, (np.minimum, np.maximum), strict=True)
        ]
        found: np.ndarray = np.where(self._moved(unknown.astype(float)) > 0, np.inf, np.maximum(times, 0.0))
        return found

    def _turns(self) -> np.ndarray:
        """What other changes between the two add at most, by `-ngl` and `--n-cpu-moe`: negative, if they are fewer.

        The device begins once, and again after each of its layers whose experts the CPU has.
        """
        has_experts = self.model.experts[0] > 0
        layers, left = np.ogrid[: self.model.n_layers + 2, : self.model.n_layers + 1]
        before = np.concatenate([[0], np.cumsum(has_experts)])  # [i]: how many of the first i layers have experts
        n = np.minimum(layers, 1) + np.maximum(before[left] - before[self.model.n_layers + 1 - layers], 0)
        apart = self.on_device[0] & has_experts & ~self.on_device[1]
        now = 1 + int(apart.sum())
        turns: np.ndarray = (n - now) * (self.neither_ns / now)
        return turns

    def _moved(self, values: np.ndarray) -> np.ndarray:
        """Sums over what is moved to the other side, by `-ngl` and `--n-cpu-moe`, of a value by row and layer."""
        rest, experts = values * np.where(self.on_device, -1, 1)
        here: float = (values * self.on_device).sum()
        sums: np.ndarray = here + sums_of(rest[None], experts[None])[0]
        return sums

    @property
    def held_bytes(self) -> int:
        """What the layers that the device has need there: weights, KV cache, and intermediate results."""
        sizes = np.stack([self.model.rest[0], self.model.experts[0]])
        layers = int(self.on_device[0, : self.model.n_layers].sum())
        return int((sizes * self.on_device).sum()) + self.model.kv_bytes * layers + self.model.compute_bytes

    @cached_property
    def _ends(self) -> np.ndarray:
        """`_times` with what equal runs differ by."""
        ends: np.ndarray = np.maximum(self._times * [[[1 / SPREAD]], [[SPREAD]]], 1.0)
        return ends

    def fastest(self, memory_bytes: int | None) -> Speed | None:
        """The choice with which a token takes least at most, of those that need no more memory (None: of all)."""
        low, high = self._ends
        return self._best(high, low, high, memory_bytes)

    def with_experts(self, memory_bytes: int | None) -> Speed | None:
        """The choice with which a token takes least at least, where the device has no experts and could have some.

        How long it takes for them is not known: the time is then at most `WIDEST` times the least.
        """
        if self.on_device[1].any() or not self.model.experts[0].any():
            return None
        low, high = self._ends
        return self._best(low, low, np.minimum(high, WIDEST * low), memory_bytes)

    def _best(self, by: np.ndarray, low: np.ndarray, high: np.ndarray, memory_bytes: int | None) -> Speed | None:
        """The choice that is least `by` this; of equal ones what needs least memory. None: nothing is known."""
        by = by if memory_bytes is None else np.where(self.model.needed <= memory_bytes, by, np.inf)
        best = by.min()
        if not np.isfinite(best):
            return None
        near = by <= best * (1 + 1e-9)
        layers, n_cpu_moe = np.argwhere(near & (self.model.needed == self.model.needed[near].min()))[0]
        needed = int(self.model.needed[layers, n_cpu_moe])
        return Speed(
            n_gpu_layers=int(layers),
            n_cpu_moe=int(n_cpu_moe),
            options=options_of(self.model, int(layers), int(n_cpu_moe)),
            needed_bytes=needed,
            more_bytes=needed - self.held_bytes,
            touched_bytes=float(self.model.held[1][layers, n_cpu_moe]),
            low_ns=float(low[layers, n_cpu_moe]),
            high_ns=float(high[layers, n_cpu_moe]),
        )


def table(of: Mixed, most: int) -> pd.DataFrame:
    """The fastest choice for each size of memory, up to `most`: memory_bytes and the fields of `Speed`.

    A size with which the same choice is the fastest as with a smaller one has no row.
    """
    sizes = sizes_of(of.model, most)
    rows = [{"memory_bytes": size, **vars(speed)} for size in sizes if (speed := of.fastest(size))]
    found = pd.DataFrame(rows, columns=["memory_bytes", *Speed.__dataclass_fields__])
    return found.drop_duplicates("options", ignore_index=True)


def choices(run: Analyses, most: int) -> pd.DataFrame:
    """The table of a run: `table` where a device computed, too; else `device_place.table`, what stays with the CPU."""
    found = of(run)
    return device_place.table(device_place.of_run(run), most) if found is None else table(found, most)


def of(run: Analyses) -> Mixed | None:
    """What `mixed` says of a run, worked out once."""
    return run.once("mixed", lambda: mixed(run))


def mixed(of: Analyses) -> Mixed | None:
    """What a run says of the CPU and its device; None where it does not say so much.

    It takes generated tokens of one model, layers on each side, one device, and known ends of all its splits.
    """
    passes = of.of_kind(of.measured, PHASE).dropna(subset=["duration_ns"])
    n_tokens, tables = of.tokens.get(PHASE, 0), of.tables
    splits = tables["splits"][tables["splits"]["pass_id"].isin(passes["pass_id"]).to_numpy(bool)]
    elsewhere = splits[~splits["by_op"].to_numpy(bool)]
    holds = _holders(tables)
    if not n_tokens or tables["files"]["model"].nunique() != 1 or backends.submitted(elsewhere).any():
        return None
    if elsewhere["backend"].nunique() != 1 or len({name for name in holds if name}) != 1:
        return None
    model = device_place.of_run(of)
    on_device = _on_device(tables, holds, model)
    touched, took = (np.stack([of[i] for of in (model.rest, model.experts)]) for i in (1, 2))
    busy = backends.busy_ns(elsewhere, tables["device_ops"], whole=not of.facts.trace.device_ops_lost).sum()
    least, most = float(busy["least"]) / n_tokens, float(busy["most"]) / n_tokens
    there, here = (float((touched * held).sum()) for held in (on_device, ~on_device))
    if not (there and here and most and (took * ~on_device).any()):
        return None
    rates = {"cpu": 1e9 * here / float((took * ~on_device).sum()), "device_low": 1e9 * there / most}
    memory_rate = of.machine(PHASE).memory_rate
    return Mixed(
        model=model,
        backend=str(elsewhere["backend"].iloc[0]),
        device=next(filter(None, holds)),
        on_device=on_device,
        there=of_device(touched, on_device, _stamped(of, model, n_tokens), (least, most)),
        here=of_held(touched, took, ~on_device, 1e9 / memory_rate if memory_rate else None),
        neither_ns=max(model.token_ns - float(took.sum()) - most, 0.0),
        rates=rates | ({"device_high": 1e9 * there / least} if least else {}),
    )


def of_held(touched: np.ndarray, took: np.ndarray, held: np.ndarray, floor: float | None = None) -> np.ndarray:
    """What a side takes for each layer, at least and at most: what it took for those that it `held`.

    For another one, the time for a byte of the fastest and of the slowest layer that it held of this row; NaN without.
    For the output, a single large matrix, at least `floor` for a byte.
    """
    found = np.full((2, *touched.shape), np.nan)
    for row in range(len(touched)):
        layers = (touched[row] > 0) & held[row]
        layers[-1] &= not layers[:-1].any()
        if layers.any():
            rates = took[row][layers] / touched[row][layers]
            found[:, row] = np.outer((rates.min(), rates.max()), touched[row])
            found[0, row, -1] = touched[row, -1] * min(rates.min(), floor or np.inf)
    found = np.where(held, took, found)
    return np.where(touched + took > 0, found, 0.0)


def of_device(
    touched: np.ndarray, held: np.ndarray, stamped: np.ndarray | None, busy_ns: tuple[float, float]
) -> np.ndarray:
    """What the device takes for each layer, in two cases: by the times of its operations, if it has some.

    Else each byte that it touches takes equally long, in the least time (the most where that is not known), or all the
    time is that of layers, without the output, in the most. Of experts, where it has none: nothing, or as long as for
    other weights, of which more operations are small.
    """
    of_layers = touched[:, :-1] * held[:, :-1]
    if stamped is not None:
        found = of_held(touched, stamped, held)
    else:
        least, most = busy_ns
        whole = float((touched * held).sum())
        alone = bool(of_layers.any()) and bool(held[0, -1])  # then, at most, the output takes no time
        rates = (least or most) / whole, most / (float(of_layers.sum()) if alone else whole)
        found = np.stack([rate * touched for rate in rates])
        found[1, 0, -1] *= not alone
        if not (touched * held)[0].any():
            found[:, 0] = np.where(touched[0] > 0, np.nan, 0.0)
    if not of_layers[1].any():
        known = of_layers[0] > 0
        slowest = (found[1, 0, :-1][known] / touched[0, :-1][known]).max() if known.any() else np.nan
        found[:, 1] = np.outer((0.0, slowest), touched[1])
    return found


def _stamped(of: Analyses, model: Model, n_tokens: int) -> np.ndarray | None:
    """The time of the operations of the device in a token, ns, by row and layer; None where some have no time."""
    rows = of.of_kind(timed(of.tables["device_ops"]), PHASE).dropna(subset=["node"])
    if rows.empty or of.facts.trace.device_ops_lost:
        return None
    known = of.timed[["pass_id", "node", "layer", "component"]].astype({"node": "Int64"})
    rows = rows.astype({"node": "Int64"}).merge(known, on=["pass_id", "node"])
    layer = rows["layer"].astype("Int64").fillna(model.n_layers).astype("int64").to_numpy()
    experts = rows["component"].astype(str).str.startswith("expert_").to_numpy().astype(int)
    found = np.zeros((2, model.n_layers + 1))
    np.add.at(found, (experts, layer), rows["took_ns"].to_numpy("float64") / n_tokens)
    return found


def holders(tables: Tables) -> pd.Series:
    """The device whose memory each buffer is, by buffer_id; empty: the CPU's, or a buffer that passes compute in."""
    of = tables["buffers"].drop_duplicates("buffer_id", keep="last").set_index("buffer_id")
    pinned = of["name"].astype("object").fillna("").str.endswith("_Host")
    backend = of["backend"].astype("object").fillna("")
    return backend.where(of["usage"].ne("compute") & ~pinned & backend.ne("CPU"), "")


def _holders(tables: Tables) -> pd.Series:
    """For each tensor of the model that lies in a buffer: the device whose memory that is; empty: the CPU's."""
    place = tables["placements"].dropna(subset=["tensor", "buffer_id"])
    names = place["buffer_id"].map(holders(tables).to_dict()).astype("object").fillna("")
    return names.groupby(place["tensor"].astype("int64")).max()


def _on_device(tables: Tables, holds: pd.Series, model: Model) -> np.ndarray:
    """Whether the device has most bytes of each layer: rest and experts, the output last."""
    tensors = tables["tensors"]
    there = tensors["tensor"].map(holds).fillna("").ne("")
    experts = [is_of_experts(name) for name in tensors["name"].astype(str)]
    sizes = tensors["size_bytes"].astype("float64")
    layer = tensors["layer"].astype("Int64").fillna(model.n_layers).astype("int64")
    held = np.zeros((2, model.n_layers + 1))
    np.add.at(held, (np.array(experts, int), layer.to_numpy()), np.where(there, sizes, 0.0))
    whole = np.stack([model.rest[COLUMNS.index("size_bytes")], model.experts[COLUMNS.index("size_bytes")]])
    on_device: np.ndarray = (held > whole / 2) & (whole > 0)
    return on_device
