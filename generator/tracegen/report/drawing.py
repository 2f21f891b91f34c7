"""A process that draws charts: its engine takes half a second to start, and Python stands still while it draws."""

import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from tracegen.charts import engine
from tracegen.contract.errors import EnvironmentFailure
from tracegen.storing.execute import ending_with_this_thread


@contextmanager
def process() -> Iterator[Executor]:
    """During the block, another process draws; it ends when this one is killed.

    Raises EnvironmentFailure when it is killed itself.
    """
    fresh = multiprocessing.get_context("spawn")  # a copy of this one would have its locks, but not its threads
    try:
        with ProcessPoolExecutor(1, fresh, ending_with_this_thread(_begin)) as executor:
            executor.submit(engine.start)
            try:
                yield executor
            finally:
                executor.shutdown(cancel_futures=True)
    except BrokenProcessPool as error:
        raise EnvironmentFailure(
            "the process that draws charts was killed; see whether memory ran out (`journalctl -k`), and try again"
        ) from error


def _begin() -> None:
    """Leave Ctrl-C to the process that asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
