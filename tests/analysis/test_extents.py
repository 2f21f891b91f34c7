"""Bytes of elements and the stretches they lie in, against memory that is painted element by element."""

from math import prod

import gguf
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis.extents import content_bytes, stretches

SIZES = {kind.name: size for kind, size in gguf.GGML_QUANT_SIZES.items()}


def painted(dtype: str, elements: tuple[int, ...], strides: tuple[int, ...]) -> set[int]:
    """Every byte of a tensor, by walking over its blocks as ggml's address arithmetic does."""
    block, size = SIZES[dtype.upper()]
    bytes_: set[int] = set()
    for i3 in range(elements[3]):
        for i2 in range(elements[2]):
            for i1 in range(elements[1]):
                for i0 in range(elements[0] // block):
                    at = i0 * strides[0] + i1 * strides[1] + i2 * strides[2] + i3 * strides[3]
                    bytes_ |= set(range(at, at + size))
    return bytes_


def row(dtype: str, elements: tuple[int, ...], strides: tuple[int, ...]) -> pd.DataFrame:
    block, size = SIZES[dtype.upper()]
    extent = size + (elements[0] // block - 1) * strides[0]
    extent += sum((n - 1) * stride for n, stride in zip(elements[1:], strides[1:], strict=True))
    numbers = {f"ne{i}": elements[i] for i in range(4)} | {f"nb{i}": strides[i] for i in range(4)}
    return pd.DataFrame([dict(dtype=dtype, size_bytes=extent, **numbers)])


@st.composite
def views(draw: st.DrawFn) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """A part of a larger tensor, its last dimensions in any order: what ggml_view and ggml_permute make."""
    dtype = draw(st.sampled_from(["f32", "f16", "q8_0", "q4_0"]))
    block, size = SIZES[dtype.upper()]
    whole = [draw(st.integers(1, 4)) * block, *(draw(st.integers(1, 4)) for _ in range(3))]
    strides = [size, whole[0] // block * size]
    strides += [strides[1] * whole[1], strides[1] * whole[1] * whole[2]]
    part = [draw(st.integers(1, whole[0] // block)) * block, *(draw(st.integers(1, n)) for n in whole[1:])]
    order = [0, *draw(st.permutations([1, 2, 3]))]
    return dtype, tuple(part[i] for i in order), tuple(strides[i] for i in order)


@given(views())
def test_stretches_paint_what_the_elements_paint(view: tuple[str, tuple[int, ...], tuple[int, ...]]) -> None:
    expected = painted(*view)
    found = stretches(*view)
    assert found is not None
    offsets, length = found
    assert {at + i for at in offsets.tolist() for i in range(length)} == expected
    assert len(offsets) * length == len(expected) and content_bytes(row(*view)).tolist() == [len(expected)]


def test_the_v_view_of_a_long_cache_is_its_elements() -> None:
    """Without flash attention, context 4,096: V is read as [256, 64, 2] of a cache with 8,192 bytes a row."""
    view = row("f16", (256, 64, 2, 1), (2, 8192, 8192 * 64, 8192 * 128))
    assert view["size_bytes"].tolist() == [512 + 63 * 8192 + 524288] == [1_040_896]
    assert content_bytes(view).tolist() == [65_536]


def test_a_transposed_tensor_has_all_its_bytes_once() -> None:
    assert content_bytes(row("f32", (8, 4, 1, 1), (16, 4, 128, 128))).tolist() == [128]
    assert stretches("f32", (8, 4, 1, 1), (16, 4, 128, 128)) is not None


def test_an_unknown_type_is_unknown_unless_it_lies_in_one_piece() -> None:
    rows = row("f16", (32, 4, 1, 1), (2, 64, 256, 256)).assign(dtype="q9_9")
    assert content_bytes(rows).tolist() == [256] == rows["size_bytes"].tolist()
    holed = rows.assign(nb1=128, size_bytes=128 * 3 + 64)
    assert content_bytes(holed).isna().tolist() == [True]
    assert stretches("q9_9", (32, 4, 1, 1), (2, 128, 512, 512)) is None


def test_the_bytes_of_chosen_dimensions_are_counted() -> None:
    rows = row("q8_0", (64, 5, 3, 2), (34, 68, 340, 1020))
    assert content_bytes(rows, (0,)).tolist() == [68] and content_bytes(rows, (0, 2)).tolist() == [prod((68, 3))]
