"""With the option off the objects of hooked sources contain no symbol of ours."""

import json
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tracegen.measure.capture.hooks import parse_hooks
from tracegen.measure.capture.llama_cpp import Build
from tracegen.storing.resources import folder

pytestmark = [pytest.mark.native, pytest.mark.llama]
OURS = re.compile(r"tensor_trace|(?<![A-Za-z_])tt_[a-z]")
LIST = (folder("native") / "hooks" / "llama-cpp.toml").read_text(encoding="utf-8")
HOOKED = sorted({hook.file for hook in parse_hooks(LIST) if hook.file.endswith((".c", ".cpp"))})


def _symbols(command: str, build: Build, directory: str, target: Path, leave_out: str) -> set[str]:
    """Our symbols in the object that `command` compiles without the argument `leave_out`.

    Nothing is optimised: that is faster, and would drop no symbol. The environment lets a compiler cache, if there is
    one, find objects that were compiled in other folders.
    """
    arguments = [*(a for a in shlex.split(command) if a != leave_out), "-O0"]
    arguments[arguments.index("-o") + 1] = str(target)
    environment = os.environ | {"CCACHE_BASEDIR": str(build.folder), "CCACHE_NOHASHDIR": "1"}
    subprocess.run(arguments, cwd=directory, check=True, capture_output=True, timeout=600, env=environment)
    listed = subprocess.run(["nm", str(target)], check=True, capture_output=True, text=True)
    return {name for line in listed.stdout.splitlines() if OURS.search(name := line.split()[-1])}


def test_no_symbol_is_left(hooked: Build, tmp_path: Path) -> None:
    entries = json.loads((hooked.folder / "build" / "compile_commands.json").read_text(encoding="utf-8"))
    chosen = {
        Path(e["file"]).relative_to(hooked.source).as_posix(): e for e in entries if _is_in(e["file"], hooked.source)
    }
    assert set(HOOKED) <= set(chosen)

    def compiled(file: str, leave_out: str) -> set[str]:
        entry = chosen[file]
        target = tmp_path / f"{file.replace('/', '-')}{leave_out}.o"
        return _symbols(entry["command"], hooked, entry["directory"], target, leave_out)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        off = dict(zip(HOOKED, pool.map(lambda file: compiled(file, "-DGGML_TENSOR_TRACE"), HOOKED), strict=True))
    assert off == {file: set() for file in HOOKED}
    assert {"tensor_trace_self", "tensor_trace_op_begin"} <= compiled("ggml/src/ggml-cpu/ggml-cpu.c", "")


def _is_in(file: str, source: Path) -> bool:
    return Path(file).is_relative_to(source)
