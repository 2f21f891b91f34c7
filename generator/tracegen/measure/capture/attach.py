"""The library that is preloaded to trace a llama.cpp without hooks: compiled once, or from a wheel; in the cache."""

import hashlib
import importlib.util
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.measure.capture.llama_cpp import alone, ensure_source, has_hooks
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.native import read_upstream
from tracegen.storing.progress import Progress
from tracegen.storing.resources import cache_folder
from tracegen.storing.resources import folder as resource_folder
from tracegen.storing.store import write_text

LIBRARY = "libtensor-trace.so"
SHIPPED = "attached"  # in native/ of a wheel: for each processor the library, and the key of what it was compiled from
_PARTS = (
    "include/*.h",
    "core/*.h",
    "core/*.c",
    "ggml/*.h",
    "ggml/*.c",
    "attach/*.h",
    "attach/*.c",
    "cuda/*.h",
    "cuda/*.c",
)
_ELSEWHERE = "darwin.c"  # of macOS, where nothing can be attached
COUNTING = "libtensor-allocations.so"
_COUNTING = ("core/tt_allocations.h", "allocations/*.c")
_VULKAN = ("vulkan/*.h", "vulkan/*.c")  # the layer: it takes Vulkan's headers
_LAYER, _MANIFEST = "VK_LAYER_TRACEGEN_times", "VkLayer_tracegen.json"
_CUPTI = "libcupti.so*"
_ROOTS = ("/usr/local/cuda", "/opt/cuda", "/usr")  # of CUDA's toolkit; the last one is that of Debian's packages
_OF_CUDA = ("extras/CUPTI/lib64", "lib64", "lib", f"lib/{platform.machine()}-linux-gnu")  # where it has that
_FLAGS = (
    "-shared",
    "-fPIC",
    "-O2",
    "-g",
    "-std=c11",
    "-D_GNU_SOURCE",
    "-DTT_ATTACH",
    "-fvisibility=hidden",
    "-pthread",
)


def ensure_attach(progress: Progress, *, device_ops: bool = False) -> Path:
    """The path of the library to preload; compiles it when it is not in the cache.

    It is compiled against the headers of the pinned llama.cpp, or comes compiled with a wheel. In the traced process it
    checks that ggml's structures have the layout of those headers. With `device_ops` it is a layer of Vulkan too (see
    `device_times`), unless Vulkan's headers are missing where CUPTI is there. Raises EnvironmentFailure when the system
    is not Linux, when the path has a character that LD_PRELOAD cannot hold, when no C compiler or, with `device_ops`,
    neither Vulkan's headers nor CUPTI are found or the compiler fails, and as `ensure_source` does.
    """
    if sys.platform != "linux":
        raise EnvironmentFailure("attaching works only on Linux; use a llama.cpp with the hooks instead")
    _refuse_path()
    native = resource_folder("native")
    layer = device_ops and (cupti() is None or _has_vulkan())
    if device_ops and not layer:
        progress.say("operations of Vulkan devices get no times: Vulkan's headers (libvulkan-dev) were not found")
    parts = (*_PARTS, *_VULKAN) if layer else _PARTS
    folder = cache_folder() / "llama.cpp" / f"attach-{_key(native, parts)}"
    with alone(folder, progress, (folder / LIBRARY).exists):
        if not (folder / LIBRARY).exists():
            folder.mkdir(exist_ok=True)
            if layer:
                write_text(folder / _MANIFEST, _manifest())
            if shipped := _shipped(native, parts):
                part = folder / f"{LIBRARY}.part"
                shutil.copyfile(shipped, part)
                part.replace(folder / LIBRARY)
            else:
                _compile(_compiler(), native, parts, folder, progress)
    return folder / LIBRARY


def _refuse_path() -> None:
    if set(" :") & set(str(cache_folder())):
        raise EnvironmentFailure(
            f"{cache_folder()}: the path of a preloaded library must have no space or colon; set XDG_CACHE_HOME to "
            "another folder"
        )


def ensure_allocations(progress: Progress) -> Path:
    """The path of the library that counts what a program allocates; compiles it when it is not in the cache.

    Raises EnvironmentFailure where the C library is not GNU's, and as `ensure_attach` does.
    """
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        raise EnvironmentFailure("allocations are counted only on Linux with the GNU C library")
    _refuse_path()
    native = resource_folder("native")
    folder = cache_folder() / "llama.cpp" / f"allocations-{_key(native, _COUNTING)}"
    with alone(folder, progress, (folder / COUNTING).exists):
        if not (folder / COUNTING).exists():
            folder.mkdir(parents=True, exist_ok=True)
            progress.step("compile the library that counts allocations")
            _run_compiler(
                [*_compiler(), *_FLAGS, f"-I{native / 'core'}", *map(str, native.glob("allocations/*.c"))],
                folder,
                COUNTING,
            )
            progress.done()
    return folder / COUNTING


def compile_to_ship(compiler: Sequence[str], folder: Path, progress: Progress) -> None:
    """Compile the library into `folder`, with the key by which an installed tracegen knows that it fits its sources.

    Raises EnvironmentFailure when the compiler fails, and as `ensure_source` does.
    """
    native = resource_folder("native")
    folder.mkdir(parents=True, exist_ok=True)
    _compile(compiler, native, _PARTS, folder, progress)
    write_text(folder / "key", _key(native, _PARTS))


def comes_compiled() -> bool:
    """Whether the installed wheel has the library for this processor, so that no compiler is needed."""
    return _shipped(resource_folder("native"), _PARTS) is not None


