"""`tracegen run`: runs an experiment `repeat` times under the tracer, and stores each run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracegen.cli.arguments import PLACE, WHOLE, Verb, experiment_names
from tracegen.contract.errors import CheckError, EnvironmentFailure, SettingsError, TracegenError
from tracegen.contract.text import visible
from tracegen.reading.folders import EXPERIMENTS

if TYPE_CHECKING:
    from tracegen.contract.experiment import Experiment
    from tracegen.contract.matrix import Matrix
    from tracegen.contract.model import Run
    from tracegen.measure.runs.matrix_runs import Outcome, Todo

TOKENS, QUICK = 5, "quick"
LAST = 6  # lines of a program that failed
_WITH_A_MATRIX = "--plan, --yes, --again, --repeat, --executor and --llama-cpp"
MANY = 100  # runs of a matrix; before more of them are made, the user is asked


@click.command("run", cls=Verb)
@click.argument("experiment", metavar="[NAME|PATH]", required=False, shell_complete=experiment_names)
@click.option("--model", metavar="FILE")
@click.option("--prompt", metavar="TEXT")
@click.option(
    "-n", "--tokens", type=WHOLE, metavar="N", help=f"Without an experiment: tokens to generate (default {TOKENS})."
)
@click.option(
    "--name", metavar="NAME", help=f"Without an experiment: the name to store the run under (default {QUICK})."
)
@click.option("--chat", is_flag=True, default=None)
@click.option("--threads", type=WHOLE, metavar="N")
@click.option("--context", type=WHOLE, metavar="N")
@click.option("--llama-cpp", metavar="FOLDER", type=PLACE)
@click.option("--repeat", type=WHOLE, metavar="N")
@click.option("--plan", is_flag=True)
@click.option(
    "--yes",
    is_flag=True,
    help=f"Ask nothing: make a matrix of over {MANY} runs, and agree to what its flags do.",
)
@click.option("--again", is_flag=True)
@click.option("--executor", metavar="ADDRESS")
@click.option("--publish", is_flag=True)
@click.option("-m", "--message", metavar="WHY")
def command(
    experiment: str | None,
    llama_cpp: str | None,
    repeat: int | None,
    plan: bool,
    yes: bool,
    again: bool,
    executor: str | None,
    publish: bool,
    message: str | None,
    **quick: Any,
) -> int:
    """Run the experiment; print the verdict and the folder of each run."""
    if publish and not message:
        raise SettingsError("--publish: state why with -m")
    if message and not publish:
        raise SettingsError("-m: states why a run is published; add --publish")
    from tracegen.contract.matrix import read_matrix, with_repeat
    from tracegen.contract.settings import check_repeat
    from tracegen.publishing.experiments import refuse_same_name

    given = {option for option, value in quick.items() if value is not None}
    file = None if experiment is None else experiment_file(experiment)
    if file is not None and (matrix := read_matrix(file)) is not None:
        if publish or given:
            raise SettingsError(f"{experiment}: has a matrix; only {_WITH_A_MATRIX} go with it")
        where = file.parent
        refuse_same_name(where)
        matrix = with_repeat(matrix, repeat)
        if not plan:
            asked = [line for cell in matrix.cells for line in questions_of(cell.experiment, where)]
            programs = [cell.program for cell in matrix.cells if cell.program is not None]
            agree(
                [*asked, *(f"llama_cpp = {folder}: runs the programs in that folder" for folder in programs)], yes=yes
            )
        return make_matrix(matrix, where, llama_cpp, plan=plan, yes=yes, again=again, executor=executor)
    if plan or again or executor:
        raise SettingsError(
            "--plan, --again, --executor: need an experiment with a matrix; add the table [matrix] to it"
        )
    chosen, folder = _from_options(**quick) if file is None else _from_file(file, given)
    refuse_same_name(folder)
    agree(questions_of(chosen, folder), yes=yes)
    if repeat is not None:
        check_repeat(repeat)
        chosen = replace(chosen, repeat=repeat)
    if publish and chosen.repeat > 1:
        raise SettingsError(
            f"--publish: publishes a single run, but this command makes {chosen.repeat}; publish one of them "
            f"afterwards: tracegen publish {chosen.name} RUN"
        )
    before = _newest_model(folder) if experiment is None else None
    runs = _run_all(chosen, folder, llama_cpp)
    model_file = runs[0].facts.model.file if runs else None
    if before and model_file and before != model_file:
        print(f"{folder} has runs of {visible(Path(before).name)} too; --name keeps runs of each model apart")
    if publish:
        from tracegen.cli.commands.publish import print_published

        print_published(folder, runs[0], message or "")
    return _status(runs)


def make_matrix(
    matrix: Matrix,
    folder: Path,
    llama_cpp: str | None,
    *,
    plan: bool,
    yes: bool,
    again: bool,
    executor: str | None = None,
) -> int:
    """Print the plan of a matrix, and make the runs that are missing; print each, and all cells at the end.

    `executor`: a scheduler whose workers make them; None: this machine.
    """
    from tracegen.measure.runs.matrix_runs import todo
    from tracegen.measure.runs.series import matrix_text, outcome_text, plan_text

    needed = todo(matrix, folder, again=again)
    print(plan_text(matrix, needed), flush=True)
    if plan:
        return 0
    n = len(needed.missing)
    if n > MANY and not yes:
        _ask(f"Make {n} runs?", f"the matrix has {n} runs to make; add --yes to make more than {MANY}")
    runs, failed = list(needed.stored), []
    try:
        for outcome in _outcomes(needed, folder, llama_cpp, executor):
            print(outcome_text(outcome), flush=True)
            runs += [outcome.run] if outcome.run and outcome.usable else []
            failed += [] if outcome.usable else [outcome]
    finally:  # also after Ctrl-C: stored runs count, and the same command goes on with the others
        if runs or failed:
            print(matrix_text(matrix, runs, failed), flush=True)
    if failed:
        raise CheckError(f"{len(failed)} of {n} runs failed; the same command tries them again")
    return 0


def _outcomes(needed: Todo, folder: Path, llama_cpp: str | None, executor: str | None) -> Iterator[Outcome]:
    """Make the runs on this machine, or on those behind a scheduler."""
    from tracegen.measure.runs.matrix_runs import Here, carry_out
    from tracegen.storing.progress import Progress

    progress = Progress()
    if executor is None:
        yield from carry_out(needed, Here(folder, progress, llama_cpp), progress)
        return
    from tracegen.measure.runs.cluster import cluster

    with cluster(executor, folder, progress, needed, llama_cpp) as machines:
        yield from carry_out(needed, machines, progress)


def questions_of(experiment: Experiment, folder: Path) -> list[str]:
    """What of the experiment's flags must be agreed to; its project is the folder that holds `experiments`."""
    from tracegen.contract.llama_flags import questions

    folder = folder.absolute()
    return questions(experiment.flags, folder.parent.parent if folder.parent.name == "experiments" else folder)


