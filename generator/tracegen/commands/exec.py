"""`tracegen exec`: record any program of a hooked llama.cpp, and store the run."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path

from tracegen.commands.run import print_stored
from tracegen.errors import EnvironmentFailure, SettingsError
from tracegen.progress import Progress
from tracegen.publishing import privacy
from tracegen.runs.observe import Observation, observe
from tracegen.settings import KEYS, check_name

NAME = "exec"
HELP = "Record any program that uses llama.cpp (server, bench, your own) while it runs, and store the run."
EPILOG = (
    "tracegen exec bench -- llama-bench -m model.gguf · "
    "tracegen exec server --after 30 --for 10 -- llama-server -m model.gguf · "
    "tracegen exec mine --attach -- python my_script.py. "
    "Ctrl-C closes the trace and ends the program; the run is stored then too."
)
EXPERIMENTS = Path("experiments")
QUESTION = "What does this program do to memory and disk?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tracegen exec`."""
    parser.add_argument("name", metavar="NAME", help="the experiment that the run is stored in; made when it is new")
    parser.add_argument("--after", type=float, metavar="S", help="record passes that begin so many seconds after start")
    parser.add_argument("--for", type=float, metavar="S", dest="for_s", help="... and for so many seconds")
    parser.add_argument(
        "--passes", metavar="N|A-B", help="record so many passes, or those with these numbers (from 0, warm-up counts)"
    )
    parser.add_argument("--limit", type=int, metavar="BYTES", default=8 << 30, help="largest trace (default 8 GiB)")
    parser.add_argument("--mlock-gb", type=float, metavar="N", help="lock N GiB of memory while the program runs")
    parser.add_argument("--question", default=QUESTION, help="what the run is to answer, for its page")
    parser.add_argument("--private", action="store_true", help="publish no texts, tokens or arguments of this run")
    parser.add_argument("--interactive", action="store_true", help="give the program keyboard and Ctrl-C")
    parser.add_argument("--attach", action="store_true", help="its llama.cpp has no hooks: preload the tracer (Linux)")
    parser.add_argument("--llama-cpp", metavar="FOLDER", help="where the programs of a hooked llama.cpp are")
    parser.usage = "tracegen exec [options] NAME -- PROGRAM [ARGUMENT ...]"


def split(arguments: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """The arguments before the first `--` of an exec, and the program behind it, which argparse must not see."""
    verb = next((argument for argument in arguments if not argument.startswith("-")), None)
    if verb != NAME or "--" not in arguments:
        return arguments, ()
    at = arguments.index("--")
    return arguments[:at], tuple(arguments[at + 1 :])


def lacks_program(arguments: list[str]) -> bool:
    """Whether these call `exec` with more than a name, and without the `--` that its program stands behind."""
    asked = arguments[:1] == [NAME] and not {"-h", "--help"} & set(arguments)
    return asked and "--" not in arguments and len(arguments) > 2


def run(args: argparse.Namespace) -> int:
    """Run the program, print the verdict and where the run lies.

    Raises EnvironmentFailure when the program failed; its run is stored nevertheless.
    """
    if not args.program:
        raise SettingsError("exec: name the program behind --, as in: tracegen exec NAME -- llama-server -m FILE")
    _check(args)
    asked = Observation(
        check_name(args.name), args.program, args.question, args.after, args.for_s, args.passes, args.limit,
        args.private or privacy.asked_for(EXPERIMENTS / args.name), args.interactive, args.attach, args.mlock_gb,
    )  # fmt: skip
    if (EXPERIMENTS / asked.name / "experiment.toml").is_file():
        print(f"{EXPERIMENTS / asked.name} has an experiment.toml; the run of this program goes beside its runs")
    made = observe(asked, EXPERIMENTS / args.name, Progress(), args.llama_cpp)
    found, status = print_stored(made), made.facts["exit_status"]
    if status and not made.facts.get("stopped", False):
        raise EnvironmentFailure(f"{args.program[0]}: exit status {status}, after it was recorded; the run is stored")
    return found


def _check(args: argparse.Namespace) -> None:
    for option, value in (("--after", args.after), ("--for", args.for_s)):
        if value is not None and not (math.isfinite(value) and 0 <= value <= 1e9):
            raise SettingsError(f"{option}: is {value}; give seconds, 0 or more")
    if args.mlock_gb is not None and not KEYS["mlock_gb"].holds(args.mlock_gb):
        raise SettingsError(f"--mlock-gb: is {args.mlock_gb}; give {KEYS['mlock_gb'].allowed}")
    if args.limit < 1:
        raise SettingsError(f"--limit: is {args.limit}; give bytes, 1 or more")
    if args.passes is not None:
        match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", args.passes)
        if match is None or int(match[2] or match[1]) < int(match[1]) or (not match[2] and int(match[1]) == 0):
            raise SettingsError(f"--passes: is {args.passes!r}; give how many, or FIRST-LAST")
