"""`make demo`: runs and publishes the demo experiments in a clone, and builds the site."""

import sys
from datetime import UTC, datetime
from pathlib import Path

from tracegen.cli.commands.build import build_site
from tracegen.contract.errors import EnvironmentFailure, SettingsError, TracegenError
from tracegen.contract.experiment import Experiment
from tracegen.contract.model import Run
from tracegen.contract.records import encode
from tracegen.contract.settings import read_experiment
from tracegen.measure.capture.plan import settings_of
from tracegen.measure.runs.measure import measure
from tracegen.publishing import versions
from tracegen.publishing.freeze import freeze
from tracegen.readers.native.trace import VERSION
from tracegen.storing import store
from tracegen.storing.execute import ending
from tracegen.storing.progress import Progress

DEMOS = ("demo-moe", "demo-disk", "demo")  # the last one leads on the front page
MESSAGE = "The demo of this checkout."


def demo(experiments: Path, config: Path) -> Path:
    """Run and publish the demo experiments that are not up to date, build the site, and return its front page.

    One that limits memory is left out, with the reason, where this machine does not allow that.
    """
    progress = Progress()
    for name in DEMOS:
        experiment = read_experiment(experiments / name / "experiment.toml")
        folder = experiments / name
        run = _current_run(experiment, folder)
        if run is None:
            print(f"{name}: {experiment.question}", flush=True)
            try:
                run = measure(experiment, folder, progress)
                if run.facts.failure is not None:
                    words = " ".join(run.facts.failure.words[-1:]) or ending(run.facts.exit_status or 0)
                    raise EnvironmentFailure(f"{run.folder}: the program failed: {words}")
            except (SettingsError, EnvironmentFailure) as error:
                if experiment.memory_limit_gb is None:
                    raise
                print(f"{name}: left out: {error}", flush=True)
                continue
        if not versions.published_as(folder, run, versions.read_ledger(folder)):
            version = freeze(folder, run, MESSAGE, datetime.now(UTC))
            print(f"{version.citation}: {version.verdict}", flush=True)
    return build_site(config)


def _current_run(experiment: Experiment, folder: Path) -> Run | None:
    """The newest run, if it was made with the present settings and reader; else None."""
    runs = store.run_folders(folder)
    if not runs:
        return None
    run = store.read_run(runs[-1])
    prompt = run.facts.text.prompt or ""
    same = (
        encode(run.facts.settings) == dict(settings_of(experiment))
        and (experiment.prompt in prompt if experiment.chat else prompt == experiment.prompt)
        and run.facts.trace.reader == VERSION
        and run.facts.failure is None
    )
    return run if same else None


def main() -> int:
    """Make the demo in the current folder, and print the file to open. Returns the exit code."""
    try:
        front = demo(Path("experiments"), Path("mkdocs.yml"))
    except TracegenError as error:
        print(f"tracegen: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("tracegen: interrupted; run `make demo` again to continue", file=sys.stderr)
        return 130
    print(f"\nOpen {front}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
