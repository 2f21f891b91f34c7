"""`tracegen import`: makes a run of a trace that another tool recorded."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from tracegen.cli.arguments import PATH, Verb, experiment_names
from tracegen.contract.errors import SettingsError
from tracegen.contract.text import visible
from tracegen.reading.folders import EXPERIMENTS

# Named here, as the modules that read them load slowly; a test holds that these are the formats and tables.
FORMATS = {
    "tensor_trace": "tensor_trace.bin with 64, 128, 256 or 1,024 bytes a record",
    "ggmlviz": "a .ggmlviz file of ggml-viz",
    "trace_json": "the exported JSON of the older tools",
    "opencl": "cl_profiling.csv of llama.cpp's OpenCL backend",
    "scheduler": "the JSON of the proposed profiler of ggml's scheduler (#21160)",
    "nsys": "the SQLite export of Nsight Systems",
}
OP_TABLES = ("2025-07", "2026-01", "2026-11")


@click.command("import", cls=Verb)
@click.argument("sources", metavar="SOURCE", nargs=-1, required=True, type=PATH)
@click.option("--as", "name", metavar="EXPERIMENT", shell_complete=experiment_names)
@click.option(
    "--format",
    "role",
    type=click.Choice(tuple(FORMATS)),
    help="The format of the trace, where several lie together. "
    + "; ".join(f"{key}: {meaning}" for key, meaning in FORMATS.items())
    + ".",
)
@click.option("--op-table", type=click.Choice(OP_TABLES))
@click.option("--model", metavar="FILE", type=PATH)
def command(
    sources: Sequence[Path], name: str | None, role: str | None, op_table: str | None, model: Path | None
) -> int:
    """Find the files, make the run, and print what it lacks."""
    from tracegen.cli.commands.run import print_stored
    from tracegen.contract.settings import check_name
    from tracegen.foreign import importing
    from tracegen.foreign.selection import default_name, found_in, settings_in
    from tracegen.measure.capture.hashing import hash_files
    from tracegen.publishing.experiments import refuse_same_name
    from tracegen.storing.progress import Progress

    for source in sources:
        if not source.exists():
            raise SettingsError(f"{source}: there is no such file or folder; check the path")
    progress = Progress()
    settings = settings_in(sources)
    if settings is not None:
        return _new_experiment(settings, check_name(name) if name is not None else default_name(sources))
    wanted = found_in(sources, model, role, op_table, progress.later("read the model"))
    progress.done()
    experiment = check_name(name) if name is not None else default_name(sources)
    refuse_same_name(EXPERIMENTS / experiment)
    hashes: Sequence[str] = ()
    if wanted.model is not None:
        progress.step("hash model")
        hashes = hash_files(wanted.model.paths, progress)
    run, known = importing.import_run(experiment, EXPERIMENTS / experiment, wanted, progress, hashes)
    for line in (run.facts.imported and run.facts.imported.left_out) or ():
        print(f"left out: {visible(line)}", file=sys.stderr)
    if known:
        print(f"imported before, as {run.experiment}/{run.name}")
    elif (EXPERIMENTS / experiment / "experiment.toml").exists():
        print(f"{experiment}/experiment.toml holds settings that this run does not have; --as names another experiment")
    return print_stored(run)


def _new_experiment(settings: Path, name: str) -> int:
    """Write the experiment that a settings.json describes. Raises SettingsError when there is one of this name."""
    from tracegen.contract.documents import parse_toml
    from tracegen.contract.settings import experiment_from
    from tracegen.foreign import older_settings
    from tracegen.foreign.folder import whole
    from tracegen.foreign.json_text import parse_json
    from tracegen.foreign.source import opened
    from tracegen.publishing.experiments import refuse_same_name
    from tracegen.storing.store import write_text

    with opened(settings) as file:
        text, ignored = older_settings.as_toml(settings.name, parse_json(settings.name, whole(file)))
    folder = EXPERIMENTS / name
    refuse_same_name(folder)
    target = folder / "experiment.toml"
    if target.exists():
        raise SettingsError(f"{target}: exists already; choose another name with --as")
    experiment_from(name, parse_toml(text, str(target)), folder)  # refuses what no experiment can be
    for line in ignored:
        print(f"left out: {visible(line)}", file=sys.stderr)
    write_text(target, text)
    print(f"written: {target}; look at it, then: tracegen run {name}")
    return 0
