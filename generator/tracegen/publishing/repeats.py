"""What a version holds of all its runs when these were repeated: measures of each, and where and when it was made.

pandas is loaded only where tables are made or read whole: a site of versions takes its ranges from `values_of_runs`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracegen.contract.facts import Facts, Host
from tracegen.contract.text import without_controls
from tracegen.publishing.bundle import Bundle
from tracegen.storing import store

if TYPE_CHECKING:
    import pandas as pd

    from tracegen.publishing.side import Side

MEASURES = "data/repeats.csv"
RUNS = "data/runs.csv"
LARGEST = 1e18  # no size, time or rate of a run comes near it
_RUN_COLUMNS = ("run", "created", "round", "host_id", "host_cpu", "host_cores", "host_memory_bytes")


def files_of(repeats: Side) -> dict[str, bytes]:
    """The two files, oldest run first; none for a single run."""
    if len(repeats.runs) < 2:
        return {}
    import pandas as pd

    from tracegen.analysis.measures import COLUMNS

    names = [run.name.rpartition("/")[2] for run in repeats.runs]
    measures = [run.measures.assign(run=n, created=run.created) for n, run in zip(names, repeats.runs, strict=True)]
    rows = [
        (name, run.created, run.round or None, *_host(run.facts.host))
        for name, run in zip(names, repeats.runs, strict=True)
    ]
    tables = {
        MEASURES: pd.concat(measures)[["run", "created", *COLUMNS]],
        RUNS: pd.DataFrame(rows, columns=_RUN_COLUMNS).astype("object"),
    }
    return {
        name: without_controls(table.to_csv(index=False, lineterminator="\n")).encode()
        for name, table in tables.items()
    }


def _host(of: Host) -> tuple[object, ...]:
    """What the columns `host_…` hold."""
    return of.id, of.cpu, of.cores, of.memory_bytes


def read_repeats(
    folder: Path, manifest: Mapping[str, Mapping[str, Any]], facts: Facts
) -> Iterator[tuple[str, str, Facts, pd.DataFrame]]:
    """Name, date, facts and measures of each run of a version; nothing if it holds a single run.

    `facts` are those of the run that was drawn: the others differ from it in round and machine alone. Raises StoreError
    if a file has changed.
    """
    if MEASURES not in manifest:
        return
    from tracegen.analysis.measures import COLUMNS

    texts = [name for name in COLUMNS if name != "value"]
    table = _read(folder, MEASURES, manifest, dict.fromkeys((*texts, "run", "created"), "str"))
    facts_by_run = _facts_by_run(folder, manifest, facts)
    for (run, created), of in table.groupby(["run", "created"], sort=False):
        yield str(run), str(created), facts_by_run[str(run)], of[COLUMNS].reset_index(drop=True)


def _facts_by_run(folder: Path, manifest: Mapping[str, Mapping[str, Any]], facts: Facts) -> dict[str, Facts]:
    """The facts of each run."""
    table = _read(folder, RUNS, manifest, dict.fromkeys(_RUN_COLUMNS, "str"))
    found: dict[str, Facts] = {}
    for row in table.to_dict("records"):
        host = replace(
            facts.host,
            id=row["host_id"] or None,
            cpu=row["host_cpu"] or None,
            cores=int(row["host_cores"]) if row["host_cores"] else None,
            memory_bytes=int(row["host_memory_bytes"]) if row["host_memory_bytes"] else None,
        )
        slot = replace(facts.slot, round=int(row["round"])) if facts.slot and row["round"] else facts.slot
        found[str(row["run"])] = replace(facts, host=host, slot=slot)
    return found


def _read(folder: Path, name: str, manifest: Mapping[str, Mapping[str, Any]], types: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(store.published_file(folder, name, manifest), keep_default_na=False, dtype=types)


def values_of_runs(bundle: Bundle) -> list[Mapping[str, tuple[float, str]]]:
    """The value and unit of each key figure, by its key, in each run that the bundle lists, in the order of the file.

    Empty if it has no such file, or one that does not read as expected: then the version stands for its own run.
    """
    if MEASURES not in bundle.document["manifest"]:
        return []
    runs: dict[tuple[str, str], dict[str, tuple[float, str]]] = {}
    try:
        with (bundle.folder / MEASURES).open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file, strict=True)
            columns = itemgetter(*map(next(rows).index, ("run", "created", "by", "key", "unit", "value")))
            for run, created, by, key, unit, value in map(columns, rows):
                if by != "run":
                    continue  # most of the rows: a large model has tens of thousands
                number, of_run = float(value), runs.setdefault((run, created), {})
                if not 0 <= number < LARGEST or key in of_run:
                    return []
                of_run[key] = number, unit
    except (OSError, ValueError, IndexError, StopIteration, csv.Error):
        return []
    return list(runs.values())
