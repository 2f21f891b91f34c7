"""How many bytes the elements of a tensor take and where they lie: strides may leave holes between them."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from tracegen.contract.ggml_types import block_of

DIMENSIONS = tuple(f"{side}{i}" for side in ("ne", "nb") for i in range(4))


def block_bytes(dtype: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Elements and bytes of a block of each dtype, float64; NaN where the type is not known."""
    names = dtype.astype("category")
    known = [block_of(str(name)) or (np.nan, np.nan) for name in names.cat.categories]
    block, size = np.array([*known, (np.nan, np.nan)]).T
    codes = names.cat.codes.to_numpy()
    return block[codes], size[codes]


def content_bytes(rows: pd.DataFrame, dimensions: Iterable[int] = range(4)) -> pd.Series:
    """Bytes of the elements along `dimensions` (by default of the whole tensor), one Int64 per row.

    `rows` has dtype, ne0 … ne3, nb0 … nb3 and size_bytes (the extent, from the first byte to the last). Null where the
    type or the shape is not known; but a whole contiguous tensor of unknown type takes its extent, and a tensor whose
    strides nobody recorded counts as contiguous: it takes its extent, and a part of it its share of that.
    """
    chosen = tuple(dimensions)
    block, size = block_bytes(rows["dtype"])
    shape = np.array([rows[f"ne{i}"].to_numpy("int64", na_value=-1) for i in range(4)])
    shaped = (shape >= 0).all(axis=0)
    elements = np.prod(shape[list(chosen)], axis=0)
    known = ~np.isnan(size) & shaped
    sizes = elements // np.where(known, block, 1).astype("int64") * np.where(known, size, 0).astype("int64")
    extent = rows["size_bytes"].to_numpy("int64", na_value=-1)
    if chosen == (0, 1, 2, 3):
        whole = ~known & _tight(rows)
        sizes, known = np.where(whole, extent, sizes), known | whole
    flat = ~known & rows["nb0"].isna().to_numpy(bool) & (extent >= 0)
    if chosen != (0, 1, 2, 3):
        flat &= shaped
        extent = extent * elements // np.maximum(np.prod(shape, axis=0), 1)
    sizes, known = np.where(flat, extent, sizes), known | flat
    return pd.Series(pd.arrays.IntegerArray(sizes.astype("int64"), ~known), index=rows.index)


def _tight(rows: pd.DataFrame) -> np.ndarray:
    """Which tensors have no room between their elements along dimensions 1 to 3; False where strides are unknown."""
    tight = rows["nb3"] * rows["ne3"] == rows["size_bytes"]
    tight &= rows["nb2"] * rows["ne2"] == rows["nb3"]
    tight &= rows["nb1"] * rows["ne1"] == rows["nb2"]
    return tight.fillna(False).to_numpy(bool)


def stretches(dtype: str, elements: Sequence[int], strides: Sequence[int]) -> tuple[np.ndarray, int] | None:
    """The contiguous stretches of a tensor: ascending offsets from its first byte, and the bytes of each stretch.

    `elements` and `strides` (bytes) are those of its dimensions; the first dimension holds whole blocks, the others
    may come in any order. None for a type that is not known.
    """
    block = block_of(dtype)
    if block is None:
        return None
    length = block[1]
    dimensions = [(strides[0], elements[0] // block[0]), *zip(strides[1:], elements[1:], strict=True)]
    offsets = np.zeros(1, np.int64)
    for stride, n in sorted((stride, n) for stride, n in dimensions if n != 1):
        if stride == length and len(offsets) == 1:
            length *= n
        else:
            offsets = (np.arange(n, dtype=np.int64)[:, None] * stride + offsets[None, :]).ravel()
    return np.unique(offsets), length
