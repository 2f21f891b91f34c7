"""When the program runs untraced again."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tracegen.contract.facts import Execution
from tracegen.contract.records import decode
from tracegen.measure.capture.pressure import Pressure
from tracegen.measure.runs.control import CONFIRMED_BY, Control
from tracegen.measure.runs.recording import Stages
from tracegen.storing.execute import Completed
from tracegen.storing.progress import Progress


def executed(prompt_ms: float) -> Execution:
    known = dict(seconds=2.0, eval_ms=1000.0, eval_runs=10, prompt_tokens=5, others_share=0.0, failure=None)
    return decode(Execution, {**known, "prompt_ms": prompt_ms})


@contextmanager
def free(_lifted: bool) -> Iterator[Pressure]:
    yield Pressure()


def runs(_pressure: Pressure, log: Path) -> Completed:
    log.write_text("")
    return Completed(0, 2.0)


@pytest.mark.parametrize(
    ("traced", "untraced", "more"),
    [
        (109.0, [100.0], 0),
        (111.0, [100.0], CONFIRMED_BY),
        (80.0, [100.0], 0),
        (111.0, [100.0, 100.0], 0),
        (111.0, [], 0),
        (None, [100.0], 0),
    ],
)
def test_a_single_untraced_execution_that_was_faster_is_repeated(
    tmp_path: Path, traced: float | None, untraced: list[float], more: int
) -> None:
    control = Control(free, runs, (), tmp_path, Stages(Progress()), [executed(ms) for ms in untraced])
    control.traced = None if traced is None else executed(traced)
    control.confirm()
    assert len(control.untraced) == len(untraced) + more
