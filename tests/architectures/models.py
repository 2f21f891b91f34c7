"""Toy models of all architectures that llama.cpp's own test can write, and why it leaves others out."""

import re
from dataclasses import replace
from pathlib import Path

from tracegen.measure.capture.llama_cpp import TARGET, Build, alone, compile_targets, configure, ensure_source
from tracegen.storing.execute import run_program
from tracegen.storing.progress import Progress

WRITER, SPECULATIVE = "test-llama-archs", "llama-speculative-simple"
_UNSAVED = "llama.cpp cannot save it as a file"
_SKIPPED = re.compile(r"save_models: (\S+) model \(\w+\) is unsupported")
_COMMENT = re.compile(r" *//[ /]*(?:(?:FIXME|TODO):? )?(?P<why>.+)")
_REASON = re.compile(r"if \((?P<of>[^{}]*LLM_ARCH_[^{}]*)\) \{\s*(?:return false|continue);(?P<why>[^\n]*)")


def built(progress: Progress) -> Build:
    """The pinned llama.cpp with hooks, and with the test that writes models, beside the build of users."""
    source = ensure_source(progress, traced=True)
    build = replace(source, subfolder="build-tests", options=("-DLLAMA_BUILD_TESTS=ON",))
    with alone(build.folder, progress):
        configure(build, progress)
        compile_targets(build, (TARGET, SPECULATIVE, WRITER), progress)
    return build


def write_models(build: Build, folder: Path) -> dict[str, str]:
    """Write all models into the new folder; returns the architectures that were left out, each with the reason.

    The reasons are comments in the source of the test: it states none when it runs.
    """
    folder.mkdir()
    log = folder / "log"
    ended = run_program((str(build.programs / WRITER), "-s", "1", "-v", "3", "-o", str(folder)), stdout=log, stderr=log)
    assert ended.status == 0, log.read_text()[-2000:]
    skipped = dict.fromkeys(_SKIPPED.findall(log.read_text()), _UNSAVED)
    named = {_letters(name): name for name in skipped}
    written = {_letters(path.stem.rpartition("-")[0]) for path in folder.glob("*.gguf")}
    for match in _REASON.finditer((build.source / "tests" / f"{WRITER}.cpp").read_text()):
        comment = _COMMENT.match(match["why"])
        for name in re.findall(r"LLM_ARCH_(\w+)", match["of"]):
            if _letters(name) not in written | {"unknown"}:
                known = named.setdefault(_letters(name), name.lower().replace("_", "-"))
                if comment or skipped.get(known, _UNSAVED) == _UNSAVED:
                    skipped[known] = comment["why"] if comment else "not said"
    return skipped


def _letters(name: str) -> str:
    """The name as llama.cpp's constants and files have it alike."""
    return re.sub(r"[-_]", "", name.lower())
