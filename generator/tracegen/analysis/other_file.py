"""The accesses of a run as they would lie in another file with the same tensors."""

import pandas as pd

from tracegen.analysis import file_order
from tracegen.analysis.accesses import Tables
from tracegen.analysis.axis import begins

ALIKE = ("dtype", "ne0", "ne1", "ne2", "ne3", "size_bytes")  # what two tensors of one name must share


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
    tensor numbers of the file, and `tensor` is that number too. Accesses to what is no tensor of the file are left out.
    """
    number = same.set_index("tensor_run")["tensor"].astype("int64")
    run = tables["tensors"]
    run = run[run["tensor"].isin(number.index)]
    axis = run["file"].map(begins(tables)).astype("int64")
    today = run.assign(offset=run["offset"].astype("int64") + axis)
    new = pd.Series(run["tensor"].map(number).map(offsets).to_numpy("int64"), index=run["tensor"].to_numpy())
    kept = accesses[accesses["tensor"].isin(number.index).to_numpy(bool)]
    moved = file_order.moved(kept, today, new)
    return moved.assign(file=0, tensor=moved["tensor"].map(number).astype("int64"))
