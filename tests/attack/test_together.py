"""The same command twice at the same time, in one project."""

import subprocess
from pathlib import Path

import pytest

from tests.attack.tried import BY_NAME, TRACEGEN, copy, leftovers, stored_bytes, verdict

pytestmark = [pytest.mark.attack, pytest.mark.llama]

# how many numbered folders there are afterwards, by the folder: of those that a command makes
MADE = {
    "run": ("experiments/tried/runs", 2),
    "exec": ("experiments/mine/runs", 2),
    "import": ("experiments/imported/runs", 1),  # the same source is one run
}
NAMES = ("init", "run", "exec", "import", "export", "publish", "build", "sample", "model", "reorder", "show")


@pytest.mark.parametrize("turn", range(2))
@pytest.mark.parametrize("name", NAMES)
def test_twice_at_once(name: str, turn: int, prototype: Path, tmp_path: Path, llama: str) -> None:
    project = copy(prototype, tmp_path / "project")
    before = stored_bytes(project)
    command = BY_NAME[name]
    words = [*TRACEGEN, *(word.replace("LLAMA", llama) for word in command.words)]
    both = [
        subprocess.Popen(words, cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    ended = []
    for process in both:
        out, err = process.communicate(timeout=120)
        ended.append(subprocess.CompletedProcess(words, process.returncode, out, err))
    # a run of so little may be stored as not usable because tracing took more of it beside another
    costly = [name == "run" and b"failed: Cost of tracing" in done.stderr for done in ended]
    # a second one may say that the file is there, or that another is at work
    for done, cost in zip(ended, costly, strict=True):
        fault = verdict(done, [1] if cost else [command.status, 2])
        assert not fault, fault
    assert command.status in {done.returncode for done in ended} or all(costly)
    if name in MADE:
        folder, number = MADE[name]
        assert len([path for path in (project / folder).iterdir() if path.name.isdecimal()]) == number
    assert stored_bytes(project) == before and not leftovers(project)
