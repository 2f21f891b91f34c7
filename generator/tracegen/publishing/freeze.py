"""Freezing: a stored run is checked, drawn in its public form, searched for what must not become public, and published.

The measures of the runs that repeat it come from above (`comparing`), so the caller passes what makes them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from tracegen.contract.model import Run, Version
from tracegen.publishing import versions
from tracegen.publishing.public_form import public_form
from tracegen.report import drawing
from tracegen.report.pages.page import Report
from tracegen.storing import store
from tracegen.storing.progress import Progress

Repeats = Callable[[Path], Mapping[str, bytes]]  # folder of a run -> files with the measures of its repeats


def freeze(
    experiment_folder: Path,
    run: Run,
    message: str,
    now: datetime,
    *,
    again: bool = False,
    repeats: Repeats = lambda folder: {},
    tell: Callable[[Run], None] = lambda stored: None,
) -> Version:
    """Render a stored run in its public form, and freeze it as the next version.

    `tell` gets the run, private if its experiment asks for that now, once nothing speaks against publishing it and
    before anything is drawn. Raises what `versions.publish` does, and StoreError when the run is damaged, or a page
    holds what must not become public.
    """
    assert run.folder is not None
    folder, progress, form = run.folder, Progress(), public_form(run, run.folder)

    def draw(planned: Version) -> Report:
        tell(form.stored)
        progress.step("check the evidence of the run")
        store.verify_run(folder)
        progress.step("draw the pages")
        with drawing.process() as executor:
            from tracegen.report.pages.render import render_report  # loads slowly, and both do meanwhile

            address = f"{planned.experiment}/{planned.name}"
            report = render_report(form.run, form.tables(), address=address, citable=planned, executor=executor)
        if run.verdict != "not usable":
            progress.step("measure the runs that repeat it")
            report = replace(report, files={**report.files, **repeats(folder)})
        progress.step("search the pages for names and places")
        form.refuse_leaks(report)
        progress.step("write the version")
        return report

    version = versions.publish(experiment_folder, form.run, draw, message, now, again=again)
    progress.done()
    return version
