"""Every page against a second computation: its key figures and tables from the raw tables of real runs.

One module, so that each run is made once wherever the tests are spread over processes by file.
"""

import ast
import hashlib
import io
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.recompute import plain
from tests.recompute.kinds import IS, WINDOW
from tests.recompute.plain import access as plain_access
from tests.recompute.plain import experts, memory, others, times
from tests.recompute.plain import reuse as plain_reuse
from tests.recompute.plain import values as named
from tests.recompute.plain.rows import Row, Rows
from tests.recompute.plain.touched import KINDS_OF_MEMORY, Access, accesses, by_op
from tests.recompute.published import Published, assert_published
from tests.recompute.runs import KINDS
from tracegen.contract.model import Run
from tracegen.measure.capture.llama_cpp import Build
from tracegen.reading.notebook.loaded import load_run
from tracegen.report.pages.render import render_report

pytestmark = pytest.mark.llama


@dataclass(frozen=True)
class Case:
    """A run, its rows, and what its report publishes."""

    kind: str
    run: Run
    rows: Rows
    published: Published

    @cached_property
    def accesses(self) -> list[Access]:
        """What ops used in all passes, warm-up included."""
        return list(accesses(self.rows, self.rows["passes"]))

    @cached_property
    def measured(self) -> list[Access]:
        """What ops used in measured passes."""
        numbers = {one["pass_id"] for one in self.rows.measured}
        return [access for access in self.accesses if access.pass_id in numbers]

    @cached_property
    def op_bytes(self) -> dict[tuple[int, int], dict[str, int]]:
        """Bytes that each op used in each kind of memory."""
        return by_op(self.accesses)

    @cached_property
    def pass_bytes(self) -> dict[int, dict[str, int]]:
        """Bytes that the ops of a pass used in each kind of memory."""
        sums = {one["pass_id"]: dict.fromkeys(KINDS_OF_MEMORY, 0) for one in self.rows["passes"]}
        for access in self.accesses:
            sums[access.pass_id][access.memory] += access.n_bytes
        return sums

    @property
    def has_experts(self) -> bool:
        return bool(self.rows["routing"])


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest, hooked: Build, tmp_path_factory: pytest.TempPathFactory) -> Case:
    run = KINDS[request.param].run("case", tmp_path_factory.mktemp("recompute"), hooked.programs)
    assert run.folder is not None and run.verdict != "not usable", run.checks
    loaded = load_run(run.folder)
    report = render_report(loaded.run, loaded.tables, citable=None)
    return Case(request.param, run, Rows(run.folder), Published(report))


def test_the_run_is_of_its_kind(case: Case) -> None:
    assert IS[case.kind](case.rows)


def test_attention_sees_its_sequence(case: Case) -> None:
    """The cells that masks let through, from which bytes follow: all up to the token, or as many as a window holds."""
    rows = case.rows
    for one in rows["passes"]:
        attending = [node for graph, node in rows.nodes if graph == one["graph"] and is_attention(rows, graph, node)]
        positions = [row["position"] for row in rows["tokens"] if row["pass_id"] == one["pass_id"]]
        for node in attending if positions else ():
            for slot in ("src1", "src2"):
                seen = sum(n for _, n in rows.touches[one["pass_id"], node, slot])
                slides = "sliding window" in case.kind and rows.nodes[one["graph"], node]["layer"] % 2 == 0
                most = WINDOW + len(positions) - 1 if slides else max(positions) + 1
                assert seen == min(max(positions) + 1, most)


def is_attention(rows: Rows, graph: int, node: int) -> bool:
    return bool(rows.nodes[graph, node]["op"] == "FLASH_ATTN_EXT")


def test_the_second_computation_knows_nothing_of_the_first() -> None:
    for path in Path(plain.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.split(".")[0] in ("tracegen", "pandas", "numpy")], path


# Overview


