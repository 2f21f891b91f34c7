"""`tracegen model`: write a demo model with random weights."""

from __future__ import annotations

import argparse
from pathlib import Path

from tracegen.demo.models import DTYPES, KINDS, split_paths, write_demo_model
from tracegen.errors import SettingsError

NAME = "model"
HELP = "write a demo model with random weights, to try things without a download"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tracegen model`."""
    parser.add_argument("kind", choices=tuple(KINDS), help="demo: 5 MB; moe: 27 MB, 8 experts; tinyllama: 668 MB")
    parser.add_argument("out", metavar="OUT", type=Path, help="file to write, NAME.gguf")
    parser.add_argument("--seed", type=int, default=1, help="same seed, same bytes (default 1)")
    parser.add_argument("--dtype", choices=DTYPES, help="type of the weights (default: the kind's own)")
    parser.add_argument("--split", action="store_true", help="write two files, NAME-00001-of-00002.gguf and the other")


def run(args: argparse.Namespace) -> int:
    """Write the model and print the files made."""
    out: Path = args.out
    if out.suffix != ".gguf":
        raise SettingsError(f"{out}: a model file is called NAME.gguf; change the name")
    for path in split_paths(out) if args.split else (out,):
        if path.exists():
            raise SettingsError(f"{path}: exists already; remove it or choose another name")
    shape = {"dtype": args.dtype} if args.dtype else {}
    for path in write_demo_model(args.kind, out, seed=args.seed, split=args.split, **shape):
        print(f"{path}  {path.stat().st_size:,} bytes, random weights")
    return 0
