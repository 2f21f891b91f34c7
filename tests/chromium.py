"""Find a Chromium for the browser tests: one that is there, else Debian's when root, else Playwright's own.

One without windows (headless shell) is taken first: the same engine opens a page in a third of the processor time.
`python tests/chromium.py` makes sure that there is one; the tests call `find`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
WHOLE = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """Path of a Chromium, or None."""
    cache = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH", Path.home() / ".cache" / "ms-playwright"))
    for names, own in (SHELLS, "chromium_headless_shell-*/chrom*/*headless*shell"), (WHOLE, "chromium-*/chrom*/chrome"):
        found = [*filter(None, map(shutil.which, names)), *map(str, sorted(cache.glob(own), reverse=True))]
        if found:
            return found[0]
    return None


def install() -> None:
    """Install one, as quietly as it goes."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL}
        if find() is None:
            subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)
        for package in (SHELLS[0], WHOLE[0]):  # not every distribution has the first
            if subprocess.run(["apt-get", "install", "-y", "-qq", package], check=False, **quiet).returncode == 0:
                return
    elif find() is None:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)


if __name__ == "__main__":
    if not (find() or "").endswith("shell"):
        print("installing Chromium for the browser tests", flush=True)
        install()
    sys.exit(0 if find() else 3)
