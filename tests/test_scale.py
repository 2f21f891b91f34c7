"""What real runs are made of, in their sizes: compared with whole numbers of Python, and with the clock."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from tests.builders import scaled_case
from tests.native import trace_bytes as bytes_
from tests.native.trace_bytes import Trace
from tests.scale_tables import (
    BOOT_NS,
    LARGER,
    SLOWER,
    Tables,
    enlarged,
    long_graph,
    many_experts,
    many_passes,
    stretched,
)
from tracegen.analysis import (
    accesses,
    blocks,
    buffers,
    coverage,
    experts,
    heatmap,
    node_means,
    operations,
    pass_parts,
    passes,
    pieces,
    residency,
    routing,
    speed,
    summary,
    timeline,
    timing,
    tracing_cost,
    waiting,
)
from tracegen.contract.naming import places_of
from tracegen.contract.tables import frame
from tracegen.readers.native import recorded
from tracegen.readers.native.placement_table import placement_table

PAGE = 4096


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What grows with the square takes far longer; processor time, so that a busy machine does not decide."""
    begin = time.process_time()
    yield
    spent = time.process_time() - begin
    assert spent < seconds, f"{spent:.1f} s of processor time"


# Times of days and files of hundreds of GB: what an analysis finds in a small run, times the factor, to the last digit

SMALL = scaled_case(6, 2, moe=True, splits=2, threads=3)
LARGE = enlarged(stretched(SMALL))
BYTES = ("offset", "begin", "end", "ne0", "median_bytes")
ABSOLUTE = {("passes", "begin_ns"), ("passes", "end_ns"), ("buffers held", "time_ns")}
COST = {"event_cost_ns": 50.0, "clock_read_ns": 20.0, "hook_ns": {}, "copy_ns": {}}


def operations_of(tables: Tables) -> pd.DataFrame:
    return operations.op_rows(tables)


def used_by(tables: Tables) -> tuple[pd.DataFrame, pd.DataFrame]:
    ids = passes.measured(tables)["pass_id"]
    return accesses.ranges(tables, ids), accesses.unseen(tables, ids)


def timed_in(tables: Tables) -> pd.DataFrame:
    return timing.timed_ops(tables, operations_of(tables))


def key_figures(tables: Tables) -> pd.DataFrame:
    """The key figures as a row, a column for each kind of memory; rates follow from the times."""
    found = asdict(summary.summarise(tables, operations_of(tables), *used_by(tables)))
    found |= {f"{memory}_token_bytes": value for memory, value in found.pop("generate_token_bytes").items()}
    return pd.DataFrame([{name: value for name, value in found.items() if not name.endswith("_rate")}])


FINDINGS: Mapping[str, Callable[[Tables], pd.DataFrame]] = {
    "accesses": accesses.accesses,
    "bands": lambda t: heatmap.bands(t, "layer"),
    "buffers held": buffers.occupancy,
    "buffers touched": lambda t: buffers.touched_by_group(t, accesses.accesses(t)),
    "cells": lambda t: heatmap.file_cells(t, 8),
    "components": lambda t: timing.by(timed_in(t), "component", timing.tokens_by_phase(t)),
    "key figures": key_figures,
    "longest ops": lambda t: timing.top_ops(timed_in(t), "generate"),
    "means": lambda t: node_means.node_means(operations_of(t), tuple(passes.measured(t)["pass_id"])),
    "operations": operations_of,
    "parts of a pass": pass_parts.pass_parts,
    "passes": passes.measured,
    "peaks": buffers.peaks,
    "piece use": lambda t: pieces.piece_use(t, used_by(t)[0], pieces.pieces(t)),
    "pieces": pieces.pieces,
    "ranges": lambda t: used_by(t)[0],
    "segments": lambda t: timeline.segments(t, 3)[0],
    "tensors": lambda t: coverage.tensor_use(t, *used_by(t)),
    "union": lambda t: coverage.union(used_by(t)[0], "file"),
    "waiting": lambda t: waiting.by(operations_of(t), passes.measured(t), waiting.NODE),
}


def factor_of(column: str) -> int:
    if column.endswith("_ns") or column == "ns_per_token":
        return SLOWER
    return LARGER if column.endswith("_bytes") or column in BYTES else 1


