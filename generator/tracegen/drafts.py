"""Drafts: unpublished runs, drawn into a cache in the form of a bundle, beside what else a build does.

Drawing loads pandas, altair and an engine for JavaScript, and takes longer than the rest of a build
that shows one new run. So it has processes of its own, one for each core at most: they are begun
before the published files are read and checked, and waited for afterwards. A draft is kept under the
hash of all that decides how it looks.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tracegen import privacy, resources, store
from tracegen.bundle import Bundle, read_bundle, write_bundle
from tracegen.capture.execute import ending, started
from tracegen.errors import EnvironmentFailure, StoreError, TracegenError
from tracegen.model import Run
from tracegen.pages.page import Report
from tracegen.publish import question_of

Render = Callable[..., Report]

# What a process runs: modules are found where this process finds them.
_START = "import sys; sys.path[:] = sys.argv[1:]; from tracegen import drafts; sys.exit(drafts.main())"


@dataclass(frozen=True)
class Draft:
    """An unpublished run, rendered in the form of a bundle."""

    run: Run
    bundle: Bundle


@contextmanager
def drawing(
    runs: Iterable[Path], cache: Path, known: tuple[str, ...], render: Render | None = None
) -> Iterator[Callable[[], Mapping[Path, Draft | TracegenError]]]:
    """Draw the runs that are not in the cache while the block goes on; no process outlives it.

    Yields what waits for the drafts and returns them by the run's folder: each as it is, or why there is
    none. `render` draws in this process, at once. Raises EnvironmentFailure when a process ends badly.
    """
    places: dict[Path, Path] = {}
    errors: dict[Path, TracegenError] = {}
    for path in runs:
        try:
            places[path] = _place(path, cache, known)
        except TracegenError as error:
            errors[path] = error
    missing = [path for path, place in places.items() if not _usable(place)]
    if render is not None:
        for path in missing:
            try:
                draw(path, places[path], known, render)
            except TracegenError as error:
                errors[path] = error
        missing = []
    n = min(len(missing), os.cpu_count() or 1)
    shares = [missing[i::n] for i in range(n)]
    with ExitStack() as stack:
        command = [sys.executable, "-c", _START, *sys.path]
        jobs = [json.dumps([[str(path), str(places[path]), known] for path in share]) for share in shares]
        children = [stack.enter_context(started(command, job.encode())) for job in jobs]

        def wait() -> Mapping[Path, Draft | TracegenError]:
            for child, share in zip(children, shares, strict=True):
                answers = [json.loads(line) for line in child.stdout or ()]
                if child.wait() != 0 or len(answers) != len(share):
                    raise EnvironmentFailure(f"{share[0]}: could not be drawn: {ending(child.returncode)}")
                errors.update({p: TracegenError(said) for p, said in zip(share, answers, strict=True) if said})
            return errors | {path: _draft(path, place) for path, place in places.items() if path not in errors}

        yield wait


def main() -> int:
    """Draw what standard input lists as JSON; print what is wrong with each run, or null, one a line."""
    fork = multiprocessing.get_context("fork")  # while there is one thread, and before pandas is loaded
    try:
        with ProcessPoolExecutor(1, fork, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as executor:
            executor.submit(_start_engine)
            from tracegen.pages.render import render_report  # loads pandas and altair

            render = partial(render_report, executor=executor)
            for path, place, known in json.load(sys.stdin):
                said = None
                try:
                    draw(Path(path), Path(place), tuple(known), render)
                except TracegenError as error:
                    said = str(error)
                print(json.dumps(said), flush=True)
    except KeyboardInterrupt:
        return 130
    return 0


def _start_engine() -> None:
    """Draw the least there is: what follows finds Vega loaded."""
    import vl_convert

    vl_convert.vegalite_to_svg({"mark": "point", "data": {"values": []}})


def draw(path: Path, place: Path, known: tuple[str, ...], render: Render) -> None:
    """Check a run, render its public form and put it at `place` in the cache. Raises TracegenError."""
    run = store.read_run(path)
    store.verify_run(path)
    public = privacy.public_run(run, known)
    tables = privacy.public_tables(run, store.read_tables(path / "tables"))
    name = f"{run.experiment}/{run.name}"
    report = render(public, tables, address=name, citable=None)
    identity = {
        "citation": "",
        "draft": name,
        "experiment": run.experiment,
        "created": run.created,
        "message": "",
        "runs": [run.number],
        "verdict": run.verdict,
        "question": question_of(public),
    }
    try:
        with store.whole_folder(place) as beside:
            write_bundle(beside, report, identity)
    except (StoreError, EnvironmentFailure):
        if not place.is_dir():  # else another build made the same one meanwhile
            raise
    for other in place.parent.iterdir():
        if other != place and not other.name.startswith("."):
            shutil.rmtree(other, ignore_errors=True)


def _place(path: Path, cache: Path, known: tuple[str, ...]) -> Path:
    """Where the cache holds the draft of this run, or will."""
    run = store.read_run(path)
    digest = hashlib.sha256(resources.renderer_hash().encode())
    digest.update(repr((path.parent.parent.name, path.name, known)).encode())
    digest.update((path / store.RUN_FILE).read_bytes())
    return cache / path.parent.parent.name / run.name / digest.hexdigest()[:16]


def _usable(place: Path) -> bool:
    """Whether the cache has this draft; one that is broken is removed."""
    try:
        return place.is_dir() and bool(read_bundle(place))
    except StoreError:
        shutil.rmtree(place, ignore_errors=True)
        return False


def _draft(path: Path, place: Path) -> Draft | TracegenError:
    try:
        return Draft(store.read_run(path), read_bundle(place))
    except TracegenError as error:
        return error
