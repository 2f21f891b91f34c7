"""What a command costs before it says anything: against a bare Python, and against pandas alone, in the same minute."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.builders import a_run, scaled_case
from tests.site_project import stored

from benchmarks.result import Result
from tracegen.contract.errors import EnvironmentFailure
from tracegen.reading.notebook.loaded import load_version
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.progress import Progress

# Times: where Python starts in 0.02 s and pandas in 0.3 s, these are 0.2 s, 0.6 s and 0.6 s.
HELP_LIMIT, FIRST_LIMIT, AGAIN_LIMIT = 10.0, 2.0, 30.0
TRACEGEN = ("-m", "tracegen")
FITS = Path(__file__).parents[1] / "experiments" / "fits" / "versions" / "1"  # 24 tokens of a dense model


def run(quick: bool) -> list[Result]:
    rounds = 3 if quick else 15
    progress = Progress()
    progress.step("start commands")
    with tempfile.TemporaryDirectory(prefix="tracegen-bench-") as name:
        work = Path(name)
        folder = stored(work / "experiments", a_run(), scaled_case(8, 4, moe=True)).folder
        version = load_version(FITS)
        fits = stored(work / "experiments", version.measured, version.tables).folder
        commands = {
            "bare": ("-c", "pass"),
            "help": (*TRACEGEN, "--help"),
            "version": (*TRACEGEN, "--version"),
            "pandas": ("-c", "import pandas"),
            "first": (*TRACEGEN, "show", str(folder)),
            "again": (*TRACEGEN, "show", str(folder)),
            "publish": (*TRACEGEN, "publish", str(fits.parents[1]), "--message", "measured", "--again"),
        }
        taken: dict[str, list[float]] = {key: [] for key in commands}
        for _ in range(rounds):  # in turn: what else the machine does meets all of them
            for key, command in commands.items():
                if key == "first":
                    shutil.rmtree(work / "cache", ignore_errors=True)
                taken[key].append(_seconds(work, command))
        published = fits.parents[1] / "versions" / "1"
        size = sum(path.stat().st_size for path in published.rglob("*") if path.is_file())
    progress.done()
    least = {key: min(times) for key, times in taken.items()}
    how = f"the least of {rounds}"
    return [
        Result("tracegen --help / python -c pass", least["help"] / least["bare"], "×", HELP_LIMIT, how),
        Result("tracegen --version / python -c pass", least["version"] / least["bare"], "×", HELP_LIMIT, how),
        Result("tracegen show, first / import pandas", least["first"] / least["pandas"], "×", FIRST_LIMIT, how),
        Result("tracegen show, again / python -c pass", least["again"] / least["bare"], "×", AGAIN_LIMIT, how),
        Result("tracegen publish / import pandas", least["publish"] / least["pandas"], "×", note=f"{how}, of fits@v1"),
        Result("a version of 24 tokens", size / 1e6, "MB", note="all files of fits@v1, published once more"),
        *(Result(f"{key}: {' '.join(('python', *commands[key])[:4])}", least[key], "s", note=how) for key in commands),
    ]


def _seconds(work: Path, command: tuple[str, ...]) -> float:
    log = work / "log.txt"
    environment = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}
    ended = run_program([sys.executable, *command], stdout=log, stderr=log, environment=environment)
    if ended.status != 0:
        raise EnvironmentFailure(f"{' '.join(command)}: {ended.ending}:\n{last_lines(log)}")
    return ended.seconds
