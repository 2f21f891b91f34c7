"""Hidden parts: those of living processes stay, those of killed ones are removed by the next command, and named."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tracegen.cli.main import main
from tracegen.measure.demo.whole_files import whole_files
from tracegen.reading.folders import run_folder
from tracegen.storing import parts, store

BEGIN = """
import os, signal, sys
from pathlib import Path
from tracegen.storing import parts
place = Path(sys.argv[1])
if sys.argv[2] == "folder":
    block = parts.new_folder(place)
    part = block.__enter__()
    (part / "raw").mkdir()
    (part / "raw" / "trace").write_bytes(bytes(123456))
else:
    block = parts.new_file(place)
    part, descriptor = block.__enter__()
    os.write(descriptor, bytes(123456))
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture
def writer() -> object:
    """A process that has started a part, until it is killed."""
    children: list[subprocess.Popen[bytes]] = []

    def begin(place: Path, kind: str) -> Callable[[], None]:
        command = [sys.executable, "-c", BEGIN, str(place), kind]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        children.append(child)
        assert child.stdout is not None and child.stdout.readline()

        def kill() -> None:
            child.send_signal(signal.SIGKILL)
            child.wait()

        return kill

    yield begin
    for child in children:
        child.kill()
        child.communicate()


Writer = Callable[[Path, str], Callable[[], None]]


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_a_killed_process_left_goes_and_what_a_living_one_writes_stays(
    tmp_path: Path, writer: Writer, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kill = writer(tmp_path, kind)
    (part,) = tmp_path.iterdir()
    assert parts.is_part(part)
    store.write_text(tmp_path / "other", "")
    assert part.exists() and capsys.readouterr().err == ""
    kill()
    assert part.exists()
    store.write_text(tmp_path / "other", "")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert capsys.readouterr().err == f"removed {part}, 123,456 bytes: left by a tracegen that was killed\n"


def by_a_model(folder: Path) -> None:
    with whole_files(folder / "m.gguf") as path:
        path.write_bytes(b"")


def by_a_version(folder: Path) -> None:
    with store.whole_folder(folder / "1"):
        pass


def by_a_run(folder: Path) -> None:
    with store.part_folder(folder):
        pass


@pytest.mark.parametrize("use", [by_a_model, by_a_version, by_a_run])
def test_whatever_is_written_there_next_removes_it(
    tmp_path: Path, writer: Writer, use: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    writer(tmp_path, "folder")()
    use(tmp_path)
    assert not list(tmp_path.glob(".*")) and "123,456 bytes" in capsys.readouterr().err


def test_looking_for_a_run_removes_it_too(tmp_path: Path, writer: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    writer(tmp_path / "it" / "runs", "folder")()
    (tmp_path / "it" / "runs" / "001").mkdir()
    assert run_folder("it", tmp_path).name == "001"
    assert not list(tmp_path.glob("*/*/.*")) and "123,456 bytes" in capsys.readouterr().err


def test_what_tracegen_did_not_write_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hidden files of other programs, and a link that only has such a name."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".download.part").mkdir()
    (tmp_path / ".tracegen-0123abcd.part").symlink_to("elsewhere")
    os.mkfifo(tmp_path / ".x.part")
    before = sorted(path.name for path in tmp_path.iterdir())
    parts.remove_left(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == before and capsys.readouterr().err == ""


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    """A new part is not yet locked for a moment, and a folder that became empty may go: both are made again."""
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(40):
                with parts.new_folder(tmp_path / "shared") as part:
                    (part / "x").write_text("")
                    part.rename(tmp_path / f"{number}-{turn}")
                try:
                    (tmp_path / "shared").rmdir()
                except OSError:
                    continue
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and len(list(tmp_path.glob("*-*/x"))) == 160


@pytest.mark.parametrize("there", [True, False])
def test_the_sample_is_whole_or_absent_and_can_be_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], there: bool
) -> None:
    from tracegen.cli.commands import sample

    target = tmp_path / "s"
    if there:
        target.mkdir()

    def build(config: Path) -> Path:
        (config.parent / "site").mkdir()
        (config.parent / "site" / "index.html").write_text("")
        return config.parent.absolute() / "site" / "index.html"

    def interrupted(config: Path) -> Path:
        build(config)
        raise KeyboardInterrupt

    monkeypatch.setattr(sample, "build_site", interrupted)
    assert main(["sample", str(target)]) == 130
    assert target.exists() == there and not list(tmp_path.rglob("*.*"))
    monkeypatch.setattr(sample, "build_site", build)
    assert main(["sample", str(target)]) == 0
    assert capsys.readouterr().out == f"{target / 'site' / 'index.html'}\n" and (target / "mkdocs.yml").is_file()
    assert not list(tmp_path.glob(".*")) and not list(target.glob(".*"))
    assert main(["sample", str(target)]) == 2
