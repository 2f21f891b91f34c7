"""The tables of a stored run as plain rows, and the few ways to find one."""

from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Row = dict[str, Any]


class Rows:
    """The rows of every table of a run; null is None."""

    def __init__(self, folder: Path) -> None:
        """Read all tables of the run's folder."""
        self.tables: dict[str, list[Row]] = {
            path.stem: pq.read_table(path).to_pylist() for path in sorted((folder / "tables").glob("*.parquet"))
        }

    def __getitem__(self, table: str) -> list[Row]:
        return self.tables[table]

    @cached_property
    def measured(self) -> list[Row]:
        """The passes that statistics count: all but loads and warm-ups."""
        return [row for row in self["passes"] if row["kind"] not in ("load", "warmup")]

    def of_kind(self, kind: str) -> list[Row]:
        """The measured passes of a kind, in order."""
        return sorted((row for row in self.measured if row["kind"] == kind), key=lambda row: row["pass_id"])

    @cached_property
    def passes(self) -> dict[int, Row]:
        """A pass by its number."""
        return {row["pass_id"]: row for row in self["passes"]}

    @cached_property
    def nodes(self) -> dict[tuple[int, int], Row]:
        """What is static about a node or leaf, by graph and node."""
        return {(row["graph"], row["node"]): row for row in self["graph_nodes"]}

    @cached_property
    def sources(self) -> dict[tuple[int, int], dict[str, int]]:
        """What a node of a graph reads: slot -> node or leaf."""
        found: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
        for row in self["graph_edges"]:
            found[row["graph"], row["target"]][row["slot"]] = row["source"]
        return found

    @cached_property
    def places(self) -> dict[tuple[int, int], Row]:
        """Where a node or leaf lay, by placement and node."""
        return {(row["placement"], row["node"]): row for row in self["placements"]}

    @cached_property
    def touches(self) -> dict[tuple[int, int, str], list[tuple[int, int]]]:
        """Which units of a container an op used, by pass, node and slot: runs of (first, how many)."""
        found: dict[tuple[int, int, str], list[tuple[int, int]]] = defaultdict(list)
        for row in self["touches"]:
            found[row["pass_id"], row["node"], row["slot"]].append((row["first_unit"], row["n_units"]))
        return found

    @cached_property
    def spans(self) -> dict[tuple[int, int], list[Row]]:
        """The spans of an op, by pass and node."""
        found: dict[tuple[int, int], list[Row]] = defaultdict(list)
        for row in self["spans"]:
            found[row["pass_id"], row["node"]].append(row)
        return found

    @cached_property
    def ops(self) -> dict[int, list[Row]]:
        """The ops of a pass in the order of the graph."""
        found: dict[int, list[Row]] = defaultdict(list)
        for row in self["ops"]:
            found[row["pass_id"]].append(row)
        return {pass_id: sorted(rows, key=lambda row: row["node"]) for pass_id, rows in found.items()}

    @cached_property
    def intermediates(self) -> dict[tuple[int, int], set[int]]:
        """The nodes whose results exist in no memory, as each op of a fused group meets them: by pass and node.

        Ops that were fused into one, and that one, are a group; it writes the result of its last node alone.
        """
        groups: dict[tuple[int, int], set[int]] = defaultdict(set)
        for row in self["ops"]:
            if row["state"] == "fused":
                groups[row["pass_id"], row["fused_into"]] |= {row["fused_into"], row["node"]}
        return {(pass_id, node): nodes - {max(nodes)} for (pass_id, _), nodes in groups.items() for node in nodes}

    @cached_property
    def disk_bytes(self) -> int:
        """The length of the disk axis: all model files end to end."""
        return sum(row["size_bytes"] for row in self["files"])

    @cached_property
    def axis(self) -> dict[int, int]:
        """Where each model file begins on the disk axis: behind those of lower number."""
        found, end = {}, 0
        for row in sorted(self["files"], key=lambda row: row["file"]):
            found[row["file"]] = end
            end += row["size_bytes"]
        return found


def duration(row: Row) -> int:
    """How long a pass took: from its start to its end."""
    return int(row["end_ns"] - row["begin_ns"])
