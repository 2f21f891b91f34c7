"""How often each expert was chosen, as JSON: against sums over the table of routing."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.builders import a_moe_run, scaled_case
from tracegen.contract.errors import SettingsError
from tracegen.export.experts_profile import EXPERTS_PROFILE
from tracegen.export.format import Source


def test_each_choice_is_counted_once(tmp_path: Path) -> None:
    tables = scaled_case(6, 3, moe=True)
    EXPERTS_PROFILE.write(Source("demo/run-003", a_moe_run(), tables, tmp_path), tmp_path)
    (path,) = tmp_path.iterdir()
    assert path.name == "demo-run-003-experts.json"
    document = json.loads(path.read_text())
    kind = tables["passes"].set_index("pass_id")["kind"].to_dict()
    counted: Counter[tuple[str, int, int]] = Counter()
    for row in tables["routing"].to_dict("records"):
        counted[kind[row["pass_id"]], row["layer"], row["expert"]] += 1
    assert counted and {layer["layer"] for layer in document["layers"]} == {layer for _, layer, _ in counted}
    for layer in document["layers"]:
        for kind_of, name in (("generate", "generated"), ("prompt", "prompt")):
            expected = [counted[kind_of, layer["layer"], expert] for expert in range(layer["n_experts"])]
            assert layer[name] == expected
        uses = layer["generated"]
        assert layer["order"] == sorted(range(len(uses)), key=lambda expert: (-uses[expert], expert))
        of = tables["tensors"][tables["tensors"]["layer"].eq(layer["layer"]) & tables["tensors"]["n_experts"].notna()]
        stacks = of[of["component"].str.startswith("expert_")]
        assert layer["expert_bytes"] == int((stacks["size_bytes"] // stacks["n_experts"]).sum())


def test_a_dense_model_has_no_profile(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no token of a prompt or generate pass chose an expert"):
        EXPERTS_PROFILE.write(Source("demo/run-003", a_moe_run(), scaled_case(2, 1), tmp_path), tmp_path)