def agree(questions: Sequence[str], *, yes: bool) -> None:
    """Show what an experiment does outside of its project, and ask.

    Raises SettingsError if the answer is no, or nobody can answer.
    """
    lines = list(dict.fromkeys(map(visible, questions)))
    if not lines:
        return
    print("The experiment reaches outside of its project:", *(f"  {line}" for line in lines), sep="\n", flush=True)
    if yes:
        return
    _ask(
        "Run it all the same?",
        "it reaches outside of its project, see above; add --yes to agree, or change the experiment",
    )


def _ask(question: str, unanswered: str) -> None:
    """Ask whether to make runs. Raises SettingsError if the answer is no; if nobody can answer, with `unanswered`."""
    if not sys.stdin.isatty():
        raise SettingsError(unanswered)
    if not click.confirm(question):
        raise SettingsError("no run was made")


def _newest_model(folder: Path) -> str | None:
    """The model file of the newest run in an experiment's folder; None without a run."""
    from tracegen.storing import store

    runs = store.run_folders(folder)
    return store.read_run(runs[-1]).facts.model.file if runs else None


def _run_all(experiment: Experiment, folder: Path, llama_cpp: str | None) -> list[Run]:
    """Make the runs, and print the report of each as soon as it is stored."""
    from tracegen.measure.runs.measure import repetitions
    from tracegen.measure.runs.series import series_report
    from tracegen.storing.progress import Progress

    runs: list[Run] = []
    try:
        for run in repetitions(experiment, folder, Progress(), llama_cpp):
            refused = (run.facts.exit_status or 0) > 0 and not _was_stopped(run)
            refuse_failed(run, SettingsError if refused else EnvironmentFailure)
            print(_report(run), flush=True)
            runs.append(run)
    finally:  # also after Ctrl-C or an error: stored runs count
        if experiment.repeat > 1 and runs:
            print(series_report(runs, experiment.repeat), flush=True)
    _print_answer(runs[-1])
    return runs


