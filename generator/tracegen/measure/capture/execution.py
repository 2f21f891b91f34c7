"""One execution of a program, measured from outside, whether it is traced or not: speed, memory, disk, neighbours."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracegen.contract.facts import Execution, Limited
from tracegen.measure.capture.cgroup import PROC, text_of
from tracegen.measure.capture.plan import timings_in
from tracegen.measure.capture.storage import written_bytes
from tracegen.storing.execute import Completed

_IDLE = (3, 4)  # of the numbers of /proc/stat: idle, iowait


@dataclass(frozen=True)
class Meter:
    """The counters of the machine before an execution."""

    busy_s: float | None
    written_bytes: int | None
    paths: Sequence[Path]

    @classmethod
    def start(cls, paths: Sequence[Path] = ()) -> "Meter":
        """Read the counters; `paths`: the model's files, of whose device the writes are counted."""
        return cls(_busy_s(), _written(paths), paths)

    def stop(self, ended: Completed, log: str, limit: Callable[[], Limited] | None) -> Execution:
        """The execution that has ended, with this log; `limit` reads what its memory limit counted."""
        timings, used, limited = timings_in(log), ended.used, limit() if limit else None
        busy, written = _busy_s(), _written(self.paths)
        others = None
        if used and None not in (busy, self.busy_s) and ended.seconds > 0:
            all_there_is = ended.seconds * (os.cpu_count() or 1)
            others = max(0.0, min(1.0, (float(busy or 0) - float(self.busy_s or 0) - used.processor_s) / all_there_is))
        return Execution(
            seconds=round(ended.seconds, 6),
            prompt_tokens=_whole(timings["prompt_tokens"]),
            prompt_ms=timings["prompt_ms"],
            eval_runs=_whole(timings["eval_runs"]),
            eval_ms=timings["eval_ms"],
            processor_s=round(used.processor_s, 6) if used else None,
            minor_faults=used.minor_faults if used else None,
            major_faults=used.major_faults if used else None,
            read_bytes=used.read_bytes if used else None,
            written_bytes=None if written is None or self.written_bytes is None else written - self.written_bytes,
            others_share=None if others is None else round(others, 6),
            peak_bytes=limited.peak_bytes if limited else None,
            times_reached=limited.times_reached if limited else None,
            failure=None if ended.status == 0 and not ended.timed_out else ended.ending,
        )


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


def _written(paths: Sequence[Path]) -> int | None:
    return written_bytes(paths[0]) if paths else None


def _busy_s() -> float | None:
    """Processor time that the machine has spent on anything, in seconds; None where the kernel does not say it."""
    words = (text_of(PROC / "stat") or "").partition("\n")[0].split()
    if words[:1] != ["cpu"] or not all(word.isdigit() for word in words[1:9]):
        return None
    ticks = sum(int(word) for at, word in enumerate(words[1:9]) if at not in _IDLE)
    return ticks / os.sysconf("SC_CLK_TCK")
