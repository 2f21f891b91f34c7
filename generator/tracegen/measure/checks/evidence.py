"""The input of the checks of a run, and helpers that state a finding."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegen.contract.check_keys import Key
from tracegen.contract.facts import Control
from tracegen.contract.model import Check, CheckState

Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Evidence:
    """The input of all checks.

    `tables` are those of the run, `trace` is the reader's description of the trace, `timings` are llama.cpp's own
    counters. Of the model: `n_layers`, of which the last `n_layers_ahead` only draft tokens; for each file
    `data_begin`, where its tensors begin, and `alignment`, both in bytes. `tokens_asked` and `warmup` are settings;
    None: not known. `exit_status` is negative for a signal; `stopped`: tracegen ended the recording. `control`: what is
    known of untraced executions; None where there were none. `changed`: model files that changed while the program ran.
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
    control: Control | None = None
    changed: tuple[str, ...] = ()


def check(key: Key, state: CheckState | bool, finding: object, detail: str = "", *, limit: str = "") -> Check:
    """A check with its finding; the state True means passed, False failed.

    `limit` is that of the run where it knows more than the key.
    """
    if isinstance(state, bool):
        state = "passed" if state else "failed"
    return Check(key.value, key.says, state, str(finding), limit or key.limit, detail)


def percent(share: float, digits: int = 0) -> str:
    """`1.23 %` of a share."""
    return f"{100 * share:.{digits}f}\u202f%"
