"""`tracegen tensors`: lists the tensors of a GGUF file with their offsets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracegen.cli.arguments import PATH, Verb
from tracegen.cli.columns import aligned
from tracegen.contract.quantities import trimmed

if TYPE_CHECKING:
    import pandas as pd

    from tracegen.readers.gguf.file import Model


@click.command("tensors", cls=Verb, exclusive=(("as_csv", "as_json"),))
@click.argument("file", metavar="FILE", type=PATH)
@click.option("--csv", "as_csv", is_flag=True)
@click.option("--json", "as_json", is_flag=True)
def command(file: Path, as_csv: bool, as_json: bool) -> int:
    """Print the tensors as text, CSV or JSON."""
    from tracegen.readers.gguf.file import read_model
    from tracegen.storing.progress import Progress

    progress = Progress()
    model = read_model(file, progress.later("read the list of tensors"))
    progress.done()
    print(_as_csv(model) if as_csv else _as_json(model) if as_json else _as_text(model))
    return 0


def _as_csv(model: Model) -> str:
    table = _listing(model)
    for column in ("name", "file"):
        table[column] = table[column].map(_escaped)
    text: str = table.to_csv(index=False, lineterminator="\n")
    return text.rstrip("\n")


def _as_json(model: Model) -> str:
    from tracegen.contract.tables import records

    return json.dumps(records(_listing(model)), indent=1, ensure_ascii=True, default=int)


def _listing(model: Model) -> pd.DataFrame:
    """The table `tensors` with file names instead of file numbers."""
    table = model.tensors.copy()
    table["file"] = table["file"].map(model.files.set_index("file")["path"])
    return table


def _as_text(model: Model) -> str:
    """The tensors as aligned columns, then the sums by component."""
    tensors = model.tensors
    shapes = tensors[["ne0", "ne1", "ne2", "ne3"]].itertuples(index=False)
    columns: dict[str, Iterable[object]] = {
        "file": tensors["file"],
        "offset": tensors["offset"],
        "size_bytes": tensors["size_bytes"],
        "dtype": tensors["dtype"],
        "shape": [" × ".join(map(str, trimmed(shape, 1))) for shape in shapes],
        "layer": [
            "" if unknown else layer for layer, unknown in zip(tensors["layer"], tensors["layer"].isna(), strict=True)
        ],
        "component": tensors["component"],
        "name": tensors["name"].map(_escaped),
    }
    lines = [_title(model), "", *_files(model), ""]
    lines += [*aligned(columns.items(), right=("file", "offset", "size_bytes", "layer")), ""]
    return "\n".join([*lines, *_summary(tensors)])


def _title(model: Model) -> str:
    facts = [model.architecture, model.name, *(("random weights",) if model.random_weights else ())]
    counts = ((model.n_layers, "layers"), (model.n_experts, "experts"), (model.n_experts_used, "used"))
    words = [_escaped(fact) for fact in facts if fact] + [f"{n} {what}" for n, what in counts if n is not None]
    return " · ".join([*words, f"{len(model.tensors)} tensors"])


def _files(model: Model) -> list[str]:
    names = model.files[["file", "path", "size_bytes"]].itertuples(index=False)
    return [f"file {number}: {_escaped(path)}, {size:,} bytes" for number, path, size in names]


def _summary(tensors: pd.DataFrame) -> Iterator[str]:
    sums = tensors.groupby("component", observed=True)["size_bytes"].agg(["size", "sum"])
    sums.loc["all"] = sums.sum()
    share = 100 * sums["sum"] / max(int(tensors["size_bytes"].sum()), 1)
    columns: dict[str, Iterable[object]] = {
        "component": sums.index,
        "tensors": sums["size"],
        "size_bytes": sums["sum"],
        "share": [f"{percent:.1f} %" for percent in share],
    }
    return aligned(columns.items(), right=("tensors", "size_bytes", "share"))


def _escaped(text: str) -> str:
    """The text with control and format characters escaped, so that it cannot control a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
