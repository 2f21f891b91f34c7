"""A run at real scale: a mixture of experts with less memory than it needs, from a cold page cache.

Its run, its pages and every sentence on them (`sentences.txt`) stay in `.tracegen/scale` until it runs again.
"""

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.page_text import text_of
from benchmarks.result import Result
from benchmarks.scale_model import GIB, SIZE, ensure_model
from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.contract.model import Run
from tracegen.contract.settings import read_experiment
from tracegen.measure.capture.locked import available_bytes, refuse_lock
from tracegen.measure.runs.measure import measure
from tracegen.publishing.bundle import read_bundle
from tracegen.storing import store
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.progress import Progress

WORK = Path(".tracegen", "scale")
LEFT = 0.8  # of the model's bytes: the memory that is left for it
LEAST = 4 * GIB  # bytes of memory without which even the program and the reading do not fit
READ_LIMIT, MEMORY_LIMIT = 0.5, 0.5  # times what the run lasted; GiB
PAGES_LIMIT_S, PAGES_LIMIT = 60.0, 1.0  # GiB
WHOLE_LIMIT_S = 30.0  # from the trace to the pages of a draft

SETTINGS = """\
question = "What does a mixture of experts read that is larger than the memory it is given?"
model = {model}
prompt = "the memory page is read from disk by an expert and each router counts one token"  # 17 tokens
tokens = 32
threads = 2
warmup = false
repack = false
prefault = false
residency = true
disk = true
page_cache = "cold"
{pressure}
"""


def run(quick: bool) -> list[Result]:
    """One run, whether quick or not; where the machine is too small, the reason."""
    progress = Progress()
    try:
        locked = _locked_gib()
        model = ensure_model(progress)
    except (SettingsError, EnvironmentFailure) as error:
        print(f"benchmarks: scale: skipped: {error}", file=sys.stderr)
        return [Result("a run at real scale", float("nan"), "", note=f"skipped: {error}")]
    shutil.rmtree(WORK, ignore_errors=True)
    made = _measured(model, locked, progress)
    assert made.folder is not None
    _print_checks(made)
    progress.step("read it")
    reading = _once("read_once", model, made.folder / "raw", WORK / "tables")
    progress.step("make its pages")
    draft = _once("pages_once", "draft", made.folder, WORK / "drafts")
    version = _once("pages_once", "version", made.folder, WORK)
    progress.done()
    (WORK / "sentences.txt").write_text(sentences(Path(version["folder"])), encoding="utf-8")
    print(f"\nEvery sentence of its pages: {WORK / 'sentences.txt'}; the run: {made.folder}")
    passes = store.read_tables(made.folder / "tables")["passes"]
    whole = _seconds(reading) + draft["seconds"]
    return [
        *_of_the_run(made, passes),
        *_of_reading(reading, passes),
        *_of_pages(draft, version),
        Result("from the trace to the pages of a draft", whole, "s", WHOLE_LIMIT_S, "read, check, store, draw"),
    ]


