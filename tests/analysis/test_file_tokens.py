"""The picture of the file by token: parts, rows, what was touched, waited for and read, and times, against loops."""

from itertools import groupby, pairwise
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import scaled_case, with_faults, with_requests
from tracegen.analysis import attribution, axis, file_tokens
from tracegen.analysis.coverage import union
from tracegen.analysis.passes import measured
from tracegen.charts import theme
from tracegen.contract import tables as contract

Tables = dict[str, pd.DataFrame]
MOE = scaled_case(4, 3, moe=True, splits=2, threads=2)
CASES = {
    "experts in two files": MOE,
    "dense": scaled_case(3, 5),
    "faults": with_faults(MOE),
    "requests": with_requests(with_faults(scaled_case(5, 2, threads=3))),
    "one token": scaled_case(0, 2),
}
RANGES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(1, 25)), max_size=8)


@pytest.fixture(params=CASES)
def tables(request: pytest.FixtureRequest) -> Tables:
    return CASES[request.param]


def ranges(of: list[tuple[int, int, int]]) -> pd.DataFrame:
    rows = [(pass_id, begin, begin + size) for pass_id, begin, size in of]
    return pd.DataFrame(rows, columns=["pass_id", "begin", "end"], dtype="int64")


def bytes_of(table: pd.DataFrame, pass_id: int) -> set[int]:
    own = table[table["pass_id"] == pass_id]
    return {at for begin, end in zip(own["begin"], own["end"], strict=True) for at in range(begin, end)}


# Parts


@pytest.mark.parametrize("most", [1, 4, 8, 100])
def test_each_tensor_lies_in_one_part_of_its_layer(tables: Tables, most: int) -> None:
    parts = file_tokens.parts(tables, theme.GROUP_OF, most).to_dict("records")
    assert all(one["end"] <= other["begin"] for one, other in pairwise(parts))
    begins = axis.tensor_begins(tables)
    for tensor, begin in zip(tables["tensors"].to_dict("records"), begins, strict=True):
        (part,) = [p for p in parts if p["begin"] <= begin < p["end"]]
        assert begin + tensor["size_bytes"] <= part["end"]
        if pd.isna(tensor["layer"]):
            assert pd.isna(part["layer"])
        else:
            assert part["layer"] <= tensor["layer"] <= part["last_layer"]
        group = theme.GROUP_OF[tensor["component"]]
        if most == 100 and group not in file_tokens.JOINING:
            assert part["group"] == group
    outside = sum(pd.isna(part["layer"]) for part in parts)
    assert len(parts) <= max(most, outside + tables["files"]["file"].nunique())


# Rows


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 2)), max_size=24), st.integers(2, 9))
def test_neighbours_that_are_alike_share_a_row(of: list[tuple[bool, bool, int]], most: int) -> None:
    """Each pass: whether it is of the prompt, whether it waited for nothing, and what it touched."""
    passes = contract.frame(
        "passes",
        [
            dict(pass_id=5 + i, graph=0, kind="prompt" if of_prompt else "generate", begin_ns=i, end_ns=i + 1)
            for i, (of_prompt, _, _) in enumerate(of)
        ],
    )
    quiet = pd.Series({5 + i: is_quiet for i, (_, is_quiet, _) in enumerate(of)}, dtype="bool")
    alike = pd.Series({5 + i: number for i, (_, _, number) in enumerate(of)}, dtype="int64")
    table = file_tokens.rows({"passes": passes}, quiet, alike, most).to_dict("records")
    assert [row["pass_id"] for row in table] == [5 + i for i in range(len(of))]
    reads = any(not is_quiet for of_prompt, is_quiet, _ in of if not of_prompt)
    key = [
        "prompt" if of_prompt else ("quiet" if is_quiet else f"pass {i}") if reads else number
        for i, (of_prompt, is_quiet, number) in enumerate(of)
    ]
    expected = [len(list(group)) for _, group in groupby(key)]
    found = [len(list(group)) for _, group in groupby(table, key=lambda row: row["row"])]
    assert [row["n_passes"] for row in table] == [n for n in found for _ in range(n)]
    assert sorted({row["row"] for row in table}) == list(range(len(found))) and len(found) <= most
    if len(expected) <= most:
        assert found == expected
        assert [row["kind"] == "prompt" for row in table] == [of_prompt for of_prompt, _, _ in of]
        for row, name in zip(table, key, strict=True):
            assert row["is_quiet"] == (reads and name == "quiet") or row["kind"] == "prompt"
    else:
        *same, last = found[1:] if table[0]["kind"] == "prompt" else found
        assert len(set(same)) <= 1 and last <= max(same, default=last)
        assert not any(row["is_quiet"] for row in table)


def test_passes_that_touch_the_same_pieces_are_alike(tables: Tables) -> None:
    cut = pd.DataFrame({"begin": [0, 50, 90], "end": [50, 90, 100]})
    used = ranges([(1, 0, 50), (2, 0, 30), (2, 60, 10), (3, 50, 50), (4, 50, 25), (4, 94, 6)])
    alike = file_tokens.touched_alike(tables, used.assign(file=0), cut)
    assert alike[1] == alike[2] and alike[3] == alike[4] and alike.nunique() == 2


