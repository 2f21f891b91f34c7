"""llama.cpp itself finds, with a pattern of tensors to keep, just these tensors."""

import re
import subprocess
from pathlib import Path

import pytest
from gguf import GGUFReader

from tracegen.analysis.kept_tensors import pattern
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.measure.demo.models import write_demo_model

pytestmark = pytest.mark.llama


def test_llama_cpp_overrides_just_the_tensors_of_a_pattern(plain: Build, tmp_path: Path) -> None:
    (model,) = write_demo_model("moe", tmp_path / "m.gguf")
    names = [tensor.name for tensor in GGUFReader(model).tensors]
    chosen = {name for name in names if "ffn_up_exps" in name or name.startswith("blk.1.attn") or name == names[0]}
    assert 3 < len(chosen) < len(names)
    command = [str(plain.programs / TARGET), "-m", str(model), "-p", "a", "-n", "1", "-no-cnv", "--fit", "off", "-v"]
    ended = subprocess.run(
        [*command, "-ot", f"{pattern(sorted(chosen))}=CPU"], capture_output=True, stdin=subprocess.DEVNULL, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    found = re.findall(r"tensor (\S+) .*buffer type overridden to CPU", (ended.stdout + ended.stderr).decode())
    assert set(found) == chosen
