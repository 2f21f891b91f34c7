"""The builds of llama.cpp that tests run: every program of them is made before the first one runs.

Making one more program of a build configures it again, which may link its libraries again while the
test of another process runs a program of it.
"""

from tracegen.measure.capture.llama_cpp import TARGET, Build, ensure_build
from tracegen.storing.progress import Progress

# by whether they have hooks
PROGRAMS = {
    True: (TARGET, "llama-bench", "llama-embedding", "llama-parallel", "llama-speculative-simple"),
    False: (TARGET,),
}


def whole_build(*, traced: bool) -> Build:
    """The build in tracegen's cache with all programs that tests run of it; the first session pays for it (minutes)."""
    builds = [ensure_build(Progress(), traced=traced, target=program) for program in PROGRAMS[traced]]
    return builds[-1]
