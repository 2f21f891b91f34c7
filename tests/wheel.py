"""`make wheel`: a wheel with the library to attach, an sdist, and both tried as a user has them: without a compiler.

The library is compiled for the C library of Debian 11, so that it runs on what is newer. `dist/` has the files.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.upstream import COMPILED
from tracegen.measure.capture.attach import LIBRARY, compile_to_ship
from tracegen.storing.progress import Progress

ROOT = Path(__file__).parents[1]
GLIBC = "2.31"  # of Debian 11
PLATFORM = f"manylinux_{GLIBC.replace('.', '_')}_x86_64"
DIST, ATTACHED = ROOT / "dist", ROOT / "build/attached"
MODEL = ROOT / "models/tiny-mixture/tiny-mixture.gguf"
# of a library with everything inside, whose package needs no compiler either
PROGRAM = next(of for of in COMPILED if of.package == "xllamacpp").program


def run(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> str:
    """What a program printed; ends this one where it fails."""
    told = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)
    if told.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit status {told.returncode}\n{told.stdout}{told.stderr}")
    return told.stdout + told.stderr


def build() -> tuple[Path, Path]:
    """The wheel and the sdist, in `dist/`."""
    shutil.rmtree(ATTACHED, ignore_errors=True)
    shutil.rmtree(DIST, ignore_errors=True)
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", f"x86_64-linux-gnu.{GLIBC}"]
    compile_to_ship(zig, ATTACHED / "x86_64", Progress())
    (ATTACHED / "x86_64/build.log").unlink()
    told = {**os.environ, "TRACEGEN_ATTACHED": str(ATTACHED), "TRACEGEN_PLATFORM": PLATFORM}
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", DIST], told)
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", DIST])
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, sdist


def tried(wheel: Path, folder: Path) -> str:
    """What an installed wheel says of a program that it attaches to, where nothing finds a compiler."""
    own = folder / "own"
    run([sys.executable, "-m", "venv", own])
    run([own / "bin/python", "-m", "pip", "install", "--quiet", wheel, "xllamacpp"])
    (folder / "program.py").write_text("import sys\n" + textwrap.dedent(PROGRAM), encoding="utf-8")
    alone = {"HOME": str(folder), "PATH": str(own / "bin"), "LANG": "C.UTF-8"}
    command = ["exec", "tried", "--attach", "--", own / "bin/python", folder / "program.py", MODEL]
    told = subprocess.run([own / "bin/tracegen", *command], capture_output=True, text=True, env=alone, cwd=folder)
    if told.returncode not in (0, 1) or "stored in" not in told.stdout + told.stderr:
        sys.exit(f"the installed wheel: exit status {told.returncode}\n{told.stdout}{told.stderr}")
    return next(line for line in (told.stdout + told.stderr).splitlines() if " checks passed" in line)


def main() -> None:
    """Build, look at what was built, install it, and record with it."""
    wheel, sdist = build()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert [name for name in names if name.endswith(LIBRARY)] == [f"tracegen/_data/native/attached/x86_64/{LIBRARY}"]
    assert not [name for name in names if "/build/" in name], "what was built beside the sources is in the wheel"
    audited = run([sys.executable, "-m", "auditwheel", "show", wheel])
    assert PLATFORM in audited.replace("\n", " "), audited
    print(run([sys.executable, "-m", "twine", "check", "--strict", wheel, sdist]).strip())
    with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
        print(f"without a compiler: {tried(wheel, Path(folder))}")
    for made in (wheel, sdist):
        print(f"{made.relative_to(ROOT)}: {made.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
