"""Real runs to look at: llama.cpp with and without hooks, each case measured once, and the witness."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from tests.integration import servers
from tests.shared import shared_folder
from tracegen.contract.errors import EnvironmentFailure
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import TARGET, Build, alone, compile_targets, configure
from tracegen.measure.demo.models import write_demo_model
from tracegen.measure.runs.measure import measure
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.storing.progress import Progress
from tracegen.storing.resources import folder as resource_folder

SHORT = "The memory of the disk"
LONG = "The page of the memory is read from the disk by the expert and the router counts the token in the layer"

# Q4_K_M's mix of types (Q4_K, some Q6_K), small
Q4_K_M: Mapping[str, object] = dict(n_layers=4, n_embd=256, n_ff=512, n_heads=4, n_kv_heads=2, n_vocab=768)
HARD: Mapping[str, object] = dict(dtype="Q4_K", n_experts_used=3)


@dataclass(frozen=True)
class Case:
    """A model, settings, and the kinds of memory in which its weights must then lie."""

    name: str
    kind: str = "demo"
    shape: Mapping[str, object] = field(default_factory=dict)
    split: bool = False
    linked: bool = False
    prompt: str = SHORT
    weights_in: frozenset[str] = frozenset({"disk"})
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def experiment(self) -> Mapping[str, Any]:
        return {"tokens": 4, "prompt": self.prompt, **self.settings}


BOTH = frozenset({"disk", "copied"})
CASES = (
    Case("dense"),
    Case("moe", "moe"),
    Case("q4-k-m-repacked", "tinyllama", Q4_K_M, weights_in=BOTH),
    Case("q4-k-m-as-stored", "tinyllama", Q4_K_M, settings=dict(repack=False)),
    Case("split", split=True),
    Case("behind-links", split=True, linked=True),
    Case("ubatches", prompt=LONG, settings=dict(ubatch=8)),
    Case("no-flash-attention", prompt=LONG, settings=dict(ubatch=8, flash_attention="off")),
    Case("no-mmap", weights_in=frozenset({"copied"}), settings=dict(mmap=False)),
    Case("direct", split=True, weights_in=frozenset({"copied"}), settings=dict(load_mode="dio", mmap=False)),
    Case("no-warmup", "moe", settings=dict(warmup=False)),
    Case("one-token", settings=dict(tokens=1, threads=1)),
    Case("hundred-tokens", settings=dict(tokens=100)),
    # all at once: two files, experts repacked, several ubatches, V written element by element
    Case("hard", "moe", HARD, split=True, prompt=LONG, weights_in=BOTH, settings=dict(ubatch=8, flash_attention="off")),
)
LARGE = (
    Case("tinyllama", "tinyllama", weights_in=BOTH),
    Case("tinyllama-as-stored", "tinyllama", settings=dict(repack=False)),
)
CHOSEN = CASES + (LARGE if os.environ.get("TRACEGEN_LARGE") == "1" else ())


@dataclass(frozen=True)
class Oracle:
    """The witness (native/tests/oracle.cpp), and the libraries it runs with by default."""

    program: Path
    libraries: Path

    def __call__(
        self, experiment: Experiment, feed: list[int], *options: str, libraries: Path | None = None, **environment: str
    ) -> list[dict[str, Any]]:
        """What it prints for this experiment when fed these tokens: one entry per ubatch."""

        def on(switch: bool) -> str:
            return "on" if switch else "off"

        command = [
            str(self.program),
            *("--model", experiment.model, "--prompt", experiment.prompt),
            *("--feed", ",".join(map(str, feed))),
            *("--threads", str(experiment.threads), "--context", str(experiment.context)),
            *("--ubatch", str(experiment.ubatch), "--flash-attention", experiment.flash_attention),
            *("--mmap", on(experiment.mmap), "--repack", on(experiment.repack)),
            *("--warmup", on(experiment.warmup), *options),
        ]
        ended = subprocess.run(
            command,
            capture_output=True,
            check=False,
            timeout=300,
            env={**os.environ, "LD_LIBRARY_PATH": str(libraries or self.libraries), **environment},
        )
        assert ended.returncode == 0, ended.stderr.decode(errors="replace")[-2000:]
        return [json.loads(line) for line in ended.stdout.splitlines()]


@dataclass(frozen=True)
class Measured:
    """A case, the run that tracegen stored of it, and what the witness says of the same work."""

    case: Case
    experiment: Experiment
    loaded: LoadedRun
    oracle: Oracle

    @cached_property
    def witness(self) -> list[dict[str, Any]]:
        """One entry per ubatch: warm-up, prompt, generate."""
        sampled = self.loaded.run.facts.text.token_ids
        return self.oracle(self.experiment, sampled[:-1])


@pytest.fixture(scope="session")
def blas(hooked: Build) -> Path:
    """The hooked source built with BLAS and RPC, beside the other build: the compiler cache knows the paths."""
    options = ("-DGGML_BLAS=ON", "-DGGML_BLAS_VENDOR=OpenBLAS", "-DGGML_RPC=ON")
    build = replace(hooked, subfolder="build-blas", options=options)
    with alone(hooked.folder, Progress()):
        if not (build.programs / servers.PROGRAM).exists():
            try:
                configure(build, Progress())
            except EnvironmentFailure as error:
                if "BLAS" in str(error):
                    pytest.skip("no BLAS to build with; on Debian: apt install libopenblas-dev")
                raise
            compile_targets(build, (TARGET, servers.PROGRAM), Progress())
    return build.programs


@pytest.fixture(scope="session")
def oracle(plain: Build, tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    def compile_in(folder: Path) -> None:
        compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))))
        command = [
            compiler,
            "-std=c++17",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            str(resource_folder("native") / "tests" / "oracle.cpp"),
            "-o",
            str(folder / "oracle"),
            "-I",
            str(plain.source / "include"),
            "-I",
            str(plain.source / "ggml" / "include"),
            "-L",
            str(plain.programs),
            "-lllama",
            "-lggml",
            "-lggml-base",
            f"-Wl,-rpath-link,{plain.programs}",
        ]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr

    return Oracle(shared_folder(tmp_path_factory, "oracle", compile_in) / "oracle", plain.programs)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("models")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def demo(models: Path) -> Path:
    """The dense demo model."""
    return write_demo_model("demo", models / "plain-demo.gguf")[0]


@pytest.fixture(scope="session")
def mixture(models: Path) -> Path:
    """The demo model with experts."""
    return write_demo_model("moe", models / "plain-moe.gguf")[0]


def written(model: Path, name: str = "case", **settings: object) -> Path:
    """Write an experiment with these settings beside the usual ones, below the current folder; its folder."""
    folder = Path("experiments") / name
    folder.mkdir(parents=True, exist_ok=True)
    everything = {"question": "Why?", "model": str(model), "prompt": "The page", "tokens": 2, "control": False}
    everything |= settings
    (folder / "experiment.toml").write_text("".join(f"{key} = {json.dumps(of)}\n" for key, of in everything.items()))
    return folder


def stored(experiment: Experiment, folder: Path, build: Build) -> LoadedRun:
    """Measure the experiment; the run as it was stored."""
    run = measure(experiment, folder, Progress(), str(build.programs))
    assert run.folder is not None
    return load_run(run.folder)


def cold_experiment(model: Path, tokens: int, **more: Any) -> Experiment:
    """Operations read the file themselves, from a cold page cache."""
    settings = dict(warmup=False, repack=False, prefault=False, page_cache="cold", residency=True, control=False) | more
    return Experiment("cold", "What is read?", str(model), "The memory page", tokens, **settings)


def resident(loaded: LoadedRun, pass_id: int) -> set[int]:
    """The pages of the file that were in memory after a load or pass."""
    rows = loaded.residency[loaded.residency["pass_id"] == pass_id]
    return {page for first, n in rows[["first_page", "n_pages"]].to_numpy() for page in range(first, first + n)}


@pytest.fixture(scope="session", params=CHOSEN, ids=lambda case: case.name)
def measured(
    request: pytest.FixtureRequest,
    hooked: Build,
    oracle: Oracle,
    models: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Measured:
    case: Case = request.param
    files = write_demo_model(case.kind, models / f"{case.name}.gguf", split=case.split, **case.shape)
    model = _linked(files)[0] if case.linked else files[0]
    experiment = Experiment(name=case.name, question="Is it true?", model=str(model), **case.experiment)
    return Measured(case, experiment, stored(experiment, tmp_path_factory.mktemp(case.name), hooked), oracle)


def _linked(files: tuple[Path, ...]) -> list[Path]:
    """The files under names that say nothing, and links with their names: how a hub's cache keeps a model."""
    links = []
    for number, file in enumerate(files):
        blob = file.with_name("blobs") / f"{file.stem.partition('-')[0]}{number}"
        blob.parent.mkdir(exist_ok=True)
        file.rename(blob)
        file.symlink_to(blob)
        links.append(file)
    return links
