"""Drafts: unpublished runs, rendered as bundles into a cache while the build does other work.

Rendering loads pandas, altair and a JavaScript engine, and takes longer than the rest of a build.
So it runs in separate processes, at most one for each core. They start before the published files
are read and checked; the build waits for them when it writes a page of a draft. The cache names a
draft by the hash of everything that its pages depend on.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

from tracegen.charts.engine import refuse_few_addresses
from tracegen.contract import documents
from tracegen.contract.errors import EnvironmentFailure, StoreError, TracegenError, out_of_memory
from tracegen.contract.model import Run
from tracegen.publishing import privacy
from tracegen.publishing.bundle import Bundle, read_bundle, write_bundle
from tracegen.publishing.cells import cell_of
from tracegen.publishing.public_form import public_form
from tracegen.publishing.versions import question_of
from tracegen.report.pages.page import Report
from tracegen.site.drawings import FOLDER, drawing_process
from tracegen.storing import resources, store, streams
from tracegen.storing.execute import ending, started
from tracegen.storing.progress import Progress

Render = Callable[..., Report]

# The program of a process; it gets the module path of this process.
_START = (
    "import signal, sys; before = signal.signal(signal.SIGINT, signal.SIG_DFL); "  # no traceback while it imports
    "sys.path[:] = sys.argv[1:]; from tracegen.site import drafts; signal.signal(signal.SIGINT, before); "
    "sys.exit(drafts.main())"
)


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
    """Drafts that are being drawn; their processes end with `close`, the `with` block, or this process."""

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
        missing = [path for path, place in self._places.items() if not _usable(place)]
        if render is not None:
            problems = {path: attempt(path, self._places[path], known, render) for path in missing}
            self._errors |= {path: TracegenError(problem) for path, problem in problems.items() if problem}
            missing = []
        if missing:
            refuse_few_addresses()
        n = min(len(missing), os.cpu_count() or 1)
        self._shares = [missing[i::n] for i in range(n)]
        if missing:
            what = "1 draft" if len(missing) == 1 else f"{len(missing)} drafts"
            self._progress.say(f"draw the pages of {what}, in {n} process{'es' * (n > 1)}: the cache keeps them")
        self._stack = ExitStack()
        atexit.register(self.close)
        command = [sys.executable, "-c", _START, *sys.path]
        drawings = str(cache.parent / FOLDER)
        jobs = [
            json.dumps([drawings, [[str(path), str(self._places[path]), known] for path in share]])
            for share in self._shares
        ]
        self._children = [self._stack.enter_context(started(command, job.encode())) for job in jobs]

    def __enter__(self) -> Drawing:
        """Close at the end of the block."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Stop processes that still draw."""
        self.close()

    def close(self) -> None:
        """Stop processes that still draw."""
        self._stack.close()
        atexit.unregister(self.close)

    @cached_property
    def drawn(self) -> Mapping[Path, Draft | TracegenError]:
        """Every draft, or its error, by the folder of the run; waits until all are drawn."""
        errors = dict(self._errors)
        n, total = 0, sum(map(len, self._shares))
        if total:
            self._progress.step("wait for the drafts")
        for child, share in zip(self._children, self._shares, strict=True):
            answers = []
            for line in islice(child.stdout or (), len(share)):
                answers.append(answer(line))
                n += 1
                if n < total:
                    self._progress.update(n, total, "drafts")
            errors |= {path: TracegenError(problem) for path, problem in zip(share, answers, strict=False) if problem}
            if child.wait() != 0 or len(answers) != len(share):
                problem = f"could not be drawn: {ending(child.returncode)}"
                errors |= {path: EnvironmentFailure(f"{path}: {problem}") for path in share[len(answers) :]}
        self._progress.done()
        return errors | {path: self._draft(path) for path in self.runs if path not in errors}

    def _draft(self, path: Path) -> Draft | TracegenError:
        try:
            return Draft(self.runs[path], read_bundle(self._places[path]))
        except TracegenError as error:
            return error


def answer(line: bytes) -> Any:
    """What a process that draws said on a line. Raises EnvironmentFailure."""
    return documents.parse_json(line, "a process that draws", EnvironmentFailure, "build again")


def main() -> int:
    """Draw the runs that standard input lists as JSON; print the error of each, or null, as JSON on a line."""
    folder, jobs = documents.parse_json(sys.stdin.buffer.read(), "standard input")
    try:
        with drawing_process(Path(folder)) as executor:
            from tracegen.report.pages.render import render_report  # loads pandas and altair

            render = partial(render_report, executor=executor)
            for path, place, known in jobs:
                print(json.dumps(attempt(Path(path), Path(place), tuple(known), render)), flush=True)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # who asked was killed, and nobody is left to tell
        streams.discard(sys.stdout)
        return EnvironmentFailure.exit_code
    return 0


def attempt(path: Path, place: Path, known: tuple[str, ...], render: Render) -> str | None:
    """Draw a run as `draw` does and return its error, or None; so one bad run does not stop the others."""
    try:
        draw(path, place, known, render)
    except TracegenError as error:
        return str(error)
    except MemoryError as error:
        return f"{path}: could not be drawn: {out_of_memory(error)}"
    except Exception as error:
        traceback.print_exc()
        return f"{path}: could not be drawn, which is a fault of tracegen: {type(error).__name__}: {error}"
    return None


def draw(path: Path, place: Path, known: tuple[str, ...], render: Render) -> None:
    """Check a run, render its public form and write it to `place` in the cache. Raises TracegenError."""
    run = store.read_run(path)
    store.verify_run(path)
    form = public_form(run, path, known)
    name = f"{run.experiment}/{run.name}"
    report = render(form.run, form.tables(), address=name, citable=None)
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
    private = privacy.asked_for(path.parent.parent)
    digest.update(repr((path.parent.parent.name, path.name, known, private)).encode())
    digest.update((path / store.RUN_FILE).read_bytes())
    return cache / path.parent.parent.name / run.name / digest.hexdigest()[:16]


def _usable(place: Path) -> bool:
    """Whether the cache has this draft; a damaged draft is removed."""
    try:
        return place.is_dir() and bool(read_bundle(place))
    except StoreError:
        shutil.rmtree(place, ignore_errors=True)
        return False
