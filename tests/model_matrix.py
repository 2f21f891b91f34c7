"""Release x model x knob: each cell is a real run of a random model, looked at as integration/test_models.py does.

A cell is `ok`, `FAILED`, `not known` (the release itself said that it knows no such model) or `not run`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from traceback import extract_tb
from typing import Any

from tests import random_models
from tests.integration import test_models as models
from tests.integration.test_models import CASES, PROMPT, Case, Traced
from tests.random_files import write_random_model
from tracegen.contract.errors import EnvironmentFailure, TracegenError
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import TARGET
from tracegen.measure.runs.measure import measure
from tracegen.measure.runs.observe import Observation, observe
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.storing.progress import Progress

EMBEDDING = "llama-embedding"
UNKNOWN = re.compile(r"unknown model architecture: '[^']*'")
LOOKED_AT = (
    models.test_layers_and_components_of_the_tensors,
    models.test_weights_lie_in_their_tensors,
    models.test_layers_of_the_nodes,
    models.test_components_of_the_nodes,
)
OF_TOKENS = (
    models.test_bytes_that_ops_used,
    models.test_experts_are_routed_as_the_metadata_says,
    models.test_the_kv_cache_is_of_the_type_that_was_asked_for,
)
WHOLE = ("load", "warmup", "prompt", "prompt", "prompt", "generate", "generate", "generate")


@dataclass(frozen=True)
class Cell:
    """A model and how it is run. `kinds` are its passes, `works` says whether the knob did what it is for."""

    name: str
    case: Case
    settings: Mapping[str, Any] = field(default_factory=dict)
    kinds: tuple[str, ...] = WHOLE
    works: Callable[[LoadedRun], bool] = lambda loaded: True

    @property
    def program(self) -> str:
        """An embedding model generates nothing."""
        return EMBEDDING if self.case.architecture.name == "bert" else TARGET


@dataclass(frozen=True)
class Outcome:
    """What came of a cell, and why."""

    state: str
    why: str = ""


def _ops(loaded: LoadedRun) -> set[str]:
    return set(loaded.graph_nodes["op"].astype(str))


def _weights_in(loaded: LoadedRun) -> set[str]:
    return set(loaded.placements.dropna(subset=["tensor"])["memory"].astype(str))


def _threads(loaded: LoadedRun) -> int:
    return int(loaded.spans["thread"].nunique())


def _cached(loaded: LoadedRun) -> int:
    return int(loaded.run.facts.conditions.page_cache.before_bytes)


LLAMA, REPACKED = CASES["llama"], CASES["llama-Q4_0"]
ONE_UBATCH = tuple(kind for i, kind in enumerate(WHOLE) if kind != "prompt" or i == 2)
NOT_WARM = tuple(kind for kind in WHOLE if kind != "warmup")
_BERT = Case(random_models.BERT, unplaced=frozenset({"CPY"}))  # 0.3.20 copies a mask that has no name
_VARIANTS = ("llama-", "lora", "quantised")  # of llama
MODELS = tuple(Cell(name, case) for name, case in {**CASES, "bert": _BERT}.items() if not name.startswith(_VARIANTS))
KNOBS = (
    Cell("prefault off", LLAMA, {"prefault": False}, works=lambda run: run.run.facts.settings.get("prefault") is False),
    Cell("page cache cold", LLAMA, {"page_cache": "cold"}, works=lambda run: _cached(run) == 0),
    Cell("page cache warm", LLAMA, {"page_cache": "warm"}, works=lambda run: _cached(run) > 0),
    Cell("residency", LLAMA, {"residency": True}, works=lambda run: run.residency["pass_id"].nunique() == len(WHOLE)),
    Cell("no mmap", LLAMA, {"mmap": False}, works=lambda run: _weights_in(run) == {"copied"}),
    Cell("repacked", REPACKED, works=lambda run: _weights_in(run) == {"copied", "disk"}),
    Cell("repack off", REPACKED, {"repack": False}, works=lambda run: _weights_in(run) == {"disk"}),
    Cell("KV cache q8_0", CASES["quantised-kv-cache"]),
    Cell("flash attention on", LLAMA, {"flash_attention": "on"}, works=lambda run: "FLASH_ATTN_EXT" in _ops(run)),
    Cell("flash attention off", LLAMA, {"flash_attention": "off"}, works=lambda run: "SOFT_MAX" in _ops(run)),
    Cell("one thread", LLAMA, {"threads": 1}, works=lambda run: _threads(run) == 1),
    Cell("two threads", LLAMA, {"threads": 2}, works=lambda run: _threads(run) == 2),
    Cell("one ubatch", LLAMA, {"ubatch": 512}, ONE_UBATCH),
    Cell("no warm-up", LLAMA, {"warmup": False}, NOT_WARM),
)
CELLS = (*MODELS, *KNOBS)


def run_cell(cell: Cell, programs: Path, folder: Path) -> Outcome:
    """Run a cell with the programs of a release and look at what was stored; `folder` is new."""
    folder.mkdir()
    path = write_random_model(cell.case.architecture, folder / "model.gguf", cell.case.dtype, cell.case.mix)
    try:
        loaded = _measured(cell, path, programs, folder)
        _look_at(cell, loaded)
    except TracegenError as error:
        known = UNKNOWN.search(str(error))
        return Outcome("not known", known[0]) if known else Outcome("FAILED", last_of(str(error)))
    except AssertionError as error:
        at = extract_tb(error.__traceback__)[-1]
        return Outcome("FAILED", f"{at.name}: {at.line}" + (f": {error}" if str(error) else ""))
    return Outcome("ok")


def _measured(cell: Cell, path: Path, programs: Path, folder: Path) -> LoadedRun:
    if cell.program == EMBEDDING:
        command = (EMBEDDING, "-m", str(path), "-p", PROMPT, "-t", "2", "-c", "256")
        run = observe(Observation("cell", command, "?"), folder, Progress(), str(programs))
    else:
        asked = Experiment("cell", "?", str(path), PROMPT, 4, ubatch=8, context=256, flags=cell.case.flags)
        run = measure(replace(asked, **cell.settings), folder, Progress(), str(programs))
    assert run.folder is not None
    return worked(load_run(run.folder))


def worked(loaded: LoadedRun) -> LoadedRun:
    """The run. Raises EnvironmentFailure with the words of a program that failed."""
    if loaded.run.facts.failure is not None:
        raise EnvironmentFailure("\n".join(loaded.run.facts.failure.words))
    return loaded


def _look_at(cell: Cell, loaded: LoadedRun) -> None:
    models.assert_no_false_alarm(loaded)
    traced = Traced(cell.case, loaded, loaded.graph_nodes)
    for look in LOOKED_AT:
        look(traced)
    if cell.program == EMBEDDING:
        assert not {"prompt", "generate"} & set(loaded.passes["kind"].dropna())
        return
    for look in OF_TOKENS:
        look(traced)
    assert tuple(loaded.passes["kind"]) == cell.kinds, f"passes are {', '.join(loaded.passes['kind'].astype(str))}"
    assert cell.works(loaded), f"{cell.name} did nothing"


def last_of(said: str) -> str:
    """The line of a message that says most: llama.cpp's error where there is one."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return re.sub(r"^[0-9.]+ [A-Z] +", "", (errors or lines)[0 if errors else -1])  # the log's time and level


def table(releases: Sequence[str], outcomes: Mapping[tuple[str, str], Outcome], otherwise: Mapping[str, str]) -> str:
    """The matrix as Markdown; cells without an outcome were not run, and `otherwise` says for each release why."""
    return "\n".join([*_rows(releases, outcomes, otherwise), ""])


def _rows(
    releases: Sequence[str], outcomes: Mapping[tuple[str, str], Outcome], otherwise: Mapping[str, str]
) -> Iterator[str]:
    yield f"| model, or llama with a knob | {' | '.join(releases)} |"
    yield f"|---|{'---|' * len(releases)}"
    for cell in CELLS:
        states = (outcomes.get((release, cell.name), Outcome("not run")).state for release in releases)
        yield f"| {'' if cell in MODELS else 'llama, '}{cell.name} | {' | '.join(states)} |"
    yield ""
    for (release, name), outcome in outcomes.items():
        if outcome.why:
            yield f"- {release}, {name}: {outcome.state}: {outcome.why}"
    for release, why in otherwise.items():
        yield f"- {release}: not run: {why}"
