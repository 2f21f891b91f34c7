"""Why a program of llama.cpp failed: what its log says."""

import re
import signal
from collections.abc import Mapping, Sequence

from tracegen.contract import withheld
from tracegen.contract.facts import Failure

MOST = 6  # lines
_HEAD = re.compile(r"^(\d+\.)+\d+ E (\S+  )?")  # what llama.cpp's logger puts before an error
_SOURCE = re.compile(r"\S*/(?=[\w.-]+:\d+: )")  # folders before a place in a source file
_ERROR = re.compile(r"\b(error|fail(ed|ure)|unable to|out of memory|terminate called|what\(\)|assert)", re.IGNORECASE)
_ALLOCATION = re.compile(r"failed to allocate (?P<place>\S+) buffer of size (?P<size>\d{1,18})$")
# What memory was for -> what llama.cpp says then, behind the allocation that failed.
_FOR: Mapping[str, str] = {
    "KV cache": r"buffer for kv cache",
    "recurrent state": r"buffer for rs cache",
    "weights": r"unable to allocate \S+ buffer",
    "compute": r"allocate compute (pp |tg )?buffers|failed to allocate graph",
}


def failure_in(log: str, status: int, *, limit_s: int | None = None) -> Failure | None:
    """Why a program failed, by the errors at the end of its log; None where it did not.

    `status` is its exit status, negative for a signal; `limit_s`: the time, s, after which it was stopped.
    """
    if status == 0:
        return None
    if limit_s is not None:
        return Failure(words=(), limit_s=limit_s)
    lines = [line.strip() for line in log.splitlines()]
    errors = [_HEAD.sub("", line) for line in lines if _HEAD.match(line) or _ERROR.search(line)]
    words = tuple(withheld.text(_SOURCE.sub("", line)[:300]) for line in dict.fromkeys(errors[-2 * MOST :]))[-MOST:]
    place, size, what = _allocation(errors)
    return Failure(words=words, signal=_signal(status), place=place, wanted_bytes=size, what=what)


def _signal(status: int) -> str | None:
    try:
        return signal.Signals(-status).name if status < 0 else None
    except ValueError:
        return f"signal {-status}"


def _allocation(errors: Sequence[str]) -> tuple[str | None, int | None, str | None]:
    """Where memory could not be allocated, how much, and what for; None as far as it is not said."""
    for at in reversed(range(len(errors))):
        if found := _ALLOCATION.search(errors[at]):
            behind = "\n".join(errors[at + 1 :])
            what = next((name for name, said in _FOR.items() if re.search(said, behind)), None)
            return withheld.text(found["place"]), int(found["size"]), what
    return None, None, None
