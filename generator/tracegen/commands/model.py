"""`tracegen model`: writes a demo model with random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tracegen.arguments import PATH, WHOLE, Choice, Command
from tracegen.commands import VERBS
from tracegen.errors import SettingsError
from tracegen.model import DEMO_DTYPES, DEMO_MODELS


@click.command("model", cls=Command, help=VERBS["model"])
@click.argument(
    "kind",
    metavar="KIND",
    type=Choice(DEMO_MODELS),
    help="What to write: demo (5 MB), moe (27 MB, 8 experts) or tinyllama (668 MB).",
)
@click.argument("out", metavar="OUT", type=PATH, help="The file to write, NAME.gguf.")
@click.option(
    "--seed", type=WHOLE, metavar="N", default=1, show_default=True, help="The same seed gives the same bytes."
)
@click.option("--dtype", type=Choice(DEMO_DTYPES), help="Type of the weights (default: that of the kind).")
@click.option("--split", is_flag=True, help="Write two files: NAME-00001-of-00002.gguf and NAME-00002-of-00002.gguf.")
def command(kind: str, out: Path, seed: int, dtype: str | None, split: bool) -> int:
    """Write the model, and print its files."""
    if out.suffix != ".gguf":
        raise SettingsError(f"{out}: a model file is called NAME.gguf; change the name")
    from tracegen.demo.models import write_demo_model
    from tracegen.demo.whole_files import split_paths

    for path in split_paths(out) if split else (out,):
        if path.exists():
            raise SettingsError(f"{path}: exists already; remove it or choose another name")
    shape: dict[str, Any] = {"dtype": dtype} if dtype else {}
    for path in write_demo_model(kind, out, seed=seed, split=split, **shape):
        print(f"{path}  {path.stat().st_size:,} bytes, random weights")
    return 0
