"""`tracegen exec`: records any program that uses llama.cpp, and stores the run."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from tracegen.cli.arguments import NUMBER, PATH, PLACE, WHOLE, Verb, experiment_names
from tracegen.cli.commands.run import print_stored, refuse_failed
from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.reading.folders import EXPERIMENTS

if TYPE_CHECKING:
    from tracegen.measure.runs.observe import Observation

LEAST_TRACE = 1 << 20  # bytes, as of the setting max_trace_bytes
DEVICE_TIMES = ("splits", "passive", "ops")
QUESTION = "What does this program do to memory and disk?"
PROGRAM = "tracegen.program"  # the key under which the context holds the words after --


class Exec(Verb):
    """`exec`: the words after the first `--` are the program and its arguments, not options of tracegen."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split off the program. Raises SettingsError when `--` is missing before it."""
        if "--" in args:
            at = args.index("--")
            args, ctx.meta[PROGRAM] = args[:at], tuple(args[at + 1 :])
        elif len(args) > 1 and not {"-h", "--help"} & set(args) and not ctx.resilient_parsing:
            raise SettingsError("exec: put -- before the program, as in: tracegen exec NAME -- llama-server -m FILE")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The pieces of the usage line, with the program."""
        return [*super().collect_usage_pieces(ctx), "-- PROGRAM [ARGUMENT ...]"]


@click.command("exec", cls=Exec)
@click.argument("name", metavar="NAME", shell_complete=experiment_names)
@click.option("--after", "after_s", type=NUMBER, metavar="S")
@click.option("--for", "for_s", type=NUMBER, metavar="S")
@click.option("--passes", metavar="N|A-B")
@click.option("--limit", "max_trace_bytes", type=WHOLE, metavar="BYTES", default=8 << 30)
@click.option("--mlock-gb", type=NUMBER, metavar="N")
@click.option("--memory-limit-gb", type=NUMBER, metavar="N")
@click.option("--cold", metavar="FILE", type=PATH, multiple=True)
@click.option("--control", "controls", type=WHOLE, metavar="N", default=0)
@click.option("--question", metavar="TEXT", default=QUESTION)
@click.option("--private", is_flag=True)
@click.option("--interactive", is_flag=True)
@click.option("--attach", is_flag=True)
@click.option("--faults", is_flag=True)
@click.option("--disk", is_flag=True)
@click.option("--device-times", type=click.Choice(DEVICE_TIMES), default=DEVICE_TIMES[0])
@click.option("--allocations", is_flag=True)
@click.option("--server", "servers", metavar="FOLDER", type=PATH, multiple=True)
@click.option("--llama-cpp", metavar="FOLDER", type=PLACE)
@click.pass_context
def command(ctx: click.Context, /, name: str, llama_cpp: str | None, **given: Any) -> int:
    """Run the program; print the verdict and the folder of the run.

    Raises EnvironmentFailure when the program failed; the run is stored nevertheless.
    """
    program: tuple[str, ...] = ctx.meta.get(PROGRAM, ())
    if not program:
        raise SettingsError("exec: name the program after --, as in: tracegen exec NAME -- llama-server -m FILE")
    from tracegen.contract.settings import check_name
    from tracegen.measure.runs.observe import Observation, observe
    from tracegen.publishing import privacy
    from tracegen.publishing.experiments import refuse_same_name
    from tracegen.storing.progress import Progress

    observation = Observation(check_name(name), program, **given)
    _check_window(observation)
    _check_conditions(observation)
    if privacy.is_requested(EXPERIMENTS / name):
        observation = replace(observation, private=True)
    refuse_same_name(EXPERIMENTS / observation.name)
    if (EXPERIMENTS / observation.name / "experiment.toml").is_file():
        print(f"{EXPERIMENTS / observation.name} has an experiment.toml; this run is stored beside the runs of it")
    run = observe(observation, EXPERIMENTS / name, Progress(), llama_cpp)
    refuse_failed(run, EnvironmentFailure)
    return print_stored(run)


def _check_conditions(observation: Observation) -> None:
    from tracegen.contract.setting import GIB, MOST_CONTROLS

    for key in ("mlock_gb", "memory_limit_gb"):
        size = getattr(observation, key)
        if size is not None and not GIB.holds(size):
            raise SettingsError(f"--{key.replace('_', '-')}: is {size}; must be {GIB.allowed}")
    if not 0 <= observation.controls <= MOST_CONTROLS:
        raise SettingsError(f"--control: is {observation.controls}; must be a whole number from 0 to {MOST_CONTROLS}")
    if observation.controls and observation.interactive:
        raise SettingsError("--control: runs the program again without a keyboard; leave --interactive out")
    if observation.device_times == "ops" and not observation.attach:
        raise SettingsError("--device-times ops: a layer is preloaded with the tracer; add --attach")
    for folder in observation.servers:
        if not folder.is_dir():
            raise SettingsError(
                f"--server: {folder}: there is no such folder; start the server with TENSOR_TRACE_DIR set to it"
            )
    for file in observation.cold:
        if not file.is_file():
            raise SettingsError(f"--cold: {file}: there is no such file")


def _check_window(observation: Observation) -> None:
    for option, value in (("--after", observation.after_s), ("--for", observation.for_s)):
        if value is not None and not (math.isfinite(value) and 0 <= value <= 1e9):
            raise SettingsError(f"{option}: is {value}; must be seconds, 0 or more")
    if observation.for_s == 0:
        raise SettingsError("--for: is 0, so nothing would be recorded; must be more than 0 seconds")
    if observation.max_trace_bytes < LEAST_TRACE:
        raise SettingsError(f"--limit: is {observation.max_trace_bytes}; must be bytes, {LEAST_TRACE} (1 MiB) or more")
    if (passes := observation.passes) is not None:
        match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", passes)
        if match is None or int(match[2] or match[1]) < int(match[1]) or (not match[2] and int(match[1]) == 0):
            raise SettingsError(f"--passes: is {passes!r}; must be a number of passes, or FIRST-LAST")
