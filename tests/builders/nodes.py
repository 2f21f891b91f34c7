"""On which NUMA node memory lies, for tables that do not say."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tracegen.contract.tables import frame

PAGE = 4096


def with_nodes(tables: Mapping[str, pd.DataFrame], share: float = 0.9) -> dict[str, pd.DataFrame]:
    """The same tables, looked at after the last pass: such a share of files and buffers lies on node 1, else on 0."""
    last = int(tables["passes"]["pass_id"].max())
    allocated = tables["buffers"][tables["buffers"]["event"].eq("alloc").to_numpy(bool)]
    buffers = allocated[allocated["usage"].ne("mapped").to_numpy(bool)]
    held: list[dict[str, Any]] = [
        dict(file=int(of), buffer_id=None, size_bytes=int(n))
        for of, n in tables["files"][["file", "size_bytes"]].to_numpy()
    ]
    held += [
        dict(file=None, buffer_id=int(of), size_bytes=int(n))
        for of, n in buffers[["buffer_id", "size_bytes"]].to_numpy()
    ]
    rows = []
    for of in held:
        pages = -(-of["size_bytes"] // PAGE)
        there = round(pages * share)
        size = pages * PAGE
        rows += [
            {**of, "size_bytes": size, "offset": 0, "node": node, "resident_bytes": n * PAGE}
            for node, n in ((0, pages - there), (1, there))
            if n
        ]
    return {**tables, "nodes": frame("nodes", [{**row, "pass_id": last, "part": n} for n, row in enumerate(rows)])}
