"""Signals at any moment of a command: one line and no traceback, exit code 130 for Ctrl-C and 143 for SIGTERM."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tracegen.cli import main as cli
from tracegen.storing.signals import RECEIVED

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


def assert_interrupted(code: str, number: signal.Signals, *arguments: str) -> None:
    """Run code and then tracegen in a process of its own, which must end as one that heard the signal."""
    code = f"import atexit, os, sys, time, weakref\n{code}from tracegen.__main__ import main\nsys.exit(main())\n"
    command = [sys.executable, "-c", code, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert (ended.returncode, ended.stderr) == (CODES[number], "tracegen: interrupted\n")


@pytest.mark.parametrize(("module", "arguments"), [("click", ["--version"]), ("pandas", ["tensors", "model.gguf"])])
@pytest.mark.parametrize("number", CODES)
def test_a_signal_while_modules_load(module: str, arguments: list[str], number: signal.Signals) -> None:
    code = (
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        f"            os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, Interrupt())\n"
    )
    assert_interrupted(code, number, *arguments)


SCRIPT = Path(__file__).parents[2] / "generator" / "script" / "tracegen"


def test_the_script_hears_ctrl_c_before_it_imports_anything(tmp_path: Path) -> None:
    """An installer's script imports `re` first, and a package of that name stands for all that loads then."""
    for name in ("re", "tracegen"):
        (tmp_path / f"{name}.py").write_text(f"import os\nos.kill(os.getpid(), {int(signal.SIGINT)})\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ended = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, env=environment, timeout=50)
    assert (ended.returncode, ended.stderr) == (130, "tracegen: interrupted\n")


def test_the_script_that_is_installed_is_ours() -> None:
    installed = Path(sys.executable).with_name("tracegen")
    assert installed.read_text().partition("\n")[2] == SCRIPT.read_text().partition("\n")[2]
    assert os.access(installed, os.X_OK)


@pytest.mark.parametrize("ignored", [False, True])
def test_the_command_takes_over_from_the_script_and_leaves_what_is_ignored(ignored: bool) -> None:
    before = "signal.SIG_IGN" if ignored else "lambda *_: None"
    code = (
        f"import signal; signal.signal(signal.SIGINT, {before}); from tracegen.storing import signals; "
        "signals.handle_until_exit(); print(signal.getsignal(signal.SIGINT) == signals.RECEIVED.handle)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50).stdout
    assert said == f"{not ignored}\n"


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("ending", ["atexit.register(stop)", "sys.stdout.flush = stop"])
def test_a_signal_while_the_command_ends(ending: str, number: signal.Signals) -> None:
    """After the work, and while Python itself ends."""
    stop = f"def stop():\n    if first: first.pop(); os.kill(os.getpid(), {int(number)})\n"
    assert_interrupted(f"first = [True]\n{stop}{ending}\n", number, "--version")


@pytest.mark.parametrize("number", CODES)
def test_a_signal_inside_exec(number: signal.Signals) -> None:
    """Python sends itself a SIGINT at its end where such an exception came up inside `exec`, though it was caught."""
    code = (
        "from tracegen.cli import main as cli\n"
        f"cli._run_command = lambda *_: exec('import os; os.kill(os.getpid(), {int(number)})')\n"
    )
    assert_interrupted(code, number)


@pytest.mark.parametrize("number", CODES)
def test_a_signal_inside_a_callback(number: signal.Signals) -> None:
    """There Python drops the exception; the command ends all the same, and not at its end only."""
    code = (
        "from tracegen.cli import main as cli\n"
        "class Gone: pass\n"
        "def command(*_):\n"
        "    gone = Gone()\n"
        f"    link = weakref.ref(gone, lambda _: os.kill(os.getpid(), {int(number)}))\n"
        "    del gone\n"
        "    time.sleep(60)\n"
        "cli._run_command = command\n"
    )
    assert_interrupted(code, number)


@pytest.mark.parametrize("lost", ["pass", "raise ImportError('numpy says so')", "raise OSError('so')"])
@pytest.mark.parametrize("number", CODES)
def test_a_signal_whose_exception_is_lost(
    lost: str, number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def swallowed(words: list[str], state: dict[str, bool]) -> int:
        try:
            os.kill(os.getpid(), number)
            time.sleep(30)
        except KeyboardInterrupt:
            exec(lost)
        return 0

    monkeypatch.setattr(cli, "_run_command", swallowed)
    before = [signal.getsignal(each) for each in CODES]
    assert cli.main([]) == CODES[number]
    assert len(capsys.readouterr().err.splitlines()) == 1 and not RECEIVED.raises
    assert [signal.getsignal(each) for each in CODES] == before


def test_a_command_in_another_thread_leaves_signals_alone(capsys: pytest.CaptureFixture[str]) -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(cli.main(["--version"])))
    thread.start()
    thread.join()
    assert codes == [0]
