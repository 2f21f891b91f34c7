"""Settings as TOML, read by Python's own reader."""

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tracegen.contract.toml_text import toml_text

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES: Any = st.one_of(
    TEXT, st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), st.booleans()
)
KEY = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
SETTINGS = st.dictionaries(
    KEY, st.one_of(VALUES, st.lists(VALUES, max_size=4), st.dictionaries(KEY, VALUES, max_size=3))
)


@given(SETTINGS)
def test_it_reads_as_what_it_was_made_of(settings: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(settings)) == settings
