"""A stored run is read again from its evidence: the model's tables, the trace, the checks."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from tests.native.trace_bytes import Trace
from tests.readers import gguf_bytes as made
from tests.small_disk import fill, needs_root, small_disk
from tracegen.contract.errors import EnvironmentFailure, StoreError
from tracegen.contract.facts import Facts
from tracegen.contract.model import Check, Run
from tracegen.contract.records import decode
from tracegen.measure.runs.facts import model_document
from tracegen.measure.runs.recording import read_again, refuse_nothing
from tracegen.readers.gguf.file import read_model
from tracegen.storing import store

PAGE_16K = 16384
FACTS = decode(Facts, {"counted": False, "exit_status": 0, "stopped": False, "settings": {}})


def aligned_model(path: Path, alignment: int) -> Path:
    """A llama model of three tensors, each shorter than the alignment, as the gguf package writes it."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(alignment)
    writer.add_block_count(1)
    for name in ("token_embd.weight", "blk.0.attn_q.weight", "output.weight"):
        writer.add_tensor(name, np.ones((4, 8), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def stored_run(folder: Path, document: dict[str, Any]) -> Path:
    """A run whose evidence is a small trace and this memory map."""
    for name, data in Trace().files().items():
        (folder / "raw" / "trace").mkdir(parents=True, exist_ok=True)
        (folder / "raw" / "trace" / name).write_bytes(data)
    store.write_text(folder / "raw" / "model.json", json.dumps(document))
    store.write_run_file(folder, Run("case", 1, "2026-01-01T00:00:00Z", (), FACTS))
    return folder


def tiling(run: Run) -> Check:
    (check,) = [check for check in run.checks if check.key == "tensors_tile_file"]
    return check


def test_a_legal_file_of_large_alignment_is_usable(tmp_path: Path) -> None:
    model = read_model(aligned_model(tmp_path / "m.gguf", PAGE_16K))
    gaps = np.diff(model.tensors["offset"]) - model.tensors["size_bytes"].to_numpy()[:-1]
    assert model.alignment == (PAGE_16K,) and gaps.tolist() == [PAGE_16K - 128] * 2
    check = tiling(read_again(stored_run(tmp_path / "run", model_document([model], {0: 0}))))
    assert (check.state, check.limit) == ("passed", "no overlap, gaps below 16\u202f384 B")
    assert check.found == "0 overlaps, largest gap 16\u202f256 B"


def test_a_tensor_that_is_missing_leaves_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    shape = ((4, 8), 0, 128)
    path.write_bytes(
        made.file(
            {"a": shape, "b": ((64, 256), 0, 65536), "c": shape},
            [made.string("general.architecture", "llama"), made.u32("general.alignment", PAGE_16K)],
            PAGE_16K,
        )
    )
    document = model_document([read_model(path)], {0: 0})
    assert tiling(read_again(stored_run(tmp_path / "whole", document))).state == "passed"
    lost = [tensor for tensor in document["tensors"] if tensor["name"] != "b"]
    check = tiling(read_again(stored_run(tmp_path / "gapped", {**document, "tensors": lost})))
    assert (check.state, check.found) == ("failed", "0 overlaps, largest gap 81\u202f792 B")


@pytest.mark.parametrize("value", [0, -32, 48, 1 << 20 | 1, "32", True])
def test_an_alignment_that_no_file_has_is_refused(tmp_path: Path, value: object) -> None:
    document = model_document([read_model(aligned_model(tmp_path / "m.gguf", 32))], {0: 0})
    with pytest.raises(StoreError, match="not a power of two"):
        read_again(stored_run(tmp_path / "run", {**document, "alignment": [value]}))


@needs_root
def test_nothing_was_recorded_because_the_disk_is_full(tmp_path: Path) -> None:
    """The reason that the tracer prints is lost with the rest: nobody is asked to build llama.cpp again."""
    with small_disk(tmp_path, "size=200k"):
        (tmp_path / "trace").mkdir()
        with pytest.raises(EnvironmentFailure, match=r"no llama\.cpp with the hooks"):
            refuse_nothing("llama-completion", tmp_path)
        fill(tmp_path)
        with pytest.raises(EnvironmentFailure, match=r"the disk is full, and llama-completion could record nothing"):
            refuse_nothing("llama-completion", tmp_path)
