"""The environment of a run whose device stamps its operations: what was set before stays."""

import json
import platform
from collections.abc import Sequence
from pathlib import Path

import pytest

from tracegen.contract.errors import SettingsError
from tracegen.measure.capture import attach


@pytest.mark.parametrize("before", [{}, {"VK_ADD_LAYER_PATH": "/theirs", "VK_INSTANCE_LAYERS": "VK_LAYER_THEIRS"}])
def test_layers_that_were_set_stay(before: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VK_LAYER_PATH", "VK_ADD_LAYER_PATH", "VK_INSTANCE_LAYERS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in before.items():
        monkeypatch.setenv(name, value)
    found = attach._vulkan_layer(Path("/cache/attach-1/libtensor-trace.so"))
    assert found["GGML_VK_DEBUG_MARKERS"] == "1" and "VK_LAYER_PATH" not in found
    assert found["VK_ADD_LAYER_PATH"].split(":") == [*before.get("VK_ADD_LAYER_PATH", "").split(), "/cache/attach-1"]
    own = json.loads(attach._manifest())["layer"]["name"]
    assert found["VK_INSTANCE_LAYERS"].split(":") == [*before.get("VK_INSTANCE_LAYERS", "").split(), own]


def test_a_path_that_the_loader_takes_instead_is_extended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VK_LAYER_PATH", "/theirs")
    found = attach._vulkan_layer(Path("/cache/attach-1/libtensor-trace.so"))
    assert found["VK_LAYER_PATH"] == "/theirs:/cache/attach-1" and "VK_ADD_LAYER_PATH" not in found


def installed(root: Path, part: str, names: Sequence[str] = ("libcupti.so.12", "libcupti.so.13")) -> Path:
    """The newest CUPTI in a folder of a toolkit or package."""
    folder = root / part
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch()
    return folder / sorted(names)[-1]


def test_cupti_of_a_toolkit_comes_before_that_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setattr(attach, "_ROOTS", (str(tmp_path / "usual"),))
    package = tmp_path / "site/nvidia"
    of_package = installed(package, "cuda_cupti/lib")
    monkeypatch.setattr(attach.importlib.util, "find_spec", lambda name: None)
    assert attach.cupti() is None
    spec = type("Spec", (), {"submodule_search_locations": [str(package)]})()
    monkeypatch.setattr(attach.importlib.util, "find_spec", lambda name: spec)
    assert attach.cupti() == of_package
    of_usual = installed(tmp_path / "usual", f"lib/{platform.machine()}-linux-gnu")
    assert attach.cupti() == of_usual
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    of_toolkit = installed(tmp_path / "cuda", "extras/CUPTI/lib64")
    assert attach.cupti() == of_toolkit


def test_a_library_without_the_layer_asks_vulkan_for_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "cupti", lambda: Path("/cuda/libcupti.so.12"))
    library = tmp_path / attach.LIBRARY
    assert attach.device_times(library) == {"TENSOR_TRACE_CUPTI": "/cuda/libcupti.so.12"}
    (tmp_path / attach._MANIFEST).touch()
    assert attach.device_times(library).keys() >= {"TENSOR_TRACE_CUPTI", "VK_INSTANCE_LAYERS"}


def test_times_of_operations_take_attaching(capsys: pytest.CaptureFixture[str]) -> None:
    """The layer is in the library that is preloaded."""
    from tracegen.cli.main import main

    assert main(["exec", "gpu", "--device-times", "ops", "--", "true"]) == SettingsError.exit_code
    assert "--device-times ops: a layer is preloaded with the tracer; add --attach" in capsys.readouterr().err
