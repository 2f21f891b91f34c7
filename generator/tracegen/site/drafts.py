"""Drafts: unpublished runs, rendered as bundles into a cache while the build does other work.

Rendering runs in separate processes, at most one for each core. They start before the published files
are read and checked; the build waits for them when it writes a page of a draft. The cache names a
draft by the hash of everything that its pages depend on.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure, StoreError, TracegenError
from tracegen.contract.model import Run
from tracegen.publishing import privacy
from tracegen.publishing.bundle import Bundle, read_bundle, write_bundle
from tracegen.publishing.cells import cell_of
from tracegen.publishing.public_form import public_form
from tracegen.publishing.versions import question_of
from tracegen.report.document.page import Report
from tracegen.site import jobs
from tracegen.site.drawings import FOLDER, charts
from tracegen.storing import resources, store
from tracegen.storing.progress import Progress

Render = Callable[..., Report]


@dataclass(frozen=True)
class Draft:
    """An unpublished run, rendered in the form of a bundle."""

    run: Run
    bundle: Bundle


def chosen(runs: Iterable[Path], most: int) -> list[Path]:
    """Which of these runs, newest first, become drafts, at most `most`: of each cell of a matrix only its newest."""
    drafts: list[Path] = []
    cells: list[object] = []
    for path in runs:
        if len(drafts) >= most:
            break
        try:
            cell = cell_of(store.read_run(path).facts)
        except TracegenError:  # drawing it says what is wrong
            cell = {}
        if cell not in cells:
            drafts.append(path)
        if cell:
            cells.append(cell)
    return drafts


class Drawing:
    """Drafts that are being drawn; their processes end with `close`, or this process."""

    def __init__(
        self,
        paths: Iterable[Path],
        cache: Path,
        known: tuple[str, ...],
        render: Render | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Begin to draw the runs at `paths` that are not in the cache; with `render`, draw them here and now.

        Their charts are kept beside the cache, in the folder `drawings`.
        """
        self._progress = progress or Progress()
        self.runs: dict[Path, Run] = {}  # the runs with a readable run.json
        self._errors: dict[Path, TracegenError] = {}
        self._places: dict[Path, Path] = {}
        for path in paths:
            try:
                self.runs[path] = store.read_run(path)
                self._places[path] = _place(path, self.runs[path], cache, known)
            except TracegenError as error:
                self._errors[path] = error
        missing = [path for path, place in self._places.items() if not jobs.is_cached(place)]
        if render is not None:
            problems = {path: jobs.attempt(draw, path, self._places[path], known, render) for path in missing}
            self._errors |= {path: _error(path, problem) for path, problem in problems.items() if problem}
            missing = []
        n = min(len(missing), os.cpu_count() or 1)
        self._stack = ExitStack()
        atexit.register(self.close)
        workers = [self._stack.enter_context(jobs.worker()) for _ in range(n)]
        if missing:
            what = "1 draft" if len(missing) == 1 else f"{len(missing)} drafts"
            self._progress.say(f"draw the pages of {what}, in {n} process{'es' * (n > 1)}: the cache keeps them")
        self._begun = {
            jobs.begin(workers[i % n], _draw, path, self._places[path], known, cache.parent / FOLDER): path
            for i, path in enumerate(missing)
        }

    def close(self) -> None:
        """Stop processes that still draw."""
        self._stack.close()
        atexit.unregister(self.close)

    @cached_property
    def drawn(self) -> Mapping[Path, Draft | TracegenError]:
        """Every draft, or its error, by the folder of the run; waits until all are drawn."""
        errors = dict(self._errors)
        total = len(self._begun)
        if total:
            self._progress.step("wait for the drafts")
        for n, future in enumerate(as_completed(self._begun), 1):
            path = self._begun[future]
            if problem := jobs.problem(future):
                errors[path] = _error(path, problem)
            if n < total:
                self._progress.update(n, total, "drafts")
        self._progress.done()
        return errors | {path: self._draft(path) for path in self.runs if path not in errors}

    def _draft(self, path: Path) -> Draft | TracegenError:
        try:
            return Draft(self.runs[path], read_bundle(self._places[path]))
        except TracegenError as error:
            return error


def _error(path: Path, problem: str) -> TracegenError:
    """The error of a draft, which names its run."""
    return TracegenError(f"{path}: {problem}" if problem.startswith(jobs.NOT_DRAWN) else problem)


def _draw(path: Path, place: Path, known: tuple[str, ...], folder: Path) -> None:
    """What a worker does; it keeps charts in `folder`."""
    from tracegen.report.pages.render import render_report  # loads pandas and altair

    draw(path, place, known, partial(render_report, executor=charts(folder)))


def draw(path: Path, place: Path, known: tuple[str, ...], render: Render) -> None:
    """Check a run, render its public form and write it to `place` in the cache. Raises TracegenError."""
    run = store.read_run(path)
    store.verify_run(path)
    form = public_form(run, path, known)
    name = f"{run.experiment}/{run.name}"
    report = render(form.run, form.tables(), citable=None)
    identity = {
        "citation": "",
        "draft": name,
        "experiment": run.experiment,
        "created": run.created,
        "message": "",
        "runs": [run.number],
        "verdict": run.verdict,
        "question": question_of(form.run),
    } | cell_of(form.run.facts)
    try:
        with store.whole_folder(place) as beside:
            write_bundle(beside, report, identity)
    except (StoreError, EnvironmentFailure):
        if not place.is_dir():  # if it is, another build wrote the same draft meanwhile
            raise
    for old in place.parent.iterdir():
        if old != place and not old.name.startswith("."):
            shutil.rmtree(old, ignore_errors=True)


def _place(path: Path, run: Run, cache: Path, known: tuple[str, ...]) -> Path:
    """The folder of the cache for the draft of this run."""
    digest = hashlib.sha256(resources.renderer_hash().encode())
    private = privacy.is_requested(path.parent.parent)
    digest.update(repr((path.parent.parent.name, path.name, known, private)).encode())
    digest.update((path / store.RUN_FILE).read_bytes())
    return cache / path.parent.parent.name / run.name / digest.hexdigest()[:16]
