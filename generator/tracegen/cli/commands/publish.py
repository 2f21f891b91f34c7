"""`tracegen publish`: freezes a run as a version that can be cited, or withdraws a version."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracegen.charts.engine import refuse_few_addresses
from tracegen.cli.arguments import Converted, Verb, run_names
from tracegen.contract import address
from tracegen.contract.errors import SettingsError
from tracegen.contract.model import Run, cell_name
from tracegen.publishing import privacy
from tracegen.publishing import versions as publish
from tracegen.publishing.bundle import read_bundle
from tracegen.publishing.experiments import refuse_same_name
from tracegen.publishing.exposed import HISTORY, exposed
from tracegen.publishing.freeze import freeze
from tracegen.publishing.public_form import public_form
from tracegen.storing import store

if TYPE_CHECKING:
    from tracegen.publishing.side import Side

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def _number(text: str) -> int:
    match = re.fullmatch(r"v?(\d+)", text)
    if not match:
        raise ValueError(f"{text!r} is not a version; write 2 or v2")
    return int(match[1])


VERSION = Converted("version", _number)


@click.command("publish", cls=Verb)
@click.argument("experiment", metavar="NAME", shell_complete=run_names)
@click.argument("runs", metavar="[RUN]", nargs=-1)
@click.option("-m", "--message", metavar="WHY", required=True)
@click.option("--withdraw", metavar="N", type=VERSION)
@click.option("--successor", metavar="M", type=VERSION)
@click.option("--matrix", is_flag=True)
@click.option("--again", is_flag=True)
def command(
    experiment: str,
    runs: tuple[str, ...],
    message: str,
    withdraw: int | None,
    successor: int | None,
    matrix: bool,
    again: bool,
) -> int:
    """Publish or withdraw, and print the citation and the folder."""
    name, named = address.split_run(experiment)
    folder = _experiment_folder(name)
    now = datetime.now(UTC)
    if successor is not None and withdraw is None:
        raise SettingsError("--successor: is allowed only with --withdraw; add it, or leave --successor out")
    if matrix and (runs or named or withdraw is not None):
        raise SettingsError("--matrix: publishes a run of each cell; leave --withdraw and the run out")
    if withdraw is not None:
        if runs or named:
            raise SettingsError("--withdraw: takes a version and no runs; leave the run out")
        publish.withdraw(folder, withdraw, message, successor, now, again=again)
        version = folder / "versions" / str(withdraw)
        if secrets := exposed(read_bundle(version)) if version.is_dir() else []:
            print(f"{folder.name}@v{withdraw} holds what looks like secrets: {', '.join(secrets)}.")
        print(f"{folder.name}@v{withdraw} is withdrawn. Its pages stay, and say so after the next `tracegen build`.")
        print(HISTORY.format(path=f"experiments/{folder.name}/versions/{withdraw}"))
        return 0
    refuse_same_name(folder)
    refuse_few_addresses()
    if matrix:
        return _publish_matrix(folder, message, now, again=again)
    chosen = _chosen_run(folder, [*([named] if named else []), *runs])
    print_published(folder, chosen, message, now, again=again)
    return 0


def _publish_matrix(folder: Path, message: str, now: datetime, *, again: bool) -> int:
    """Publish the run of median speed of every cell of the newest matrix, and print one line for each."""
    from tracegen.comparing.sides import cells_of

    cells = sorted(cells_of(folder.name, folder.parent), key=_in_file(folder))
    if not cells:
        raise SettingsError(f"{folder.name}: has no usable run of a matrix; `tracegen run {folder.name}` makes them")
    shown: frozenset[str] = frozenset()
    newest = max((run for cell in cells for run in cell.runs), key=lambda run: run.created)
    of, n = newest.facts.slot.of if newest.facts.slot else 0, sum(len(cell.runs) for cell in cells)
    if n < of:
        print(f"warning: {n} of the {of} runs of the matrix are usable; `tracegen run {folder.name}` makes the others")
    for cell in cells:
        chosen = _typical(folder, cell)
        runs = ", ".join(sorted(run.name.rpartition("/")[2] for run in cell.runs))
        print(_CONTROL.sub("�", f"{cell.name}: {runs}; {chosen.name} has the median speed"))
        citation = publish.published_as(folder, chosen, publish.read_ledger(folder))
        if citation and not again:
            print(f"it is published already, as {citation}; --again publishes it once more")
            continue
        shown = print_published(folder, chosen, message, now, again=again, shown=shown)
    if len(cells) > 1:
        print("The next `tracegen build` compares these versions, factor by factor.")
    return 0


def _in_file(folder: Path) -> Callable[[Side], int]:
    """The place of a cell in the settings of its experiment; behind all others where they have no such cell."""
    from tracegen.contract.matrix import read_matrix

    file = folder / "experiment.toml"
    matrix = read_matrix(file) if file.is_file() else None
    places = {cell.name: n for n, cell in enumerate(matrix.cells)} if matrix else {}
    return lambda cell: places.get(cell_name(cell.runs[0].factors), len(places))


def print_published(
    folder: Path,
    chosen: Run,
    message: str,
    now: datetime | None = None,
    *,
    again: bool = False,
    shown: frozenset[str] = frozenset(),
) -> frozenset[str]:
    """Publish a run, and print which checks did not pass, what became public, the citation and the folder.

    Lines in `shown` are not printed again; returns them with those that were printed.
    """
    version = freeze(folder, chosen, message, now or datetime.now(UTC), again=again)
    assert chosen.folder is not None
    stored = public_form(chosen, chosen.folder).stored
    for check in stored.checks:
        if check.state in ("warning", "failed"):
            limit = f" (limit: {check.limit})" if check.limit else ""
            print(_CONTROL.sub("�", f"{check.state}: {check.title}: {check.found}{limit}"))
    lines = [*privacy.public_summary(stored), _cited(folder), *_despite_umask()]
    print("This became public too:" if shown else "This became public:")
    for line in lines:
        if line not in shown:
            print(f"  {_CONTROL.sub('�', line)}")
    if version.verdict == "not usable":
        print("The verdict is `not usable`: every page of the version says so.")
    print(f"{version.citation}  {version.folder}")
    return shown | set(lines)


def _cited(folder: Path) -> str:
    """Whom the citation of a version names, and where to set what it lacks."""
    facts = publish.cited_with(folder, "vN")
    keys = {"author": "site_author", "url": "site_url", "licence": "extra: licence"}
    named = [f"{what} {facts[what]}" for what in ("author", "licence") if what in facts]
    if "url" in facts:
        named.append(f"address {facts['url'].partition('/experiments/')[0]}")
    missing = ", ".join(key for what, key in keys.items() if what not in facts)
    lacks = f"; not stated: {missing} (set them in mkdocs.yml before the next version)" if missing else ""
    return f"a citation, with {', '.join(named) or 'neither author nor address nor licence'}{lacks}"


def _despite_umask() -> list[str]:
    """What becomes public although the umask would keep new files from other users."""
    umask = os.umask(0o077)
    os.umask(umask)
    return (
        [f"the version's files, to all users of this machine, though the umask is {umask:03o}"] if umask & 0o055 else []
    )


def _experiment_folder(name: str) -> Path:
    for folder in (Path("experiments") / name, Path(name)):
        if folder.is_dir():
            return folder.resolve()
    raise SettingsError(f"{name}: there is no such experiment: neither experiments/{name} nor {name} is a folder")


def _chosen_run(folder: Path, numbers: list[str]) -> Run:
    if len(numbers) > 1:
        raise SettingsError(f"{len(numbers)} runs were named, but a version is made of one run; name one")
    runs = {int(path.name): path for path in store.run_folders(folder)}
    if not runs:
        raise SettingsError(f"{folder}: has no run yet; `tracegen run` or `tracegen exec` records one")
    wanted = max(runs)
    if numbers:
        number = address.run_number(numbers[0])
        if number not in runs:
            there = ", ".join(f"{known:03d}" for known in sorted(runs))
            raise SettingsError(f"{folder.name}: has no run {numbers[0]!r}; its runs are {there}")
        wanted = number
    chosen = store.read_run(runs[wanted])
    repeated = chosen.facts.slot or chosen.facts.repetition
    return chosen if numbers or chosen.verdict == "not usable" or not repeated else _of_median_speed(folder, wanted)


def _of_median_speed(folder: Path, newest: int) -> Run:
    """The run of median speed among the repeats of the newest one."""
    from tracegen.publishing.measured import repeats_of

    repeats = repeats_of(folder / "runs" / f"{newest:03d}")
    typical = _typical(folder, repeats)
    names = f"{repeats.runs[0].name} to {repeats.runs[-1].name}"
    print(f"Of {len(repeats.runs)} runs with the same settings ({names}), {typical.name} has the median speed: its")
    print("pages are drawn, and the version holds the measures of all of them. Name a run to publish another one.")
    return typical


def _typical(folder: Path, repeats: Side) -> Run:
    """The stored run of median speed among runs that repeat each other."""
    return store.read_run(folder / "runs" / repeats.typical.name.rpartition("/run-")[2])
