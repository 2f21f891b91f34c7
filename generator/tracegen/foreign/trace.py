"""What the reader of a foreign format returns."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from tracegen.contract.model import Check


@dataclass(frozen=True)
class ForeignTrace:
    """A trace of another tool: its format in words, all tables of tables.py, and what is wrong with it.

    `checks` names each known fault of such data that was found, in plain words with counts: `failed` where it makes
    figures false (`foreign/faults.py` has their keys), `warning` where a figure says less than it seems to.
    `facts` are further findings by name, for run.json.
    """

    format: str
    tables: Mapping[str, pd.DataFrame]
    checks: tuple[Check, ...]
    facts: Mapping[str, object]
