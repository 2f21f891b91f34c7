"""`tracegen run`: measure an experiment, once or as often as it asks for, and store each run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracegen.arguments import PLACE, WHOLE, Command, experiment_names
from tracegen.commands import VERBS
from tracegen.errors import CheckError, SettingsError

if TYPE_CHECKING:
    from tracegen.model import Experiment, Run

EXAMPLES = (
    "tracegen run first-look",
    "tracegen run path/to/experiment.toml --repeat 5",
    'tracegen run --model model.gguf --prompt "Hello" -n 5 --name hello',
)
EXPERIMENTS = Path("experiments")
TOKENS, QUICK = 5, "quick"


@click.command("run", cls=Command, help=VERBS["run"], examples=EXAMPLES)
@click.argument(
    "experiment",
    metavar="[NAME|PATH]",
    required=False,
    shell_complete=experiment_names,
    help="An experiment, or the path of its experiment.toml.",
)
@click.option("--model", metavar="FILE", help="Without an experiment: a GGUF file, or demo, moe or tinyllama.")
@click.option("--prompt", metavar="TEXT", help="Without an experiment: the prompt.")
@click.option(
    "-n", "--tokens", type=WHOLE, metavar="N", help=f"Without an experiment: tokens to generate; else {TOKENS}."
)
@click.option("--name", metavar="NAME", help=f"Without an experiment: the name to store the run under; else {QUICK}.")
@click.option("--llama-cpp", metavar="FOLDER", type=PLACE, help="The folder with the programs of a hooked llama.cpp.")
@click.option("--repeat", type=WHOLE, metavar="N", help="Make N runs with the same settings, and tell their range.")
@click.option("--publish", is_flag=True, help="Publish the run as well.")
@click.option("-m", "--message", metavar="WHY", help="With --publish: why this version exists.")
def command(
    experiment: str | None,
    model: str | None,
    prompt: str | None,
    tokens: int | None,
    name: str | None,
    llama_cpp: str | None,
    repeat: int | None,
    publish: bool,
    message: str | None,
) -> int:
    """Measure, print the verdict and where the run lies."""
    if publish and not message:
        raise SettingsError("--publish: say why with -m")
    if message and not publish:
        raise SettingsError("-m: says why a run is published; add --publish")
    from tracegen.settings import with_repeat

    if experiment is None:
        chosen, folder = _quick(model, prompt, tokens, name)
    else:
        chosen, folder = _written(experiment, model, prompt, tokens, name)
    chosen = with_repeat(chosen, repeat)
    if publish and chosen.repeat > 1:
        raise SettingsError(
            f"--publish: goes with one run, and this makes {chosen.repeat}; publish one of them afterwards: "
            f"tracegen publish {chosen.name} RUN"
        )
    made = _measured(chosen, folder, llama_cpp)
    if publish:
        from tracegen.commands.publish import print_published

        print_published(folder, made[0], message or "")
    return _status(made)


def _measured(experiment: Experiment, folder: Path, llama_cpp: str | None) -> list[Run]:
    """Make the runs, and print what each says as soon as it is stored."""
    from tracegen.progress import Progress
    from tracegen.runs.measure import repetitions
    from tracegen.runs.series import series_report

    made: list[Run] = []
    try:
        for one in repetitions(experiment, folder, Progress(), llama_cpp):
            print(_report(one), flush=True)
            made.append(one)
    finally:  # what is whole counts, also after Ctrl-C and when a later one failed
        if experiment.repeat > 1 and made:
            print(series_report(made, experiment.repeat), flush=True)
    return made


def print_stored(made: Run) -> int:
    """Print the verdict and where the run lies. Raises CheckError when it is not usable."""
    print(_report(made))
    return _status([made])


def _status(made: Sequence[Run]) -> int:
    unusable = [f"{run.experiment}/{run.name}" for run in made if run.verdict == "not usable"]
    if unusable:
        raise CheckError(f"{', '.join(unusable)}: not usable; see the failed checks above")
    return 0


def _quick(model: str | None, prompt: str | None, tokens: int | None, name: str | None) -> tuple[Experiment, Path]:
    """The experiment that the options make up, and its folder."""
    from tracegen.settings import experiment_from

    if not model or prompt is None:
        raise SettingsError("run: name an experiment, or give --model and --prompt")
    settings: dict[str, object] = {
        "question": "What does this model do to memory and disk?",
        "model": model,
        "prompt": prompt,
        "tokens": TOKENS if tokens is None else tokens,
    }
    name = name or QUICK
    if (EXPERIMENTS / name / "experiment.toml").is_file():
        raise SettingsError(
            f"--name: {EXPERIMENTS / name} has an experiment.toml of its own: `tracegen run {name}` runs it; "
            "give another name"
        )
    return experiment_from(name, settings, Path.cwd()), EXPERIMENTS / name


def _written(
    given: str, model: str | None, prompt: str | None, tokens: int | None, name: str | None
) -> tuple[Experiment, Path]:
    """The experiment of this name or path, and its folder."""
    from tracegen.settings import read_experiment

    if model or prompt is not None:
        raise SettingsError("run: give an experiment, or --model and --prompt, not both")
    if tokens is not None or name is not None:
        raise SettingsError("run: -n and --name go with --model; an experiment's settings stand in its experiment.toml")
    path = experiment_file(given)
    return read_experiment(path), path.parent


def experiment_file(given: str) -> Path:
    """The experiment.toml that NAME or PATH means. Raises SettingsError listing what there is."""
    path = Path(given)
    for candidate in (path, path / "experiment.toml", EXPERIMENTS / given / "experiment.toml"):
        if candidate.is_file() and candidate.suffix == ".toml":
            return candidate
    known = ", ".join(sorted(p.parent.name for p in EXPERIMENTS.glob("*/experiment.toml"))) or "none here"
    if (EXPERIMENTS / given).is_dir():
        raise SettingsError(f"{EXPERIMENTS / given}: has no experiment.toml; write one, or give --model and --prompt")
    raise SettingsError(f"{given}: no experiment of this name; there are: {known}")


def _report(made: Run) -> str:
    lines = []
    for c in made.checks:
        why = f"; {c.detail}" if c.state == "failed" and c.detail else ""
        lines += [f"{c.state}: {c.title}: {c.found} (limit: {c.limit}){why}"] if c.state != "passed" else []
    n = sum(check.state == "passed" for check in made.checks)
    lines.append(f"{n} of {len(made.checks)} checks passed: {made.verdict}")
    lines.append(f"stored in {made.folder}; look at it: tracegen show {made.folder}")
    return "\n".join(lines)
