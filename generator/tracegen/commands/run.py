"""`tracegen run`: measure an experiment, once or as often as it asks for, and store each run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tracegen.commands.publish import print_published
from tracegen.errors import CheckError, SettingsError
from tracegen.model import Experiment, Run
from tracegen.progress import Progress
from tracegen.runs.measure import repetitions
from tracegen.runs.series import series_report
from tracegen.settings import experiment_from, read_experiment, with_repeat

NAME = "run"
HELP = "Run an experiment under the tracer, check what was recorded, and store the run."
EPILOG = (
    "tracegen run demo-dense · tracegen run path/to/experiment.toml · "
    'tracegen run --model model.gguf --prompt "Hello" -n 5'
)
EXPERIMENTS = Path("experiments")
TOKENS, QUICK = 5, "quick"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tracegen run`."""
    parser.add_argument("experiment", nargs="?", metavar="NAME|PATH", help="an experiment, or its experiment.toml")
    parser.add_argument("--model", metavar="FILE", help="without an experiment: a GGUF file, or demo, moe, tinyllama")
    parser.add_argument("--prompt", metavar="TEXT", help="without an experiment: the prompt")
    parser.add_argument(
        "-n", "--tokens", type=int, metavar="N", help=f"without an experiment: tokens to generate (default {TOKENS})"
    )
    parser.add_argument("--name", help=f"without an experiment: its name (default {QUICK})")
    parser.add_argument("--llama-cpp", metavar="FOLDER", help="programs of another hooked llama.cpp")
    parser.add_argument(
        "--repeat", type=int, metavar="N", help="N runs with the same settings, and the range of their speeds"
    )
    parser.add_argument("--publish", action="store_true", help="publish the run as well")
    parser.add_argument("-m", "--message", metavar="WHY", help="with --publish: why this version exists")


def run(args: argparse.Namespace) -> int:
    """Measure, print the verdict and where the run lies."""
    if args.publish and not args.message:
        raise SettingsError("--publish: say why with -m")
    if args.message and not args.publish:
        raise SettingsError("-m: says why a run is published; add --publish")
    experiment, folder = _chosen(args)
    experiment = with_repeat(experiment, args.repeat)
    if args.publish and experiment.repeat > 1:
        raise SettingsError(
            f"--publish: goes with one run, and this makes {experiment.repeat}; publish one of them afterwards: "
            f"tracegen publish {experiment.name} RUN"
        )
    made: list[Run] = []
    try:
        for one in repetitions(experiment, folder, Progress(), args.llama_cpp):
            print(_report(one), flush=True)
            made.append(one)
    finally:  # what is whole counts, also after Ctrl-C and when a later one failed
        if experiment.repeat > 1 and made:
            print(series_report(made, experiment.repeat), flush=True)
    if args.publish:
        print_published(folder, made[0], args.message)
    return _status(made)


def print_stored(made: Run) -> int:
    """Print the verdict and where the run lies. Raises CheckError when it is not usable."""
    print(_report(made))
    return _status([made])


def _status(made: Sequence[Run]) -> int:
    unusable = [f"{run.experiment}/{run.name}" for run in made if run.verdict == "not usable"]
    if unusable:
        raise CheckError(f"{', '.join(unusable)}: not usable; see the failed checks above")
    return 0


def _chosen(args: argparse.Namespace) -> tuple[Experiment, Path]:
    """The experiment and its folder, from the name, the path or the options."""
    if args.experiment is None:
        if not args.model or args.prompt is None:
            raise SettingsError("run: name an experiment, or give --model and --prompt")
        settings: dict[str, object] = {
            "question": "What does this model do to memory and disk?",
            "model": args.model,
            "prompt": args.prompt,
            "tokens": TOKENS if args.tokens is None else args.tokens,
        }
        name = args.name or QUICK
        if (EXPERIMENTS / name / "experiment.toml").is_file():
            raise SettingsError(
                f"--name: {EXPERIMENTS / name} has an experiment.toml of its own: `tracegen run {name}` runs it; "
                "give another name"
            )
        return experiment_from(name, settings, Path.cwd()), EXPERIMENTS / name
    if args.model or args.prompt is not None:
        raise SettingsError("run: give an experiment, or --model and --prompt, not both")
    if args.tokens is not None or args.name is not None:
        raise SettingsError("run: -n and --name go with --model; an experiment's settings stand in its experiment.toml")
    path = experiment_file(args.experiment)
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
