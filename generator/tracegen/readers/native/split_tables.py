"""splits and copies: what the scheduler gave to which backend. Ops of others than the CPU's are timed by split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen import tables as contract
from tracegen.readers.native.recorded import Records

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
    """Ops that ran on other backends than the CPU's: row in the ops table, place of the backend in `names`, split."""

    names: tuple[str, ...]
    at: np.ndarray
    backend: np.ndarray
    split: np.ndarray


def elsewhere(records: Records, pass_ids: Mapping[int, int], first_row: np.ndarray, computes: np.ndarray) -> Elsewhere:
    """The ops that splits of other backends hold; `first_row` of each pass, `computes` of each row of the ops table."""
    others = [s for s in records.splits.values() if not s.by_op and s.backend != CPU]
    names: Sequence[str] = sorted({s.backend for s in others})
    at, backend, split = [np.zeros(0, np.int64)], [np.zeros(0, np.int8)], [np.zeros(0, np.int32)]
    for s in others:
        rows = first_row[pass_ids[s.pass_number]] + s.nodes[s.nodes >= 0]
        rows = rows[computes[rows] == 1]
        at.append(rows)
        backend.append(np.full(len(rows), names.index(s.backend), np.int8))
        split.append(np.full(len(rows), s.split, np.int32))
    return Elsewhere(tuple(names), np.concatenate(at), np.concatenate(backend), np.concatenate(split))
