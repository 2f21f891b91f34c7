"""Finds the pass, the node and the split of what happened in a compute."""

import numpy as np

from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.recorded import UNKNOWN, Records


class Computes:
    """The computes of a run: each has nodes of the graph of one pass, and belongs to one of the scheduler's splits."""

    def __init__(self, records: Records) -> None:
        """Take the computes of all passes, whose pass_ids must be known."""
        rows = sorted(records.computes.values(), key=lambda compute: compute.number)
        self._number = np.array([compute.number for compute in rows], np.uint64)
        self._pass_id = np.array([records.passes[compute.pass_number].pass_id for compute in rows], np.int64)
        self._split = np.array([compute.split for compute in rows], np.int64)
        self._n = np.array([len(compute.nodes) for compute in rows], np.int64)
        self._first = np.cumsum(self._n) - self._n
        self._nodes = np.concatenate([compute.nodes for compute in rows]) if rows else np.zeros(0, np.int32)

    def pass_ids(self, what: str, numbers: np.ndarray) -> np.ndarray:
        """The pass_id of each compute in `numbers` (uint64); -1 for UNKNOWN. `what` belongs to it, in an error.

        Raises TraceFormatError when the main segment does not list a compute.
        """
        at, known = self._rows(numbers)
        known |= numbers == UNKNOWN
        if not known.all():
            raise TraceFormatError(f"{what} of compute {numbers[~known][0]}, which the main segment does not know")
        return np.where(numbers == UNKNOWN, -1, np.append(self._pass_id, -1)[at])

    def listed_pass_ids(self, numbers: np.ndarray) -> np.ndarray:
        """The pass_id of each compute in `numbers`; -1 where the main segment does not list it."""
        at, known = self._rows(numbers)
        found: np.ndarray = np.where(known, np.append(self._pass_id, -1)[at], -1)
        return found

    def place(
        self, what: str, numbers: np.ndarray, opening: np.ndarray, node: np.ndarray, n_fused: np.ndarray | int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """pass_id, node of the pass's graph, and split of each event; `numbers` holds the compute of each opening.

        Raises TraceFormatError when the main segment does not list the compute, or the compute lacks the node or those
        fused into it. `what` belongs to them, in the error.
        """
        rows, announced = self._rows(numbers)
        at, known = rows[opening], announced[opening]
        node = node.astype(np.int64)
        last = node + n_fused
        known[known] = last[known] < self._n[at[known]]
        if known.all():
            first = self._first[at]
            placed = self._nodes[first + node]
            known = (placed >= 0) & (self._nodes[first + last] == placed + n_fused)
            if known.all():
                return self._pass_id[at], placed, self._split[at]
        wrong = int(np.argmin(known))
        raise TraceFormatError(
            f"{what} of node {node[wrong]} of compute {numbers[opening[wrong]]}, which the main segment does not know; "
            "record it again"
        )

    def _rows(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The row of each compute, and whether it is listed."""
        rows = np.searchsorted(self._number, numbers)
        listed = rows < len(self._number)
        listed[listed] = self._number[rows[listed]] == numbers[listed]
        return rows, listed