@pytest.mark.parametrize("name", FINDINGS)
def test_a_larger_and_slower_run_is_that_and_nothing_else(name: str) -> None:
    small, large = FINDINGS[name](SMALL), FINDINGS[name](LARGE)
    assert len(small) and list(small.columns) == list(large.columns)
    for column in small.columns:
        factor, since = factor_of(column), BOOT_NS if (name, column) in ABSOLUTE else 0
        for before, after in zip(small[column].tolist(), large[column].tolist(), strict=True):
            if pd.isna(before):
                assert pd.isna(after), column
            elif isinstance(before, float):
                assert after == pytest.approx(before * factor, rel=1e-12), column
            elif factor == 1:
                assert after == before, column
            else:
                assert after == before * factor + since, column


def test_tracing_cost_of_a_run_of_days() -> None:
    """Each event costs what it did, each pass takes `SLOWER` times as long."""
    small, large = (tracing_cost.pass_costs(tables, COST) for tables in (SMALL, LARGE))
    assert large["cost_ns"].tolist() == small["cost_ns"].tolist()
    for before, after in zip(small["share"], large["share"], strict=True):
        assert after == pytest.approx(before / SLOWER, rel=1e-12)


def test_bytes_of_files_of_hundreds_of_gigabytes() -> None:
    """Every byte that was used, once: against the ranges of each file merged one by one."""
    used, _ = used_by(LARGE)
    total = 0
    for _, part in used.groupby("file"):
        reach = 0
        for begin, end in sorted(zip(part["begin"].tolist(), part["end"].tolist(), strict=True)):
            total += max(end - max(begin, reach), 0)
            reach = max(reach, end)
    assert coverage.touched_file_bytes(used) == total
    sizes = LARGE["files"]["size_bytes"].tolist()
    assert sum(sizes) > 400 * 10**9 and 0 < total < sum(sizes)
    cells = heatmap.file_cells(LARGE, 999, used=used)
    assert int(cells["touched_bytes"].sum()) == sum((used["end"] - used["begin"]).tolist())
    shares = heatmap.shares(LARGE, 999, used=used)
    once = [coverage.touched_file_bytes(used[used["pass_id"] == p]) for p in used["pass_id"].unique()]
    assert int(shares["touched_bytes"].sum()) == sum(once)


