"""macOS from Linux: zig compiles and links the tracer and a llama.cpp with hooks. Nothing here runs what it makes.

`python -m tests.macos` says for each processor what was compiled and linked; `make macos` installs what that takes.
"""

import sys
from dataclasses import replace
from pathlib import Path

from tracegen.measure.capture.llama_cpp import TARGET, Build, alone, compile_targets, configure, ensure_source
from tracegen.storing.progress import Progress

PROCESSORS = {"aarch64": "arm64", "x86_64": "x86_64"}  # zig's name -> Apple's
MAGIC = b"\xcf\xfa\xed\xfe"  # of a program of 64 bits: Mach-O
OFF = ("GGML_METAL", "GGML_ACCELERATE", "GGML_BLAS", "GGML_NATIVE", "GGML_OPENMP", "LLAMA_OPENSSL", "BUILD_SHARED_LIBS")


def build(processor: str, progress: Progress) -> Build:
    """The pinned llama.cpp with hooks for macOS, in the cache beside that of this machine."""
    source = ensure_source(progress, traced=True)
    tools = source.folder / f"zig-{processor}"
    options = [f"-DCMAKE_SYSTEM_NAME=Darwin -DCMAKE_SYSTEM_PROCESSOR={PROCESSORS[processor]}".split()]
    options.append([f"-D{name}=OFF" for name in OFF])
    options.append(["-DCMAKE_INSTALL_NAME_TOOL=/bin/true"])  # there is no library whose name it would change
    tools.mkdir(exist_ok=True)
    for name, word in (("C_COMPILER", "cc"), ("CXX_COMPILER", "c++"), ("AR", "ar"), ("RANLIB", "ranlib")):
        for_target = f" -target {processor}-macos" if "COMPILER" in name else ""
        (tools / word).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {word}{for_target} "$@"\n')
        (tools / word).chmod(0o755)
        options.append([f"-DCMAKE_{name}={tools / word}"])
    made = replace(source, subfolder=f"macos-{processor}", options=tuple(word for words in options for word in words))
    with alone(made.folder, progress):
        configure(made, progress)
        compile_targets(made, (TARGET,), progress)
    return made


def linked(program: Path) -> bool:
    """Whether it is a program of macOS with the tracer inside."""
    content = program.read_bytes()
    return content.startswith(MAGIC) and b"_tensor_trace_op_begin" in content and b"only Linux counts" in content


if __name__ == "__main__":
    fine = True
    for one in PROCESSORS:
        whole = linked(build(one, Progress()).programs / TARGET)
        print(f"macOS, {one}: {TARGET}", "has the tracer" if whole else "is not what it should be")
        fine &= whole
    sys.exit(0 if fine else 1)
