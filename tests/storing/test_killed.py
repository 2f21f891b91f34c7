"""Killed at any moment of storing or publishing: a numbered folder is whole or absent."""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.stand_in import NOW, a_run, a_version, drawn
from tracegen.contract.errors import StoreError
from tracegen.publishing import versions as publish
from tracegen.publishing.bundle import read_bundle, verify_bundle
from tracegen.storing import store
from tracegen.storing.hashes import HashCache

pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]


def killed_at(event: int, work: Callable[[], object]) -> bool:
    """Do the work in a process that is killed at access `event` to the disk; False if the work was done before."""
    child = os.fork()
    if child == 0:
        left = iter(range(event))

        def count(name: str, _: object) -> None:
            if name.startswith(("open", "os.", "shutil.", "tempfile.")) and next(left, None) is None:
                signal.raise_signal(signal.SIGKILL)

        status = 1
        try:
            sys.addaudithook(count)
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def test_a_run_that_is_killed_while_stored_is_whole_or_absent(tmp_path: Path) -> None:
    def work(runs: Path) -> None:
        with store.part_folder(runs) as part:
            store.write_text(part / "raw" / "trace.txt", "evidence")
            store.place_numbered(part, runs, lambda number: store.write_run_file(part, a_run(number=number)))

    outcomes = []
    for event in range(1000):
        runs = tmp_path / str(event)
        killed = killed_at(event, partial(work, runs))
        stored = store.run_folders_in(runs)
        for folder in stored:
            store.verify_run(folder)
            assert store.read_run(folder).number == 1
        outcomes.append((killed, len(stored)))
        if not killed:
            break
    assert outcomes[0] == (True, 0) and outcomes[-1] == (False, 1)
    assert {number for _, number in outcomes} == {0, 1}


def test_a_version_that_is_killed_while_published_is_whole_or_reported(tmp_path: Path) -> None:
    """Killed between writing folder and ledger, the next publishing reports it; killed elsewhere, it succeeds."""
    a_version(tmp_path / "before", number=1)  # loads what is loaded once
    outcomes = []
    for event in range(1000):
        experiment = tmp_path / str(event) / "sample"
        experiment.mkdir(parents=True)
        killed = killed_at(event, partial(publish.publish, experiment, a_run(), drawn, "why", NOW))
        whole = sorted(path for path in experiment.glob("versions/*") if path.name.isdigit())
        for folder in whole:
            verify_bundle(read_bundle(folder), HashCache(tmp_path / "none"))
        listed = list(publish.read_ledger(experiment))
        assert len(listed) <= len(whole) <= 1
        if len(listed) < len(whole):
            with pytest.raises(StoreError, match="if publishing was interrupted, delete this folder"):
                publish.publish(experiment, a_run(), drawn, "again", NOW)
        else:
            version = publish.publish(experiment, a_run(), drawn, "again", NOW, again=True)
            assert version.number == len(listed) + 1
            assert len(publish.read_published(experiment, HashCache(tmp_path / "none"))) == version.number
        outcomes.append((killed, len(whole), len(listed)))
        if not killed:
            break
    assert outcomes[0] == (True, 0, 0) and outcomes[-1] == (False, 1, 1)
    assert (True, 1, 0) in outcomes
