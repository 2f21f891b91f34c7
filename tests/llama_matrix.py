"""`make llama-matrix`: do the hooks fit each pinned release of llama.cpp? Applied, compiled, reversed.

With `--run` each is built whole and runs the demo model once. Versions can be named; by default all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tracegen import store
from tracegen.capture.hooked_tree import SOURCES, carry_out, hook_tree, plan_reverse
from tracegen.capture.llama_cpp import TARGET, Build, Upstream, compile_targets, configure, read_releases, unpack
from tracegen.errors import TracegenError
from tracegen.measure import measure
from tracegen.model import Experiment, Run
from tracegen.progress import Progress
from tracegen.resources import folder as resource_folder

EXPECTED = "1 load, 1 warmup, 1 prompt, 3 generate"  # of a run for four tokens, when no check failed


@dataclass(frozen=True)
class Row:
    """What came of one release; `ran`: its passes by kind and failed checks, null when it was not asked for."""

    version: str
    hooked_files: int
    objects: int
    warnings: int
    reversed: bool
    ran: str | None

    @property
    def fits(self) -> bool:
        return self.reversed and self.warnings == 0 and self.objects > 0 and self.ran in (None, EXPECTED)


def try_release(upstream: Upstream, folder: Path, progress: Progress, *, run: bool = False) -> Row:
    """Unpack a release in `folder`, hook it, compile what the hooks touch, perhaps run it, and take them out."""
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
    ran = None
    if run:
        compile_targets(build, [TARGET], progress)
        demo = Experiment(name="matrix", question="?", model="demo", prompt="The memory of the disk", tokens=4)
        made = measure(demo, folder / "matrix", progress, str(build.programs))
        ran = _passes(made)
    carry_out(plan_reverse(build.source))
    return Row(upstream.version, len(theirs), len(objects), warnings, hashes_of(build.source) == before, ran)


def _passes(run: Run) -> str:
    """`2 warmup, …`: the passes by kind when all nodes are accounted for, else what is wrong."""
    wrong = [f"{check.key}: {check.found}" for check in run.checks if check.state == "failed"]
    kinds = store.read_tables(run.folder / "tables", ("passes",))["passes"]["kind"].astype(str)
    counted = ", ".join(f"{int((kinds == kind).sum())} {kind}" for kind in dict.fromkeys(kinds))
    return "; ".join([counted, *wrong])


def objects_of(build: Build, hooked: set[str]) -> list[str]:
    """The objects of all sources that are hooked or tracegen's; every hooked source has one."""
    folder = build.folder / "build"
    entries = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    made = {}
    for entry in entries:
        file = Path(entry["file"]).resolve()
        if file.is_relative_to(build.source.resolve()):
            name = file.relative_to(build.source.resolve()).as_posix()
            if name in hooked or name.startswith(f"{SOURCES}/"):
                made[name] = os.path.relpath(Path(entry["directory"]) / entry["output"], folder)
    missing = {file for file in hooked if file.endswith((".c", ".cpp"))} - set(made)
    assert not missing, f"not compiled: {sorted(missing)}"
    return list(made.values())


def hashes_of(tree: Path) -> dict[str, str]:
    files = (path for path in tree.rglob("*") if path.is_file())
    return {path.relative_to(tree).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def main() -> int:
    """Try each release and print the table; 1 when one does not fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*")
    parser.add_argument("--run", action="store_true")
    args = parser.parse_args()
    rows = []
    print("release  hooks apply  objects compile  warnings  reversed byte for byte  demo run", flush=True)
    for upstream in read_releases(resource_folder("native")):
        if args.versions and upstream.version not in args.versions:
            continue
        with tempfile.TemporaryDirectory(prefix="llama-matrix-") as folder:
            try:
                row = try_release(upstream, Path(folder), Progress(), run=args.run)
            except (TracegenError, AssertionError) as error:
                print(f"{upstream.version}   no: {error}", flush=True)
                rows.append(False)
                continue
        files, objects, same = f"{row.hooked_files} files", f"{row.objects}", "yes" if row.reversed else "NO"
        ran = row.ran or "not asked for"
        print(f"{row.version:7}  {files:11}  {objects:15}  {row.warnings:<8}  {same:22}  {ran}", flush=True)
        rows.append(row.fits)
    return 0 if rows and all(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
