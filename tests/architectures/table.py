"""Records each toy model, and writes the table of docs/architectures.md."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import random_models
from tests.architectures import missing
from tests.architectures.models import SPECULATIVE, WRITER, built, write_models
from tests.integration.test_models import OF_THE_MACHINE, PROMPT
from tests.model_matrix import last_of, worked
from tests.random_files import write_random_model
from tracegen.contract.errors import TracegenError
from tracegen.contract.experiment import Experiment
from tracegen.contract.model import verdict_of
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.runs.measure import measure
from tracegen.measure.runs.observe import Observation, observe
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.storing.native import hooks_version, read_upstream
from tracegen.storing.progress import Progress
from tracegen.storing.resources import folder as resource_folder
from tracegen.storing.resources import package_version

PAGE = Path(__file__).parents[2] / "docs" / "architectures.md"
DRAFTS = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3", "--fit", "off")


@dataclass(frozen=True)
class Row:
    """A recorded model: its operations in all passes, their kinds, the verdict, and what is missing."""

    name: str
    ops: int | None
    kinds: int | None
    verdict: str
    missing: str

    def __str__(self) -> str:
        cells = ("" if value is None else str(value) for value in (self.ops, self.kinds, self.verdict, self.missing))
        return f"| {self.name} | {' | '.join(cells)} |"


def write_page(progress: Progress) -> bool:
    """Build what is needed (minutes the first time), record every model, write the page; whether all are recorded."""
    upstream = read_upstream(resource_folder("native"))
    hooks = hooks_version(resource_folder("native"))
    made_by = (
        f"the llama.cpp of {upstream.package} {upstream.version} and tracegen {package_version()} (tracer {hooks})"
    )
    with tempfile.TemporaryDirectory(prefix="architectures-") as temporary:
        folder = Path(temporary)
        build = built(progress)
        skipped = write_models(build, folder / "models")
        lines = []
        for row in rows(build, folder / "models", folder / "runs"):
            lines.append(row)
            print(row, flush=True)
    PAGE.write_text(page(made_by, lines, skipped), encoding="utf-8")
    return all(row.ops for row in lines)


def rows(build: Build, models: Path, folder: Path) -> Iterator[Row]:
    """The row of each model that was written, then those of a lazily read table and of multi-token prediction."""
    folder.mkdir()
    yield from written_models(build, models, folder)
    lazy = _recorded(models / "qwen4exp-moe.gguf", build, folder, mmap=False, flags=("--lazy-mode", "on"))
    yield _row("qwen4exp, its table of n-grams read lazily, the rest copied", lazy, missing.of_lazy)
    path = write_random_model(random_models.GLM4_MOE, folder / "drafting.gguf")
    yield _row("glm4moe, with multi-token prediction", lambda: _drafting(path, build, folder), missing.of_drafting)


def written_models(build: Build, models: Path, folder: Path) -> Iterator[Row]:
    """The row of each model in a folder; an architecture may have two models."""
    for path in sorted(models.glob("*.gguf")):
        name, _, variant = path.stem.rpartition("-")
        both = (models / f"{name}-{'dense' if variant == 'moe' else 'moe'}.gguf").exists()
        yield _row(f"{name}, with experts" if both and variant == "moe" else name, _recorded(path, build, folder))


def _recorded(
    path: Path, build: Build, folder: Path, mmap: bool = True, flags: tuple[str, ...] = ()
) -> Callable[[], LoadedRun]:
    asked = Experiment(path.stem, "?", str(path), PROMPT, 4, ubatch=8, context=256, mmap=mmap, flags=flags)
    into = folder / f"{path.stem}{len(flags)}"
    return lambda: _loaded(measure(asked, into, Progress(), str(build.programs)).folder)


def _drafting(path: Path, build: Build, folder: Path) -> LoadedRun:
    command = (SPECULATIVE, "-m", str(path), "-p", PROMPT, "-n", "8", "-t", "2", "-c", "256", *DRAFTS)
    return _loaded(observe(Observation("mtp", command, "?"), folder / "mtp", Progress(), str(build.programs)).folder)


def _loaded(folder: Path | None) -> LoadedRun:
    assert folder is not None
    return worked(load_run(folder))


def _row(
    name: str, run: Callable[[], LoadedRun], of_its_kind: Callable[[LoadedRun], Iterator[str]] = lambda run: iter(())
) -> Row:
    try:
        loaded = run()
    except TracegenError as error:
        return Row(name, None, None, "not recorded", last_of(str(error)))
    checks = tuple(check for check in loaded.run.checks if check.key not in OF_THE_MACHINE)
    lacks = [f"{c.title}: {c.found}" for c in checks if c.state in ("failed", "warning")]
    lacks += [*missing.of(loaded), *of_its_kind(loaded)]
    ops = loaded.graph_nodes.loc[loaded.graph_nodes["kind"] == "op", "op"]
    return Row(name, len(loaded.ops), ops.nunique(), verdict_of(checks), "; ".join(lacks))


def page(made_by: str, rows: Sequence[Row], skipped: Mapping[str, str]) -> str:
    """The page as Markdown."""
    n_complete = sum(row.verdict == "complete" for row in rows)
    n_whole = sum(row.verdict == "complete" and not row.missing for row in rows)
    reasons = {why: ", ".join(sorted(name for name in skipped if skipped[name] == why)) for why in skipped.values()}
    text = (Path(__file__).with_name("page.md")).read_text(encoding="utf-8")
    return text.format(
        made_by=made_by,
        writer=WRITER,
        n_runs=len(rows),
        n_complete=n_complete,
        n_whole=n_whole,
        rows="\n".join(map(str, rows)),
        n_skipped=len(skipped),
        reasons="\n".join(f"| {why} | {names} |" for why, names in sorted(reasons.items())),
    )
