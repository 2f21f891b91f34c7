"""Random contents of a tensor, in pieces: a large tensor is never in memory as a whole."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tracegen.contract.ggml_types import BLOCKS
from tracegen.measure.demo.architecture import Weight, bytes_of
from tracegen.measure.demo.weights import random_bytes

PIECE = 16 << 20  # bytes of a tensor that are in memory at a time, at most

# where the scales (f16) of a block lie, in bytes; the block of MXFP4 begins with an exponent instead
_SCALES = {
    "Q4_0": (0,), "Q8_0": (0,), "Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,),
    "MXFP4": (),
}  # fmt: skip
_LARGEST = 0.1  # of floats
_EXPONENT = 127 - 6  # of MXFP4 blocks: values of at most 6 / 64


def pieces(weight: Weight, dtype: str, source: np.random.PCG64) -> Iterator[NDArray[np.generic]]:
    """The tensor's contents in the order of the file. The weight of a norm is 1.

    The size of the pieces does not change the contents: a piece ends where 8 random bytes end.
    """
    _, size = BLOCKS[dtype]
    ones = weight.component == "norm" and weight.name.endswith(".weight")
    total = bytes_of(weight, dtype) // size
    step = PIECE // size // 8 * 8
    for begin in range(0, total, step):
        n = min(step, total - begin)
        yield np.ones(n, np.float32) if ones else _blocks(dtype, n, size, source)


def _blocks(dtype: str, n: int, size: int, source: np.random.PCG64) -> NDArray[np.generic]:
    """`n` blocks of `size` bytes: small floats, or random bits with a small scale."""
    if dtype in ("F32", "F16"):
        halves = random_bytes(source, 2 * n).view(np.int16) + np.float32(0.5)  # none is 0: rope divides by some
        values = halves * np.float32(_LARGEST / 32768)
        return values.astype(np.float32 if dtype == "F32" else np.float16)
    blocks = random_bytes(source, n * size).reshape(n, size)
    if dtype == "MXFP4":
        blocks[:, 0] = _EXPONENT
    for place in _SCALES[dtype]:
        blocks[:, place : place + 2] = np.array([2**-10], np.float16).view(np.uint8)
    return blocks
