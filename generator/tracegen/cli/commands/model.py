"""`tracegen model`: writes a trained model, fetched through pip, or one with random weights."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from tracegen.cli.arguments import NUMBER, PATH, WHOLE, Verb
from tracegen.contract.errors import SettingsError
from tracegen.contract.model import DEMO_DTYPES, TRAINED_MODELS, WRITTEN_MODELS
from tracegen.storing.progress import BYTES, Progress

Write = Callable[..., tuple[Path, ...]]


@click.command("model", cls=Verb)
@click.argument("kind", metavar="KIND", type=click.Choice(WRITTEN_MODELS))
@click.argument("out", metavar="OUT", type=PATH)
@click.option("--seed", type=WHOLE, metavar="N")
@click.option("--dtype", type=click.Choice(DEMO_DTYPES))
@click.option("--split", is_flag=True)
@click.option("--size-gb", type=NUMBER, metavar="N")
@click.option("--layers", "n_layers", type=WHOLE, metavar="N")
def command(
    kind: str, out: Path, seed: int | None, dtype: str | None, split: bool, size_gb: float | None, n_layers: int | None
) -> int:
    """Write the model, and print its files."""
    if out.suffix != ".gguf":
        raise SettingsError(f"{out}: a model file is called NAME.gguf; change the name")
    if kind in TRAINED_MODELS:
        given = {"--seed": seed, "--dtype": dtype, "--split": split or None, "--size-gb": size_gb, "--layers": n_layers}
        return _write_trained(kind, out, [option for option, value in given.items() if value is not None])
    write = _writer(kind, dtype, size_gb, n_layers)
    from tracegen.measure.demo.whole_files import split_paths

    _refuse_existing(split_paths(out) if split else (out,))
    progress = Progress()
    progress.step(f"write {out.name}")
    paths = write(
        out,
        seed=1 if seed is None else seed,
        split=split,
        progress=lambda done, total: progress.update(done, total, BYTES),
    )
    progress.done()
    for path in paths:
        print(f"{path}  {path.stat().st_size:,} bytes, random weights")
    return 0


def _write_trained(kind: str, out: Path, options: Sequence[str]) -> int:
    """Write a trained model, and print its file with who trained it. Raises SettingsError for options given with it."""
    if options:
        raise SettingsError(f"{', '.join(options)}: {kind} is as it was trained; leave the option out")
    from tracegen.measure.trained import TRAINED, copy_of

    _refuse_existing((out,))
    copy_of(kind, out, Progress())
    model = TRAINED[kind]
    print(f"{out}  {out.stat().st_size:,} bytes, {model.origin}, {model.licence}")
    return 0


def _refuse_existing(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.exists():
            raise SettingsError(f"{path}: exists already; remove it or choose another name")


def _writer(kind: str, dtype: str | None, size_gb: float | None, n_layers: int | None) -> Write:
    """The function that writes a model of this kind. Raises SettingsError for an option that the kind does not take."""
    if kind == "gpt-oss":
        from tracegen.measure.demo.gpt_oss import DEFAULT_GIB, N_LAYERS, of_gib, write_gpt_oss

        if dtype:
            raise SettingsError(
                "--dtype: gpt-oss always has experts in MXFP4 and other matrices in Q8_0; leave the option out"
            )
        architecture = of_gib(DEFAULT_GIB if size_gb is None else size_gb, N_LAYERS if n_layers is None else n_layers)
        return partial(write_gpt_oss, architecture=architecture)
    for option, value, what in (("--size-gb", size_gb, "size"), ("--layers", n_layers, "number of layers")):
        if value is not None:
            raise SettingsError(f"{option}: {kind} has one {what} only; leave the option out, or write gpt-oss")
    from tracegen.measure.demo.models import write_demo_model

    shape: dict[str, Any] = {"dtype": dtype} if dtype else {}
    return partial(write_demo_model, kind, **shape)
