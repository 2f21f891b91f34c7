"""A model whose tensors stand in another order computes the same, bit for bit, and its accesses move as simulated."""

import re
from pathlib import Path

import pytest

from tests.integration.conftest import SHORT, Oracle, stored
from tests.reordered_files import but_name, in_order
from tests.reordered_runs import reads_of
from tracegen.cli.main import main
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.demo.models import write_demo_model
from tracegen.reading.notebook.loaded import LoadedRun

pytestmark = pytest.mark.llama


def measured(model: Path, hooked: Build, folder: Path) -> tuple[Experiment, LoadedRun]:
    """A run of the model with its weights in the file, as `disk_accesses` needs them."""
    experiment = Experiment(
        name=folder.name, question="?", model=str(model), prompt=SHORT, tokens=6, threads=1, repack=False
    )
    return experiment, stored(experiment, folder, hooked)


@pytest.mark.parametrize("kind", ["demo", "moe"])
def test_logits_are_the_same_and_the_simulation_comes_true(
    kind: str, hooked: Build, oracle: Oracle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_demo_model(kind, tmp_path / "m.gguf")[0]
    experiment, before = measured(model, hooked, tmp_path / "before")
    feed = before.run.facts.text.token_ids[:-1]
    expected = oracle(experiment, feed, "--nodes", "off")
    assert len({call["logits"]["hash"] for call in expected[1:]}) == len(feed) + 1
    orders = {}
    for which in ("layer", "first-touch", "hot"):
        out = tmp_path / f"{which}.gguf"
        capsys.readouterr()
        assert main(["reorder", str(model), str(out), "--order", which, "--run", str(before.run.folder)]) == 0
        line = re.search(
            r"speed: ([\d.]+) reads per token \(generate pass\) from MODEL as it is, ([\d.]+) from OUT",
            capsys.readouterr().out,
        )
        assert but_name(out) == but_name(model)
        orders[which] = in_order(out)
        moved, after = measured(out, hooked, tmp_path / which)
        assert oracle(moved, feed, "--nodes", "off") == expected
        assert after.run.facts.text.token_ids == before.run.facts.text.token_ids
        assert after.run.verdict != "not usable"
        assert line and tuple(map(float, line.groups())) == (reads_of(before.tables), reads_of(after.tables))
    assert len(set(map(tuple, orders.values()))) == 3