MEMORY = {"disk": "mapped", "copied": "copied", "buffer": "buffer"}  # kind of memory -> its name in measures


def test_key_figures(case: Case) -> None:
    rows, values = case.rows, case.published.values
    generate = [case.pass_bytes[one["pass_id"]] for one in rows.of_kind("generate")]
    weights = sum(row["size_bytes"] for row in rows["tensors"])
    expected = {
        "prompt_tokens": sum(one["n_tokens"] for one in rows.of_kind("prompt")),
        "generated_tokens": sum(one["produced_token"] is not None for one in rows.measured),
        "tokens_per_second_prompt": times.rate(rows, "prompt"),
        "tokens_per_second_generate": times.rate(rows, "generate"),
        "weight_bytes_per_token": median(n["disk"] + n["copied"] for n in generate),
        "bytes_touched_per_token": median(sum(n.values()) for n in generate),
        **{f"{name}_bytes_per_token": median(n[of] for n in generate) for of, name in MEMORY.items()},
        **named.of_passes(rows),
        "file_bytes": rows.disk_bytes,
        "touched_bytes": memory.touched_bytes(case.measured),
        "touched_share": memory.touched_bytes(case.measured) / rows.disk_bytes,
        "touched_weight_share": memory.touched_bytes(case.measured) / weights,
        "header_bytes": rows.disk_bytes - weights,
        "touched_share_mapped": memory.touched_bytes(case.measured, "disk") / rows.disk_bytes,
        "n_tensors_never_touched": sum(not row["n_passes"] for row in memory.tensors_use(rows, case.measured)),
        "peak_buffer_bytes": memory.peak(rows),
        "peak_resident_bytes": memory.peak_resident(rows),
        "ops_per_token": times.ops_per_token(rows),
        **named.of_components(rows),
        **named.of_layers(rows),
        **named.of_tokens(rows),
        **named.of_experts(rows),
        **named.of_caches(rows, case.measured),
    }
    # Their oracles are in tests/analysis: test_caches.py, test_attribution.py, test_hot_set.py.
    waits = ("disk_wait_", "processor_", "paging_", "elsewhere_")
    others = {name for name in values if name.endswith("_belady") or "_experts_" in name or name.startswith(waits)}
    found = {name: value for name, value in values.items() if name not in others}
    assert set(found) == set(expected)
    close = {key: None if value is None else pytest.approx(value, rel=1e-9) for key, value in expected.items()}
    assert found == close


def test_times_by_component_and_kind_of_op(case: Case) -> None:
    assert_published(case.published.csv("components"), times.by(case.rows, "component"), ("phase", "component"))
    assert_published(case.published.csv("op-kinds"), times.by(case.rows, "op"), ("phase", "op"))


def test_times_by_layer(case: Case) -> None:
    assert_published(case.published.csv("layers"), times.by_layer(case.rows), ("layer", "group"))


def test_times_of_tokens(case: Case) -> None:
    assert_published(case.published.csv("tokens"), times.tokens(case.rows), ("pass_id",))


def test_top_operations(case: Case) -> None:
    found = case.published.csv("top-operations")
    expected = times.top_operations(case.rows, 15, {row["name"] for row in found})
    assert_published(found, expected, ("name", "op", "layer", "component"))


# Memory


def test_heatmap(case: Case) -> None:
    published = case.published.csv("heatmap")
    cells = sorted({(int(row["begin"]), int(row["end"])) for row in published})
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(cells))
    places = ("row", "first_tensor", "last_tensor", "n_tensors", "expert")  # tests/analysis/test_heatmap.py counts them
    shown = [{name: text for name, text in row.items() if name not in places} for row in published]
    shared = memory.shared_rows(case.rows, 12)
    expected = memory.heatmap(case.rows, case.accesses, cells, shared)
    assert_published(shown, expected, ("pass_id", "begin"))
    every = memory.heatmap(case.rows, case.accesses, [(0, case.rows.disk_bytes)], shared)
    assert sum(row["touched_bytes"] for row in expected) == sum(row["touched_bytes"] for row in every)


