"""Random weights for demo models: floats, or quantised blocks filled with random bits.

The bits come from PCG64, whose stream is the same in all versions of numpy: a seed gives the same bytes everywhere.
"""

from dataclasses import dataclass
from math import prod

import gguf
import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

BIAS = 32  # features kept for the bias: one block of Q4_0, one sub-block of Q4_K


@dataclass(frozen=True)
class Plan:
    """A tensor to write: shape in numpy's order, `spread` (standard deviation of its values; 0: all ones).

    The first BIAS features are equal (`constant`), get nothing added (`silent`), or are
    negative in the rows of unlikely tokens and 0 in the others (`biased`).
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    spread: float = 0.0
    constant: bool = False
    biased: bool = False
    silent: bool = False


def n_bytes(plan: Plan) -> int:
    """Size of the tensor in the file."""
    block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[plan.dtype]]
    return prod(plan.shape) // int(block) * int(size)


def random_weights(plan: Plan, source: np.random.PCG64, unlikely: NDArray[np.bool_]) -> NDArray[np.generic]:
    """The values of the tensor in the format of the file."""
    if plan.spread == 0:
        return np.ones(plan.shape, np.float32)
    if plan.dtype == "Q4_K":
        return _q4_k(plan, source)
    if plan.dtype == "Q6_K":
        return _q6_k(plan, source, unlikely)
    return _from_floats(plan, source, unlikely)


def _from_floats(plan: Plan, source: np.random.PCG64, unlikely: NDArray[np.bool_]) -> NDArray[np.generic]:
    """Uniformly distributed values as F32, F16, or quantised by the gguf package."""
    n = prod(plan.shape)
    values = random_bytes(source, 2 * n).view(np.int16).astype(np.float32)
    values *= plan.spread * 3**0.5 / 32768
    rows = values.reshape(plan.shape)
    if plan.constant:
        rows[:, :BIAS] = plan.spread
    if plan.silent:
        rows[..., :BIAS, :] = 0
    if plan.biased:
        rows[:, :BIAS] = np.where(unlikely[:, None], -12 * plan.spread, 0)
    quantised: NDArray[np.generic] = gguf.quantize(rows, gguf.GGMLQuantizationType[plan.dtype])
    return quantised


def _q4_k(plan: Plan, source: np.random.PCG64) -> Bytes:
    """Random Q4_K blocks: value = d · scale · q - dmin · min, with min = scale and dmin = 7.5 d.

    block_q4_K (144 bytes): f16 d, f16 dmin, 12 bytes of eight 6-bit scales and mins, 128 bytes of nibbles.
    """
    rows = prod(plan.shape[:-1])
    blocks = random_bytes(source, rows * plan.shape[-1] // 256 * 144).reshape(rows, -1, 144)
    blocks[..., 4:16] = _packed_scales(blocks[..., 4:12])
    step = plan.spread / (4.61 * 41.5)  # spread of 0 … 15, mean square of the scales
    blocks[..., :4] = np.array([step, 7.5 * step], np.float16).view(np.uint8)
    if plan.constant:
        blocks[:, 0, 16 : 16 + BIAS] = blocks[:, 0, 16 : 16 + BIAS] & 0xF0 | 12
        blocks[:, 0, [4, 8]] = blocks[:, 0, [4, 8]] & 0xC0 | 42
    if plan.silent:
        blocks.reshape(*plan.shape[:-1], -1, 144)[..., :BIAS, :, :4] = 0
    return blocks.reshape(*plan.shape[:-1], -1)


def _packed_scales(random: Bytes) -> Bytes:
    """Eight 6-bit scales of 16 … 63 and, equal to them, eight mins in the 12 bytes of a K-quant block."""
    scales = 16 + random % 48
    first, second = scales[..., :4], scales[..., 4:]
    high = second >> 4 << 6
    return np.concatenate([first | high, first | high, second & 15 | (second & 15) << 4], axis=-1)


def _q6_k(plan: Plan, source: np.random.PCG64, unlikely: NDArray[np.bool_]) -> Bytes:
    """Random Q6_K blocks: value = d · scale · (q - 32).

    block_q6_K (210 bytes): 128 bytes of low nibbles, 64 of high pairs, 16 signed scales, f16 d.
    """
    rows = prod(plan.shape[:-1])
    blocks = random_bytes(source, rows * plan.shape[-1] // 256 * 210).reshape(rows, -1, 210)
    scales = blocks[..., 192:208]
    magnitude = (16 + (scales & 31)).astype(np.int8)
    blocks[..., 192:208] = np.where(scales & 128, -magnitude, magnitude).view(np.uint8)
    step = plan.spread / (18.5 * 32.8)  # spread of -32 … 31, mean square of the scales
    blocks[..., 208:] = np.array([step], np.float16).view(np.uint8)
    if plan.biased:
        # the first 32 values are the low nibbles of ql[0:32] and the low pairs of qh[0:32]
        blocks[:, 0, :BIAS] &= 0xF0
        pairs = np.where(unlikely, 0, 2).astype(np.uint8)  # q = 0 is -32, q = 32 is 0
        blocks[:, 0, 128 : 128 + BIAS] = blocks[:, 0, 128 : 128 + BIAS] & 0xFC | pairs[:, None]
        blocks[:, 0, 192:194] = 127
    if plan.silent:
        blocks.reshape(*plan.shape[:-1], -1, 210)[..., :BIAS, :, 208:] = 0
    return blocks.reshape(*plan.shape[:-1], -1)


def random_bytes(source: np.random.PCG64, n: int) -> Bytes:
    """The next `n` bytes of the stream; up to 7 more are skipped, as it gives 8 at a time."""
    return source.random_raw(-(-n // 8)).view(np.uint8)[:n]
