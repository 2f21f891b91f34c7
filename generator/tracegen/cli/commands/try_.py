"""`tracegen try`: prints what would help a run, and tries it: runs with and without, in turn."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from tracegen.cli.arguments import PATH, PLACE, WHOLE, Verb, run_names
from tracegen.contract.errors import CheckError, SettingsError
from tracegen.contract.text import visible

if TYPE_CHECKING:
    from tracegen.comparing.trial import Trial
    from tracegen.contract.experiment import Experiment
    from tracegen.contract.facts import Facts
    from tracegen.report.findings.remedies import Advice

PAIRS = 6


@click.command("try", cls=Verb)
@click.argument("run", metavar="RUN", shell_complete=run_names)
@click.option("--run", "number", metavar="K", type=WHOLE)
@click.option("--pairs", type=WHOLE, metavar="N", default=PAIRS, show_default=True)
@click.option("--plan", is_flag=True)
@click.option("--model", type=PATH, metavar="FILE")
@click.option("--llama-cpp", metavar="FOLDER", type=PLACE)
@click.option("--yes", is_flag=True)
def command(
    run: str, number: int | None, pairs: int, plan: bool, model: Path | None, llama_cpp: str | None, yes: bool
) -> int:
    """Print the remedies of the run with what they are predicted to gain; with --run, try one."""
    from tracegen.publishing.tried import tried_of
    from tracegen.reading.folders import EXPERIMENTS
    from tracegen.report.findings.tried import sentence

    named, facts, advice, stop = _advice(run)
    if number is None:
        if plan or model or llama_cpp or yes:
            raise SettingsError("--plan, --model, --llama-cpp, --yes: say how a remedy is tried; add --run K")
        done = tried_of(EXPERIMENTS, named)
        for n, one in enumerate(advice, 1):
            print(visible(f"{n}. {one.text}"), visible(f"   {one.basis}"), sep="\n")
            for tried in done:
                if tried.remedy == one.remedy.key:
                    print(visible(f"   {sentence(tried)}"))
        if not advice:
            print(visible(stop or "The run has no time of threads, so nothing is predicted."))
        elif any(one.remedy.settings for one in advice):
            print(f"Try one: tracegen try {run} --run {_first(advice)}")
        return 0
    if not 1 <= number <= len(advice):
        known = f"it has {len(advice)}: tracegen try {run}" if advice else stop
        raise SettingsError(f"{run}: has no remedy {number}; {known}")
    return _try(named, facts, advice[number - 1], pairs, model, llama_cpp, plan=plan, yes=yes)


def _first(advice: tuple[Advice, ...]) -> int:
    return next(n for n, one in enumerate(advice, 1) if one.remedy.settings)


def _advice(text: str) -> tuple[str, Facts, tuple[Advice, ...], str]:
    """The name of a run or version, its facts, its remedies in words, and what is said without.

    Those of generated tokens come first, then what only the prompt has.
    """
    from tracegen.contract import needs
    from tracegen.reading.notebook.loaded import load
    from tracegen.report.figures.context import Context
    from tracegen.report.findings.answer import conclusion
    from tracegen.report.findings.remedies import advices

    loaded = load(text)
    run = loaded.measured
    named = text if "@" in text else f"{run.experiment}/{run.name}"
    context = Context(run, loaded.tables)
    of = conclusion(context, context.phase)
    keys = {one.remedy.key for one in of.advice}
    alone = [one.remedy for one in conclusion(context, "prompt").advice if one.remedy.key not in keys]
    why = context.refusal(needs.TIMES)
    return named, run.facts, of.advice + advices(alone), f"Nothing is predicted. {why}" if why else of.stop


def _try(
    named: str,
    facts: Facts,
    advice: Advice,
    pairs: int,
    model: Path | None,
    llama_cpp: str | None,
    *,
    plan: bool,
    yes: bool,
) -> int:
    from tracegen.cli.commands.run import agree, make_matrix, questions_of
    from tracegen.comparing.reproduced import experiment_of
    from tracegen.comparing.sides import cells_of
    from tracegen.comparing.trial import best, judged, trial
    from tracegen.contract.matrix import read_matrix
    from tracegen.contract.records import encode
    from tracegen.measure.capture.machine import machine_id
    from tracegen.publishing.tried import FILE
    from tracegen.reading.folders import EXPERIMENTS
    from tracegen.report.findings.tried import instead, measured, sentence
    from tracegen.storing import store
    from tracegen.storing.locks import alone

    experiment = experiment_of(named, facts, _model(named, facts, model))
    tried = trial(named, advice.remedy, experiment, facts)
    folder = EXPERIMENTS / tried.name
    if facts.host.id and facts.host.id != machine_id():
        print(visible(f"{named} was made on another machine: what is predicted holds there."))
    with ExitStack() as stack:
        if plan and not folder.exists():  # a plan leaves nothing behind
            folder = Path(stack.enter_context(TemporaryDirectory())) / tried.name
        folder.mkdir(parents=True, exist_ok=True)
        stack.enter_context(alone(folder, lambda holder: _refuse(folder, holder)))
        _write(folder / "experiment.toml", tried, experiment, pairs)
        matrix = read_matrix(folder / "experiment.toml")
        assert matrix is not None
        print(visible(f"Predicted: {advice.gain}."), flush=True)
        agree([line for cell in matrix.cells for line in questions_of(cell.experiment, folder)], yes=yes)
        make_matrix(matrix, folder, llama_cpp, plan=plan, yes=yes, again=False)
        if plan:
            return 0
        found = judged(tried, cells_of(tried.name))
        chosen = best(found)
        document = {"tried": encode(chosen), "sweep": [encode(one) for one, _ in found]}
        store.write_text(folder / FILE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    for one, _ in found if len(found) > 1 else ():
        print(visible(f"{one.setting} = {one.after}: {measured(one)}"))
    print(visible(f"{chosen.setting} = {chosen.after} instead of {chosen.before}. {sentence(chosen)}"))
    if chosen.outcome == "not as predicted":
        print(*map(visible, instead(chosen)), sep="\n")
    print(f"stored in {folder}; what differs: tracegen compare {tried.name}")
    if chosen.outcome == "not as predicted":
        raise CheckError(f"{named}: the remedy did not gain what was predicted")
    return 0


def _model(named: str, facts: Facts, given: Path | None) -> str:
    """The file of the model: that of the experiment's settings if it has the hash of the run, or as `model_file`."""
    from tracegen.contract.errors import TracegenError
    from tracegen.contract.settings import read_experiment
    from tracegen.reading.folders import EXPERIMENTS
    from tracegen.reading.model_file import model_file

    experiment = EXPERIMENTS / named.partition("/")[0].partition("@")[0]
    folders = [Path("models"), experiment]
    try:
        path = Path(read_experiment(experiment / "experiment.toml").model)
    except TracegenError:
        path = Path()
    if given is None and path.is_file() and path.name == Path(str(facts.model.file)).name:
        given = path
    return model_file(named, facts, given, folders)


def _refuse(folder: Path, holder: str) -> None:
    raise SettingsError(f"{folder}: {holder} is trying this remedy; wait for it")


def _write(path: Path, tried: Trial, experiment: Experiment, pairs: int) -> None:
    """Write the settings of the trial, unless they are there. Raises SettingsError when others are."""
    from tracegen.comparing.trial import text_of
    from tracegen.storing import store

    text = text_of(tried, experiment, pairs)
    if path.is_file() and path.read_text(encoding="utf-8") != text:
        raise SettingsError(f"{path}: is a trial of another prediction or of other --pairs; move {path.parent} away")
    store.write_text(path, text)
