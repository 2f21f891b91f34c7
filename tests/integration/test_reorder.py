"""A model whose tensors stand in another order computes the same, bit for bit, and its accesses move as simulated."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.conftest import SHORT, Oracle, stored
from tests.reordered_files import but_name, in_order
from tests.reordered_runs import reads_of
from tracegen.analysis import what_if
from tracegen.cli.main import main
from tracegen.contract.errors import SettingsError
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.demo.models import write_demo_model
from tracegen.measure.reordered import original, slots_of
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


def test_experts_that_stand_elsewhere_compute_the_same(
    hooked: Build, oracle: Oracle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The router numbers them by their new places; nothing else changes, and what is read is counted."""
    model, out = write_demo_model("moe", tmp_path / "m.gguf")[0], tmp_path / "beside.gguf"
    experiment, before = measured(model, hooked, tmp_path / "before")
    feed = before.run.facts.text.token_ids[:-1]
    capsys.readouterr()
    assert main(["reorder", str(model), str(out), "--order", "co-activated", "--run", str(before.run.folder)]) == 0
    assert "Experts moved inside of" in capsys.readouterr().out
    moved, after = measured(out, hooked, tmp_path / "beside")
    assert oracle(moved, feed, "--nodes", "off") == oracle(experiment, feed, "--nodes", "off")
    assert after.run.facts.text.token_ids == before.run.facts.text.token_ids and after.run.verdict != "not usable"
    keys = ["pass_id", "layer", "row", "rank"]
    rows = [run.tables["routing"].sort_values(keys, ignore_index=True) for run in (before, after)]
    assert rows[0][keys].equals(rows[1][keys])
    slots = what_if.expert_slots(before.tables["routing"], frozenset(before.passes["pass_id"]) - outside(before))
    assert any(places.tolist() != sorted(places) for places in slots.values())
    places = [
        int(slots[layer][expert]) if expert < len(slots[layer]) else int(expert)
        for layer, expert in zip(rows[0]["layer"], rows[0]["expert"], strict=True)
    ]
    assert rows[1]["expert"].tolist() == places


def outside(loaded: LoadedRun) -> frozenset[int]:
    """Loads and warm-ups."""
    passes = loaded.passes
    return frozenset(passes.loc[passes["kind"].isin(["load", "warmup"]).to_numpy(bool), "pass_id"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"expert_group_count": 2}, "choose groups of experts"),
        ({"expert_group_count": 1}, ""),
    ],
)
def test_experts_of_groups_stay(
    change: dict[str, int], said: str, hooked: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_demo_model("moe", tmp_path / "m.gguf")[0]
    with original(model) as source:
        places = {0: [1, 0], 1: [0, 1]}
        header = replace(
            source.header, metadata={**source.header.metadata, **{f"moe.{k}": n for k, n in change.items()}}
        )
        if said:
            with pytest.raises(SettingsError, match=said):
                slots_of(header, places)
        else:
            norm = replace(header.tensors[0], name="blk.0.ffn_norm_exps.weight", shape=(64, 1, 1, 1), size_bytes=256)
            found = slots_of(replace(header, tensors=(*header.tensors, norm)), places)
            assert norm.name not in found  # of all experts together
            other = replace(norm, name="blk.0.ffn_up_exps.bias")
            with pytest.raises(SettingsError, match=r"ffn_up_exps\.bias has no part for each"):
                slots_of(replace(header, tensors=(*header.tensors, other)), places)
            assert {name.split(".")[1] for name in found} == {"0", "1"}
            assert all(slots[:2] == ((1, 0) if ".0." in name else (0, 1)) for name, slots in found.items())
            assert any("ffn_gate_inp" in name for name in found)
