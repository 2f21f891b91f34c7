"""Which tensors to pin: those that tokens wait for longest, for their size."""

import re
from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatchcase

import pandas as pd

from tracegen.analysis.accesses import Tables

SMALL, LAYERS = "small tensors", "tensors of layers"
WAITING = ("disk_ns", "behind_ns", "paging_ns")  # parts of `attribution`
_LAYER = re.compile(r"^blk\.(\d+)\.")
_SPECIAL = re.compile(r"[*?\[]")


def pin_list(tables: Tables, waiting: pd.DataFrame, window_bytes: int | None) -> pd.DataFrame:
    """The tensors that a pass waited for on the disk, in the order in which memory for them saves most time.

    Columns: tensor, name, kind, file, offset, size_bytes, waiting_ns (a pass, in the mean over passes and threads),
    n_bytes and saved_ns (sums of size_bytes and waiting_ns so far). Kinds of tensors are in order of waiting for a
    byte, those of a kind in the order of the files: how long a single tensor is waited for is chance. A kind is what
    layers have in common (`blk.*.ffn_up.weight`). A page fault reads a window of its neighbours too, so tensors
    smaller than `window_bytes` are one kind (SMALL); None: all tensors of layers are one (LAYERS).
    `waiting`: the rows of `attribution.attribution` of these passes.
    """
    spans = tables["spans"]
    spans = spans[spans["pass_id"].isin(waiting["pass_id"]).to_numpy(bool)]
    n_threads = spans.groupby("pass_id")["thread"].nunique()
    rows = waiting[waiting["part"].isin(WAITING).to_numpy(bool)].dropna(subset=["tensor"])
    wall = rows["thread_ns"] / rows["pass_id"].map(n_threads).to_numpy("float64") / max(len(n_threads), 1)
    of = wall.groupby(rows["tensor"].to_numpy("int64")).sum()
    table = tables["tensors"][["tensor", "name", "file", "offset", "size_bytes"]].copy()
    table["waiting_ns"] = table["tensor"].map(of).fillna(0.0).astype("float64")
    names = table["name"].astype(str)
    table["kind"] = [_kind(n, s, window_bytes) for n, s in zip(names, table["size_bytes"].tolist(), strict=True)]
    sums = table.groupby("kind")[["waiting_ns", "size_bytes"]].sum()
    table["rate"] = table["kind"].map(sums["waiting_ns"] / sums["size_bytes"].clip(lower=1))
    table = table[table["rate"] > 0].sort_values(
        ["rate", "kind", "file", "offset"], ascending=[False, True, True, True]
    )
    table = table.assign(n_bytes=table["size_bytes"].cumsum(), saved_ns=table["waiting_ns"].cumsum())
    columns = ["tensor", "name", "kind", "file", "offset", "size_bytes", "waiting_ns", "n_bytes", "saved_ns"]
    return table[columns].reset_index(drop=True)


def patterns(names: Collection[str], every: Collection[str]) -> tuple[str, ...]:
    """What the setting `pin` takes for just these tensors: kinds and layers that are whole, and names.

    `every`: the names of all tensors.
    """
    left = set(names)
    return (*_whole(left, every, _any_layer), *_whole(left, every, _layer), *(_plain(n) for n in names if n in left))


def _whole(left: set[str], every: Collection[str], group: Callable[[str], str]) -> Iterator[str]:
    """Patterns that find several tensors, just those of a group, all of which are `left`, where they are taken from."""
    groups: dict[str, set[str]] = {}
    for name in every:
        if "*" in group(name):
            groups.setdefault(group(name), set()).add(name)
    for pattern, of in groups.items():
        if len(of) > 1 and of <= left and of == {name for name in every if fnmatchcase(name, pattern)}:
            left -= of
            yield pattern


def _kind(name: str, size: int, window_bytes: int | None) -> str:
    if window_bytes is None:
        return LAYERS if _LAYER.match(name) else name
    return SMALL if size < window_bytes else _any_layer(name)


def _any_layer(name: str) -> str:
    return _LAYER.sub("blk.*.", name)


def _layer(name: str) -> str:
    found = _LAYER.match(name)
    return f"{found[0]}*" if found else name


def _plain(name: str) -> str:
    return _SPECIAL.sub(r"[\g<0>]", name)
