"""Splits that servers compute over RPC: when they are known to be done, and what the servers themselves recorded."""

import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.integration.servers import Server, served
from tracegen.analysis import backends, measures
from tracegen.cli.main import main
from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.measure.capture.llama_cpp import TARGET
from tracegen.measure.runs.observe import Observation, observe
from tracegen.readers.native.records import read_records
from tracegen.readers.native.segments import read_segment, segment_files
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.report.figures.context import Context
from tracegen.report.findings.found import findings
from tracegen.storing.progress import Progress

pytestmark = pytest.mark.llama


def command(model: Path, addresses: str, n_tokens: int = 4) -> tuple[str, ...]:
    """The program with all layers of the model on servers."""
    told = ("-m", model, "-p", "The page of the memory", "-n", n_tokens, "-ngl", 99, "-no-cnv", "--no-warmup")
    return (TARGET, *map(str, told), "--fit", "off", "-t", "1", "--temp", "0", "--rpc", addresses)


@dataclass(frozen=True)
class Case:
    """A run, and of each server the begin and the end of the graphs that it computed, ns, by its address."""

    loaded: LoadedRun
    graphs: dict[str, np.ndarray]


def graphs_of(server: Server) -> np.ndarray:
    """From the server's own records alone."""
    ((name, content),) = ((name, c) for name, c in segment_files(server.trace).items() if name.endswith(".main.tt"))
    segment = read_segment(name, content)
    passes = read_records(name, segment.payload).passes.values()
    return np.array([(p.begin_ns, p.end_ns) for p in passes], np.int64).reshape(-1, 2)


@pytest.fixture(scope="module", params=[(1, "splits"), (2, "splits"), (1, "passive")], ids=str)
def case(
    request: pytest.FixtureRequest, blas: Path, demo: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Case]:
    """One server or two, with a tracer that waits for them or one that is passive."""
    n, device_times = request.param
    folder = tmp_path_factory.mktemp("rpc")
    with ExitStack() as stack:
        servers = [stack.enter_context(served(blas, folder / f"server-{i}")) for i in range(n)]
        told = command(demo, ",".join(server.address for server in servers))
        traces = tuple(server.trace for server in servers)
        observation = Observation("rpc", told, "Who computes?", device_times=device_times, servers=traces)
        run = observe(observation, folder, Progress(), str(blas))
        assert run.folder is not None
        yield Case(load_run(run.folder), {server.address: graphs_of(server) for server in servers})


def of_servers(case: Case) -> pd.DataFrame:
    splits = case.loaded.splits
    return splits[~splits["by_op"].to_numpy(bool)]


def test_the_answer_of_a_server_proves_that_a_split_is_done(case: Case) -> None:
    """Each was computed within its time, by the server that it names: one graph, in full."""
    splits = of_servers(case)
    assert set(splits["proof"]) == {"reply"} and len(splits) >= 4
    for split in splits.to_dict("records"):
        (graphs,) = (graphs for address, graphs in case.graphs.items() if address in split["backend"])
        within = (graphs[:, 0] >= split["begin_ns"]) & (graphs[:, 1] <= split["end_ns"])
        assert within.sum() == 1
        assert split["begin_ns"] <= split["submitted_ns"] <= split["waiting_ns"] <= split["end_ns"]


def test_the_true_time_of_a_server_lies_in_the_interval_and_is_most_of_it(case: Case) -> None:
    nothing = case.loaded.tables["device_ops"][:0]
    busy = backends.busy_ns(of_servers(case), nothing)
    true = 0
    for (pass_id, backend), row in busy.iterrows():
        (graphs,) = (graphs for address, graphs in case.graphs.items() if address in backend)
        splits = of_servers(case)
        splits = splits[(splits["pass_id"] == pass_id) & (splits["backend"] == backend)]
        own = graphs[(graphs[:, 0] >= splits["begin_ns"].min()) & (graphs[:, 1] <= splits["end_ns"].max())]
        took = int((own[:, 1] - own[:, 0]).sum())
        assert row["least"] == 0 < took <= row["most"]
        true += took
    assert true > 0.1 * busy["most"].sum()  # this model takes a fraction of a ms, as the network does


