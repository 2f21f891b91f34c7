"""`tracegen llama-cpp build`: get, hook and build the pinned llama.cpp."""

from __future__ import annotations

import argparse

from tracegen.capture.llama_cpp import TARGET, ensure_build
from tracegen.progress import Progress

NAME = "llama-cpp"
HELP = "Get the pinned llama.cpp, put the hooks in, and build it (once; kept in the cache)."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tracegen llama-cpp`."""
    parser.add_argument("action", choices=("build", "path"), help="build it; or print where its programs are")
    parser.add_argument("--plain", action="store_true", help="without hooks: what the tracer is compared with")
    parser.add_argument("--target", default=TARGET, help=f"the program to build (default {TARGET})")


def run(args: argparse.Namespace) -> int:
    """Build when needed, and print the folder of the programs."""
    build = ensure_build(Progress(), traced=not args.plain, target=args.target)
    print(build.programs)
    return 0