def test_use_of_tensors(case: Case) -> None:
    use = memory.tensors_use(case.rows, case.measured)
    assert_published(case.published.csv("tensors-use"), use, ("tensor",))
    never = [row for row in use if not row["n_passes"]]
    assert_published(case.published.csv("never-touched"), never, ("tensor",))
    assert_published(case.published.csv("tensor-groups"), memory.tensor_groups(use), ("group",))


def test_buffers(case: Case) -> None:
    assert_published(case.published.csv("buffers"), memory.buffer_levels(case.rows), ("time_ns", "group"))
    assert_published(case.published.csv("buffer-peaks"), memory.buffer_peaks(case.rows), ("group",))
    assert_published(case.published.csv("kv-cache"), memory.kv_cache(case.rows, case.measured), ("pass_id",))


# Access and caches


def test_order_of_accesses(case: Case) -> None:
    expected = plain_access.order(case.rows, case.measured)
    shown = plain_access.shown_passes(expected)
    if not shown:
        assert "data/access-order.csv" not in case.published.report.files
        return
    assert_published(case.published.csv("access-order"), expected, ("pass_id",))
    assert_published(case.published.csv("access-reads"), plain_access.reads(shown), ("tolerance_bytes",))
    blocks = plain_access.blocks(case.rows, case.measured)
    assert_published(case.published.csv("access-blocks"), blocks, ("pass_id", "block_bytes"))
    today = [row for row in case.published.csv("what-if-orders") if row["order"] == "today"]
    assert_published(today, plain_access.what_if(case.rows, case.measured), ("memory_bytes",))
    path = plain_access.path(case.rows, case.measured, times.typical_pass(case.rows))
    assert_published(case.published.csv("access-path"), path, ("begin_ns", "begin"))


