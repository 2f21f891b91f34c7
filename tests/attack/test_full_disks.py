"""Commands on a disk that is nearly full: one message, nothing half written, and they succeed once there is room."""

from pathlib import Path

import pytest

from tests.attack.tried import BY_NAME, Surroundings, copy, leftovers, run_here, stored_bytes, verdict
from tests.small_disk import needs_root, small_disk

pytestmark = [pytest.mark.attack, pytest.mark.llama, needs_root]

NAMES = ("init", "run", "exec", "import", "export", "publish", "build", "sample", "model", "reorder")
FREE_KIB = (0, 8, 100)


@pytest.mark.parametrize("free", FREE_KIB)
@pytest.mark.parametrize("name", NAMES)
def test_full(name: str, free: int, prototype: Path, tmp_path: Path, llama: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, "size=64m"):
        project = copy(prototype, disk / "project")
        before = stored_bytes(project)
        _leave(disk, free)
        command = BY_NAME[name]
        done = run_here(command, project, Surroundings("full"), llama)
        fault = verdict(done, [command.status, 3])
        assert not fault, fault
        assert stored_bytes(project) == before and not leftovers(project)
        if done.returncode == 3:
            assert b"No space left" in done.stderr or b"disk" in done.stderr, done.stderr
            (disk / "filler").unlink()
            again = run_here(command, project, Surroundings("room again"), llama)
            fault = verdict(again, [command.status])
            assert not fault, fault


def _leave(disk: Path, kib: int) -> None:
    """Fill the disk but for `kib` KiB."""
    with (disk / "filler").open("wb", buffering=0) as stream:
        try:
            while stream.write(bytes(1 << 16)):
                pass
        except OSError:
            pass
        size = stream.tell()
        stream.truncate(max(0, size - kib * 1024))