def test_every_operation_of_a_server_has_a_time_in_its_graph(case: Case) -> None:
    loaded, splits = case.loaded, of_servers(case)
    ops = loaded.tables["device_ops"].merge(splits, on=["pass_id", "split"], suffixes=("", "_split"))
    assert len(ops) == len(loaded.tables["device_ops"]) > 100 and ops["exact"].all()
    assert (ops["begin_ns"] >= ops["begin_ns_split"]).all() and (ops["end_ns"] <= ops["end_ns_split"]).all()
    assert set(map(tuple, splits[["pass_id", "split"]].to_numpy())) == set(
        map(tuple, ops[["pass_id", "split"]].to_numpy())
    )
    nodes = ops.merge(loaded.passes[["pass_id", "graph"]]).merge(loaded.graph_nodes, on=["graph", "node"])
    named = nodes["op"].astype(str) + " " + nodes["name"].astype(str)
    first = nodes["label"].astype(str).str.replace(r"\+\S+", "", regex=True)
    assert len(nodes) == len(ops) and (named == first).all()
    assert ops.sort_values("begin_ns").groupby("device").apply(_follow_each_other, include_groups=False).all()
    took = int((ops["end_ns"] - ops["begin_ns"]).sum())
    graphs = sum(int((of[:, 1] - of[:, 0]).sum()) for of in case.graphs.values())
    assert 0.3 * graphs < took <= graphs


def _follow_each_other(ops: pd.DataFrame) -> bool:
    """One thread computes."""
    return bool((ops["begin_ns"].to_numpy()[1:] >= ops["end_ns"].to_numpy()[:-1]).all())


def test_the_answer_names_the_servers_and_how_long_they_compute(case: Case) -> None:
    context = Context(case.loaded.run, case.loaded.tables)
    assert not [check for check in case.loaded.run.checks if check.state == "failed"]
    (found,) = (f for f in findings(context) if " computes " in f.text)
    assert all(address in found.text for address in case.graphs) and "at most" not in found.text


def test_a_tensor_on_a_server_is_the_one_of_its_name(case: Case) -> None:
    """Addresses there say nothing of this process: each leaf with the name of a weight lies where that weight is."""
    loaded = case.loaded
    names = loaded.tensors.set_index("tensor")["name"].astype(str)
    leaves = loaded.graph_nodes[loaded.graph_nodes["name"].astype(str).isin(set(names)).to_numpy(bool)]
    placed = loaded.placements.merge(leaves[["graph", "node", "name"]], on=["graph", "node"])
    assert len(placed) > 10 and (placed["tensor"].map(names) == placed["name"].astype(str)).all()
    others = loaded.placements.merge(loaded.graph_nodes[["graph", "node", "op"]], on=["graph", "node"])
    computed = others[others["op"].astype(str).isin(["MUL_MAT", "ADD", "ROPE"]).to_numpy(bool)]
    assert len(computed) and set(computed["memory"].dropna().astype(str)) == {"buffer"}
    context = Context(loaded.run, loaded.tables)
    touched = measures.value("weight_bytes_per_token", context).value
    assert context.copies_in.startswith("RPC") and touched and touched > 0.5 * loaded.run.facts.model.size_bytes


