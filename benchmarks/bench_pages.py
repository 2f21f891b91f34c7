"""What the largest drawing and the sample's site cost."""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from tests.builders import scaled_case

from benchmarks.result import Result
from tracegen.charts.graph.svg import draw_graph
from tracegen.contract.errors import EnvironmentFailure
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.progress import Progress

GRAPH_LIMIT_S, SAMPLE_LIMIT_S = 2.0, 20.0


def run(quick: bool) -> list[Result]:
    progress = Progress()
    progress.step("draw a large graph")
    results = [_graph(1 if quick else 5)]
    progress.step("build the site of the sample")
    results.append(_sample())
    progress.done()
    return results


def _graph(repeats: int) -> Result:
    """A graph whose layers are not known is one drawing."""
    tables = scaled_case(0, 32, moe=True)
    nodes = tables["graph_nodes"]
    tables["graph_nodes"] = nodes.assign(layer=pd.array([None] * len(nodes), dtype="Int32"))
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        draw_graph(tables, 1, pass_id=3, operations="operations/index.html")
        taken.append(time.perf_counter() - begin)
    n = int(tables["graphs"]["n_nodes"].iloc[0])
    return Result(
        f"graph of {n} nodes in one drawing", statistics.median(taken), "s", GRAPH_LIMIT_S, f"median of {repeats}"
    )


def _sample() -> Result:
    with tempfile.TemporaryDirectory(prefix="tracegen-bench-") as name:
        log = Path(name) / "log.txt"
        command = [sys.executable, "-m", "tracegen", "sample", str(Path(name) / "sample")]
        ended = run_program(command, stdout=log, stderr=log)
        if ended.status != 0:
            raise EnvironmentFailure(f"tracegen sample: {ended.ending}:\n{last_lines(log)}")
    return Result("tracegen sample", ended.seconds, "s", SAMPLE_LIMIT_S, "whole process, once")
