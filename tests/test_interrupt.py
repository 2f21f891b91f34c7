"""Ctrl-C before a command has begun: one line, exit code 130."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(("module", "arguments"), [("click", ["--version"]), ("pandas", ["tensors", "model.gguf"])])
def test_ctrl_c_while_modules_load(module: str, arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from tracegen.__main__ import main\n"
        "sys.exit(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "tracegen: interrupted\n")
