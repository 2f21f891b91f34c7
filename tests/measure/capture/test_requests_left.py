"""What the recording of requests leaves behind, and where it cannot record."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.measure.capture.conftest import as_nobody
from tests.measure.capture.known_reads import direct_reads, reads_within, recording
from tests.ring_pages import files_of, passes_of
from tracegen.contract.errors import EnvironmentFailure
from tracegen.measure.capture import tracefs
from tracegen.measure.capture.requests import Requests, recorded_requests
from tracegen.readers.requests.table import read_requests


def instances(tracing: Path) -> set[str]:
    return {folder.name for folder in (tracing / "instances").iterdir()}


def test_who_is_not_root_gets_a_message(tracing: Path, tmp_path: Path) -> None:
    def record() -> None:
        with recorded_requests(tmp_path / "raw", wanted=True) as requests:
            raise EnvironmentFailure(str(requests and requests.refused))

    refused = as_nobody(record)
    assert "Permission denied" in refused and "only root may record" in refused


def in_a_mount_namespace(code: str) -> str:
    """What a program prints that sees no tracefs but what it mounts itself."""
    unmount = """
import ctypes, os, sys
from pathlib import Path
libc = ctypes.CDLL(None)
while (folders := [line.split()[4] for line in open("/proc/self/mountinfo") if " - tracefs " in line]):
    assert libc.umount2(folders[-1].encode(), 2) == 0
"""
    ended = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", unmount + code], capture_output=True, text=True, timeout=60
    )
    if "unshare" in ended.stderr:
        pytest.skip(ended.stderr.strip())
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


RECORD = """
from tracegen.measure.capture.requests import recorded_requests
with recorded_requests(Path({folder!r}), wanted=True) as requests:
    print(requests.refused, " - tracefs " in open("/proc/self/mountinfo").read())
requests.locate([])
"""


def test_where_tracefs_is_not_mounted_the_recording_process_alone_has_it(tracing: Path, tmp_path: Path) -> None:
    before = instances(tracing)
    assert in_a_mount_namespace(RECORD.format(folder=str(tmp_path))) == "None False"
    _, facts = read_requests(tmp_path / "requests", passes_of(), files_of())
    assert facts["requests_refused"] is None and instances(tracing) <= before


def test_who_may_not_mount_tracefs_reads_what_to_do(tracing: Path, tmp_path: Path) -> None:
    code = RECORD.format(folder=str(tmp_path)).replace("with", "os.seteuid(65534)\nwith")
    assert in_a_mount_namespace(code.replace("requests.locate", "os.seteuid(0)\nrequests.locate")) == (
        "tracefs is not mounted, and cannot be: Operation not permitted; as root: "
        "`mount -t tracefs nodev /sys/kernel/tracing` False"
    )
    table, facts = read_requests(tmp_path / "requests", passes_of(), files_of())
    assert table.empty and "tracefs is not mounted" in facts["requests_refused"]


def test_tracefs_is_found_under_any_name(tracing: Path, tmp_path: Path) -> None:
    folder = tmp_path / "trace \\ é\t2"
    folder.mkdir()
    code = f"""
from tracegen.measure.capture.tracefs import tracefs_folder
assert tracefs_folder() is None
assert libc.mount(b"nodev", os.fsencode({str(folder)!r}), b"tracefs", 0, None) == 0
print(tracefs_folder() == Path({str(folder)!r}), tracefs_folder())
"""
    assert in_a_mount_namespace(code).startswith("True")


HOLD = """
import time
from tracegen.measure.capture import tracefs
with tracefs.instance() as made:
    made.begin(("block/block_rq_issue",), 'rwbs ~ "*R*"')
    print(made.folder.name, flush=True)
    time.sleep(60)
"""


@contextmanager
def holding() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that records, and the name of its instance; it is killed at the end of the block."""
    child = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    try:
        yield child, child.stdout.readline().strip()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def test_the_instance_of_a_killed_process_is_removed_by_the_next(tracing: Path) -> None:
    foreign = tracing / "instances" / f"tracegen-{os.getpid()}-of-somebody"
    taken = tracing / "instances" / "tracegen-1-4000000000"  # process 1 lives, and did not begin then
    for folder in (foreign, taken):
        folder.mkdir()
    try:
        with holding() as (_, living):
            with holding() as (_, killed):
                assert {living, killed} <= instances(tracing)
            assert killed in instances(tracing)
            with tracefs.instance() as instance:
                there = instances(tracing)
                assert {living, foreign.name, instance.folder.name} <= there and not {killed, taken.name} & there
            assert instance.folder.name not in instances(tracing) and living in instances(tracing)
        with tracefs.instance():
            assert living not in instances(tracing)
    finally:
        for folder in (foreign, taken):
            if folder.exists():
                folder.rmdir()


def test_after_an_exception_the_instance_is_gone(tracing: Path, tmp_path: Path) -> None:
    own = f"-{os.getpid()}-"  # other programs may have theirs
    with pytest.raises(ZeroDivisionError), recorded_requests(tmp_path, wanted=True) as requests:
        assert requests and requests.refused is None
        assert any(own in name for name in instances(tracing))
        raise ZeroDivisionError
    assert not any(own in name for name in instances(tracing))


def test_two_recordings_one_after_the_other_have_their_own_events(tracing: Path, model: Path, tmp_path: Path) -> None:
    reads = reads_within(model, 8)
    for number, part in enumerate((reads[:4], reads[4:])):
        table, _ = recording(tmp_path / str(number), model, lambda part=part: direct_reads(model, part))  # type: ignore[misc]
        rows = table[(table["file"] == 0).fillna(value=False)]
        assert list(zip(rows["offset"], rows["size_bytes"], strict=True)) == part


def test_nobody_is_recorded_who_did_not_ask(tmp_path: Path) -> None:
    with recorded_requests(tmp_path, wanted=False) as requests:
        assert requests is None
    assert not list(tmp_path.iterdir())


# The places of files that changed while requests were recorded


def rewritten(path: Path) -> None:
    path.write_bytes(b"2" * 9000)


def truncated(path: Path) -> None:
    os.truncate(path, 100)


def replaced(path: Path) -> None:
    path.with_name("new").write_bytes(b"3" * 9000)
    path.with_name("new").replace(path)


@pytest.mark.parametrize("change", [rewritten, truncated, replaced, lambda path: path.chmod(0o600)])
def test_a_file_that_changed_meanwhile_has_no_places(
    model: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    path = tmp_path / "small"
    path.write_bytes(b"1" * 9000)
    time.sleep(0.05)
    requests = Requests(tmp_path / "raw")
    change(path)
    requests.locate([path, model])
    assert places(tmp_path / "raw") == ["it was changed while the program ran", None]


def test_a_file_that_was_removed_has_no_places(model: Path, tmp_path: Path) -> None:
    requests = Requests(tmp_path / "raw")
    requests.locate([tmp_path / "nowhere", model])
    assert places(tmp_path / "raw") == ["No such file or directory", None]


def places(raw: Path) -> list[Any]:
    """Why each file has no places."""
    state = pd.read_json(raw / "requests" / "state.json", typ="series")
    return [file["refused"] for file in state["files"]]