def test_hit_rates_of_lru_and_of_a_static_set(case: Case) -> None:
    """The others in tests/analysis/test_caches.py: to look for the farthest next use in plain loops takes too long."""
    size = plain_access.granule_bytes(case.rows)
    items = plain_access.uses(case.rows, case.measured, size)
    if not items:
        assert "data/cache-rates.csv" not in case.published.report.files
        return
    distances, static = plain_access.lru_distances(items), plain_access.static_hits(items)
    again = len(distances)
    hits = {"LRU": lambda n: sum(d < n for d in distances), "static": lambda n: static[n]}
    rates = [row for row in case.published.csv("cache-rates") if row["policy"] in hits]
    expected = [
        {
            "policy": row["policy"],
            "size_bytes": int(row["size_bytes"]),
            "hit_rate": hits[row["policy"]](int(row["size_bytes"]) // size) / again,
        }
        for row in rates
    ]
    assert_published(rates, expected, ("policy", "size_bytes"))
    best = {
        row["size_bytes"]: float(row["hit_rate"])
        for row in case.published.csv("cache-rates")
        if row["policy"] == "Belady"
    }
    assert all(best[row["size_bytes"]] >= float(row["hit_rate"]) for row in rates), "no cache does better"
    sizes = [row for row in case.published.csv("cache-sizes") if row["policy"] in hits]
    needed = [
        {
            "policy": policy,
            "target": target,
            "size_bytes": size * next(n for n in range(len(static)) if hits[policy](n) >= target * again),
        }
        for policy in hits
        for target in plain_access.TARGETS
    ]
    assert_published(sizes, needed, ("policy", "target"))


def test_reuse(case: Case) -> None:
    if not plain_access.uses(case.rows, case.measured, 4096):
        assert "data/reuse.csv" not in case.published.report.files
        return
    assert_published(case.published.csv("reuse"), plain_reuse.reuse(case.rows, case.measured), ("kind",))
    pass_ids = [row["pass_id"] for row in plain_access.shown_passes(plain_access.order(case.rows, case.measured))]
    if len(pass_ids) > 1:
        expected = plain_reuse.working_set(case.rows, case.measured, pass_ids)
        assert_published(case.published.csv("working-set"), expected, ("n_passes",))


def test_concentration(case: Case) -> None:
    """Points of the published curves lie on those counted here: a curve of many points is published with fewer."""
    if not plain_access.uses(case.rows, case.measured, 4096):
        assert "data/concentration.csv" not in case.published.report.files
        return
    expected = plain_reuse.concentration(case.rows, case.measured)
    published = case.published.csv("concentration")
    assert {row["measure"] for row in published} == set(expected)
    for measure, points in expected.items():
        shown = [(float(r["file_share"]), float(r["use_share"])) for r in published if r["measure"] == measure]
        assert len(shown) == len(points) if len(points) <= 100 else len(shown) <= 100
        along = np.array([x + y for x, y in shown])
        for x, y in points:  # none that is left out is further along the curve than a step of a hundredth
            assert x + y - along[np.searchsorted(along, x + y + 1e-9) - 1] <= 2 / 99 + 1e-9
        xs, ys = zip(*points, strict=True)
        for x, y in shown:
            assert y == pytest.approx(np.interp(x, xs, ys), abs=1e-6)


# Operations


def test_operations_of_the_shown_pass(case: Case) -> None:
    expected = others.operations(case.rows, times.shown_pass(case.rows), case.op_bytes)
    assert_published(case.published.csv("operations"), expected, ("pass_id", "node"))


def test_operations_of_every_pass(case: Case) -> None:
    """What scripts show when another pass is chosen."""
    columns = ("begin_ns", *times.SUMS, "disk_bytes", "copied_bytes", "buffer_bytes", "n_threads")
    short = {name: name.removesuffix("_ns").removesuffix("_bytes").removeprefix("n_") for name in columns}
    expected = [
        {"pass_id": row["pass_id"], "node": row["node"]} | {short[name]: row[name] for name in columns}
        for one in case.rows["passes"]
        if one["graph"] is not None
        for row in others.operations(case.rows, one, case.op_bytes)
    ]
    assert case.published.op_rows() == expected


# Timeline


def test_threads_of_the_shown_pass(case: Case) -> None:
    one = times.shown_pass(case.rows)
    expected = [{"device": None, **row} for row in times.segments(case.rows, one)]
    assert_published(case.published.csv("timeline"), expected, ("thread", "begin_ns", "state"))


def test_waiting(case: Case) -> None:
    kinds = times.waiting(case.rows, ("op", "component"))
    kinds = [{name: value for name, value in row.items() if name not in ("pass_id", "at_node")} for row in kinds]
    assert_published(case.published.csv("waiting-kinds"), kinds, ("op", "component"))
    key = ("node", "name", "op", "layer", "component")
    assert_published(case.published.csv("waiting-nodes"), times.waiting(case.rows, key), key)


# Graph


def test_nodes_of_the_graphs(case: Case) -> None:
    for facts in case.published.graph_facts():
        graph = facts["graphs"][0]
        costs = others.node_costs(case.rows, facts["graphs"], case.op_bytes)
        expected = {node: row | costs[node] for node, row in others.node_statics(case.rows, graph).items()}
        assert dict(zip(facts["node"], nodes_given(facts), strict=True)) == expected


def nodes_given(facts: Mapping[str, Any]) -> list[Row]:
    """What the page's script is given of each node of a topology."""
    coded = {
        name: [facts[name]["names"][code] for code in facts[name]["codes"]]
        for name in ("op", "component", "dtype", "shape")
    }
    kinds = [("op", "noop", "leaf")[code] for code in facts["kind"]]
    plain_columns = {name: facts[name] for name in ("name", "layer", "sources", "time", "n_timed", "bytes")}
    columns = {"kind": kinds, **coded, **plain_columns}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


# Experts


def test_experts(case: Case) -> None:
    if not case.has_experts:
        assert not [name for name in case.published.report.files if name.startswith("data/experts")]
        return
    assert_published(case.published.csv("experts"), experts.counts(case.rows), ("layer", "expert"))
    assert_published(case.published.csv("experts-load"), experts.ranked(case.rows), ("layer", "place"))
    assert_published(case.published.csv("experts-cover"), experts.layers(case.rows), ("layer",))
    assert_published(case.published.csv("experts-weights"), experts.strength(case.rows), ("layer", "place"))
    drawn = [
        f"{name}{end}" for name in ("n_used", "entropy", "gini", "largest") for end in ("_chance", "_low", "_high")
    ]
    found = of_layers(case.published.csv("experts-balance"), *drawn)
    assert_published(found, experts.balance(case.rows), ("phase", "layer"))
    found = of_layers(case.published.csv("experts-sticky"), "share_low", "share_high", "low", "high", "p", "p_adjusted")
    assert_published(found, experts.sticky(case.rows), ("layer",))
    found = of_layers(case.published.csv("experts-used"), "name")
    assert_published(found, experts.used(case.rows), ("pass_id", "tensor"))
    key = ("pass_id", "row", "rank")
    assert_published(case.published.csv("experts-of-tokens"), experts.of_tokens(case.rows), key)


def of_layers(found: list[dict[str, str]], *drawn: str) -> list[dict[str, str]]:
    """The rows of single layers, without the columns that were drawn at random: tests of the analyses hold these."""
    return [{name: text for name, text in row.items() if name not in drawn} for row in found if row["layer"]]


def test_experts_of_every_layer(case: Case) -> None:
    """What scripts show when another layer is chosen."""
    token_of = experts.token_of(case.rows)
    for layer, tokens in experts.choices(case.rows).items():
        assert case.published.called(f"data/experts/{layer}.js") == {
            "layer": layer,
            "pass": [token[0]["pass_id"] for token in tokens],
            "token": [token_of[token[0]["pass_id"], token[0]["row"]] for token in tokens],
            "gives": [token_of[token[0]["pass_id"], token[0]["row"]] + 1 for token in tokens],
            "by_weight": True,
            "experts": [[row["expert"] for row in experts.by_strength(token)] for token in tokens],
        }


# Provenance


def test_generated_tokens(case: Case) -> None:
    text = case.run.facts.text
    token_ids, pieces = text.token_ids, text.pieces
    joined = "".join(pieces[str(token)] for token in token_ids).encode()
    joined = re.sub(rb"<0x([0-9A-F]{2})>", lambda m: bytes.fromhex(m.group(1).decode()), joined)
    assert joined.decode("utf-8", "replace") == text.generated  # what llama.cpp printed
    expected = others.generated_tokens(case.rows, token_ids, pieces)
    assert_published(case.published.csv("generated-tokens"), expected, ("token",))
    token_of = experts.token_of(case.rows)
    assert {(row["pass_id"], row["row"]): row["generated_token"] for row in case.rows["tokens"]} == {
        (row["pass_id"], row["row"]): token_of.get((row["pass_id"], row["row"])) for row in case.rows["tokens"]
    }


def test_model_files(case: Case) -> None:
    folder = Path(case.run.facts.settings.model).parent
    expected = [
        {
            "file": number,
            "model": 0,
            "split_index": number,
            "path": path.name,
            "size_bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "axis_begin": case.rows.axis[number],
        }
        for number, path in enumerate(sorted(folder.glob("*.gguf")))
    ]
    assert_published(case.published.csv("model-files"), expected, ("file",))


def test_downloads_are_the_tables_of_the_run(case: Case) -> None:
    for name, rows in case.rows.tables.items():
        content = case.published.report.files[f"data/tables/{name}.parquet"]
        assert pq.read_table(io.BytesIO(content)).to_pylist() == rows
