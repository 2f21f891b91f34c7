"""The environment of a run whose device stamps its operations: what was set before stays."""

import json
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
    found = attach.device_layer(Path("/cache/attach-1/libtensor-trace.so"))
    assert found["GGML_VK_DEBUG_MARKERS"] == "1" and "VK_LAYER_PATH" not in found
    assert found["VK_ADD_LAYER_PATH"].split(":") == [*before.get("VK_ADD_LAYER_PATH", "").split(), "/cache/attach-1"]
    own = json.loads(attach._manifest())["layer"]["name"]
    assert found["VK_INSTANCE_LAYERS"].split(":") == [*before.get("VK_INSTANCE_LAYERS", "").split(), own]


def test_a_path_that_the_loader_takes_instead_is_extended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VK_LAYER_PATH", "/theirs")
    found = attach.device_layer(Path("/cache/attach-1/libtensor-trace.so"))
    assert found["VK_LAYER_PATH"] == "/theirs:/cache/attach-1" and "VK_ADD_LAYER_PATH" not in found


def test_times_of_operations_take_attaching(capsys: pytest.CaptureFixture[str]) -> None:
    """The layer is in the library that is preloaded."""
    from tracegen.cli.main import main

    assert main(["exec", "gpu", "--device-times", "ops", "--", "true"]) == SettingsError.exit_code
    assert "--device-times ops: a layer is preloaded with the tracer; add --attach" in capsys.readouterr().err
