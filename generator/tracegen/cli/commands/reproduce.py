"""`tracegen reproduce`: runs a published version again, and says whether it came out the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracegen.cli.arguments import PATH, PLACE, WHOLE, Verb, run_names
from tracegen.cli.columns import aligned
from tracegen.contract.errors import CheckError, SettingsError
from tracegen.contract.text import visible
from tracegen.storing.resources import LOCAL

if TYPE_CHECKING:
    from tracegen.comparing.reproduced import Reproduced
    from tracegen.contract.experiment import Experiment
    from tracegen.contract.facts import Facts
    from tracegen.contract.model import Run

RUNS = 3
FOLDER = LOCAL / "reproduced"


@click.command("reproduce", cls=Verb)
@click.argument("version", metavar="NAME@vN|ARCHIVE", shell_complete=run_names)
@click.argument("claims", metavar="[CLAIM]...", nargs=-1)
@click.option("--repeat", type=WHOLE, metavar="N", default=RUNS, show_default=True)
@click.option("--model", type=PATH, metavar="FILE")
@click.option("--llama-cpp", metavar="FOLDER", type=PLACE)
@click.option("--json", "as_json", is_flag=True)
@click.option("--yes", is_flag=True)
def command(
    version: str,
    claims: tuple[str, ...],
    repeat: int,
    model: Path | None,
    llama_cpp: str | None,
    as_json: bool,
    yes: bool,
) -> int:
    """Run the version again; print what came out the same, and write a certificate."""
    from tracegen.comparing import reproduced
    from tracegen.comparing.comparison import compare
    from tracegen.comparing.sides import side_of
    from tracegen.contract.settings import check_repeat
    from tracegen.publishing.bundle import read_bundle
    from tracegen.publishing.citation import hash_of_manifest
    from tracegen.publishing.errata import errata_of
    from tracegen.publishing.measured import side
    from tracegen.reading.folders import version_folder
    from tracegen.reading.model_file import model_file
    from tracegen.storing import store

    check_repeat(repeat)
    archive = Path(version) if Path(version).suffix == ".zip" or Path(version).is_file() else None
    folder, own = (version_folder(version), "") if archive is None else _unpacked(archive)
    if folder is None:
        raise SettingsError(f"{version}: names no version; write NAME@v2, or the file of its archive")
    published = side_of(str(folder))
    reproduced.claimed(reproduced.outcomes(compare(published, published)), claims)  # a wrong name, before an hour
    facts = published.typical.facts
    citation = published.name
    experiment_folder = folder.resolve().parents[1]  # a project has models/ beside experiments/
    around = [Path("models"), experiment_folder, experiment_folder.parents[1] / "models"]
    experiment = reproduced.experiment_of(citation, facts, model_file(citation, facts, model, around))
    if dropped := reproduced.dropped_settings(facts):
        left = f"recorded settings that this tracegen has not, and leaves out: {'; '.join(dropped)}"
        print(f"{citation}: {left}", file=sys.stderr)
    where = FOLDER / f"{experiment.name}{own}"
    runs = _runs(experiment, where, repeat, llama_cpp, yes=yes)
    _refuse_another_model(citation, facts, runs)
    comparison = compare(published, side("run again", [run.folder for run in runs if run.folder]))
    every = reproduced.outcomes(comparison)
    found = reproduced.claimed(every, claims)
    left_out = len(every) - len(found)
    place = where / "claims" if claims else where  # a certificate of all measures is not replaced by one of some
    place.mkdir(exist_ok=True)
    document = read_bundle(folder).document
    content = hash_of_manifest(document["manifest"])
    faults = errata_of(str(document.get("generator", "")), created=str(document.get("created", "")))
    known = [fault.title for fault in faults]
    text = reproduced.certificate(citation, comparison, found, known, left_out, content, dropped)
    store.write_text(place / "certificate.md", text)
    outcome = {"content": content, **reproduced.as_json(citation, found, left_out), "settings_left_out": dropped}
    store.write_text(place / "certificate.json", json.dumps(outcome, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(outcome, indent=1, ensure_ascii=False) if as_json else _report(found, place))
    if failed := reproduced.failed(found):
        raise CheckError(f"{citation}: {len(failed)} of {len(found)} measures came out otherwise")
    if not outcome["reproduced"]:
        raise CheckError(f"{citation}: none of the measures could be judged; see {place / 'certificate.md'}")
    return 0


def _unpacked(archive: Path) -> tuple[Path, str]:
    """The folder of the version in an archive, unpacked beside the runs and checked whole; and what names the archive.

    Runs of another archive with a version of the same name and number are others.
    """
    from tracegen.publishing.archives import unpacked

    with unpacked(archive, FOLDER) as got:
        version, own = got.published.version, f"-{got.sha256[:12]}"
        if version.status == "withdrawn":
            print(f"{version.citation}: its author withdrew it: {visible(got.published.reason)}", file=sys.stderr)
        place = FOLDER / f"{version.citation.replace('@', '-')}{own}-archive"
        if not place.exists():
            got.folder.rename(place)
    return place / "experiments" / version.experiment / "versions" / str(version.number), own


def _runs(experiment: Experiment, where: Path, repeat: int, llama_cpp: str | None, *, yes: bool) -> list[Run]:
    """At least `repeat` usable runs: those of an earlier call, and new ones. Raises CheckError if one is not usable."""
    from tracegen.cli.commands.run import agree, questions_of
    from tracegen.measure.runs.measure import measure
    from tracegen.storing import store
    from tracegen.storing.progress import Progress

    where.mkdir(parents=True, exist_ok=True)
    agree(questions_of(experiment, where), yes=yes)
    stored = [store.read_run(path) for path in store.run_folders(where)]
    runs = [run for run in stored if run.verdict != "not usable"]
    progress = Progress()
    while len(runs) < repeat:
        progress.say(f"run {len(runs) + 1} of {repeat}")
        run = measure(experiment, where, progress, llama_cpp)
        if run.verdict == "not usable":
            failed = "; ".join(check.title for check in run.checks if check.state == "failed")
            raise CheckError(f"{run.folder}: is not usable ({failed}); it was not compared")
        runs.append(run)
    return runs


def _refuse_another_model(citation: str, facts: Facts, runs: list[Run]) -> None:
    wanted = facts.model.sha256
    others = {run.facts.model.sha256 for run in runs} - {wanted}
    if others:
        raise SettingsError(
            f"{citation}: was made with another model (SHA-256 {wanted}) than {', '.join(map(str, others))}; name it: "
            "--model FILE"
        )


def _report(found: list[Reproduced], where: Path) -> str:
    from tracegen.comparing import reproduced

    heads = ("measure", "published", "run again", "outcome")
    rows = [tuple(map(visible, one.row)) for one in found if one.outcome != "equal"]
    lines = aligned(zip(heads, zip(*rows, strict=True), strict=True)) if rows else ()
    return "\n".join([*lines, reproduced.summary(found), f"certificate: {where / 'certificate.md'}"])
