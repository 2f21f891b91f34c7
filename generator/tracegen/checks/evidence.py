"""What the checks of a run look at, and how each of them states what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.checks.keys import Key
from tracegen.model import Check, CheckState

Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Evidence:
    """What the checks look at: the tables, what the trace says of itself, llama.cpp's counters, the model.

    `n_layers_ahead` of the `n_layers` predict further tokens: llama.cpp runs them only to draft. `data_begin` is
    where the tensors of each file begin, `alignment` the bytes to which they are aligned.
    """

    tables: Tables
    trace: Mapping[str, Any]
    timings: Mapping[str, float | int | None]
    n_layers: int | None = None
    n_layers_ahead: int = 0
    n_experts: int | None = None
    data_begin: tuple[int, ...] = ()
    alignment: tuple[int, ...] = ()
    tokens_asked: int | None = None
    warmup: bool | None = None
    exit_status: int = 0
    stopped: bool = False


def check(key: Key, title: str, state: CheckState | bool, found: object, limit: str, detail: str = "") -> Check:
    """A check with its figure and limit; True passed, False failed."""
    if isinstance(state, bool):
        state = "passed" if state else "failed"
    return Check(key.value, title, state, str(found), limit, detail)


def counted(number: int, one: str, several: str) -> str:
    """`1 pass`, `3 passes`."""
    return f"{count(number)} {one if number == 1 else several}"


def percent(share: float, digits: int = 0) -> str:
    """`1.23 %` of a share."""
    return f"{100 * share:.{digits}f}\u202f%"


def count(number: float) -> str:
    """`12 345`."""
    return f"{number:,.0f}".replace(",", "\u2009")