def test_a_long_pass_in_bins() -> None:
    """Each bin shows what took most of it, in whole nanoseconds of hours."""
    n_bins = 23
    whole, _ = timeline.segments(LARGE, 3)
    binned, width = timeline.segments(LARGE, 3, n_bins=n_bins, max_segments=10)
    assert width == -(-int(whole["end_ns"].max()) // n_bins) > 10**9
    for thread in whole["thread"].unique().tolist():
        for i in range(n_bins):
            spent: Counter[tuple[str, str]] = Counter()
            for row in whole[whole["thread"] == thread].to_dict("records"):
                share = min(row["end_ns"], (i + 1) * width) - max(row["begin_ns"], i * width)
                spent[row["state"], row["component"]] += max(share, 0)
            shown = binned[
                (binned["thread"] == thread) & (binned["begin_ns"] <= i * width) & (i * width < binned["end_ns"])
            ]
            assert len(shown) == (1 if sum(spent.values()) else 0)
            for row in shown.to_dict("records"):
                assert spent[row["state"], row["component"]] == max(spent.values())


# Experts


def test_many_layers_of_many_experts() -> None:
    n_tokens, n_layers, n_experts, n_chosen = 1_000, 60, 512, 10
    tables = many_experts(n_tokens, n_layers, n_experts, n_chosen)
    with within(12):
        chosen = experts.choice(tables)
        ranked = routing.ranked(chosen.counts)
        per_layer = routing.layers(chosen.counts)
    picked = {
        (layer, token): [(token * 7 + layer * 13 + token * token % 11 + 3 * r * r) % n_experts for r in range(n_chosen)]
        for layer in range(n_layers)
        for token in range(n_tokens)
    }
    assert (chosen.n_rows, chosen.n_experts, chosen.n_chosen) == (n_tokens, n_experts, n_chosen)
    counts = Counter((layer, expert) for (layer, _), some in picked.items() for expert in some)
    found = chosen.counts
    assert found["n_tokens"].tolist() == [counts[i, e] for i in range(n_layers) for e in range(n_experts)]
    for layer in (0, n_layers - 1):
        own = sorted((counts[layer, e] for e in range(n_experts)), reverse=True)
        assert ranked.loc[ranked["layer"] == layer, "n_tokens"].tolist() == own
        enough = next(i for i in range(n_experts) if sum(own[: i + 1]) * 100 >= sum(own) * 80) + 1
        assert per_layer.loc[per_layer["layer"] == layer, "needed_80"].tolist() == [enough]


# A graph of 10^5 nodes


def test_a_graph_of_a_hundred_thousand_nodes() -> None:
    n_layers, per_layer = 100, 1_000
    n = n_layers * per_layer
    tables = long_graph(n_layers, per_layer)
    with within(12):
        found = blocks.fold(tables, 0)
        rows = operations_of(tables)
        parts = pass_parts.pass_parts(tables)
    # The first layer begins with the weight, every other with the layer before.
    assert [block.layers for block in found] == [(0,), tuple(range(1, n_layers))]
    assert [len(member) for block in found for member in block.members] == [per_layer] * n_layers
    assert rows["begin_ns"].tolist() == [200 + 1000 * i for i in range(n)]
    assert (parts["ops_ns"].item(), parts["between_ns"].item()) == (900 * n, 100 * (n - 1))
    assert (parts["before_ns"].item(), parts["after_ns"].item()) == (200, 400)


def test_hundreds_of_graphs_that_write_caches() -> None:
    """Each of 300 graphs writes keys and values in each of 20 layers, one row for each of its tokens."""
    tables = scaled_case(1, 20, n_prompt=7)
    nodes, edges = tables["graph_nodes"], tables["graph_edges"]
    copies = range(0, 300, 2)
    many = {
        "graph_nodes": pd.concat([nodes.assign(graph=nodes["graph"] + k) for k in copies], ignore_index=True),
        "graph_edges": pd.concat([edges.assign(graph=edges["graph"] + k) for k in copies], ignore_index=True),
    }
    with within(3):
        found = accesses.operands(tables | many)
    written = found[(found["op"] == "SET_ROWS") & (found["slot"] == "dst")]
    assert len(written) == 300 * 20 * 2
    row = 256 * 2  # elements of F16
    assert written.groupby("graph")["used_bytes"].sum().tolist() == [40 * 7 * row, 40 * row] * 150


def test_the_places_of_a_hundred_thousand_nodes() -> None:
    n = 100_000
    names = [f"node_{i}" if i % 3 else f"ffn_up-{i // 1000}" for i in range(n)]
    with within(8):
        places = places_of(["ADD"] * n, names, [[i - 1, max(i - 2, 0)] if i else [] for i in range(n)], n)
    assert [layer for layer, _ in places[::3]] == [i // 1000 for i in range(0, n, 3)]


# Passes


def test_a_million_passes() -> None:
    n = 10**6
    tables = many_passes(n)
    with within(9):
        found = passes.measured(tables)
        rows = heatmap.display_rows(tables, max_rows=60)
    assert len(found) == n - 2
    assert found["duration_ns"].sum() == sum(1_000_000 + i % 7 for i in range(2, n))
    measured = speed.speed_of(found)
    assert measured.generate_ns == sum(1_000_000 + i % 7 for i in range(3, n))
    assert measured.read_bytes == (n - 2) * 10**10 + sum(range(2, n))
    # Warm-up and prompt have rows of their own; 58 are left for the others.
    per_row = -(-(n - 3) // 58)
    assert rows["row"].tolist() == [0, 1, *(2 + i // per_row for i in range(n - 3))]
    assert rows["label"].iloc[[0, 1, 2, -1]].tolist() == [
        "warm-up",
        "prompt → token 0",
        f"token 1–{per_row}",
        f"token {57 * per_row + 1}–{n - 3}",
    ]


def test_what_was_in_memory_after_each_of_many_passes() -> None:
    n, each, bins = 20_000, 40, 7
    tables = many_passes(n, pages_read=each)
    with within(5):
        cells = residency.resident_cells(tables, PAGE, bins)
    total = each * 4 * PAGE
    width = -(-total // bins)
    runs = tables["residency"]
    for pass_id in (2, 77, n - 1):
        pages = runs.loc[runs["pass_id"] == pass_id, "first_page"].tolist()
        inside = [byte // width for page in pages for byte in range(page * PAGE, (page + 1) * PAGE)]
        found = cells[cells["pass_id"] == pass_id]
        assert found["resident_bytes"].tolist() == [inside.count(i) for i in range(bins)]
    assert int(cells["resident_bytes"].sum()) == (n - 2) * each * PAGE


# The reader


def test_a_trace_of_days_in_ticks() -> None:
    """3 ticks and a bit are a nanosecond. An op of a day, a third of it in a barrier, then one of the rest."""
    day = 86_400 * 10**9
    first, last = (5 * 10**16, BOOT_NS), (5 * 10**16 + 9 * day + 12_345, BOOT_NS + 3 * day)

    def ns_of(ticks: int) -> int:
        return first[1] + (ticks - first[0]) * (last[1] - first[1]) // (last[0] - first[0])

    begin, took, barrier = first[0] + 3 * 10**12 + 1, 3 * day + 7, day + 1
    after, rest = begin + took + 11, 2 * day + 5
    trace = Trace(
        clock=1,
        before=[bytes_.clock(*first), bytes_.buffer(), bytes_.graph(n_nodes=2, n_leafs=1), bytes_.placement()],
        run=[bytes_.pass_begin(time_ns=BOOT_NS), bytes_.compute(n_nodes=2), bytes_.pass_end()],
        after=[bytes_.clock(*last), bytes_.end()],
        events=[
            bytes_.thread_begin(time=begin - 5),
            bytes_.op(begin=begin, took=took, barrier=barrier, node=0),
            bytes_.op(begin=after, took=rest, node=1),
            bytes_.thread_end(time=after + rest + 3),
        ],
    )
    spans = bytes_.read(trace.files()).tables["spans"]
    length = ns_of(begin + took) - ns_of(begin)
    inside = barrier * length // took
    assert spans["begin_ns"].tolist() == [ns_of(begin), ns_of(after)]
    assert spans["barrier_ns"].tolist() == [inside, 0]
    assert spans["work_ns"].tolist() == [length - inside, ns_of(after + rest) - ns_of(after)]
    ends = [ns_of(after) - ns_of(begin + took), ns_of(after + rest + 3) - ns_of(after + rest)]
    assert spans["wait_ns"].tolist() == ends


def test_thousands_of_placements_of_a_large_model() -> None:
    """Ten files of 50 GB; every other tensor is mapped, the others were copied. Each placement has them all."""
    n_files, per_file, n_nodes, n_placements = 10, 60, 400, 300
    size = 50 * 10**9 // per_file
    n = n_files * per_file
    records = recorded.Records()
    for file in range(n_files):
        begin = (1 << 44) + file * (1 << 36)
        records.mappings.append(recorded.Mapping(begin, per_file * size, 0, f"/models/m-{file}.gguf", BOOT_NS))
    for k in range(n):
        file, offset = divmod(k, per_file)
        address = (1 << 46) + k * (1 << 36) if k % 2 else (1 << 44) + file * (1 << 36) + offset * size
        records.weights.append(
            recorded.Weight(0, f"t{k}", file, not k % 2, offset * size, size, address, recorded.NONE)
        )
    raw = np.zeros(n_nodes + n, recorded.NODE)
    raw["size_bytes"] = size
    records.graphs[0] = n_nodes, raw
    records.buffers[7] = recorded.Buffer(7, BOOT_NS, 1 << 40, address=1 << 41)
    places = np.zeros(n_nodes + n, recorded.PLACE)
    places["buffer"][:n_nodes], places["buffer"][n_nodes:] = 7, recorded.NONE
    places["address"][:n_nodes] = (1 << 41) + np.arange(n_nodes) * (1 << 30)
    places["address"][n_nodes:] = [weight.address + 5 for weight in records.weights]
    records.placements = dict.fromkeys(range(n_placements), (0, places, BOOT_NS + 1))
    files = [
        dict(file=i, model=0, split_index=i, path=f"m-{i}.gguf", size_bytes=per_file * size, axis_begin=0)
        for i in range(n_files)
    ]
    tensors = [
        dict(
            tensor=k,
            name=f"t{k}",
            file=k // per_file,
            offset=k % per_file * size,
            size_bytes=size,
            dtype="F32",
            component="other",
            ne0=1,
            ne1=1,
            ne2=1,
            ne3=1,
        )
        for k in range(n)
    ]
    with within(8):
        table = placement_table(records, frame("files", files), frame("tensors", tensors))
    assert len(table) == n_placements * (n_nodes + n)
    last = table[table["placement"] == n_placements - 1]
    weights = last[last["node"] >= n_nodes]
    assert weights["memory"].tolist() == ["copied" if k % 2 else "disk" for k in range(n)]
    assert weights["origin_offset"].tolist() == [k % per_file * size + 5 for k in range(n)]
    assert weights["tensor"].tolist() == list(range(n))
    assert weights["file"].tolist() == [k // per_file for k in range(n)]
    others = last[last["node"] < n_nodes]
    assert others["buffer_offset"].tolist() == [i << 30 for i in range(n_nodes)]
    assert others["tensor"].isna().all() and set(others["memory"]) == {"buffer"}
    pd.testing.assert_frame_equal(
        table[table["placement"] == 0].drop(columns="placement").reset_index(drop=True),
        last.drop(columns="placement").reset_index(drop=True),
    )
