"""An experiment of seven versions, each of several runs, whose steps are better, worse, both and neither.

`python -m tests.trend_site FOLDER` builds a site of it to look at.
"""

import sys
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest

from tests.builders import scaled_case, with_facts
from tests.drawn import empty_figures
from tests.shared import shared_folder
from tests.site_project import plain_run
from tests.stand_in import NOW, a_project
from tracegen.cli.commands.build import build_site
from tracegen.contract.model import Run
from tracegen.publishing import privacy
from tracegen.publishing import versions as publish
from tracegen.report.pages.page import Report
from tracegen.report.pages.render import render_report
from tracegen.site.ranges import PATH

TABLES = scaled_case(1, 2)
# Speed of generation and of the prompt, operations of a token, number of runs, threads.
VERSIONS = (
    (100, 1000, 109, 7, 2),
    (101, 1000, 109, 7, 2),
    (80, 1000, 109, 7, 4),  # worse
    (120, 700, 112, 7, 4),  # better, the prompt worse, and other operations
    (120, 700, 112, 7, 4),  # the same
    (150, 700, 112, 7, 6),  # better
    (60, 700, 112, 3, 6),  # too few runs to tell
)
AROUND = (0.0, 2.0, -2.0, 1.0, -1.0, 3.0, -4.0)  # per cent that the runs of a version are apart


def repeats_of(version: int) -> str:
    """`data/repeats.csv` of a version, by hand."""
    speed, prompt, ops, n, _ = VERSIONS[version - 1]
    rows = ["run,created,phase,by,item,what,kind,unit,value"]
    for i in range(n):
        begin = f"run-{i + 1:03d},2026-11-{version:02d}T12:00:{i:02d}Z"
        factor = 1 + AROUND[i] * (4 if version == 1 else 1) / 100  # a range that the eye sees
        rows.append(f"{begin},generate,run,,speed,timed,tokens/s,{speed * factor:.6g}")
        rows.append(f"{begin},prompt,run,,speed,timed,tokens/s,{prompt * factor:.6g}")
        rows.append(f"{begin},generate,run,,operations of a token,counted,,{ops}")
        rows.append(f"{begin},generate,op,MUL_MAT,time for a token,timed,ns,{1e9 / speed / factor:.6g}")
    return "\n".join([*rows, ""])


@cache
def _report(threads: int) -> tuple[Run, Report]:
    base = plain_run("steps")
    run = privacy.public_run(with_facts(base, settings=dict(threads=threads)))
    return run, render_report(run, TABLES, address="steps/v1", citable=None)


def a_version(experiments: Path, number: int) -> None:
    """Publish the version with this number of VERSIONS."""
    run, report = _report(VERSIONS[number - 1][4])
    report = replace(report, files={**report.files, PATH: repeats_of(number).encode()})
    (experiments / "steps").mkdir(parents=True, exist_ok=True)
    when = NOW + timedelta(days=number)
    publish.publish(experiments / "steps", replace(run, number=number), lambda planned: report, "why", when)


def shared_steps_site(factory: pytest.TempPathFactory) -> Path:
    """Its folder, built once in a session; figures of its pages are empty."""

    def make(folder: Path) -> None:
        with empty_figures():
            steps_site(folder)

    return shared_folder(factory, "steps-site", make)


def steps_site(folder: Path) -> Path:
    """Build the site; returns its mkdocs.yml."""
    config = a_project(folder)
    config.write_text((Path(__file__).parents[1] / "mkdocs.yml").read_text(encoding="utf-8"), encoding="utf-8")
    for number in range(1, len(VERSIONS) + 1):
        a_version(folder / "experiments", number)
    build_site(config, strict=True)
    return config


if __name__ == "__main__":
    print(steps_site(Path(sys.argv[1])))
