"""Packed numbers, read again by a decoder that works byte by byte."""

import base64

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unpacking import unpacked
from tracegen.report.document.packing import packed

NUMBERS = st.lists(st.one_of(st.none(), st.integers(-(2**52) + 1, 2**52 - 1), st.integers(-3, 200)), max_size=40)


@given(st.lists(NUMBERS, min_size=1, max_size=5))
def test_numbers_come_back(parts: list[list[int | None]]) -> None:
    values = pd.Series([n for part in parts for n in part], dtype="Int64")
    assert [unpacked(text) for text in packed(values, np.cumsum([len(part) for part in parts]))] == parts


def test_what_a_script_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        packed(pd.Series([2**52]), np.array([1]))


def test_small_numbers_take_a_byte() -> None:
    assert packed(np.arange(60), np.array([60])) == [base64.b64encode(bytes(range(1, 121, 2))).decode()]
