"""Stored runs in their public form with their measures, and the runs that repeat one."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from tracegen.analysis.analyses import Analyses
from tracegen.analysis.measures import COLUMNS, compared
from tracegen.contract.address import run_number
from tracegen.contract.errors import SettingsError
from tracegen.contract.facts import Slot
from tracegen.contract.model import Run
from tracegen.publishing import privacy
from tracegen.publishing.public_form import PublicForm, public_form
from tracegen.publishing.side import Measured, Side, machines_of
from tracegen.storing import store
from tracegen.storing.recent import RECENT
from tracegen.storing.remembered import remembered


def side(name: str, folders: Sequence[Path]) -> Side:
    """The side of the runs in these folders. Raises SettingsError if none of them is usable."""
    runs, left_out = [], []
    for folder in folders:
        run = store.read_run(folder)
        if run.verdict == "not usable":
            failed = "; ".join(check.title for check in run.checks if check.state == "failed")
            left_out.append((f"{run.experiment}/{run.name}", f"not usable: {failed}"))
        else:
            runs.append(measured(folder, run))
    if not runs:
        why = "; ".join(f"{run}: {reason}" for run, reason in left_out) or "it names no run"
        raise SettingsError(f"{name}: has no usable run to compare ({why})")
    return Side(name, tuple(sorted(runs, key=lambda run: run.created)), tuple(left_out))


def repeats_of(folder: Path) -> Side:
    """The run in this folder with the usable others of its series, or of its cell of a matrix.

    A series counts only as far as it was made on one machine; each run of a matrix has its machine beside it.
    """
    own = store.read_run(folder)
    slot = own.facts.slot
    if slot:
        folders = [path for path in store.run_folders(folder.parents[1]) if _same_cell(store.read_run(path), slot)]
        return side(own.experiment, folders)
    repeats = side(own.experiment, series(folder))
    (machine,), others = machines_of([measured(folder, own)], repeats.runs)
    return replace(repeats, runs=tuple(run for run, of in zip(repeats.runs, others, strict=True) if of == machine))


def _same_cell(run: Run, slot: Slot) -> bool:
    other = run.facts.slot
    return other is not None and (other.matrix, other.factors) == (slot.matrix, slot.factors)


def measured(folder: Path, run: Run) -> Measured:
    """A stored run in its public form; its measures are remembered."""
    form = public_form(run, folder)
    run, public = form.stored, form.run
    if slot := run.facts.slot:
        public = replace(public, facts=replace(public.facts, slot=replace(slot, factors=public_factors(form), cell="")))

    tables = RECENT.kept(form.tables)

    def compute() -> dict[str, Any]:
        table = compared(Analyses(public, tables()))
        return {column: table[column].tolist() for column in COLUMNS}

    def measure() -> pd.DataFrame:
        files = [folder / store.RUN_FILE, *sorted((folder / "tables").glob("*.parquet"))]
        kept = remembered(folder / f"measures-{run.facts.private}", files, compute)
        return pd.DataFrame(kept, columns=COLUMNS)

    return Measured(f"{run.experiment}/{run.name}", run.created, public.facts, public.checks, measure, tables)


def series(newest: Path) -> list[Path]:
    """The folders of the series that the newest run belongs to; of it alone if it belongs to none."""
    first = _first_of(newest)
    number = run_number(first) if first else None
    if number is None:
        return [newest]
    folders = [path for path in store.run_folders(newest.parents[1]) if int(path.name) >= number]
    return [path for path in folders if _first_of(path) == first]


def _first_of(folder: Path) -> str | None:
    """The name of the first run of the series that a run belongs to; None where it belongs to none."""
    repetition = store.read_run(folder).facts.repetition
    return repetition.first_run if repetition else None


def public_factors(form: PublicForm) -> dict[str, str]:
    """The factors of a run in their public form; what that changes has a few digits of a hash, or all would be one.

    Nobody can guess the texts of a private experiment by them: the hash is that of the matrix too, which is not public
    there.
    """
    slot, shown = form.stored.slot, form.run.slot.factors
    hidden = privacy.HIDDEN if form.stored.facts.private else ()

    def name_of(name: str, value: str) -> str:
        digits = hashlib.sha256((slot.matrix + value).encode("utf-8", "surrogatepass")).hexdigest()[:4]
        return f"({digits})" if name in hidden else f"{shown.get(name, '')} ({digits})"

    return {n: value if shown.get(n) == value else name_of(n, value) for n, value in slot.factors.items()}