def test_the_memory_of_a_server_is_that_of_its_machine(case: Case) -> None:
    """It computes on the processors of this machine; what is free changes."""
    (said,) = (line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    memory = case.loaded.run.facts.trace.device_memory
    assert memory and {of.total_bytes for of in memory.values()} == {int(said.split()[1]) * 1024}
    assert len(memory) == len(case.graphs) and all(0 < of.free_bytes <= of.total_bytes for of in memory.values())


def test_the_ubatches_of_a_prompt_are_handed_over_one_after_another(blas: Path, demo: Path, tmp_path: Path) -> None:
    """llama.cpp waits for none of them before the next: each ends when it was handed over, the last when it is done."""
    with served(blas, tmp_path / "server") as server:
        told = (*command(demo, server.address), "-ub", "8")
        told = tuple("The page of the memory " * 12 if word == "The page of the memory" else word for word in told)
        observation = Observation("rpc", told, "?", device_times="passive")
        run = observe(observation, tmp_path / "run", Progress(), str(blas))
    assert run.folder is not None and not [check for check in run.checks if check.state == "failed"]
    loaded = load_run(run.folder)
    passes = loaded.passes[loaded.passes["kind"].eq("prompt").to_numpy(bool)].set_index("pass_id")
    splits = loaded.splits[~loaded.splits["by_op"].to_numpy(bool)]
    of_prompt = splits[splits["pass_id"].isin(passes.index)]
    assert len(passes) > 3 and of_prompt["proof"].iloc[-1] == "reply"
    ends = splits["pass_id"].map(loaded.passes.set_index("pass_id")["end_ns"])
    assert (splits["end_ns"] <= ends).all()
    busy = backends.busy_ns(splits, loaded.tables["device_ops"])["most"].groupby("pass_id").sum()
    length = loaded.passes.set_index("pass_id")["end_ns"] - loaded.passes.set_index("pass_id")["begin_ns"]
    assert (busy <= length.reindex(busy.index)).all()


# ---- what goes wrong ----


def test_a_server_that_was_killed_leaves_a_run_of_what_was_before(blas: Path, demo: Path, tmp_path: Path) -> None:
    with served(blas, tmp_path / "server") as server:
        killer = threading.Timer(1.5, server.process.kill)
        killer.start()
        told = (*command(demo, server.address, 100_000), "-c", "65536")  # a full context would end it before
        observation = Observation("rpc", told, "?", servers=(server.trace,))
        run = observe(observation, tmp_path, Progress(), str(blas))
    assert run.facts.exit_status == -6 and run.verdict == "not usable" and run.folder is not None
    loaded = load_run(run.folder)
    assert (loaded.passes["kind"] == "generate").sum() > 5 and len(loaded.tables["device_ops"]) > 100


@contextmanager
def answering(reply: bytes) -> Iterator[str]:
    """The address of something that answers the first request so, and closes."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def answer() -> None:
            try:
                while True:
                    peer, _ = listening.accept()
                    with peer, peer.makefile("rb") as asked:
                        _, n_bytes = struct.unpack("<BQ", asked.read(9))
                        asked.read(n_bytes)
                        peer.sendall(reply)
            except OSError:
                return

        threading.Thread(target=answer, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def test_a_server_of_another_protocol_is_refused_with_the_programs_own_words(
    blas: Path, demo: Path, tmp_path: Path
) -> None:
    with answering(struct.pack("<Q3B", 3, 99, 0, 0)) as address:
        observation = Observation("rpc", command(demo, address), "?")
        with pytest.raises((EnvironmentFailure, SettingsError), match=r"its last lines:\n.*RPC"):
            observe(observation, tmp_path, Progress(), str(blas))


def test_a_trace_of_another_server_gives_no_times_and_says_so(
    blas: Path, demo: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with served(blas, tmp_path / "server") as server, served(blas, tmp_path / "other") as other:
        first = Observation("rpc", command(demo, other.address), "?")
        observe(first, tmp_path / "first", Progress(), str(blas))
        observation = Observation("rpc", command(demo, server.address), "?", servers=(other.trace,))
        run = observe(observation, tmp_path / "second", Progress(), str(blas))
    assert "no graph of the server's trace lies within a split" in "".join(capfd.readouterr())
    assert run.folder is not None and load_run(run.folder).tables["device_ops"].empty


def test_a_server_that_is_not_traced(blas: Path, demo: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    with served(blas, tmp_path / "server") as server:
        observation = Observation("rpc", command(demo, server.address), "?", servers=(tmp_path / "empty",))
        run = observe(observation, tmp_path / "run", Progress(), str(blas))
    assert "the server wrote no trace: start one that computes on its CPU" in "".join(capfd.readouterr())
    assert run.folder is not None and set(load_run(run.folder).splits["proof"]) == {"blocking", "reply"}


def test_a_broken_trace_of_a_server_leaves_the_run(
    blas: Path, demo: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "1.main.tt").write_bytes(b"no trace")
    with served(blas, tmp_path / "server") as server:
        observation = Observation("rpc", command(demo, server.address), "?", servers=(broken, server.trace))
        whole = observe(observation, tmp_path / "run", Progress(), str(blas))
        alone = observe(replace(observation, servers=(broken,)), tmp_path / "run", Progress(), str(blas))
    assert whole.folder is not None and len(load_run(whole.folder).tables["device_ops"]) > 100
    assert alone.folder is not None and load_run(alone.folder).tables["device_ops"].empty
    assert re.search(
        r"no graph of the server's trace lies within a split of this run: 1\.main\.tt", capfd.readouterr().err
    )


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exec", "rpc", "--server", str(tmp_path / "x"), "--", "true"]) == SettingsError.exit_code
    assert "there is no such folder; start the server with TENSOR_TRACE_DIR set" in capsys.readouterr().err
