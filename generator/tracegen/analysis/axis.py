"""The disk axis, on which the model files of a run lie one behind the other: what lies where on it, in bytes."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracegen.contract.arrays import repeated


def begins(tables: Mapping[str, pd.DataFrame]) -> pd.Series:
    """Where each file begins, by its number."""
    return tables["files"].set_index("file")["axis_begin"]


def places(tables: Mapping[str, pd.DataFrame], rows: pd.DataFrame) -> np.ndarray:
    """Where each row (file, offset), none of them null, lies: int64. Raises ValueError where a file is not listed."""
    place: np.ndarray = rows["file"].map(begins(tables)).to_numpy("int64") + rows["offset"].to_numpy("int64")
    return place


def length(tables: Mapping[str, pd.DataFrame]) -> int:
    """Where the last file ends; 0 without a file."""
    files = tables["files"]
    return int((files["axis_begin"] + files["size_bytes"]).max()) if len(files) else 0


def tensor_begins(tables: Mapping[str, pd.DataFrame]) -> np.ndarray:
    """Where each row of the table `tensors` begins: int64."""
    tensors = tables["tensors"]
    return (tensors["offset"] + tensors["file"].map(begins(tables)).fillna(0).astype("int64")).to_numpy("int64")


def on_axis(tables: Mapping[str, pd.DataFrame], used: pd.DataFrame) -> pd.DataFrame:
    """Ranges of files (file, begin, end) with begin and end on the axis; a file that is not listed begins at 0."""
    start = used["file"].map(begins(tables)).fillna(0).astype("int64")
    return used.assign(begin=used["begin"] + start, end=used["end"] + start)


def resident(tables: Mapping[str, pd.DataFrame], page_bytes: int) -> pd.DataFrame:
    """The runs of pages in the table `residency` on the axis, in its order: pass_id, begin, end."""
    runs, files = tables["residency"], tables["files"].set_index("file")
    start = runs["file"].map(files["axis_begin"]).astype("int64")
    begin = start + runs["first_page"].astype("int64") * page_bytes
    beyond = start + runs["file"].map(files["size_bytes"]).astype("int64")
    end = np.minimum(begin + runs["n_pages"].astype("int64") * page_bytes, beyond)  # the last page reaches beyond
    return pd.DataFrame({"pass_id": runs["pass_id"], "begin": begin, "end": end})


def holding(begin: np.ndarray, end: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Which of the stretches from `begin` to `end` (ascending, ends exclusive) holds each place; -1: none does."""
    at = np.searchsorted(begin, places, "right") - 1
    inside = at >= 0
    inside[inside] = places[inside] < end[at[inside]]
    return np.where(inside, at, -1)


def in_bins(begin: np.ndarray, end: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stretches cut at multiples of `width`: row, number of the bin, and length in it, for each piece."""
    first, last = begin // width, np.maximum(end - 1, begin) // width
    row, number = repeated(last - first + 1)
    place = first[row] + number
    return row, place, np.minimum(end[row], (place + 1) * width) - np.maximum(begin[row], place * width)
