"""A model on a CUDA device, attached: with none, some and all of its layers there, and each kernel with its nodes.

TRACEGEN_CUDA names the folder with the programs of a llama.cpp built with -DGGML_CUDA=ON and shared libraries.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tracegen.analysis import device_ops, device_speed
from tracegen.contract.check_keys import Key
from tracegen.contract.kernel_names import part_of
from tracegen.measure.demo.models import write_demo_model
from tracegen.measure.runs.observe import Observation, observe
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.report.figures.context import Context
from tracegen.storing.progress import Progress

PROGRAMS = os.environ.get("TRACEGEN_CUDA", "")
pytestmark = [
    pytest.mark.llama,
    pytest.mark.nightly,
    pytest.mark.skipif(not PROGRAMS, reason="TRACEGEN_CUDA names no llama.cpp with CUDA"),
]
N_LAYERS, N_TOKENS = 8, 32
LAYERS = (0, 3, 99)
PROMPT = "The page of the memory is read from the disk. "
# Kernels of CUDA graphs are launched more slowly where they are recorded, and a small model has short passes.
MAY_WARN = {Key.INTERFERENCE, Key.TRACING_COST, Key.EVEN_TOKENS}


def run_of(place: Path, model: Path, n: int, *, times: str = "ops", tokens: int = N_TOKENS) -> LoadedRun:
    told = ("-m", str(model), "-p", PROMPT, "-n", str(tokens), "-no-cnv", "--ignore-eos", "-c", "512", "-t", "2")
    command = (f"{PROGRAMS}/llama-completion", *told, "-ngl", str(n))
    asked = Observation(f"cuda-{n}", command, "What computes?", attach=True, device_times=times)
    run = observe(asked, place / f"{n}-{times}", Progress())
    assert run.folder is not None
    return load_run(run.folder)


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo_model(
        "demo", tmp_path_factory.mktemp("model") / "dense.gguf", n_layers=N_LAYERS, n_embd=512, n_heads=8, n_kv_heads=4
    )[0]


@pytest.fixture(scope="module")
def runs(dense: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, LoadedRun]:
    """A run for each number of layers on the device, its kernels recorded."""
    return {n: run_of(tmp_path_factory.mktemp("cuda"), dense, n) for n in LAYERS}


@pytest.mark.parametrize("n", LAYERS)
def test_no_check_fails(runs: dict[int, LoadedRun], n: int) -> None:
    states = {check.key: check.state for check in runs[n].measured.checks}
    assert {key for key, state in states.items() if state == "failed"} <= {Key.TRACING_COST}
    assert {key for key, state in states.items() if state == "warning"} <= MAY_WARN
    assert states[Key.PASSES_AGREE] == states[Key.TOKENS_AGREE] == "passed"


@pytest.mark.parametrize("n", LAYERS[1:])
def test_layers_lie_on_the_device_and_a_token_touches_what_it_touches_on_the_cpu(
    runs: dict[int, LoadedRun], n: int
) -> None:
    run = runs[n]
    own, cpu = (Context(of.measured, of.tables).summary.weight_token_bytes for of in (run, runs[0]))
    assert own == pytest.approx(cpu, rel=1e-3)
    held = device_speed.holders(run.tables)
    assert set(held) == {"", "CUDA0"}
    place = run.placements.dropna(subset=["tensor", "buffer_id"])
    there = place[place["buffer_id"].map(held).eq("CUDA0").to_numpy(bool)]["tensor"].unique()
    names = run.tensors.set_index("tensor")["name"].astype(str).reindex(there)
    layers = {int(name.split(".")[1]) for name in names if name.startswith("blk.")}
    assert layers == set(range(max(N_LAYERS + 1 - n, 0), N_LAYERS))  # the output counts as a layer
    mixed = device_speed.of(Context(run.measured, run.tables))
    assert (mixed is None) == (n > N_LAYERS), "where both compute, other placements are predicted"
    assert mixed is None or mixed.device == "CUDA0"


@pytest.mark.parametrize("n", LAYERS[1:])
def test_each_kernel_has_its_node_and_each_node_its_kernel(runs: dict[int, LoadedRun], n: int) -> None:
    run = runs[n]
    rows = run.device_ops.merge(run.splits, on=["pass_id", "split"], suffixes=("", "_split"), how="left")
    assert set(rows["device"]) == {"CUDA0"} and rows["node"].notna().all()
    assert (rows["begin_ns"] >= rows["begin_ns_split"]).all() and (rows["end_ns"] <= rows["end_ns_split"]).all()
    label = rows["label"].astype(str)
    whole = label.str.split(" ").str[1].map(part_of).eq(0)
    ran = {
        (row.pass_id, row.node + step)
        for row, of in zip(rows[whole.to_numpy()].itertuples(), label[whole.to_numpy()], strict=True)
        for step in range(of.split(" ")[0].count("+") + 1)
    }
    ops = run.ops[run.ops["backend"].eq("CUDA0").to_numpy(bool) & run.ops["state"].eq("executed").to_numpy(bool)]
    assert set(zip(ops["pass_id"], ops["node"], strict=True)) - ran == set()
    generated = run.passes.loc[run.passes["kind"].eq("generate").to_numpy(bool), "pass_id"]
    assert set(generated) <= set(rows["pass_id"]) and len(generated) == N_TOKENS - 1  # the last of them, too


def test_kernels_take_no_longer_than_their_split_without_recording(
    runs: dict[int, LoadedRun], dense: Path, tmp_path: Path
) -> None:
    """The clock of the device, beside the tracer that waits for it in another run: medians of generated tokens."""
    apart = run_of(tmp_path, dense, 99, times="splits")
    tokens = apart.passes.loc[apart.passes["kind"].eq("generate").to_numpy(bool), "pass_id"]
    splits = apart.splits[apart.splits["pass_id"].isin(tokens) & apart.splits["backend"].eq("CUDA0").to_numpy(bool)]
    waited = float((splits["end_ns"] - splits["begin_ns"]).median())
    busy = device_ops.busy_ns(runs[99].device_ops).groupby("pass_id").sum()
    assert 0.3 * waited < float(busy.tail(N_TOKENS - 2).median()) < 1.1 * waited


def test_a_server_that_first_sees_what_fits_has_its_own_counters(dense: Path, tmp_path: Path) -> None:
    """llama-server makes a context to see what fits into the device: what that one counted is not the run's."""
    arguments = ("-m", str(dense), "-ngl", "99", "--port", "8078", "-c", "512")
    program = f"{PROGRAMS}/llama-server"
    command = [sys.executable, "-m", "tracegen", "exec", "server", "--attach", "--", program, *arguments]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT)
        body = json.dumps({"prompt": PROMPT, "n_predict": 8}).encode()
        asked = urllib.request.Request("http://127.0.0.1:8078/completion", body, {"Content-Type": "application/json"})
        for _ in range(100):
            try:
                urllib.request.urlopen(asked, timeout=10).read()
                break
            except OSError:
                time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        process.wait(60)
    (run,) = (tmp_path / "experiments/server/runs").iterdir()
    assert {c.key for c in load_run(run).measured.checks if c.state == "failed"} <= {Key.TRACING_COST}
