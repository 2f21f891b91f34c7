"""Drawings that tests made before: many tests make pages of the same tables, and drawing is a third of making a page.

They are kept in a folder of the session, so that its other processes find them too. What draws is a function of its
arguments: the same text gives the same bytes (test_render.py draws one report twice).
"""

import hashlib
import json
import os
import pickle
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import vl_convert

from tracegen.charts import engine

NOTHING = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" viewBox="0 0 9 9"><g></g></svg>'
_NAMES = ("vegalite_to_svg", "vegalite_to_vega", "svg_to_png", "svg_to_pdf")
_DRAW: dict[str, Callable[..., Any]] = {name: getattr(vl_convert, name) for name in _NAMES}
_FOLDER: list[Path] = []  # one at most; none: everything is drawn


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """In this block, what vl_convert draws is drawn once for each document, by any process with the same folder."""
    folder.mkdir(exist_ok=True)
    engine.settle_fonts()  # by a text that is really drawn
    with pytest.MonkeyPatch.context() as patch:
        for name in _NAMES:
            patch.setattr(vl_convert, name, globals()[name])
        _FOLDER.append(folder)
        try:
            yield
        finally:
            _FOLDER.pop()


@contextmanager
def again() -> Iterator[None]:
    """Draw everything in this block: for tests that compare two drawings of the same document."""
    kept = list(_FOLDER)
    _FOLDER.clear()
    try:
        yield
    finally:
        _FOLDER.extend(kept)


@contextmanager
def empty_figures(but: tuple[str, ...] = ()) -> Iterator[None]:
    """In this block no figure of a page has anything in it, but those of these keys: for tests that read the rest."""
    from tracegen.charts import svg  # imports altair, which loads slowly

    draw = svg.draw_layouts

    def drawn(chart: Any, key: str, alt: str, executor: Executor | None = None, *widths: Any) -> svg.Drawing:
        return draw(chart, key, alt, executor, *widths) if key in but else svg.Drawing(lambda: (NOTHING, NOTHING), "{}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svg, "draw_layouts", drawn)
        yield


class _Here(Executor):
    """Stands for a worker: this process does what it is asked."""

    def submit(self, interruptible: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        function, *arguments = args  # called as it is: it may be another thread than the one that hears signals
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future


@contextmanager
def by_this_process() -> Iterator[None]:
    """In this block a site's drafts and comparisons are drawn here, not by processes that load Vega again."""
    from tracegen.report import drawing
    from tracegen.site import comparisons, drafts, jobs

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "worker", _Here)
        patch.setattr(drawing, "process", lambda **_: nullcontext())  # a version's charts, too
        for module in (comparisons, drafts):
            patch.setattr(module, "charts", lambda folder: None)
        yield


@contextmanager
def by_processes() -> Iterator[None]:
    """In this block they are drawn as for a user: for tests of those processes."""
    from tracegen.site import jobs
    from tracegen.storing.worker import Worker

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "worker", Worker)
        yield


def _kept(name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if not _FOLDER:
        return _DRAW[name](*arguments, **named)
    call = json.dumps([name, arguments, named], sort_keys=True)
    key = hashlib.sha256(call.encode("utf-8", "surrogatepass")).hexdigest()
    path = _FOLDER[0] / key
    if path.exists():
        return pickle.loads(zlib.decompress(path.read_bytes()))
    drawn = _DRAW[name](*arguments, **named)
    part = path.with_name(f"{key}.{os.getpid()}")
    part.write_bytes(zlib.compress(pickle.dumps(drawn), 1))
    part.replace(path)
    return drawn


# Functions of this module, each by its name, as a process that draws for another one is sent their names.


def vegalite_to_svg(*arguments: Any, **named: Any) -> Any:
    return _kept("vegalite_to_svg", arguments, named)


def vegalite_to_vega(*arguments: Any, **named: Any) -> Any:
    return _kept("vegalite_to_vega", arguments, named)


def svg_to_png(*arguments: Any, **named: Any) -> Any:
    return _kept("svg_to_png", arguments, named)


def svg_to_pdf(*arguments: Any, **named: Any) -> Any:
    return _kept("svg_to_pdf", arguments, named)
