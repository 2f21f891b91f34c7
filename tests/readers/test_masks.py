"""The rows of keys and values that attention read: those that its mask let through, for every op with that mask."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from tracegen.contract import tables as contract
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.events import Indexes
from tracegen.readers.native.touch_tables import touch_tables
from tracegen.readers.native.units import MASK

N_ROWS = 64  # of the cache, in each of two streams
# two layers share one mask (leaf 4), a third has its own (leaf 5); the keys and values are leaves 2 and 3
ATTENTION = {0: 4, 1: 4, 6: 5}


def case() -> dict[str, pd.DataFrame]:
    def node(number: int, op: str, name: str) -> dict[str, object]:
        sizes = dict(ne0=8, ne1=N_ROWS, ne2=1, ne3=2, nb0=2, nb1=16, nb2=1024, nb3=1024)
        return dict(
            graph=0,
            node=number,
            kind="op" if op != "NONE" else "leaf",
            op=op,
            name=name,
            component="attention",
            dtype="f16",
            size_bytes=2048,
            op_params="",
            compute=True,
            view_offset_bytes=0,
            **sizes,
        )

    leaves = {2: "k", 3: "v", 4: "mask", 5: "mask_swa"}
    nodes = [node(n, "FLASH_ATTN_EXT", f"out-{n}") for n in ATTENTION] + [node(n, "NONE", t) for n, t in leaves.items()]
    edges = [
        dict(graph=0, source=source, target=target, slot=slot)
        for target, mask in ATTENTION.items()
        for slot, source in (("src1", 2), ("src2", 3), ("src3", mask))
    ]
    tables = contract.empty()
    tables["graph_nodes"] = contract.frame("graph_nodes", sorted(nodes, key=lambda row: int(str(row["node"]))))
    tables["graph_edges"] = contract.frame("graph_edges", edges)
    tables["passes"] = contract.frame("passes", [dict(pass_id=p, graph=0, begin_ns=p) for p in (0, 1)])
    return tables


def read(*masks: tuple[int, int, Sequence[int]]) -> pd.DataFrame:
    """The table `touches` for copied masks; each is (pass, node, first row and number of rows of each run)."""
    n = np.array([len(values) for *_, values in masks], np.int64)
    values = np.array([value for *_, pairs in masks for value in pairs], np.float64)
    pass_id, node = (np.array([mask[i] for mask in masks], np.int64) for i in (0, 1))
    two, first = np.full(len(masks), 2), np.cumsum(n) - n
    indexes = Indexes(pass_id, node, np.full(len(masks), MASK), two, n, np.zeros(len(masks), np.int64), first, values)
    return touch_tables(indexes, case())["touches"]


def test_a_mask_counts_for_all_that_read_it() -> None:
    touches = read((0, 0, (0, 5, 64, 3)), (0, 6, (2, 3)), (1, 0, (0, 6)), (1, 6, (3, 3)))
    rows = touches[["pass_id", "node", "slot", "first_unit", "n_units"]].astype({"slot": "object"}).values.tolist()
    expected = []
    for pass_id, shared, third in ((0, [(0, 5), (64, 3)], [(2, 3)]), (1, [(0, 6)], [(3, 3)])):
        for node, mask in ATTENTION.items():
            for slot in ("src1", "src2"):
                expected += [[pass_id, node, slot, *run] for run in (shared if mask == 4 else third)]
    assert rows == expected
    assert set(touches["unit"]) == {"row"} and set(touches["basis"]) == {"measured"}


@pytest.mark.parametrize(
    ("node", "pairs", "why"),
    [
        (0, (0, 5, 5, 1), "do not ascend"),  # neighbours are one run
        (0, (9, 5, 0, 1), "do not ascend"),
        (0, (0, 0), "do not ascend"),
        (0, (120, 9), "does not have"),
        (1, (0, 5), "does not have"),  # the first that reads a mask keeps it
        (2, (0, 5), "does not have"),
    ],
)
def test_what_cannot_be_is_refused(node: int, pairs: Sequence[int], why: str) -> None:
    with pytest.raises(TraceFormatError, match=why):
        read((0, node, pairs))
