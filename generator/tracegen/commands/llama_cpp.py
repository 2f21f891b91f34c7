"""`tracegen llama-cpp`: build the pinned llama.cpp; hook a source tree of your own, look at it, build it."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from tracegen.capture.hooked_tree import HEADER, SOURCES, Plan, carry_out, plan_hooks, plan_reverse
from tracegen.capture.llama_cpp import TARGET, build_tree, ensure_build
from tracegen.errors import SettingsError
from tracegen.progress import Progress
from tracegen.resources import folder

NAME = "llama-cpp"
HELP = "Build the pinned llama.cpp with its hooks (once; kept in the cache), or hook a source tree of your own."
EPILOG = (
    "hook DIR puts the hooks into DIR, all or none; again: brings them up to date. "
    "hook DIR --check exits with 0 when DIR is hooked with these hooks, 1 when hooking would change it, "
    "2 when it cannot be hooked."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tracegen llama-cpp`."""
    parser.add_argument(
        "action", choices=("build", "path", "hook"), help="build it; print where its programs are; hook a tree"
    )
    parser.add_argument(
        "tree", nargs="?", type=Path, metavar="DIR", help="with hook: a source tree of llama.cpp, or one with its ggml"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="with hook: only say what would change")
    how.add_argument("--reverse", action="store_true", help="with hook: take the hooks out, byte for byte")
    how.add_argument("--source", type=Path, metavar="DIR", help="with build or path: your own hooked tree")
    how.add_argument("--plain", action="store_true", help="without hooks: what the tracer is compared with")
    parser.add_argument("--target", default=TARGET, help=f"the program to build (default {TARGET})")


def run(args: argparse.Namespace) -> int:
    """Hook a tree and say what changed; or build when needed, and print the folder of the programs."""
    if args.action == "hook":
        return _hook(args)
    if args.tree is not None or args.check or args.reverse:
        raise SettingsError(f"{args.action}: takes no DIR, --check or --reverse; --source names a tree of your own")
    if args.source is not None:
        print(build_tree(args.source, Progress(), args.target).programs)
    else:
        print(ensure_build(Progress(), traced=not args.plain, target=args.target).programs)
    return 0


def _hook(args: argparse.Namespace) -> int:
    if args.tree is None or args.source is not None or args.plain:
        raise SettingsError("hook: name the source tree, and neither --source nor --plain")
    plan = plan_reverse(args.tree) if args.reverse else plan_hooks(args.tree, folder("native"))
    if args.check:
        print(_state(plan))
        print(_changes(plan, "would change"), end="")
        return 1 if plan.changes else 0
    carry_out(plan)
    print(f"{plan.tree}: {'the hooks are out' if args.reverse else _done(plan)}")
    print(_changes(plan, "changed"), end="")
    if not args.reverse:
        print(_next(plan))
    return 0


def _done(plan: Plan) -> str:
    done = "hooked" if plan.changes else "is hooked already; nothing was changed"
    return f"{done}{_PLAIN}" if plan.plain else done


def _state(plan: Plan) -> str:
    record = plan.record
    if plan.state == "not hooked" or record is None:
        return f"{plan.tree}: not hooked, and can be{_PLAIN if plan.plain else ''}"
    return f"{plan.tree}: {plan.state} (hooks {record.hooks} of tracegen {record.tracegen}, commit {record.commit})"


def _changes(plan: Plan, verb: str) -> str:
    """A line for each file of llama.cpp, one for all that are tracegen's."""
    net = [change for change in plan.net() if change.before != change.after]
    theirs = [change for change in net if not change.own]
    lines = [f"  {verb}: {change.file} ({change.n_lines:+d} lines)" for change in theirs]
    ours = len(net) - len(theirs)
    if ours:
        lines.append(f"  {verb}: {ours} files of tracegen's ({SOURCES}, {HEADER})")
    return "".join(f"{line}\n" for line in lines)


_PLAIN = "; it has a ggml and no llama.cpp, so no loads, contexts or tokens are recorded"


def _next(plan: Plan) -> str:
    metal = " -DGGML_METAL=OFF" if sys.platform == "darwin" else ""
    place = shlex.quote(str(plan.tree))
    if plan.plain:
        return (
            f"Next, in {place}:\n"
            f"  cmake -B build -DGGML_TENSOR_TRACE=ON{metal} && cmake --build build\n"
            f"or, into the cache:\n  tracegen llama-cpp build --source {place} --target PROGRAM\n"
            "and record with: tracegen exec NAME --llama-cpp PROGRAMS -- PROGRAM …"
        )
    return (
        f"Next, in {place}:\n"
        f"  cmake -B build -DGGML_TENSOR_TRACE=ON{metal} && cmake --build build --target {TARGET}\n"
        f"or, into the cache:\n  tracegen llama-cpp build --source {place}\n"
        "and run with: tracegen run … --llama-cpp PROGRAMS"
    )
