"""Which rows of the KV cache attention read, against positions and windows: what llama.cpp's masks are made from."""

from pathlib import Path

import pandas as pd
import pytest

from tests import random_models
from tests.integration.conftest import stored
from tests.random_files import write_random_model
from tracegen.analysis import accesses
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.demo.gpt_oss import GPT_OSS_TYPES
from tracegen.reading.notebook.loaded import LoadedRun

pytestmark = pytest.mark.llama

WINDOW = 8  # of GPT_OSS in random_models: every other layer, the first included
PROMPT = "The page of the memory is read from the disk by the expert"


@pytest.fixture(scope="module")
def windowed(hooked: Build, tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    model = tmp_path_factory.mktemp("model") / "gpt-oss.gguf"
    write_random_model(random_models.GPT_OSS, model, "Q8_0", GPT_OSS_TYPES)
    return _run(hooked, model, tmp_path_factory.mktemp("windowed"), "on")


def _run(hooked: Build, model: Path, folder: Path, flash_attention: str) -> LoadedRun:
    experiment = Experiment("case", "", str(model), PROMPT, 6, ubatch=7, flash_attention=flash_attention)  # type: ignore[arg-type]
    return stored(experiment, folder, hooked)


def rows_read(loaded: LoadedRun) -> dict[tuple[int, int], dict[str, set[int]]]:
    """(pass, layer) -> slot -> rows of the cache that its attention read."""
    nodes = loaded.graph_nodes
    attention = nodes.loc[nodes["op"] == "FLASH_ATTN_EXT", ["graph", "node", "layer"]]
    graph = loaded.passes[["pass_id", "graph"]].dropna()
    touched = loaded.touches.merge(graph, on="pass_id").merge(attention, on=["graph", "node"])
    by_slot: dict[tuple[int, int], dict[str, set[int]]] = {}
    for row in touched.to_dict("records"):
        rows = by_slot.setdefault((row["pass_id"], row["layer"]), {}).setdefault(str(row["slot"]), set())
        rows |= set(range(row["first_unit"], row["first_unit"] + row["n_units"]))
    return by_slot


def test_each_row_sees_what_lies_before_it_and_in_its_window(windowed: LoadedRun) -> None:
    passes = windowed.passes[windowed.passes["kind"].isin(["prompt", "generate"])]
    read = rows_read(windowed)
    n_layers = 4
    assert len(passes) > 6, "several ubatches of the prompt, and tokens"
    for row in passes.to_dict("records"):
        positions = range(row["position_begin"], row["position_begin"] + row["n_tokens"])
        whole = set(range(positions[-1] + 1))
        window = {p for at in positions for p in range(max(0, at - WINDOW + 1), at + 1)}
        for layer in range(n_layers):
            by_slot = read[row["pass_id"], layer]
            assert by_slot["src1"] == by_slot["src2"] and set(by_slot) == {"src1", "src2"}
            n = len(window) if layer % 2 == 0 else len(whole)
            # the cache of a window is a ring: its rows have other numbers
            assert len(by_slot["src1"]) == n, (row["pass_id"], layer)
            if layer % 2:
                assert by_slot["src1"] == whole


def test_bytes_of_keys_and_values_are_those_of_the_rows(windowed: LoadedRun) -> None:
    last = int(windowed.passes["pass_id"].max())
    rows = accesses.accesses(windowed.tables, [last])
    rows = rows[rows["op"] == "FLASH_ATTN_EXT"].set_index(["layer", "slot"])
    read = rows_read(windowed)
    kv_heads, head, f16 = 2, 32, 2
    for layer in range(4):
        for slot in ("src1", "src2"):
            n = len(read[last, layer][slot])
            assert rows.loc[(layer, slot), "touched_bytes"] == n * kv_heads * head * f16
            assert rows.loc[(layer, slot), "touched_bytes"] < rows.loc[(layer, slot), "size_bytes"]


def test_without_flash_attention_all_rows_of_the_view_are_multiplied(hooked: Build, demo: Path, tmp_path: Path) -> None:
    """V is read by rows of positions, with the whole context between them: its elements count, not its extent."""
    loaded = _run(hooked, demo, tmp_path, "off")
    assert not rows_read(loaded)
    last = int(loaded.passes["pass_id"].max())
    rows = accesses.accesses(loaded.tables, [last])
    values = rows[rows["source_name"].str.startswith("cache_v") & (rows["op"] == "MUL_MAT")]
    nodes = loaded.graph_nodes.set_index(["graph", "node"])
    graph = int(loaded.passes.set_index("pass_id")["graph"][last])
    edges = loaded.graph_edges
    assert len(values) == 4
    for row in values.to_dict("records"):
        source = edges[(edges["graph"] == graph) & (edges["target"] == row["node"]) & (edges["slot"] == row["slot"])]
        view = nodes.loc[(graph, int(source["source"].iloc[0]))]
        elements = int(pd.Series([view[f"ne{i}"] for i in range(4)]).prod())
        assert row["touched_bytes"] == 2 * elements < row["size_bytes"]
