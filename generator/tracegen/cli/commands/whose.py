"""`tracegen whose`: names the version that a figure, a table or a number came from."""

from __future__ import annotations

from pathlib import Path

import click

from tracegen.cli.arguments import PATH, Verb
from tracegen.contract.errors import CheckError
from tracegen.contract.text import visible


@click.command("whose", cls=Verb)
@click.argument("what", metavar="FILE|VALUE")
@click.option("--experiments", metavar="FOLDER", type=PATH, default=Path("experiments"), show_default=True)
def command(what: str, experiments: Path) -> int:
    """Print each version that holds the file, or a figure that the file includes, or has the value."""
    from tracegen.cli.commands.check import known_versions
    from tracegen.site.thesis.stamped import SUFFIXES, of_file, of_value, stamps_of

    known, path = known_versions(experiments), Path(what)
    if path.is_file():
        lines = [f"{p.version.citation} ({p.version.status}): {name}" for p, name in of_file(known, path)]
        if not lines and path.suffix.lower() in SUFFIXES:
            named = [(known.published.get(of.version), of.figure) for of in stamps_of(path)]
            text = "says that it is figure {}; `tracegen check` compares it"
            lines = [f"{p.version.citation} ({p.version.status}): {text.format(key)}" for p, key in named if p]
    else:
        found = of_value(known, what)
        lines = [f"{p.version.citation} ({p.version.status}): {key} = {text}" for p, key, text in found]
    for line in lines:
        print(visible(line))
    if not lines:
        kind = "holds this file" if path.is_file() else "has this value, and there is no such file"
        raise CheckError(f"{what}: no published version {kind}")
    return 0
