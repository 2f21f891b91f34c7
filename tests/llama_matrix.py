"""`make llama-matrix`: do the hooks fit each pinned release of llama.cpp? Applied, compiled, reversed.

With `--run` each release is built whole (tracegen's cache keeps it) and runs random models and knobs,
see tests/model_matrix.py, and the pinned one a model of each architecture. Versions can be named; by default all.
The tables are printed and written to `llama-matrix.md`, that of the architectures to docs/architectures.md;
with `--architectures` only this one.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.architectures.table import write_page
from tests.model_matrix import CELLS, EMBEDDING, Outcome, run_cell, table
from tracegen.contract.details import in_words
from tracegen.contract.errors import TracegenError
from tracegen.measure.capture.hooked_tree import SOURCES, carry_out, hook_tree, plan_reverse
from tracegen.measure.capture.llama_cpp import TARGET, Build, compile_targets, configure, ensure_build, unpack
from tracegen.storing.native import Upstream, read_releases, read_upstream
from tracegen.storing.progress import Progress
from tracegen.storing.resources import folder as resource_folder

WRITTEN = Path("llama-matrix.md")


@dataclass(frozen=True)
class Row:
    """What came of one release's hooks."""

    version: str
    hooked_files: int
    objects: int
    warnings: int
    reversed: bool
    without: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return self.reversed and self.warnings == 0 and self.objects > 0 and not self.without

    @property
    def said(self) -> str:
        """How many files were hooked, and what is lost."""
        return f"{self.hooked_files} files{f', without {in_words(self.without)}' if self.without else ''}"

    def __str__(self) -> str:
        same = "yes" if self.reversed else "NO"
        return f"| {self.version} | {self.said} | {self.objects} | {self.warnings} | {same} |"


def try_release(upstream: Upstream, folder: Path, progress: Progress) -> Row:
    """Unpack a release in `folder`, hook it, compile what the hooks touch, and take them out."""
    build = Build(folder, folder / "source", upstream.version, traced=True)
    unpack(upstream, build.source, progress)
    before = hashes_of(build.source)
    plan = hook_tree(build.source, resource_folder("native"))
    theirs = {change.file for change in plan.net() if not change.own}
    configure(build, progress)
    objects = objects_of(build, theirs)
    compile_targets(build, objects, progress)
    log = (folder / "build.log").read_text(encoding="utf-8", errors="replace")
    warnings = sum("warning:" in line and "tensor" in line for line in log.splitlines())
    carry_out(plan_reverse(build.source))
    same = hashes_of(build.source) == before
    return Row(upstream.version, len(theirs), len(objects), warnings, same, tuple(plan.without))


def objects_of(build: Build, hooked: set[str]) -> list[str]:
    """The objects of all sources that are hooked or tracegen's; every hooked source has one."""
    folder = build.folder / "build"
    entries = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    objects = {}
    for entry in entries:
        file = Path(entry["file"]).resolve()
        if file.is_relative_to(build.source.resolve()):
            name = file.relative_to(build.source.resolve()).as_posix()
            if name in hooked or name.startswith(f"{SOURCES}/"):
                objects[name] = os.path.relpath(Path(entry["directory"]) / entry["output"], folder)
    missing = {file for file in hooked if file.endswith((".c", ".cpp"))} - set(objects)
    assert not missing, f"not compiled: {sorted(missing)}"
    return list(objects.values())


def hashes_of(tree: Path) -> dict[str, str]:
    """The sha256 of each file of a tree."""
    files = (path for path in tree.rglob("*") if path.is_file())
    return {path.relative_to(tree).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def run_release(upstream: Upstream, folder: Path, progress: Progress) -> dict[tuple[str, str], Outcome]:
    """Build a release and run every cell with it. Raises TracegenError when it cannot be built."""
    for target in (TARGET, EMBEDDING):
        build = ensure_build(progress, target=target, upstream=upstream)
    folder.mkdir()
    results = {}
    for number, cell in enumerate(CELLS):
        results[upstream.version, cell.name] = outcome = run_cell(cell, build.programs, folder / str(number))
        print(f"{upstream.version} {cell.name}: {outcome.state} {outcome.why}", flush=True)
    return results


def main() -> int:
    """Try each release, print the tables and write them; 1 when one does not fit or a cell failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*")
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--architectures", action="store_true")
    args = parser.parse_args()
    if args.architectures:
        return 0 if write_page(Progress()) else 1
    releases = read_releases(resource_folder("native"))
    lines = ["| release | hooks apply | objects compile | warnings | reversed byte for byte |", "|---|---|---|---|---|"]
    fine: list[bool] = []
    outcomes: dict[tuple[str, str], Outcome] = {}
    otherwise: dict[str, str] = {}
    for upstream in releases:
        if args.versions and upstream.version not in args.versions:
            otherwise[upstream.version] = "not asked for"
            continue
        with tempfile.TemporaryDirectory(prefix="llama-matrix-") as folder:
            try:
                row = try_release(upstream, Path(folder), Progress())
                lines.append(str(row))
                fine.append(row.fits)
                if args.run:
                    outcomes |= run_release(upstream, Path(folder) / "cells", Progress())
                else:
                    otherwise[upstream.version] = "models run with --run"
            except (TracegenError, AssertionError) as error:
                lines.append(f"| {upstream.version} | no: {error} | | | |")
                otherwise[upstream.version] = "its hooks do not fit, or it cannot be built"
                fine.append(False)
    text = "\n".join([*lines, "", table([u.version for u in releases], outcomes, otherwise)])
    WRITTEN.write_text(text, encoding="utf-8")
    print(text, end="")
    if args.run and read_upstream(resource_folder("native")).version not in otherwise:
        fine.append(write_page(Progress()))
    unfit = [outcome for outcome in outcomes.values() if outcome.state == "FAILED"]
    return 0 if fine and all(fine) and not unfit else 1


if __name__ == "__main__":
    sys.exit(main())
