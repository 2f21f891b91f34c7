"""Linux on aarch64, emulated: a cross compiler, qemu, the tracer's tests and a llama.cpp with hooks.

`python -m tests.aarch64` installs what is missing (Debian, as root), or says why not; the tests call `find`, `build`.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from tracegen.measure.capture.llama_cpp import TARGET, Build, alone, compile_targets, configure, ensure_source
from tracegen.storing.progress import Progress

PREFIX = "aarch64-linux-gnu"
SYSTEM = Path("/usr") / PREFIX  # its C library
PACKAGES = (f"gcc-{PREFIX}", f"g++-{PREFIX}", "qemu-user")  # of Debian
OPTIONS = (
    "-DCMAKE_SYSTEM_NAME=Linux",
    "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
    f"-DCMAKE_C_COMPILER={PREFIX}-gcc",
    f"-DCMAKE_CXX_COMPILER={PREFIX}-g++",
    "-DGGML_NATIVE=OFF",
    "-DGGML_OPENMP=OFF",
    "-DLLAMA_OPENSSL=OFF",
)


def find() -> tuple[str, ...] | None:
    """The command that runs a program of aarch64; None without a compiler or qemu."""
    qemu = shutil.which("qemu-aarch64")
    return (qemu, "-L", str(SYSTEM)) if qemu and shutil.which(f"{PREFIX}-g++") and SYSTEM.is_dir() else None


def build(progress: Progress) -> Build:
    """The pinned llama.cpp with hooks, cross-compiled; it lies in the cache beside that of this machine."""
    made = replace(ensure_source(progress, traced=True), subfolder="aarch64", options=OPTIONS)
    with alone(made.folder, progress, (made.programs / TARGET).exists):
        if not (made.programs / TARGET).exists():
            configure(made, progress)
            compile_targets(made, (TARGET,), progress)
    return made


def install() -> str:
    """Install what is missing; why that is not possible, or nothing."""
    if find() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL}
        subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)
        subprocess.run(["apt-get", "install", "-y", "-qq", *PACKAGES], check=False, **quiet)
    return "" if find() else f"there is no cross compiler with qemu; on Debian: apt install {' '.join(PACKAGES)}"


if __name__ == "__main__":
    if why := install():
        print(f"skipped: {why}", flush=True)
    sys.exit(0)
