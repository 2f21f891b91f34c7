"""`tracegen check`: says what a thesis or another text says of versions that is no longer true."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracegen.cli.arguments import PATH, Verb
from tracegen.contract.errors import CheckError, SettingsError
from tracegen.contract.text import visible

if TYPE_CHECKING:
    from tracegen.site.references import References
    from tracegen.site.thesis.documents import Document
    from tracegen.site.thesis.findings import Finding


@click.command("check", cls=Verb, exclusive=(("as_json", "fix"),))
@click.argument("paths", metavar="PATH…", nargs=-1, required=True, type=PATH)
@click.option("--json", "as_json", is_flag=True)
@click.option("--fix", is_flag=True)
@click.option("--all", "every", is_flag=True)
@click.option("--experiments", metavar="FOLDER", type=PATH, default=Path("experiments"), show_default=True)
def command(paths: tuple[Path, ...], as_json: bool, fix: bool, every: bool, experiments: Path) -> int:
    """Print what is no longer true, or never was."""
    from tracegen.site.thesis import stamped
    from tracegen.site.thesis.documents import documents

    figures = [path for path in paths if path.suffix.lower() in stamped.SUFFIXES and not path.is_dir()]
    read = documents([path for path in paths if path not in figures])
    known = known_versions(experiments)
    found = _found(known, read, experiments)
    found += [one for path in figures for one in stamped.stamped(known, path)]
    if as_json:
        print(json.dumps([one.data for one in found], indent=1))
    else:
        _print(read, found, every)
    if fix:
        _fix(found)
    if n := sum(one.misleads for one in found):
        raise CheckError(
            f"{n} of {len(found)} places would mislead a reader" if n > 1 else "one place would mislead a reader"
        )
    return 0


def known_versions(experiments: Path) -> References:
    """All published versions, newest first of each experiment. Raises SettingsError where there is no such folder."""
    from tracegen.publishing.experiments import is_experiment
    from tracegen.publishing.versions import read_published
    from tracegen.site.references import references

    if not experiments.is_dir():
        raise SettingsError(
            f"{experiments}: is not a folder; go to the folder of the site, or name it: --experiments FOLDER"
        )
    folders = sorted(folder for folder in experiments.iterdir() if folder.is_dir() and is_experiment(folder))
    return references(published for folder in folders for published in read_published(folder, None))


def _found(known: References, read: Sequence[Document], experiments: Path) -> list[Finding]:
    from tracegen.site.thesis.claims import claims
    from tracegen.site.thesis.findings import findings_of
    from tracegen.site.thesis.numbers import typed_numbers

    found: list[Finding] = []
    for document in read:
        of = [*findings_of(known, document), *typed_numbers(known, document), *claims(known, document, experiments)]
        found += sorted(of, key=lambda one: (one.place.line, one.place.cell))
    return found


def _print(read: Sequence[Document], found: Sequence[Finding], every: bool) -> None:
    from tracegen.site.thesis.findings import COUNTED, summary
    from tracegen.site.thesis.stamped import SUFFIXES

    for document in read:
        if document.note:
            print(visible(f"{document.path}: {document.note}"))
    for one in found:
        if every or one.state not in COUNTED or one.place.path.suffix.lower() in SUFFIXES:
            print(visible(f"{one.place}: {one.state}: {one.written}"))
            if one.why:
                print(visible(f"    {one.why}"))
    print(summary(found))


def _fix(found: Sequence[Finding]) -> None:
    from tracegen.site.thesis.fixing import fixes

    n = 0
    for one in fixes(found):
        print("\n".join(visible(line) for line in one.difference.splitlines()))
        one.write()
        n += one.n
    print(f"{n} places moved to the newer version" if n else "nothing is safe to move")
