"""Name, category and arguments of the slices that are rows of a table."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tracegen.analysis.backends import submitted
from tracegen.export.format import Source
from tracegen.export.perfetto.packets import Words
from tracegen.export.protobuf import Column

# Of each table the category of its slices, which is their name where they have none, and the columns it shows.
_COLUMNS: Mapping[str, tuple[str, Sequence[str]]] = {
    "passes": ("pass", ("kind_basis", "pass_id", "context", "n_tokens", "n_outputs", "produced_token", "graph")),
    "splits": ("split", ("backend", "pass_id", "split", "n_nodes", "by_op", "submitted")),
    "copies": ("copy", ("pass_id", "split", "size_bytes", "source", "target")),
    "device_ops": ("device operation", ("device", "pass_id", "split", "node", "exact")),
    "requests": ("request", ("file", "pass_id", "place", "size_bytes", "offset", "file_bytes")),
    "faults": ("page fault", ("file", "offset", "pass_id", "node")),
    "barriers": ("barrier", ("barrier", "pass_id", "node")),
}


class Described:
    """Describes rows with the texts of a trace."""

    def __init__(self, source: Source, words: Words) -> None:
        """Take the paths of the model files."""
        self._words = words
        self._files: dict[int, str] = dict(source.table("files")[["file", "path"]].itertuples(index=False))

    def fields(self, name: str, table: pd.DataFrame, without: Sequence[str] = ()) -> list[Column]:
        """The fields of the events of rows of the table `name`; `without` are columns that they need not show."""
        category, columns = _COLUMNS[name]
        if name == "splits":
            table = table.assign(submitted=submitted(table).astype(np.int64))
        if name == "device_ops":
            table = table.assign(exact=table["exact"].astype(np.int64))
        if "file" in columns:
            table = table.assign(file=table["file"].map(self._files).astype("string"))
        fields: list[Column] = [self._names(name, table), self._words.category(category)]
        for column in columns:
            if column in without:
                continue
            if pd.api.types.is_numeric_dtype(table[column]):
                fields += self._words.integers(column, table[column])
            else:
                fields.append(self._words.texts(column, table[column]))
        return fields

    def _names(self, name: str, table: pd.DataFrame) -> Column:
        """The name of each row's slice.

        Of a backend that may return before it has computed, a split is the hand-over, and says `submitted to`.
        """
        words = self._words
        if name == "barriers":
            return words.name("barrier")
        if name == "splits":
            backend = table["backend"].astype(object)
            return words.names(backend.where(table["submitted"] == 0, "submitted to " + backend), "split")
        if name == "requests":
            return words.names(table["kind"].astype("string").replace("ahead", "read ahead"), "read")
        if name == "faults":
            return words.names(table["kind"].astype("string") + " page fault", "page fault")
        of = {"passes": "kind", "device_ops": "label"}.get(name, "tensor")
        return words.names(table[of], _COLUMNS[name][0])
