"""A llama.cpp with the Vulkan backend and a GPU in software: a wheel in an environment of its own, and Mesa's driver.

`python tests/vulkan.py` makes sure that both are there, or says why not; the tests call `find`.
"""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

PLACE = Path(__file__).parents[1] / ".venv-vulkan"
LOCK = Path(__file__).with_suffix(".lock")
DRIVERS = (Path("/usr/share/vulkan/icd.d"), Path("/etc/vulkan/icd.d"))
PACKAGES = ("mesa-vulkan-drivers", "libvulkan-dev")  # of Debian
PYTHONS = ("python3.14", "python3.13", "python3.12", sys.executable)
# The first device, though it is no GPU; lavapipe of Debian 12 computes half precision and matrices wrongly.
DEVICE = {"GGML_VK_VISIBLE_DEVICES": "0", "GGML_VK_DISABLE_F16": "1", "GGML_VK_DISABLE_COOPMAT": "1"}


def find() -> Path | None:
    """The program `inferna`, where it can use Mesa's driver in software; None without either."""
    program = PLACE / "bin/inferna"
    return program if program.exists() and _driver() else None


def _driver() -> Path | None:
    return next((path for folder in DRIVERS for path in sorted(folder.glob("lvp_icd*.json"))), None)


def headers() -> bool:
    """Whether there is what times of single operations are compiled with."""
    return Path("/usr/include/vulkan/vk_layer.h").exists()


def newer_python() -> str | None:
    """A Python of 3.12 or newer: a name may be there and not run, as those of pyenv, whose versions are looked up."""
    newer = "import sys; sys.exit(sys.version_info < (3, 12))"
    versions = sorted(map(str, (Path.home() / ".pyenv/versions").glob("3.1[2-9]*/bin/python")), reverse=True)
    there = [*filter(None, map(shutil.which, PYTHONS)), *versions]
    return next(
        (path for path in there if subprocess.run([path, "-c", newer], capture_output=True).returncode == 0), None
    )


def install() -> str:
    """Install what is missing; why that is not possible, or nothing."""
    if platform.machine() != "x86_64" or sys.platform != "linux":
        return "the wheel with the Vulkan backend is for Linux on x86_64"
    if not (_driver() and headers()) and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL}
        subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)
        subprocess.run(["apt-get", "install", "-y", "-qq", *PACKAGES], check=False, **quiet)
    if _driver() is None:
        return f"there is no Vulkan driver in software; install {PACKAGES[0]}"
    python = newer_python()
    if python is None:
        return "it takes Python 3.12 or newer"
    if not (PLACE / "bin/inferna").exists():
        subprocess.run([python, "-m", "venv", "--clear", PLACE], check=True)
        pip = [PLACE / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if subprocess.run([*pip, "--require-hashes", "-r", LOCK], check=False).returncode:
            return "the wheel could not be installed"
    return ""


if __name__ == "__main__":
    if why := install():
        print(f"skipped: {why}", flush=True)
