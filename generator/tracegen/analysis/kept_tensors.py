"""Which tensors to keep in memory, whole: those with the most touched bytes per byte first, of those that still fit.

Memory that can only be given to whole tensors (llama.cpp's -ot, a GPU) serves what operations touch of them. A tensor
that each token reads whole has a density of one touched byte per byte and token; experts of which a token chooses 4 of
32 have an eighth.
"""

import re
from collections.abc import Iterable

import pandas as pd

from tracegen.analysis import file_order

SHARES = (0.1, 0.25, 0.5, 0.75)  # of the bytes of all tensors: the memory to give away
_LAYER = re.compile(r"^blk\.(\d+)\.(.+)$")
_APART = re.compile(r"[,=]")  # -ot reads these as its own


def kept(tensors: pd.DataFrame, accesses: pd.DataFrame) -> pd.DataFrame:
    """All tensors, the densest first: tensor, name, size_bytes, touched_bytes.

    `accesses` is the result of `order.disk_accesses`. A byte counts as often as it was touched.
    """
    rows = file_order.arranged(tensors, "hot", accesses)[["tensor", "name", "size_bytes"]]
    touched = (accesses["end"] - accesses["begin"]).groupby(accesses["tensor"]).sum()
    rows = rows.assign(touched_bytes=rows["tensor"].map(touched).fillna(0).astype("int64"))
    density = rows["touched_bytes"] / rows["size_bytes"].clip(lower=1)
    return rows.loc[density.sort_values(ascending=False, kind="stable").index].reset_index(drop=True)  # of all files


def fitting(table: pd.DataFrame, memory_bytes: int) -> pd.DataFrame:
    """The rows of `kept` that share this memory: each in turn that has room; never touched tensors are left out."""
    left, taken = memory_bytes, []
    for size, touched in zip(table["size_bytes"], table["touched_bytes"], strict=True):
        taken.append(touched > 0 and size <= left)
        left -= size if taken[-1] else 0
    return table[taken]


def chosen(table: pd.DataFrame) -> pd.DataFrame:
    """What fits into each share of the bytes of all tensors (see `fitting`); a row for each of SHARES.

    `table` is the result of `kept`. Columns: memory_share, memory_bytes, n_tensors, kept_bytes, served_share (of all
    touched bytes).
    """
    whole, all_touched = int(table["size_bytes"].sum()), int(table["touched_bytes"].sum())
    rows = []
    for share in SHARES:
        memory = int(share * whole)
        kept = fitting(table, memory)
        served = int(kept["touched_bytes"].sum()) / all_touched if all_touched else None
        rows.append((share, memory, len(kept), int(kept["size_bytes"].sum()), served))
    columns = ["memory_share", "memory_bytes", "n_tensors", "kept_bytes", "served_share"]
    return pd.DataFrame(rows, columns=columns).astype({"served_share": "Float64"})


def pattern(names: Iterable[str]) -> str:
    """A regular expression that finds just these tensor names, as llama.cpp's -ot takes it; empty without a name.

    Layers with the same tensor are one alternative. A comma or an equals sign in a name becomes a full stop, because
    -ot takes both as its own: it matches them, and any other character in their place.
    """
    layers: dict[str, list[str]] = {}
    alone = []
    for name in names:
        found = _LAYER.match(name)
        if found:
            layers.setdefault(found[2], []).append(found[1])
        else:
            alone.append(_plain(name))
    for rest, numbers in layers.items():
        of = numbers[0] if len(numbers) == 1 else f"(?:{'|'.join(sorted(numbers, key=lambda n: (int(n), n)))})"
        alone.append(rf"blk\.{of}\.{_plain(rest)}")
    return f"^(?:{'|'.join(alone)})$" if alone else ""


def _plain(text: str) -> str:
    """The text as a regular expression of ECMAScript, which llama.cpp uses, and of Python."""
    return _APART.sub(".", re.sub(r"[\\^$.|?*+()\[\]{}]", r"\\\g<0>", text))
