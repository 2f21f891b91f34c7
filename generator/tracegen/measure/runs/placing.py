"""Gives a run that was written beside its place a number there, keeps what a failed one captured, and updates one."""

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from tracegen.contract.model import Check, Run
from tracegen.storing import store

RUNS, FAILED = "runs", "failed"
KEPT = "what was captured is kept in"


def now() -> str:
    """The time as runs hold it: UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def place(part: Path, runs: Path, run: Run, published: int) -> Run:
    """Move `part` into `runs` under the next number that is larger than `published`; the run as it is stored then.

    Raises EnvironmentFailure when `runs` cannot be written.
    """
    target = store.place_numbered(
        part, runs, lambda number: store.write_run_file(part, _with_number(run, number)), after=published
    )
    return store.read_run(target)


def _with_number(run: Run, number: int) -> Run:
    """The run with its number. The first run of a series becomes the `first_run` of its own repetition."""
    numbered = replace(run, number=number)
    series = numbered.facts.repetition
    if series is None or series.first_run is not None:
        return numbered
    return replace(numbered, facts=replace(numbered.facts, repetition=replace(series, first_run=numbered.name)))


def keep_failed(part: Path, failed: Path) -> Path | None:
    """Move the folder of a failed run into `failed`, so that its log can be read; None when nothing was moved."""
    if not any(part.rglob("*.txt")):
        return None
    target = failed / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
    try:
        failed.mkdir(parents=True, exist_ok=True)
        os.rename(part, target)
    except OSError:
        return None
    return target


def update(run: Run, tables: Mapping[str, pd.DataFrame], reader: str, checks: tuple[Check, ...]) -> Run:
    """Give a stored run tables and checks that were made again by the version `reader`. Raises EnvironmentFailure."""
    assert run.folder is not None  # it is stored
    with store.part_folder(run.folder.parent) as part:
        store.write_tables(part / "tables", tables, reader)
        (run.folder / "tables").mkdir(exist_ok=True)
        for path in sorted((part / "tables").iterdir()):
            os.replace(path, run.folder / "tables" / path.name)
    updated = replace(run, checks=checks)
    store.write_run_file(run.folder, updated)
    return updated
