"""Other orders in which a model file could hold its tensors, and where each access would then lie, or in another file.

Orders:
- `layer`: embeddings, then layer by layer, then what belongs to no layer; within each in the order of the file;
- `first-touch`: in the order in which measured passes first touched the tensors in the file; never touched ones last;
- `hot`: the most touched bytes per byte of the tensor first (a byte counts as often as it was touched).

A tensor stays whole and stays in its file. Ties keep the order of the file.
"""

from typing import Literal, get_args

import numpy as np
import pandas as pd

from tracegen.analysis import axis
from tracegen.analysis.accesses import Tables

Order = Literal["layer", "first-touch", "hot"]
ORDERS: tuple[Order, ...] = get_args(Order)
ALIGNMENT = 32  # bytes: what GGUF takes where the file says nothing else (general.alignment)
ALIKE = ("dtype", "ne0", "ne1", "ne2", "ne3", "size_bytes")  # what two tensors of one name must share


def arranged(tensors: pd.DataFrame, order: Order, accesses: pd.DataFrame) -> pd.DataFrame:
    """The rows of the table `tensors` in another order, file by file.

    `accesses` is the result of `order.disk_accesses`; the order `layer` does not use it.
    """
    rows = tensors.sort_values(["file", "offset"], kind="stable")
    if order == "layer":
        elsewhere = np.where((rows["component"] == "embedding").to_numpy(bool), -1.0, np.inf)
        layer = rows["layer"].astype("Float64").to_numpy("float64", na_value=np.nan)
        rank = np.where(np.isnan(layer), elsewhere, layer)
    elif order == "first-touch":
        first = pd.Series(np.arange(len(accesses)), index=accesses["tensor"]).groupby(level=0).min()
        rank = rows["tensor"].map(first).fillna(len(accesses)).to_numpy("float64")
    else:
        touched = (accesses["end"] - accesses["begin"]).groupby(accesses["tensor"]).sum()
        size = rows["size_bytes"].to_numpy("float64")
        rank = -(rows["tensor"].map(touched).fillna(0).to_numpy("float64") / np.maximum(size, 1))
    return rows.assign(rank=rank).sort_values(["file", "rank"], kind="stable").drop(columns="rank")


def places(tensors: pd.DataFrame, alignment: int = ALIGNMENT) -> pd.Series:
    """Where the tensors begin in their files, in bytes, if each file holds its own in the order of these rows.

    The first begins where the first tensor of the file begins today; each next one behind it at a multiple of
    `alignment` from there. By tensor number.
    """
    size = tensors["size_bytes"].to_numpy("int64")
    padded = pd.Series(-(-size // alignment) * alignment, index=tensors.index)
    start = tensors.groupby("file")["offset"].transform("min")
    offset = start + padded.groupby(tensors["file"]).cumsum() - padded
    return pd.Series(offset.to_numpy("int64"), index=tensors["tensor"].to_numpy(), name="offset")


def moved(accesses: pd.DataFrame, tensors: pd.DataFrame, offsets: pd.Series) -> pd.DataFrame:
    """`accesses` with begin and end where they would lie if the tensors began at `offsets`, the result of `places`."""
    today = tensors.set_index("tensor")["offset"]
    shift = accesses["tensor"].map(offsets.sub(today)).to_numpy("int64")
    return accesses.assign(begin=accesses["begin"] + shift, end=accesses["end"] + shift)


def pairs(tables: Tables, tensors: pd.DataFrame) -> pd.DataFrame:
    """The tensors of a run beside those of a file, by name; a row for each name that one of them has.

    `tensors` is the table `tensors` of one file. Columns: name, tensor_run, tensor (null where one of them has no such
    tensor), those of `ALIKE` with `_run` behind the run's, and `alike`: whether both have it and it is the same there.
    Of a run with several models, the model that is most like the file.
    """
    run = tables["tensors"]
    model = run["file"].map(tables["files"].set_index("file")["model"])
    found = [_paired(run[(model == number).to_numpy(bool)], tensors) for number in sorted(model.dropna().unique())]
    return min(found, key=lambda rows: int((~rows["alike"]).sum()), default=_paired(run.iloc[:0], tensors))


def _paired(run: pd.DataFrame, tensors: pd.DataFrame) -> pd.DataFrame:
    columns = ["name", "tensor", *ALIKE]
    sides = [side[columns].astype({"name": "object", "dtype": "object"}) for side in (run, tensors)]
    rows = sides[0].merge(sides[1], on="name", how="outer", suffixes=("_run", ""), indicator="where")
    alike = rows["where"] == "both"
    for column in ALIKE:
        alike &= (rows[column] == rows[f"{column}_run"]).fillna(False).astype(bool)
    return rows.drop(columns="where").assign(alike=alike)


def placed(tables: Tables, accesses: pd.DataFrame, same: pd.DataFrame, offsets: pd.Series) -> pd.DataFrame:
    """The accesses of a run with begin and end where they would lie in a file whose tensors begin at `offsets`.

    `accesses` is the result of `order.disk_accesses`, `same` that of `pairs`, all alike; `offsets` (bytes) are by the
    tensor numbers of the file, and `tensor` is that number too. Accesses outside of tensors are left out.
    """
    number = same.set_index("tensor_run")["tensor"].astype("int64")
    run = tables["tensors"]
    run = run[run["tensor"].isin(number.index)]
    start = run["file"].map(axis.begins(tables)).astype("int64")
    today = run.assign(offset=run["offset"].astype("int64") + start)
    new = pd.Series(run["tensor"].map(number).map(offsets).to_numpy("int64"), index=run["tensor"].to_numpy())
    kept = accesses[accesses["tensor"].isin(number.index).to_numpy(bool)]
    there = moved(kept, today, new)
    return there.assign(file=0, tensor=there["tensor"].map(number).astype("int64"))
