"""The library that is preloaded to trace a llama.cpp which nobody hooked: compiled once, kept in the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tracegen.capture.execute import last_lines, run_program
from tracegen.capture.llama_cpp import alone, ensure_source, has_hooks, read_upstream
from tracegen.errors import EnvironmentFailure, SettingsError
from tracegen.progress import Progress
from tracegen.resources import cache_folder
from tracegen.resources import folder as resource_folder

LIBRARY = "libtensor-trace.so"
_PARTS = ("include/*.h", "core/*.h", "core/*.c", "ggml/*.h", "ggml/*.c", "attach/*.h", "attach/*.c")
_FLAGS = (
    "-shared", "-fPIC", "-O2", "-g", "-std=c11", "-D_GNU_SOURCE", "-DTT_ATTACH", "-fvisibility=hidden", "-pthread",
)  # fmt: skip


def ensure_attach(progress: Progress) -> Path:
    """The library to preload, compiled against the headers of the pinned llama.cpp when it is not in the cache.

    It checks in the traced process that ggml's structures lie as in those headers.
    Raises EnvironmentFailure off Linux, behind a name that LD_PRELOAD cannot take, when there is no C compiler
    or it fails, and as `ensure_source`.
    """
    if sys.platform != "linux":
        raise EnvironmentFailure("attached tracing preloads a library, as only Linux does it; use a hooked llama.cpp")
    if set(" :") & set(str(cache_folder())):
        raise EnvironmentFailure(
            f"{cache_folder()}: a library to preload cannot lie behind a name with a space or colon; set XDG_CACHE_HOME"
        )
    native = resource_folder("native")
    folder = cache_folder() / "llama.cpp" / f"attach-{_key(native)}"
    with alone(folder, progress):
        if not (folder / LIBRARY).exists():
            headers = ensure_source(progress, traced=False).source / "ggml"
            folder.mkdir(exist_ok=True)
            _compile(native, headers, folder, progress)
    return folder / LIBRARY


def refuse_hooked(program: Path) -> None:
    """Raise SettingsError when the program's own llama.cpp has the tracer: two would record the same."""
    if has_hooks(program):
        raise SettingsError(f"{program}: its llama.cpp has the hooks already; leave out --attach")


def preload(library: Path) -> dict[str, str]:
    """The environment that puts the library before all others, in the program and in what it starts."""
    return {"LD_PRELOAD": " ".join(filter(None, (str(library), os.environ.get("LD_PRELOAD", ""))))}


def _sources(native: Path) -> Iterator[Path]:
    for pattern in _PARTS:
        yield from sorted(native.glob(pattern))


def _key(native: Path) -> str:
    digest = hashlib.sha256(" ".join((read_upstream(native).sha256, *_FLAGS)).encode())
    for path in _sources(native):
        digest.update(f"{path.relative_to(native).as_posix()}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _compile(native: Path, headers: Path, folder: Path, progress: Progress) -> None:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise EnvironmentFailure("no C compiler found; on Debian: apt install gcc")
    part, log = folder / f"{LIBRARY}.part", folder / "build.log"
    ours = [f"-I{native / name}" for name in ("include", "core", "ggml", "attach")]
    theirs = [word for name in ("include", "src") for word in ("-isystem", str(headers / name))]
    sources = [str(path) for path in _sources(native) if path.suffix == ".c"]
    progress.step("compile the library to attach")
    ended = run_program([compiler, *_FLAGS, *ours, *theirs, *sources, "-o", str(part), "-ldl"], stdout=log, stderr=log)
    if ended.status != 0:
        raise EnvironmentFailure(f"{Path(compiler).name}: {ended.ending}; {log} ends with:\n{last_lines(log, 20)}")
    part.replace(folder / LIBRARY)
    progress.done()
