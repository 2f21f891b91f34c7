"""`tracegen llama-cpp`: builds the pinned llama.cpp; hooks, checks and builds a source tree of the user."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tracegen.cli.arguments import CONTEXT, PATH, Command, Group
from tracegen.cli.commands import VERBS
from tracegen.contract.details import in_words
from tracegen.measure.capture.hooked_tree import Plan, carry_out, plan_hooks, plan_reverse
from tracegen.measure.capture.llama_cpp import TARGET, build_tree, ensure_build
from tracegen.storing.native import HEADER, SOURCES
from tracegen.storing.progress import Progress
from tracegen.storing.resources import folder


@click.group("llama-cpp", cls=Group, help=VERBS["llama-cpp"], context_settings=dict(CONTEXT))
def command() -> None:
    """The group of hook, build and path."""


@command.command("hook", cls=Command, exclusive=(("check", "reverse"),))
@click.argument("tree", metavar="DIR", type=PATH, help="A source tree of llama.cpp, or one with its ggml.")
@click.option("--check", is_flag=True, help="Change nothing, and print what would change.")
@click.option("--reverse", is_flag=True, help="Remove the hooks, and restore the files byte for byte.")
def hook(tree: Path, check: bool, reverse: bool) -> int:
    """Insert the hooks into a source tree, or update the hooks in it.

    All must fit, or nothing is changed; except those that only add detail, such as copies between backends, which are
    left out where they do not fit. What is not recorded then is printed here, and said in the checks of each run.

    With --check the exit code is 0 when the tree has these hooks, 1 when hooking would change it, 2 when it cannot be
    hooked.
    """
    plan = plan_reverse(tree) if reverse else plan_hooks(tree, folder("native"))
    if check:
        print(_state(plan))
        print(_changes(plan, "would change") + _lost(plan), end="")
        return 1 if plan.changes else 0
    carry_out(plan)
    print(f"{plan.tree}: {'the hooks are removed' if reverse else _done(plan)}")
    print(_changes(plan, "changed") + _lost(plan), end="")
    if not reverse:
        print(_next(plan))
    return 0


def _with_build_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `build` and `path` to a function."""
    for option in (
        click.option("--target", metavar="PROGRAM", default=TARGET, show_default=True, help="The program to build."),
        click.option("--plain", is_flag=True, help="Build without hooks, to compare with."),
        click.option("--source", metavar="DIR", type=PATH, help="A hooked tree of your own."),
    ):
        function = option(function)
    return function


@command.command("build", cls=Command, exclusive=(("source", "plain"),))
@_with_build_options
def build(source: Path | None, plain: bool, target: str) -> int:
    """Build llama.cpp when it is not in the cache, and print the folder of its programs."""
    if source is not None:
        print(build_tree(source, Progress(), target).programs)
    else:
        print(ensure_build(Progress(), traced=not plain, target=target).programs)
    return 0


@command.command("path", cls=Command, exclusive=(("source", "plain"),))
@_with_build_options
def path(**options: Any) -> int:
    """Print the folder of the programs; build them when they are not in the cache, as build does."""
    return int(build.callback(**options))  # type: ignore[misc]


def _done(plan: Plan) -> str:
    done = "hooked" if plan.changes else "is hooked already; nothing was changed"
    return f"{done}{_PLAIN}" if plan.plain else done


def _state(plan: Plan) -> str:
    record = plan.record
    if plan.state == "not hooked" or record is None:
        return f"{plan.tree}: not hooked, and can be{_PLAIN if plan.plain else ''}"
    return f"{plan.tree}: {plan.state} (hooks {record.hooks} of tracegen {record.tracegen}, commit {record.commit})"


def _changes(plan: Plan, verb: str) -> str:
    """One line for each changed file of llama.cpp, and one line for all files of tracegen."""
    net = [change for change in plan.net() if change.before != change.after]
    upstream = [change for change in net if not change.own]
    lines = [f"  {verb}: {change.file} ({change.n_lines:+d} lines)" for change in upstream]
    n_own = len(net) - len(upstream)
    if n_own:
        lines.append(f"  {verb}: {n_own} files of tracegen ({SOURCES}, {HEADER})")
    return "".join(f"{line}\n" for line in lines)


def _lost(plan: Plan) -> str:
    """A line for each detail that is not recorded, and why."""
    return "".join(f"  not recorded: {in_words((detail,))}: {why}\n" for detail, why in plan.without.items())


_PLAIN = "; it has a ggml but no llama.cpp, so no loads, contexts or tokens are recorded"


def _next(plan: Plan) -> str:
    metal = " -DGGML_METAL=OFF" if sys.platform == "darwin" else ""
    place = shlex.quote(str(plan.tree))
    if plan.plain:
        target, program = "", " --target PROGRAM"
        use = "record with: tracegen exec NAME --llama-cpp PROGRAMS -- PROGRAM …"
    else:
        target, program = f" --target {TARGET}", ""
        use = "run with: tracegen run … --llama-cpp PROGRAMS"
    return (
        f"Next, in {place}:\n"
        f"  cmake -B build -DGGML_TENSOR_TRACE=ON{metal} && cmake --build build{target}\n"
        f"or, into the cache:\n  tracegen llama-cpp build --source {place}{program}\n"
        f"and {use}"
    )
