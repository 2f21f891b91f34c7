"""What the model computes is the same with tracing on, with tracing off, and without hooks: bit for bit."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.integration.conftest import LONG, Oracle
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.measure.capture.plan import command_for, environment_for, timings_in
from tracegen.measure.demo.models import write_demo_model
from tracegen.readers.native.records import read_records
from tracegen.readers.native.segments import read_segments, segment_files
from tracegen.readers.native.trace import read_trace

pytestmark = pytest.mark.llama

SHAPES = {"dense": ("demo", {}), "experts, repacked": ("moe", {"dtype": "Q4_K"})}


@pytest.fixture(scope="module", params=[(name, threads) for name in SHAPES for threads in (1, 2)], ids=str)
def experiment(request: pytest.FixtureRequest, models: Path) -> Experiment:
    name, threads = request.param
    kind, shape = SHAPES[name]
    model = write_demo_model(kind, models / f"harmless-{kind}.gguf", **shape)[0]
    return Experiment(
        name="harmless", question="?", model=str(model), prompt=LONG, tokens=12, seed=7, threads=threads, ubatch=16
    )


def completion(experiment: Experiment, build: Build, **environment: str) -> tuple[str, str]:
    """Text and log of llama-completion."""
    command = command_for(experiment, build.programs / TARGET, Path(experiment.model))
    ended = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
        timeout=120,
    )
    return ended.stdout, ended.stderr


def test_every_pass_says_what_it_cost(experiment: Experiment, hooked: Build, tmp_path: Path) -> None:
    for window in ({}, {"TENSOR_TRACE_PASSES": "3-6"}):
        folder = tmp_path / str(len(window))
        folder.mkdir()
        completion(experiment, hooked, **environment_for(experiment, folder), **window)
        main = read_segments(segment_files(folder))[0]
        records = read_records(main.name, main.payload)
        assert set(records.hook_ticks) == set(records.passes) and len(records.passes) > 3
        facts = read_trace(segment_files(folder)).facts
        assert 100 < facts["pass_cost_ns"] <= facts["pass_cost_most_ns"], "nine hooks and two system calls"


def test_logits_are_the_same(experiment: Experiment, hooked: Build, oracle: Oracle, tmp_path: Path) -> None:
    feed = [601, 602, 17, 700, 512, 640]
    quiet = ("--nodes", "off")
    unhooked = oracle(experiment, feed, *quiet)
    untraced = oracle(experiment, feed, *quiet, libraries=hooked.programs)
    traced = oracle(experiment, feed, *quiet, libraries=hooked.programs, TENSOR_TRACE_DIR=str(tmp_path))
    assert [call["kind"] for call in unhooked] == ["warmup", "prompt", *["generate"] * len(feed)]
    hashes = [call["logits"]["hash"] for call in unhooked[1:]]
    assert len(set(hashes)) == len(hashes)
    assert traced == untraced == unhooked
    assert len(read_trace(segment_files(tmp_path)).tables["passes"]) > len(feed)


def test_a_graph_said_to_be_unchanged_is(experiment: Experiment, hooked: Build, tmp_path: Path) -> None:
    """TENSOR_TRACE_VERIFY=1 hashes every graph of every pass and aborts when one changed unseen."""
    tables_of = {}
    for verify in ("0", "1"):
        folder = tmp_path / verify
        folder.mkdir()
        text, log = completion(experiment, hooked, **environment_for(experiment, folder), TENSOR_TRACE_VERIFY=verify)
        tables = read_trace(segment_files(folder)).tables
        tables_of[verify] = (
            text,
            tables["passes"]["graph"].tolist(),
            tables["passes"]["placement"].tolist(),
            len(tables["ops"]),
        )
        assert timings_in(log)["graphs_reused"], "llama.cpp says of some graphs that they are unchanged"
    assert tables_of["0"] == tables_of["1"]
