"""Bundles that another process draws into the cache: its program, what it says, and what the cache has already.

Drawing loads pandas, altair and a JavaScript engine, and takes longer than the rest of a build.
"""

import json
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from subprocess import Popen
from typing import Any

from tracegen.contract import documents
from tracegen.contract.errors import EnvironmentFailure, TracegenError, out_of_memory
from tracegen.publishing.bundle import read_bundle
from tracegen.site.drawings import drawing_process
from tracegen.storing import streams
from tracegen.storing.execute import ending

# The program of a process that runs `main` of the module; it gets the module path of this process.
START = (
    "import signal, sys; before = signal.signal(signal.SIGINT, signal.SIG_DFL); "  # no traceback while it imports
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, {{signal.SIGINT}}); "
    "sys.path[:] = sys.argv[1:]; from tracegen.site import {0}; signal.signal(signal.SIGINT, before); "
    "sys.exit({0}.main())"
)


PATIENCE_S = 5.0  # for a process that has given its last answer
NOT_DRAWN = "could not be drawn"


def command(module: str) -> list[str]:
    """The command line of a process that draws what `main` of this module of the site draws."""
    return [sys.executable, "-c", START.format(module), *sys.path]


def asked(drawings: Path, jobs: object) -> bytes:
    """What such a process reads: the folder where it keeps its drawings, and the arguments of each job."""
    return json.dumps([str(drawings), jobs]).encode()


def carry_out(draw: Callable[..., None]) -> int:
    """Draw what standard input asks for; print the error of each, or an empty text, as JSON on a line.

    `draw` gets the arguments of a job and the executor that draws charts. Returns the exit code.
    """
    folder, jobs = json.loads(sys.stdin.buffer.read())  # by `asked`; paths may hold bytes that are no UTF-8
    try:
        with drawing_process(Path(folder)) as executor:
            for job in jobs:
                print(json.dumps(said(attempt(draw, *job, executor=executor))), flush=True)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # who asked was killed, and nobody is left to tell
        streams.discard(sys.stdout)
        return EnvironmentFailure.exit_code
    return 0


def said(text: str) -> str:
    """A text as such a process says it: bytes of paths that are no UTF-8 are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def attempt(draw: Callable[..., None], *arguments: Any, **settings: Any) -> str:
    """Draw, and return the error, or an empty text; so one that fails does not stop the others."""
    try:
        draw(*arguments, **settings)
    except TracegenError as error:
        return str(error)
    except MemoryError as error:
        return f"{NOT_DRAWN}: {out_of_memory(error)}"
    except Exception as error:
        traceback.print_exc()
        return f"{NOT_DRAWN}, which is a fault of tracegen: {type(error).__name__}: {error}"
    return ""


def answers(child: Popen[bytes], n: int) -> Iterator[str]:
    """What the process says of each of its `n` jobs, as it comes, and how it ended for those that it left."""
    n_said = 0
    for line in islice(child.stdout or (), n):
        n_said += 1
        yield str(documents.parse_json(line, "a process that draws", EnvironmentFailure, "build again") or "")
    end = time.monotonic() + PATIENCE_S
    while child.poll() is None and time.monotonic() < end:  # one that is stopped while it ends may leave a traceback
        time.sleep(0.01)
    if n_said < n:
        yield from [f"{NOT_DRAWN}: {ending(child.wait())}"] * (n - n_said)


def is_cached(place: Path) -> bool:
    """Whether the cache has this bundle; a damaged one is removed."""
    try:
        return place.is_dir() and bool(read_bundle(place))
    except TracegenError:
        shutil.rmtree(place, ignore_errors=True)
        return False
