"""A project to attack, the commands that are tried on it, and what every try must keep to."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.builders import scaled_case
from tests.foreign.samples import copy_of
from tests.site_project import NOW, plain_run, stored
from tests.stand_in import a_project
from tracegen.measure.demo.models import write_demo_model
from tracegen.publishing.freeze import freeze

TRACEGEN = (str(Path(sys.executable).with_name("tracegen")),)


@dataclass(frozen=True)
class Command:
    """A command line, and its exit code on a healthy project."""

    name: str
    words: tuple[str, ...]
    status: int = 0
    needs_llama: bool = False


COMMANDS = (
    Command("help", ("--help",)),
    Command("version", ("--version",)),
    Command("init", ("init", "begun")),
    Command(
        "run",
        ("run", "--model", "model.gguf", "--prompt", "Hi", "-n", "2", "--name", "tried", "--llama-cpp", "LLAMA"),
        needs_llama=True,
    ),
    Command(
        "exec",
        (
            "exec",
            "mine",
            "--llama-cpp",
            "LLAMA",
            "--",
            "LLAMA/llama-completion",
            "-m",
            "model.gguf",
            "-p",
            "Hi",
            "-n",
            "2",
            "-no-cnv",
        ),
        needs_llama=True,
    ),
    Command("show", ("show", "demo/run-001")),
    Command("show-all", ("show", "demo/run-001", "all")),
    Command("compare", ("compare", "demo/run-001", "demo/run-002")),
    Command("import", ("import", "older", "--as", "imported"), status=1),  # a trace that is not usable
    Command("export", ("export", "demo/run-001", "parquet", "--out", "tables")),
    Command("publish", ("publish", "demo", "-m", "tried")),
    Command("build", ("build",)),
    Command("check", ("check", "note.md"), status=1),  # what it says is no longer true
    Command("whose", ("whose", "experiments/demo/versions/1/figures/tokens.svg")),
    Command("reproduce", ("reproduce", "demo@v1"), status=2),  # nobody has its model
    Command("serve", ("serve", "--help")),
    Command("read", ("read", "demo/run-001"), status=2),  # this run has no evidence
    Command("sample", ("sample", "shown")),
    Command("model", ("model", "demo", "written.gguf")),
    Command("tensors", ("tensors", "model.gguf")),
    Command("reorder", ("reorder", "model.gguf", "layers.gguf", "--order", "layer")),
    Command("llama-cpp", ("llama-cpp", "hook", "no-such-tree"), status=2),
    Command("completion", ("completion", "bash")),
)
BY_NAME = {command.name: command for command in COMMANDS}


@dataclass(frozen=True)
class Surroundings:
    """What a try is surrounded by; `{at}` in the environment is a folder outside of the project.

    `status` are other exit codes than those of the healthy project, by command, `None` for all.
    """

    name: str
    environment: Mapping[str, str | None] = field(default_factory=dict)
    before: Sequence[str] = ()  # words in front of the command
    folder: str = "project"
    shell: str = ""  # what a shell does first
    output: str = ""  # redirection
    status: Mapping[str | None, tuple[int, ...]] = field(default_factory=dict)

    def statuses(self, command: Command) -> tuple[int, ...]:
        """The exit codes that a command may have here."""
        return self.status.get(command.name, self.status.get(None, (command.status,)))


def make_prototype(root: Path) -> None:
    """The project that each try has a copy of."""
    a_project(root)
    experiments = root / "experiments"
    run = stored(experiments, plain_run(), scaled_case(1, 1))
    freeze(experiments / "demo", run, "first", NOW)
    stored(experiments, plain_run(number=2), scaled_case(2, 1))
    write_demo_model("demo", root / "model.gguf")
    (root / "note.md").write_text("A token takes `{{ demo@v1:nothing }}`.\n")
    copy_of("v1-64", root / "older")


def run_here(command: Command, project: Path, around: Surroundings, llama: str) -> subprocess.CompletedProcess[bytes]:
    """Try the command, at most a minute."""
    words = [*around.before, *TRACEGEN, *(word.replace("LLAMA", llama) for word in command.words)]
    environment = dict(os.environ)
    for name, value in around.environment.items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value.replace("{at}", str(project.parent))
    script = f'{around.shell}\n"$@" {around.output}'
    return subprocess.run(
        ["/bin/bash", "-c", script, "tried", *words],
        cwd=project,
        env=environment,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def stored_bytes(project: Path) -> dict[str, str]:
    """The hash of every file that was stored or published before."""
    folders = [project / "experiments/demo/runs/001", project / "experiments/demo/versions/1", project / "older"]
    return {
        str(path.relative_to(project)): hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def leftovers(project: Path) -> list[str]:
    """Parts and temporary files that a command should have removed."""
    return sorted(
        str(path.relative_to(project))
        for path in project.rglob(".*")
        if path.name.endswith((".part", ".tmp")) or ".part" in path.suffixes
    )


def verdict(done: subprocess.CompletedProcess[bytes], allowed: Sequence[int]) -> str:
    """What is wrong with how a command ended, or an empty text."""
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    faults = []
    if done.returncode not in allowed:
        faults.append(f"ended with {done.returncode}, not {allowed}")
    if "Traceback (most recent call last)" in said or "Exception ignored" in said:
        faults.append("a traceback")
    if done.returncode in (1, 2, 3) and not done.stderr.strip():
        faults.append("no message")
    return f"{'; '.join(faults)}\n{said[-3000:]}" if faults else ""


def copy(prototype: Path, target: Path) -> Path:
    """A copy of the prototype to try a command on."""
    shutil.copytree(prototype, target)
    return target
