"""`tracegen export`: writes a run or version in the format of another tool."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracegen.cli.arguments import PATH, Converted, Verb, run_names
from tracegen.contract.errors import SettingsError, os_errors
from tracegen.storing.store import part_folder

if TYPE_CHECKING:
    from tracegen.export.format import Format, Source
    from tracegen.reading.notebook.loaded import LoadedRun, LoadedVersion

# Named here, as the modules that write them load slowly; a test holds that these are the formats.
MEANING = {
    "perfetto": "a timeline for ui.perfetto.dev, in several files where it is large",
    "parquet": "a folder with each table as Parquet",
    "csv": "a folder with each table as CSV, where an empty cell means not recorded",
    "html": "the first page in its public form as one file, to mail or to attach to an issue",
    "figures": "a folder with the figures of the pages as SVG, PNG, and PDF of 86 and 160 mm",
    "latex": "a folder for a thesis: figures as PDF of 86, 120 and 160 mm, tables, values, BibTeX, a sample",
    "archive": "a version as one ZIP file to deposit: pages, data, hashes, and how to run it again",
    "json": "a folder in the schema of the older tools: traces, graphs, memory map, buffers",
    "dot": "a folder with each graph as a Graphviz file",
    "experts-profile": "how often each expert of each layer was chosen, as one JSON file",
}
_PASSES = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def _passes(text: str) -> range:
    match = _PASSES.fullmatch(text)
    if match is None or int(match[2] or match[1]) < int(match[1]):
        raise ValueError(f"{text!r} is not a pass; write its number, or FIRST-LAST")
    return range(int(match[1]), int(match[2] or match[1]) + 1)


@click.command("export", cls=Verb)
@click.argument("run", metavar="RUN", shell_complete=run_names)
@click.argument(
    "format",
    metavar="FORMAT",
    type=click.Choice(tuple(MEANING)),
    help="What to write. " + "; ".join(f"{key}: {meaning}" for key, meaning in MEANING.items()) + ".",
)
@click.option("--pass", "passes", metavar="K", multiple=True, type=Converted("pass", _passes))
@click.option("--figure", "figures", metavar="KEY", multiple=True)
@click.option("--out", metavar="PATH", type=PATH)
@click.option("--force", is_flag=True)
def command(
    run: str, format: str, passes: Sequence[range], figures: Sequence[str], out: Path | None, force: bool
) -> int:
    """Load the run, write the format beside the target, and move it into place."""
    from tracegen.export.formats import BY_KEY
    from tracegen.reading.folders import version_folder
    from tracegen.reading.notebook.loaded import LoadedVersion, load

    written = BY_KEY[format]
    if passes and written.whole:
        raise SettingsError(f"--pass: {format} shows the whole run; leave it out")
    if figures and format != "figures":
        raise SettingsError(f"--figure: {format} has no figures; leave it out")
    loaded = load(run)
    folder = version_folder(run) or loaded.measured.folder
    assert folder is not None  # a stored run has one
    claims = _claims(loaded.citation, folder) if format == "archive" and isinstance(loaded, LoadedVersion) else ()
    source = replace(_source(loaded, folder, passes), figures=tuple(figures), claims=claims)
    target = out or Path(f"{source.stem}{'' if written.plain else written.suffix or f'-{format}'}")
    _refuse_place(target, force)
    moved = _write(written, source, target, force)
    print(f"{moved}  {_size(moved):,} bytes")
    return 0


def _claims(citation: str, folder: Path) -> Sequence[Mapping[str, object]]:
    """What a version claims: the measures that `tracegen reproduce` judges, each with the command that does.

    One that is not usable, or was published without its tables, claims nothing.
    """
    from tracegen.comparing.comparison import compare
    from tracegen.comparing.reproduced import claims, outcomes
    from tracegen.comparing.sides import side_of

    try:
        side = side_of(str(folder))
    except SettingsError:
        return ()
    return claims(citation, outcomes(compare(side, side)))


def _source(loaded: LoadedRun | LoadedVersion, folder: Path, passes: Sequence[range]) -> Source:
    """What is exported. Raises SettingsError for a pass that the run does not have."""
    from tracegen.export.format import Source, only_passes
    from tracegen.reading.notebook.loaded import LoadedVersion

    run = loaded.measured
    name = loaded.citation if isinstance(loaded, LoadedVersion) else f"{run.experiment}/{run.name}"
    wanted = sorted({number for asked in passes for number in asked[: 1 << 20]}) if passes else None
    if wanted is not None:
        known = set(loaded.tables["passes"]["pass_id"].tolist())
        missing = [number for number in wanted if number not in known]
        if missing:
            raise SettingsError(f"--pass: {name} has no pass {missing[0]}; it has {_range(known)}")
    return Source(name, run, only_passes(loaded.tables, wanted), folder, wanted is not None)


def _range(known: set[int]) -> str:
    return f"the passes {min(known)} to {max(known)}" if known else "no passes"


def _refuse_place(target: Path, force: bool) -> None:
    """Raise SettingsError when the target cannot be written, or exists and `force` does not allow to replace it."""
    if target.is_symlink() or (target.exists() and not target.is_file() and not target.is_dir()):
        raise SettingsError(f"{target}: is not a regular file or folder; choose another name with --out")
    if not target.exists():
        return
    if not force:
        raise SettingsError(f"{target}: exists already; choose another name with --out, or replace it with --force")
    if target.is_dir() and not (target / _MARK).is_file():
        raise SettingsError(f"{target}: was not written by tracegen export, so it is not replaced; remove it yourself")


_MARK = ".tracegen-export"  # in each folder that was written here: only such a folder is replaced


def _write(written: Format, source: Source, target: Path, force: bool) -> Path:
    """Write into a new folder beside the target, then rename. Raises EnvironmentFailure, and then leaves no trace."""
    advice = "free space, or name another place with --out"
    with part_folder(target.parent) as part, os_errors(f"{target}: cannot be written", advice=advice):
        written.write(source, part)
        files = list(part.iterdir())
        if written.suffix is not None and len(files) == 1:
            if target.is_dir():
                shutil.rmtree(target)
            os.replace(files[0], target)
            return target
        folder = target.with_suffix("") if written.suffix is not None else target
        if folder != target:
            _refuse_place(folder, force)
        (part / _MARK).write_text(f"{written.key}\n")
        if folder.is_dir():
            shutil.rmtree(folder)
        elif folder.exists():
            folder.unlink()
        os.rename(part, folder)
        return folder


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() else path.stat().st_size
