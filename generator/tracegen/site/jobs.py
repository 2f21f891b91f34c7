"""Bundles that workers draw into the cache: what is asked of them, what they say, and what the cache has already.

Drawing loads pandas, altair and a JavaScript engine, and takes longer than the rest of a build.
"""

import shutil
import traceback
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from tracegen.charts import engine
from tracegen.contract.errors import EnvironmentFailure, TracegenError, out_of_memory
from tracegen.publishing.bundle import read_bundle
from tracegen.storing.worker import Worker, interruptible

NOT_DRAWN = "could not be drawn"


def worker() -> Executor:
    """A process that draws bundles. Raises EnvironmentFailure where none can be started, or charts cannot be drawn."""
    engine.refuse_few_addresses()
    return Worker()


def begin(worker: Executor, draw: Callable[..., None], *arguments: Any) -> Future[str]:
    """Let the worker draw; `problem` waits for it."""
    return worker.submit(interruptible, attempt, draw, *arguments)


def problem(begun: Future[str]) -> str:
    """Why a bundle was not drawn; an empty text if it was."""
    try:
        return begun.result()
    except EnvironmentFailure as error:
        return f"{NOT_DRAWN}: {error}"


def attempt(draw: Callable[..., None], *arguments: Any) -> str:
    """Draw, and return the error, or an empty text; so one that fails does not stop the others."""
    try:
        draw(*arguments)
    except TracegenError as error:
        return str(error)
    except MemoryError as error:
        return f"{NOT_DRAWN}: {out_of_memory(error)}"
    except Exception as error:
        traceback.print_exc()
        return f"{NOT_DRAWN}, which is a fault of tracegen: {type(error).__name__}: {error}"
    return ""


def is_cached(place: Path) -> bool:
    """Whether the cache has this bundle; a damaged one is removed."""
    try:
        return place.is_dir() and bool(read_bundle(place))
    except TracegenError:
        shutil.rmtree(place, ignore_errors=True)
        return False
