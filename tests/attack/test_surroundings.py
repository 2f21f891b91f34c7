"""Each command in each odd surrounding: other users, homes, folders, outputs, limits."""

import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.attack.tried import COMMANDS, Command, Surroundings, copy, leftovers, run_here, stored_bytes, verdict
from tracegen.cli.commands import VERBS

pytestmark = [pytest.mark.attack, pytest.mark.llama]

# as somebody else: no capabilities, and an effective user that is not root
OTHER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
ANY = {None: (0, 1, 2, 3)}  # the surroundings may stop the command, with a message

FAILED = {None: (0, 1, 3), "read": (2,), "llama-cpp": (2,), "reproduce": (2,)}

SURROUNDINGS = (
    Surroundings("healthy"),
    Surroundings("another user", before=OTHER),
    Surroundings("a home that is not there", {"HOME": "{at}/nowhere", "XDG_CACHE_HOME": None}, OTHER, status=ANY),
    Surroundings("a home that nobody reads", {"HOME": "{at}/closed", "XDG_CACHE_HOME": None}, OTHER, status=ANY),
    Surroundings("a home that nobody writes", {"HOME": "{at}/fixed", "XDG_CACHE_HOME": None}, OTHER, status=ANY),
    Surroundings("no home", {"HOME": None, "XDG_CACHE_HOME": None}, status=ANY),
    Surroundings("a home that is a device", {"HOME": "/dev/null", "XDG_CACHE_HOME": None}, status=ANY),
    Surroundings("no temporary folder", {"TMPDIR": "{at}/nowhere"}),
    Surroundings("ascii", {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}),
    Surroundings("latin-1", {"PYTHONIOENCODING": "latin-1"}),
    Surroundings("no room for output", output=">/dev/full", status=FAILED),
    Surroundings("no output at all", output=">&-", status={None: (0, 3)}),
    Surroundings("no path", {"PATH": ""}, status=FAILED),
    Surroundings("odd terminal", {"COLUMNS": "1", "LINES": "-1", "TERM": "\x1b[31m", "FORCE_COLOR": "1"}),
    Surroundings("a date that is none", {"SOURCE_DATE_EPOCH": "garbage"}, status=ANY),
    Surroundings("a narrow umask", shell="umask 077"),
    Surroundings("few open files", shell="ulimit -n 40", status=ANY),
    Surroundings("spaces", folder="a b  c"),
    Surroundings("quotes", folder="a'b\"c`d$e"),
    Surroundings("hash and percent", folder="a#b%20c%"),
    Surroundings("unicode", folder="Größe-模型-🦙"),
    Surroundings("newline", folder="a\nb"),
    Surroundings("templates and options", folder="-x {{7*7}} [a](b) <b>&amp;"),
)


@cache
def _can_be_another_user() -> bool:
    return subprocess.run([*OTHER, "true"], capture_output=True).returncode == 0


def _homes(at: Path) -> None:
    for name, mode in (("closed", 0o000), ("fixed", 0o555)):
        (at / name).mkdir()
        (at / name).chmod(mode)


@pytest.mark.parametrize("around", SURROUNDINGS, ids=lambda around: around.name)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_command(command: Command, around: Surroundings, prototype: Path, tmp_path: Path, llama: str) -> None:
    if around.before and not _can_be_another_user():
        pytest.skip("this machine lets nobody be another user")
    project = copy(prototype, tmp_path / around.folder)
    _homes(tmp_path)
    before = stored_bytes(project)
    done = run_here(command, project, around, llama)
    fault = verdict(done, around.statuses(command))
    assert not fault, fault
    assert stored_bytes(project) == before and not leftovers(project)


def test_every_command_is_attacked() -> None:
    assert {command.words[0] for command in COMMANDS if not command.words[0].startswith("-")} == set(VERBS)