# What was touched, read and waited for


@settings(max_examples=40)
@given(RANGES, st.lists(st.integers(1, 20), min_size=1, max_size=6))
def test_shares_of_cells_are_means_over_the_passes_of_a_row(of: list[tuple[int, int, int]], sizes: list[int]) -> None:
    ends = [sum(sizes[: n + 1]) for n in range(len(sizes))]
    cells = pd.DataFrame({"begin": [end - size for end, size in zip(ends, sizes, strict=True)], "end": ends})
    rows = pd.DataFrame({"pass_id": [0, 1, 2], "row": [0, 1, 1], "n_passes": [1, 2, 2]})  # pass 3 has no row
    used = union(ranges(of), "pass_id")
    found = file_tokens.shares(used, rows, cells)
    shares = {(int(r), int(c)): s for r, c, s in found.itertuples(index=False)}
    for row, passes in ((0, [0]), (1, [1, 2])):
        for cell, (begin, end) in enumerate(zip(cells["begin"], cells["end"], strict=True)):
            n = sum(len(bytes_of(used, p) & set(range(begin, end))) for p in passes)
            assert shares.get((row, cell), 0) == pytest.approx(n / (end - begin) / len(passes))
    assert all(share > 0 for share in shares.values()) and len(shares) == len(found)
    rows["kind"] = ["prompt", "tokens", "tokens"]
    often = file_tokens.touching(used, rows, cells)
    for cell, begin, end in cells.itertuples():
        n = sum(bool(bytes_of(used, p) & set(range(begin, end))) for p in (1, 2))
        assert often["share"][often["cell"] == cell].tolist() == [n / 2]
    assert file_tokens.touching(used, rows.assign(kind="prompt"), cells).empty


@given(RANGES, RANGES)
def test_needed_bytes_are_those_that_were_read_and_touched(
    of_reads: list[tuple[int, int, int]], of_passes: list[tuple[int, int, int]]
) -> None:
    read, used = ranges(of_reads), ranges(of_passes)
    needed = file_tokens.needed_bytes(used, read)
    assert {int(p): int(n) for p, n in needed.items()} == {
        p: sum(len(set(range(r.begin, r.end)) & bytes_of(used, p)) for r in read[read["pass_id"] == p].itertuples())
        for p in set(read["pass_id"])
    }


def test_reads_are_the_requests_of_model_files_in_measured_passes(tables: Tables) -> None:
    inside, begin = set(measured(tables)["pass_id"]), tables["files"].set_index("file")["axis_begin"]
    expected = [
        (r["pass_id"], begin[r["file"]] + r["offset"], begin[r["file"]] + r["offset"] + r["file_bytes"])
        for r in tables["requests"].to_dict("records")
        if not pd.isna(r["file"]) and r["file_bytes"] > 0 and r["pass_id"] in inside
    ]
    assert list(file_tokens.reads(tables).itertuples(index=False, name=None)) == expected


def test_waits_are_faults_that_started_a_read_or_took_long(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_tokens, "DISK_NS", 2_000)
    inside, begin = set(measured(tables)["pass_id"]), tables["files"].set_index("file")["axis_begin"]
    expected = [
        (f["pass_id"], begin[f["file"]] + f["offset"], begin[f["file"]] + f["offset"] + 1, f["duration_ns"])
        for f in tables["faults"].to_dict("records")
        if f["pass_id"] in inside and (f["kind"] == "major" or f["duration_ns"] > 2_000)
    ]
    assert list(file_tokens.waits(tables).itertuples(index=False, name=None)) == expected


# Times


def test_the_parts_of_the_time_add_up_to_the_duration(tables: Tables) -> None:
    rows = file_tokens.times(tables, theme.GROUP_OF).to_dict("records")
    passes = {row["pass_id"]: row for row in measured(tables).to_dict("records")}
    assert [row["pass_id"] for row in rows] == list(passes)
    nodes = {(n["graph"], n["node"]): n["component"] for n in tables["graph_nodes"].to_dict("records")}
    split = {row["pass_id"]: row for row in attribution.by_pass(tables).to_dict("records")}
    for row in rows:
        one = passes[row["pass_id"]]
        spans: list[dict[Any, Any]] = [s for s in tables["spans"].to_dict("records") if s["pass_id"] == one["pass_id"]]
        n_threads = len({s["thread"] for s in spans})
        known = known_ns(split.get(one["pass_id"]))
        for group in theme.GROUPS:
            of = [s for s in spans if theme.GROUP_OF[nodes[one["graph"], s["node"]]] == group]
            took = sum(s["work_ns"] - (0 if pd.isna(s["fault_ns"]) else s["fault_ns"]) for s in of)
            assert row.get(group, 0) == pytest.approx(took / n_threads), group
        assert {name: row[name] for name in known} == pytest.approx(known)
        parts = [row[name] for name in row if name not in ("pass_id", "duration_ns")]
        assert min(parts) >= 0 and sum(parts) == pytest.approx(row["duration_ns"]) == one["duration_ns"]


def known_ns(split: dict[Any, Any] | None) -> dict[str, float]:
    return {name: float(split[name]) if split else 0.0 for name in ("disk_ns", "behind_ns", "paging_ns")}
