import math

import pandas as pd
import pytest

from tracegen.contract import quantities as q


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "not recorded"),
        (pd.NA, "not recorded"),
        (math.nan, "not recorded"),
        (0, "0 B"),
        (1023, "1023 B"),
        (4718592, "4.50 MiB"),
        (1 << 30, "1.00 GiB"),
        (1234 * 1024 * 1024, "1.21 GiB"),
        (1000 << 20, "1\u202f000 MiB"),
        (500 * 10**9, "466 GiB"),
        (3 << 40, "3.00 TiB"),
    ],
)
def test_sizes_are_rounded_to_three_digits_with_a_unit(value: object, text: str) -> None:
    assert q.size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "not recorded"),
        (999, "999 ns"),
        (1_234_567, "1.23 ms"),
        (2.5e9, "2.50 s"),
        (119.4e9, "119 s"),
        (120e9, "2.00 min"),
        (3600e9, "60.0 min"),
        (7200e9, "2.00 h"),
        (86_400 * 10**9, "24.0 h"),
        (100 * 86_400 * 10**9, "2\u202f400 h"),
    ],
)
def test_durations_are_rounded_to_three_digits_with_a_unit(value: object, text: str) -> None:
    assert q.duration(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.0001, "< 0.1 %"),
        (0.99999, "> 99.9 %"),
        (0.6149, "61.5 %"),
        (None, "not recorded"),
    ],
)
def test_shares_near_0_and_1_are_bounds(value: object, text: str) -> None:
    assert q.percent(value) == text


def test_unknown_values_are_not_recorded_and_thousands_are_grouped() -> None:
    assert q.count(1234567) == "1\u202f234\u202f567"
    assert q.count(pd.NA) == "not recorded" and q.decimal(None) == ""
    assert q.yes_no(None) == "not recorded" and q.yes_no(False) == "off"


def test_control_characters_do_not_survive() -> None:
    assert q.printable("a\x1b[31m\x00\u202eb\nc") == "a\ufffd[31m\ufffd\ufffdb\nc"


def test_p_is_never_zero() -> None:
    assert q.p_words(0.00004) == "p < 0.0001" and q.p_words(0.001) == "p = 0.001"
