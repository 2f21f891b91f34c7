"""C that needs the headers of llama.cpp compiles without a warning, as make check holds it for all other C."""

import subprocess

import pytest

from tracegen.measure.capture.llama_cpp import ensure_source
from tracegen.storing.progress import Progress
from tracegen.storing.resources import folder as resource_folder

pytestmark = pytest.mark.llama


@pytest.mark.parametrize("optimized", ["-O0", "-O2"])
def test_c_that_needs_ggml_compiles_without_a_warning(optimized: str) -> None:
    """As hooks and as attached tracing compile it; only the source is needed, nothing of llama.cpp is built."""
    source = ensure_source(Progress(), traced=False).source
    command = ["make", "-C", str(resource_folder("native")), "check", f"GGML={source}", f"CFLAGS={optimized}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
