"""`tracegen exec`: record any program of a hooked llama.cpp, and store the run."""

from __future__ import annotations

import math
import re
from pathlib import Path

import click

from tracegen.arguments import NUMBER, PLACE, WHOLE, Command, experiment_names
from tracegen.commands import VERBS
from tracegen.commands.run import print_stored
from tracegen.errors import EnvironmentFailure, SettingsError

EXAMPLES = (
    "tracegen exec bench -- llama-bench -m model.gguf",
    "tracegen exec server --after 30 --for 10 -- llama-server -m model.gguf",
    "tracegen exec mine --attach -- python my_script.py",
)
EPILOG = "Ctrl-C closes the trace and ends the program; the run is stored then too."
EXPERIMENTS = Path("experiments")
QUESTION = "What does this program do to memory and disk?"
PROGRAM = "tracegen.program"  # where the context keeps what stands behind --


class Exec(Command):
    """`exec`: what stands behind the first `--` is the program, and never an option of ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the program apart. Raises SettingsError when no `--` stands before it."""
        if "--" in args:
            at = args.index("--")
            args, ctx.meta[PROGRAM] = args[:at], tuple(args[at + 1 :])
        elif len(args) > 1 and not {"-h", "--help"} & set(args) and not ctx.resilient_parsing:
            raise SettingsError("exec: put -- before the program, as in: tracegen exec NAME -- llama-server -m FILE")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line tells of the program too."""
        return [*super().collect_usage_pieces(ctx), "-- PROGRAM [ARGUMENT ...]"]


@click.command("exec", cls=Exec, help=VERBS["exec"], examples=EXAMPLES, epilog=EPILOG)
@click.argument(
    "name",
    metavar="NAME",
    shell_complete=experiment_names,
    help="The experiment that the run is stored in; it is made when it is new.",
)
@click.option("--after", type=NUMBER, metavar="S", help="Record passes that begin S seconds after the start or later.")
@click.option("--for", "for_s", type=NUMBER, metavar="S", help="Record for S seconds, from --after or from the start.")
@click.option(
    "--passes", metavar="N|A-B", help="Record N passes, or those with the numbers A to B (from 0; warm-up counts)."
)
@click.option(
    "--limit",
    type=WHOLE,
    metavar="BYTES",
    default=8 << 30,
    help="Largest size of the trace (what comes after is dropped and counted); else 8 GiB.",
)
@click.option("--mlock-gb", type=NUMBER, metavar="N", help="Lock N GiB of memory while the program runs.")
@click.option("--question", metavar="TEXT", default=QUESTION, help="What the run is to answer, for its page.")
@click.option("--private", is_flag=True, help="Publish no texts, tokens or arguments of this run.")
@click.option("--interactive", is_flag=True, help="Give the program the keyboard and Ctrl-C.")
@click.option("--attach", is_flag=True, help="Preload the tracer: for a llama.cpp without hooks (Linux).")
@click.option("--llama-cpp", metavar="FOLDER", type=PLACE, help="The folder with the programs of a hooked llama.cpp.")
@click.pass_context
def command(
    ctx: click.Context,
    name: str,
    after: float | None,
    for_s: float | None,
    passes: str | None,
    limit: int,
    mlock_gb: float | None,
    question: str,
    private: bool,
    interactive: bool,
    attach: bool,
    llama_cpp: str | None,
) -> int:
    """Run the program, print the verdict and where the run lies.

    Raises EnvironmentFailure when the program failed; its run is stored nevertheless.
    """
    program: tuple[str, ...] = ctx.meta.get(PROGRAM, ())
    if not program:
        raise SettingsError("exec: name the program behind --, as in: tracegen exec NAME -- llama-server -m FILE")
    _check_window(after, for_s, passes, limit)
    from tracegen.progress import Progress
    from tracegen.publishing import privacy
    from tracegen.runs.observe import Observation, observe
    from tracegen.setting_keys import KEYS
    from tracegen.settings import check_name

    if mlock_gb is not None and not KEYS["mlock_gb"].holds(mlock_gb):
        raise SettingsError(f"--mlock-gb: is {mlock_gb}; give {KEYS['mlock_gb'].allowed}")
    asked = Observation(
        check_name(name), program, question, after, for_s, passes, limit,
        private or privacy.asked_for(EXPERIMENTS / name), interactive, attach, mlock_gb,
    )  # fmt: skip
    if (EXPERIMENTS / asked.name / "experiment.toml").is_file():
        print(f"{EXPERIMENTS / asked.name} has an experiment.toml; the run of this program goes beside its runs")
    made = observe(asked, EXPERIMENTS / name, Progress(), llama_cpp)
    found, status = print_stored(made), made.facts["exit_status"]
    if status and not made.facts.get("stopped", False):
        raise EnvironmentFailure(f"{program[0]}: exit status {status}, after it was recorded; the run is stored")
    return found


def _check_window(after: float | None, for_s: float | None, passes: str | None, limit: int) -> None:
    for option, value in (("--after", after), ("--for", for_s)):
        if value is not None and not (math.isfinite(value) and 0 <= value <= 1e9):
            raise SettingsError(f"{option}: is {value}; give seconds, 0 or more")
    if limit < 1:
        raise SettingsError(f"--limit: is {limit}; give bytes, 1 or more")
    if passes is not None:
        match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", passes)
        if match is None or int(match[2] or match[1]) < int(match[1]) or (not match[2] and int(match[1]) == 0):
            raise SettingsError(f"--passes: is {passes!r}; give how many, or FIRST-LAST")
