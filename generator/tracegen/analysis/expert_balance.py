"""How evenly a layer's choices are spread over its experts, and what an even random choice would look like.

With c[e] the tokens that chose expert e of E, k of them each, n rows in all, and p[e] = c[e] / (n k):

    entropy       -Σ p log2 p / log2 E      1 is even; Shannon 1948
    gini          Σ (2 i - E - 1) c(i) / (E Σ c), c sorted upwards, i from 1      0 is even, 1 - k/E the most
    largest load  max c / (n k / E)         1 is even, E/k the most: the capacity that the busiest expert needs

Few rows look uneven whatever the router does. Beside each stands what rows would give that choose k of E at random, all
sets of k equally likely, each row by itself: mean and middle 95 % of `DRAWS` simulations with a fixed seed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tracegen.analysis import chance, experts
from tracegen.analysis.accesses import Tables

DRAWS = 200
MEASURES = ("n_used", "entropy", "gini", "largest")
_COLUMNS = ["phase", "layer", "n_layers", "n_rows", "n_experts", "n_chosen"]
COLUMNS = [*_COLUMNS, *(f"{name}{end}" for name in MEASURES for end in ("", "_chance", "_low", "_high"))]

Counts = np.ndarray  # (…, experts)


def balance(tables: Tables) -> pd.DataFrame:
    """How even the choices of generate and prompt passes are, over all layers (layer null) and in each.

    Columns: phase, layer, n_layers, n_rows (tokens; over all layers, of the layer with most), n_experts, n_chosen,
    and for each of n_used (experts chosen by some row), entropy, gini and largest: the value, and what even random
    choice would give as NAME_chance (mean), NAME_low and NAME_high (95 %). Over all layers n_used is the sum and the
    others are means; simulated layers are independent there. Null: entropy of a layer with one expert; n_chosen and
    chance where rows differ in k or layers in k or E; all measures where rows choose every expert.
    """
    by_phase = [_phase(tables, phase) for phase in ("generate", "prompt")]
    table = pd.concat([part for part in by_phase if len(part)] or [pd.DataFrame(columns=COLUMNS)], ignore_index=True)
    whole = ["layer", "n_layers", "n_rows", "n_experts", "n_chosen", "n_used"]
    return table.astype(dict.fromkeys(whole, "Int64") | {n: "Float64" for n in COLUMNS if n not in (*whole, "phase")})


def _phase(tables: Tables, phase: str) -> pd.DataFrame:
    """The rows of one phase; none where no row of it chose."""
    rows = experts.of_phase(tables, phase)
    if rows.empty:
        return pd.DataFrame(columns=COLUMNS)
    sizes, cache = experts.sizes(tables, rows), {}
    records, drawn = [], []
    for number, of in rows.groupby("layer", sort=True):
        layer = int(str(number))
        per_row = of.groupby(["pass_id", "row"]).size().to_numpy()
        k = int(per_row[0]) if (per_row == per_row[0]).all() else None
        size, n = sizes[layer], len(per_row)
        record: dict[str, Any] = dict(phase=phase, layer=layer, n_layers=1, n_rows=n, n_experts=size, n_chosen=k)
        if k is None or k < size:
            counts = np.bincount(of["expert"].to_numpy("int64"), minlength=size)
            record |= {name: float(value) for name, value in measures(counts).items()}
        if k is not None and k < size:
            if (n, k, size) not in cache:
                cache[n, k, size] = measures(random_counts(n, k, size))
            drawn.append(cache[n, k, size])
            record |= _chance(drawn[-1])
        records.append(record)
    return pd.DataFrame([_overall(phase, records, drawn), *records], columns=COLUMNS)


def _overall(phase: str, records: list[dict[str, Any]], drawn: Sequence[Mapping[str, np.ndarray]]) -> dict[str, Any]:
    """The row over all layers; its chance draws each layer by itself from the simulations of such a layer."""
    known = [record for record in records if record.get("gini") is not None]
    alike = {name: {record[name] for record in records} for name in ("n_experts", "n_chosen")}
    overall: dict[str, Any] = {"phase": phase, "layer": None, "n_layers": len(records)}
    overall["n_rows"] = max(record["n_rows"] for record in records)
    overall |= {name: next(iter(values)) if len(values) == 1 else None for name, values in alike.items()}
    if not known:
        return overall
    for name in MEASURES:
        of = [record[name] for record in known]
        overall[name] = float(sum(of) if name == "n_used" else np.mean(of))
    if len(drawn) < len(known):
        return overall
    random = np.random.default_rng(1)
    picked = {name: np.zeros(5 * DRAWS) for name in MEASURES}
    for of_layer in drawn:
        which = random.integers(0, DRAWS, 5 * DRAWS)
        for name in MEASURES:
            picked[name] += of_layer[name][which]
    return overall | _chance({n: of if n == "n_used" else of / len(drawn) for n, of in picked.items()})


def _chance(drawn: Mapping[str, np.ndarray]) -> dict[str, float]:
    expected: dict[str, float] = {}
    for name, values in drawn.items():
        low, high = chance.range_95(values)
        expected |= {f"{name}_chance": float(values.mean()), f"{name}_low": low, f"{name}_high": high}
    return expected


def measures(counts: Counts) -> dict[str, np.ndarray]:
    """n_used, entropy, gini and largest of counts by expert, along the last axis; entropy is NaN for one expert."""
    counts = np.asarray(counts, dtype=np.float64)
    size, total = counts.shape[-1], counts.sum(axis=-1)
    share = counts / total[..., None]
    bits = -(share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=-1)
    places = 2 * np.arange(1, size + 1) - size - 1
    return {
        "n_used": (counts > 0).sum(axis=-1),
        "entropy": bits / np.log2(size) if size > 1 else np.full_like(bits, np.nan),
        "gini": (np.sort(counts, axis=-1) * places).sum(axis=-1) / (size * total),
        "largest": counts.max(axis=-1) / (total / size),
    }


def random_counts(n_rows: int, n_chosen: int, n_experts: int, n_draws: int = DRAWS) -> Counts:
    """How often each expert is chosen by rows that choose at random: simulated runs by experts, with a fixed seed.

    Each row draws `n_chosen` different experts by Floyd's algorithm: the j-th draw is of the first E - k + j experts,
    and takes the last of these where the drawn one is in the set already. Of more than half the experts it draws those
    that are left out.
    """
    left_out = 2 * n_chosen > n_experts
    k = n_experts - n_chosen if left_out else n_chosen
    random = np.random.default_rng(0)
    at_once = max(1, 2**20 // max(n_rows, 1))
    parts = []
    for first in range(0, n_draws, at_once):
        runs = min(at_once, n_draws - first)
        sets = np.empty((k, runs, n_rows), dtype=np.int32)
        for j in range(k):
            last = n_experts - k + j
            drawn = random.integers(0, last + 1, (runs, n_rows), dtype=np.int32)
            sets[j] = np.where((sets[:j] == drawn).any(axis=0), last, drawn)
        flat = sets + n_experts * np.arange(runs, dtype=np.int32)[:, None]
        parts.append(np.bincount(flat.ravel(), minlength=runs * n_experts).reshape(runs, n_experts))
    counts = np.concatenate(parts)
    return n_rows - counts if left_out else counts
