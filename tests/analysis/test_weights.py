"""The weights of a model, against tables made by hand."""

import pandas as pd

from tracegen.analysis import weights

TENSORS = pd.DataFrame(
    {
        "dtype": pd.Categorical(["F16", "Q8_0", "Q4_K", "F16"]),
        "size_bytes": [100, 60, 300, 40],
        "ne0": [10, 10, 10, 2**31],
        "ne1": [5, 6, 60, 2**31],
        "ne2": [1, 1, 1, 2**31],
        "ne3": [1, 1, 1, 2],
    }
)


def test_the_main_type_has_most_bytes() -> None:
    assert weights.main_type(TENSORS) == "Q4_K" and weights.main_type(TENSORS.tail(1)) == "F16"
    assert weights.main_type(TENSORS.head(0)) == ""


def test_parameters_are_counted_beyond_64_bits() -> None:
    assert weights.n_elements(TENSORS) == 50 + 60 + 600 + 2**94 and weights.n_elements(TENSORS.head(0)) == 0
