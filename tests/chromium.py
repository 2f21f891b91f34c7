"""Find a Chromium for the browser tests: one that is there, else Debian's when root, else Playwright's own.

`python tests/chromium.py` makes sure that there is one; the tests call `find`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """Path of a Chromium, or None."""
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    cache = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH", Path.home() / ".cache" / "ms-playwright"))
    own = sorted(cache.glob("chromium-*/chrome-linux*/chrome"))
    return str(own[-1]) if own else None


def install() -> None:
    """Install one. Raises CalledProcessError when neither way works."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL}
        subprocess.run(["apt-get", "update", "-qq"], check=True, **quiet)
        subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], check=True, **quiet)
        return
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


if __name__ == "__main__":
    if find() is None:
        print("installing Chromium for the browser tests", flush=True)
        install()
    sys.exit(0 if find() else 3)
