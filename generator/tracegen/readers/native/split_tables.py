"""The tables `splits` and `copies`: what the scheduler gave to each backend.

Only the CPU backend is timed by op; on other backends a whole split is timed, until it is known to be done: because the
tracer waited for it, or, where the tracer is passive, because llama.cpp did. `proof` says how; `none`: it is not known.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.readers.native.recorded import Records

CPU = "CPU"


def split_tables(records: Records) -> dict[str, pd.DataFrame]:
    """Both tables."""
    pass_ids = {number: p.pass_id for number, p in records.passes.items()}
    splits = sorted(records.splits.values(), key=lambda s: (pass_ids[s.pass_number], s.split))
    copies = sorted(records.copies, key=lambda copy: (pass_ids[copy[0]], copy[1]["begin_ns"]))
    in_pass = pd.Series([pass_ids[number] for number, _ in copies], dtype=np.int64)
    return {
        "splits": contract.frame(
            "splits",
            [
                dict(
                    pass_id=pass_ids[s.pass_number],
                    split=s.split,
                    backend=s.backend,
                    n_nodes=len(s.nodes),
                    begin_ns=s.begin_ns,
                    submitted_ns=s.submitted_ns,
                    waiting_ns=s.waiting_ns,
                    end_ns=s.end_ns,
                    by_op=s.by_op,
                    proof=s.proof,
                )
                for s in splits
            ],
        ),
        "copies": contract.frame(
            "copies",
            [
                {"pass_id": pass_id, "copy": n, **row}
                for (_, row), pass_id, n in zip(copies, in_pass, in_pass.groupby(in_pass).cumcount(), strict=True)
            ],
        ),
    }


@dataclass(frozen=True)
class Elsewhere:
    """The ops that ran on backends other than the CPU, as arrays of equal length.

    `at` is the row in the ops table, `backend` an index into `names`, `split` the scheduler's split.
    """

    names: tuple[str, ...]
    at: np.ndarray
    backend: np.ndarray
    split: np.ndarray


def elsewhere(records: Records, first_row: np.ndarray, computes: np.ndarray) -> Elsewhere:
    """The ops in splits of backends other than the CPU.

    `first_row` is the first row of each pass in the ops table, `computes` a column of that table.
    """
    splits = [s for s in records.splits.values() if not s.by_op and s.backend != CPU]
    names: Sequence[str] = sorted({s.backend for s in splits})
    at, backend, split = [np.zeros(0, np.int64)], [np.zeros(0, np.int8)], [np.zeros(0, np.int32)]
    for s in splits:
        rows = first_row[records.passes[s.pass_number].pass_id] + s.nodes[s.nodes >= 0]
        rows = rows[computes[rows] == 1]
        at.append(rows)
        backend.append(np.full(len(rows), names.index(s.backend), np.int8))
        split.append(np.full(len(rows), s.split, np.int32))
    return Elsewhere(tuple(names), np.concatenate(at), np.concatenate(backend), np.concatenate(split))