def print_stored(run: Run) -> int:
    """Print verdict, folder and answer of a run. Returns 0; raises CheckError when the run is not usable."""
    print(_report(run))
    _print_answer(run)
    return _status([run])


def refuse_failed(run: Run, failure: type[TracegenError]) -> None:
    """Print verdict, folder and answer of a run whose program failed, and raise `failure` with its last lines."""
    from tracegen.storing.execute import ending, last_lines

    if run.facts.stopped or not run.facts.exit_status:
        return
    print(_report(run))
    _print_answer(run)
    assert run.folder is not None
    words = last_lines(run.folder / "raw" / "stderr.txt", LAST)
    program = run.facts.command[0]
    how = "stopped after its time limit" if _was_stopped(run) else ending(run.facts.exit_status)
    raise failure(f"{program}: {how}; its run is stored. Its last lines:\n{words}")


def _was_stopped(run: Run) -> bool:
    return run.facts.failure is not None and run.facts.failure.limit_s is not None


def _print_answer(run: Run) -> None:
    """Print what the run answers, if it has findings; its key figures are kept, for `tracegen show`."""
    from tracegen.reading.shown.figures import figures_of_stored

    assert run.folder is not None
    figures = figures_of_stored(run.folder, run)
    if figures["answer"]:
        print(visible(figures["answer"]), flush=True)
    helps = figures["would_help"] or [figures["nothing_would"]]
    for text in filter(None, helps):
        print(f"What would help: {visible(text)}", flush=True)


def _status(runs: Sequence[Run]) -> int:
    unusable = [f"{run.experiment}/{run.name}" for run in runs if run.verdict == "not usable"]
    if unusable:
        raise CheckError(f"{', '.join(unusable)}: not usable; see the failed checks above")
    return 0


def _from_options(
    model: str | None, prompt: str | None, tokens: int | None, name: str | None, **more: Any
) -> tuple[Experiment, Path]:
    """The experiment that the options describe, and its folder; `more`: settings by name. Raises SettingsError."""
    from tracegen.contract.settings import experiment_from

    if not model or prompt is None:
        raise SettingsError("run: name an experiment, or use --model and --prompt")
    question = "What does this model do to memory and disk?"
    settings = {"question": question, "model": model, "prompt": prompt, "tokens": TOKENS if tokens is None else tokens}
    settings |= {key: value for key, value in more.items() if value is not None}
    name = name or QUICK
    if (EXPERIMENTS / name / "experiment.toml").is_file():
        raise SettingsError(
            f"--name: {EXPERIMENTS / name} has an experiment.toml, which `tracegen run {name}` runs; choose another "
            "name"
        )
    return experiment_from(name, settings, Path.cwd()), EXPERIMENTS / name


def _from_file(file: Path, quick: Set[str]) -> tuple[Experiment, Path]:
    """The experiment of this file, and its folder. Raises SettingsError for options that do not go with it."""
    from tracegen.contract.settings import read_experiment

    if quick & {"model", "prompt"}:
        raise SettingsError("run: name an experiment, or use --model and --prompt, not both")
    if quick:
        raise SettingsError(
            "run: -n, --name, --chat, --threads and --context need --model; the settings of an experiment are in its "
            "experiment.toml"
        )
    return read_experiment(file), file.parent


def experiment_file(place: str) -> Path:
    """The experiment.toml that NAME or PATH names. Raises SettingsError, listing the experiments here."""
    path = Path(place)
    for candidate in (path, path / "experiment.toml", EXPERIMENTS / place / "experiment.toml"):
        if candidate.is_file() and candidate.suffix == ".toml":
            return candidate
    known = ", ".join(sorted(p.parent.name for p in EXPERIMENTS.glob("*/experiment.toml"))) or "none"
    if (EXPERIMENTS / place).is_dir():
        raise SettingsError(f"{EXPERIMENTS / place}: has no experiment.toml; write one, or use --model and --prompt")
    raise SettingsError(f"{place}: there is no such experiment; experiments here: {known}")


def _report(run: Run) -> str:
    lines = []
    for c in run.checks:
        why = f"; {c.detail}" if c.state == "failed" and c.detail else ""
        lines += [f"{c.state}: {c.title}: {c.found} (limit: {c.limit}){why}"] if c.state != "passed" else []
    n = sum(check.state == "passed" for check in run.checks)
    lines.append(f"{n} of {len(run.checks)} checks passed: {run.verdict}")
    lines.append(f"stored in {run.folder}; look at it: tracegen show {run.folder}")
    return "\n".join(lines)