def _shipped(native: Path, parts: Sequence[str]) -> Path | None:
    """The library that the wheel brought for this processor, if it was compiled from what the wheel brought, too."""
    folder = native / SHIPPED / platform.machine()
    key = folder / "key"
    fits = key.is_file() and key.read_text(encoding="utf-8") == _key(native, parts)
    return folder / LIBRARY if fits and (folder / LIBRARY).is_file() else None


def refuse_hooked(program: Path) -> None:
    """Raise SettingsError when the program's own llama.cpp has the hooks: two tracers would record each op."""
    if has_hooks(program):
        raise SettingsError(f"{program}: its llama.cpp has the hooks already; leave out --attach")


def preload(*libraries: Path) -> dict[str, str]:
    """The environment variable that preloads libraries, in the program and in the programs that it starts; or none."""
    names = [*map(str, libraries), os.environ.get("LD_PRELOAD", "")]
    return {"LD_PRELOAD": " ".join(filter(None, names))} if libraries else {}


def device_times(library: Path) -> dict[str, str]:
    """The environment in which single operations of devices have times.

    ggml's Vulkan backend labels its operations, and the library's layer stamps them; of a CUDA device CUPTI records the
    kernels.
    """
    kernels = {"TENSOR_TRACE_CUPTI": str(found)} if (found := cupti()) else {}
    return kernels | (_vulkan_layer(library) if (library.parent / _MANIFEST).exists() else {})


def cupti() -> Path | None:
    """NVIDIA's library for profilers: of CUDA's toolkit (CUDA_HOME, CUDA_PATH, or a usual place), or of a package."""
    roots = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), *_ROOTS)
    folders = [Path(root) / part for root in filter(None, roots) for part in _OF_CUDA]
    package = importlib.util.find_spec("nvidia")
    for place in (package.submodule_search_locations or ()) if package else ():
        folders += sorted(Path(place).glob("*/lib"))
    libraries = (path for folder in folders for path in sorted(folder.glob(_CUPTI), reverse=True))
    return next((path for path in libraries if path.is_file()), None)


def _vulkan_layer(library: Path) -> dict[str, str]:
    path = "VK_LAYER_PATH" if os.environ.get("VK_LAYER_PATH") else "VK_ADD_LAYER_PATH"  # the loader takes one of them
    joined = {path: str(library.parent), "VK_INSTANCE_LAYERS": _LAYER}
    return {
        "GGML_VK_DEBUG_MARKERS": "1",
        **{name: ":".join(filter(None, (os.environ.get(name), own))) for name, own in joined.items()},
    }


def _manifest() -> str:
    """What the loader of Vulkan reads of a layer: the library that is preloaded is loaded once."""
    layer = {
        "name": _LAYER,
        "type": "GLOBAL",
        "library_path": f"./{LIBRARY}",
        "api_version": "1.3.0",
        "implementation_version": "1",
        "description": "time stamps of single operations",
        "functions": {"vkNegotiateLoaderLayerInterfaceVersion": "tensor_trace_vulkan_layer"},
    }
    return json.dumps({"file_format_version": "1.2.0", "layer": layer})


def _sources(native: Path, parts: Sequence[str]) -> Iterator[Path]:
    for pattern in parts:
        yield from (path for path in sorted(native.glob(pattern)) if path.name != _ELSEWHERE)


def _key(native: Path, parts: Sequence[str]) -> str:
    digest = hashlib.sha256(" ".join((read_upstream(native).sha256, *_FLAGS, _manifest())).encode())
    for path in _sources(native, parts):
        digest.update(f"{path.relative_to(native).as_posix()}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _compiler() -> list[str]:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise EnvironmentFailure(
            "no C compiler found; on Debian: apt install gcc; or install a wheel of tracegen for this processor, which "
            "has the library compiled"
        )
    return [compiler]


def _has_vulkan() -> bool:
    """Whether there are a compiler and the headers of Vulkan."""
    with suppress(EnvironmentFailure):
        probe = [*_compiler(), "-fsyntax-only", "-include", "vulkan/vk_layer.h", "-x", "c", os.devnull]
        return run_program(probe, stdout=Path(os.devnull), stderr=Path(os.devnull)).status == 0
    return False


def _compile(compiler: Sequence[str], native: Path, parts: Sequence[str], folder: Path, progress: Progress) -> None:
    headers = ensure_source(progress, traced=False).source / "ggml"
    if "vulkan/*.c" in parts and not _has_vulkan():
        raise EnvironmentFailure(
            "neither the headers of Vulkan nor CUPTI were found; on Debian: apt install libvulkan-dev, or for CUDA: "
            "apt install libcupti-dev, or set CUDA_HOME"
        )
    include_flags = [f"-I{native / name}" for name in ("include", "core", "ggml", "attach", "cuda", "vulkan")]
    header_flags = [word for name in ("include", "src") for word in ("-isystem", str(headers / name))]
    sources = [str(path) for path in _sources(native, parts) if path.suffix == ".c"]
    progress.step("compile the library to attach")
    _run_compiler([*compiler, *_FLAGS, *include_flags, *header_flags, *sources, "-ldl"], folder, LIBRARY)
    progress.done()


def _run_compiler(command: Sequence[str], folder: Path, name: str) -> None:
    """Make the library `name` in a folder. Raises EnvironmentFailure with the compiler's last lines when it fails."""
    part, log = folder / f"{name}.part", folder / "build.log"
    ended = run_program([*command, "-o", str(part)], stdout=log, stderr=log)
    if ended.status != 0:
        raise EnvironmentFailure(f"{Path(command[0]).name}: {ended.ending}; {log} ends with:\n{last_lines(log, 20)}")
    part.replace(folder / name)