def sentences(bundle: Path) -> str:
    """The visible text of every page of a bundle; a line that stands on several pages is given once."""
    found = read_bundle(bundle)
    given: set[str] = set()
    parts = []
    for page in found.pages:
        lines = [line for line in text_of(found.body(page["path"]).decode()) if line not in given]
        given.update(lines)
        parts.append(f"# {page['title']} ({page['path']})\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _locked_gib() -> float:
    """GiB to lock, so that LEFT of the model can stay in memory; 0 where that is all there is.

    Raises SettingsError or EnvironmentFailure where this machine is too small, or does not allow it.
    """
    available = available_bytes()
    if available < LEAST:
        raise EnvironmentFailure(
            f"{available / GIB:.1f} GiB of memory are available, the run needs {LEAST / GIB:.0f}; end other programs"
        )
    locked = round(max(0.0, (available - LEFT * SIZE) / GIB), 1)
    if locked:
        refuse_lock(locked)
    return locked


def _measured(model: Path, locked: float, progress: Progress) -> Run:
    folder = WORK.absolute() / "experiments" / "scale"
    folder.mkdir(parents=True)
    pressure = f"mlock_gb = {locked}" if locked else ""
    settings = SETTINGS.format(model=json.dumps(str(model)), pressure=pressure)
    (folder / "experiment.toml").write_text(settings, encoding="utf-8")
    return measure(read_experiment(folder / "experiment.toml"), folder, progress)


def _print_checks(made: Run) -> None:
    print(f"\nVerdict: {made.verdict}\n")
    for check in made.checks:
        detail = f" ({check.detail})" if check.detail else ""
        print(f"- {check.state}: {check.title}: {check.found}; limit {check.limit}{detail}")


def _once(program: str, *arguments: object) -> dict[str, Any]:
    """What a program of this folder found, as JSON, in a process of its own."""
    out, err = WORK / f"{program}.json", WORK / f"{program}.err"
    ended = run_program([sys.executable, "-m", f"benchmarks.{program}", *map(str, arguments)], stdout=out, stderr=err)
    if ended.status != 0:
        raise EnvironmentFailure(f"{program}: {ended.ending}:\n{last_lines(err)}")
    made: dict[str, Any] = json.loads(out.read_text())
    return made


def _of_the_run(made: Run, passes: pd.DataFrame) -> list[Result]:
    locked = made.facts.conditions.mlock
    left = locked.available_after_bytes if locked else None
    lasted = (passes["end_ns"] - passes["begin_ns"]) / 1e9
    tokens = lasted[passes["kind"] == "generate"]
    how = f"{len(tokens)} passes, {tokens.min():.2f} to {tokens.max():.2f} s"
    read = passes["read_bytes"].sum()
    failed = [check.key for check in made.checks if check.state == "failed"]
    return [
        Result("checks that failed", len(failed), "", 0, ", ".join(failed)),
        *([Result("memory left / model", left / SIZE, "×", 1.0, f"a model of {SIZE / GIB:.1f} GiB")] if left else []),
        Result("prompt", lasted[passes["kind"] == "prompt"].sum(), "s"),
        Result("generated token", tokens.median(), "s", note=f"median of {how}"),
        Result("read from storage", float(read) / GIB, "GiB", note="by all passes, as the kernel counts"),
    ]


def _of_reading(found: Mapping[str, Any], passes: pd.DataFrame) -> list[Result]:
    lasted = (passes["end_ns"].max() - passes["begin_ns"].min()) / 1e9
    rows = ", ".join(f"{n:,} {table}".replace(",", "\u2009") for table, n in found["rows"].items())
    whole = (
        f"of the whole process: {found['peak_imports'] / 2**20:.0f} MiB before it reads, beside tables of"
        f" {found['tables'] / 2**20:.0f} MiB"
    )
    seconds = _seconds(found)
    return [
        Result("trace", found["trace"] / 2**20, "MiB", note=rows),
        Result("stored tables", found["stored"] / 2**20, "MiB"),
        Result("reading, checking, storing", seconds, "s", note=f"beside {found['import_s']:.2f} s of imports"),
        Result("the same / what the run lasted", seconds / lasted, "×", READ_LIMIT, f"it lasted {lasted:.1f} s"),
        Result("its peak memory", found["peak_checked"] / GIB, "GiB", MEMORY_LIMIT, whole),
    ]


def _seconds(found: Mapping[str, Any]) -> float:
    """How long reading, checking and storing took, of what `read_once` found."""
    return float(found["read_s"] + found["store_s"] + found["check_s"])


def _of_pages(draft: Mapping[str, Any], version: Mapping[str, Any]) -> list[Result]:
    results = []
    for kind, found in (("draft", draft), ("version", version)):
        size = f"{found['files']} files, {found['bytes'] / 2**20:.1f} MiB"
        results += [
            Result(f"pages as a {kind}", found["seconds"], "s", PAGES_LIMIT_S, size),
            Result(f"pages as a {kind}: peak memory", found["peak"] / GIB, "GiB", PAGES_LIMIT, "largest process"),
        ]
    return [*results, Result("largest page", version["largest_page"] / 2**20, "MiB", note="HTML, without its data")]
