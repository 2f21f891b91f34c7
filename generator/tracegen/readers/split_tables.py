"""splits and copies: what the scheduler gave to which backend. Ops of others than the CPU's are timed by split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen import tables as contract
from tracegen.readers.records import Records

CPU = "CPU"


def split_tables(records: Records, pass_ids: Mapping[int, int]) -> dict[str, pd.DataFrame]:
    """The tables; `pass_ids` leads from the numbers of the recorded passes to their place in the run."""
    splits = sorted(records.splits.values(), key=lambda s: (pass_ids[s.pass_number], s.split))
    copies = sorted(records.copies, key=lambda c: (pass_ids[c.pass_number], c.begin_ns))
    in_pass = pd.Series([pass_ids[c.pass_number] for c in copies], dtype=np.int64)
    return {
        "splits": contract.frame(
            "splits",
            [
                dict(
                    pass_id=pass_ids[s.pass_number], split=s.split, backend=s.backend, n_nodes=len(s.nodes),
                    begin_ns=s.begin_ns, end_ns=s.end_ns, by_op=s.by_op,
                )
                for s in splits
            ],
        ),
        "copies": contract.frame(
            "copies",
            [
                dict(
                    pass_id=pass_id, copy=number, split=c.split, tensor=c.tensor, source=c.source, target=c.target,
                    size_bytes=c.size_bytes, begin_ns=c.begin_ns, end_ns=c.end_ns,
                )
                for c, pass_id, number in zip(copies, in_pass, in_pass.groupby(in_pass).cumcount(), strict=True)
            ],
        ),
    }  # fmt: skip


@dataclass(frozen=True)
class Elsewhere:
    """What ran on other backends than the CPU's, per row of ops: `backend` is a place in `names`, -1: it did not."""

    names: tuple[str, ...]
    backend: np.ndarray
    split: np.ndarray


def elsewhere(records: Records, pass_ids: Mapping[int, int], first_row: np.ndarray, computes: np.ndarray) -> Elsewhere:
    """The op rows (`first_row` of each pass, `computes` of each row) that splits of other backends hold."""
    others = [s for s in records.splits.values() if not s.by_op and s.backend != CPU]
    names: Sequence[str] = sorted({s.backend for s in others})
    backend, split = np.full(len(computes), -1, np.int64), np.full(len(computes), -1, np.int64)
    for s in others:
        at = first_row[pass_ids[s.pass_number]] + s.nodes[s.nodes >= 0]
        at = at[computes[at] == 1]
        backend[at], split[at] = names.index(s.backend), s.split
    return Elsewhere(tuple(names), backend, split)
