"""llama.cpp itself leaves just those tensors to the CPU that a placement counts as experts of the first layers."""

import re
import subprocess
from pathlib import Path

import pytest
from gguf import GGUFReader

from tracegen.analysis.device_place import is_of_experts
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.measure.demo.models import write_demo_model

pytestmark = pytest.mark.llama


@pytest.mark.parametrize("options, layers", [(("--n-cpu-moe", "1"), {"0"}), (("--cpu-moe",), None)])
def test_llama_cpp_leaves_these_experts_to_the_cpu(
    options: tuple[str, ...], layers: set[str] | None, plain: Build, tmp_path: Path
) -> None:
    (model,) = write_demo_model("moe", tmp_path / "m.gguf")
    names = [tensor.name for tensor in GGUFReader(model).tensors]
    chosen = {n for n in names if is_of_experts(n) and (layers is None or n.split(".")[1] in layers)}
    assert 2 < len(chosen) < len(names)
    command = [str(plain.programs / TARGET), "-m", str(model), "-p", "a", "-n", "1", "-no-cnv", "--fit", "off", "-v"]
    ended = subprocess.run([*command, *options], capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    assert ended.returncode == 0, ended.stderr
    found = re.findall(r"tensor (\S+) .*buffer type overridden to CPU", (ended.stdout + ended.stderr).decode())
    assert set(found) == chosen
