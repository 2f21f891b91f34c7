"""Freezing: a stored run is checked, drawn in its public form, searched for what must stay private, and published."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from tracegen.contract.model import Run, Version
from tracegen.publishing import versions
from tracegen.publishing.public_form import public_form
from tracegen.report import drawing
from tracegen.report.document.page import Report
from tracegen.storing import store
from tracegen.storing.progress import Progress


def freeze(
    experiment_folder: Path,
    run: Run,
    message: str,
    now: datetime,
    *,
    again: bool = False,
) -> Version:
    """Render a stored run in its public form, and freeze it as the next version.

    Raises what `versions.publish` does, and StoreError when the run is damaged, or a page
    holds what must not become public.
    """
    assert run.folder is not None
    folder, progress, form = run.folder, Progress(), public_form(run, run.folder)

    def draw(planned: Version) -> Report:
        progress.step("check the evidence of the run")
        store.verify_run(folder)
        progress.step("draw the pages")
        with drawing.process() as executor:
            from tracegen.publishing.measured import repeats_of  # these load slowly, and the other starts meanwhile
            from tracegen.publishing.repeats import files_of
            from tracegen.report.pages.render import render_report

            report = render_report(form.run, form.tables(), citable=planned, executor=executor)
        if run.verdict != "not usable":
            progress.step("measure the runs that repeat it")
            report = replace(report, files={**report.files, **files_of(repeats_of(folder))})
        progress.step("search the pages for names and places")
        form.refuse_leaks(report)
        progress.step("write the version")
        return report

    version = versions.publish(experiment_folder, form.run, draw, message, now, again=again)
    progress.done()
    return version
