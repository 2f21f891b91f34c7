"""What was in memory, against a count page by page and byte by byte; and the figure that shows it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_run, scaled_case
from tests.report.rendered import body, rendered, words
from tracegen.analysis.residency import joined_shares, read_per_row, resident_cells, resident_rows
from tracegen.analysis.resident_tensors import by_group, resident_tensors
from tracegen.contract.tables import frame
from tracegen.report.document.amount import in_words
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Figure
from tracegen.report.figures.residency import RESIDENCY, RESIDENT_GROUPS

CASE = scaled_case(3, 2, splits=2)
PAGE = 64
HOST = dict(page_bytes=4096)
SIZES = (10 * PAGE + 7, 5 * PAGE)  # the last page of the first file reaches beyond its end
FILES = frame(
    "files",
    [
        dict(file=i, model=0, split_index=i, path=f"{i}.gguf", size_bytes=size, axis_begin=sum(SIZES[:i]))
        for i, size in enumerate(SIZES)
    ],
)


def tables_of(pages: list[set[int]], pass_id: int = 0) -> dict[str, pd.DataFrame]:
    """Files, and as residency the pages (per file) of one pass, run by run."""
    rows = []
    for file, found in enumerate(pages):
        for page in sorted(found):
            if rows and rows[-1]["file"] == file and rows[-1]["first_page"] + rows[-1]["n_pages"] == page:
                rows[-1]["n_pages"] += 1
            else:
                rows.append(dict(pass_id=pass_id, file=file, first_page=page, n_pages=1))
    return {"files": FILES, "residency": frame("residency", rows)}


@given(st.sets(st.integers(0, 10)), st.sets(st.integers(0, 4)), st.integers(1, 40))
def test_cells_hold_what_is_counted_byte_by_byte(first: set[int], second: set[int], n_bins: int) -> None:
    cells = resident_cells(tables_of([first, second]), PAGE, n_bins)
    if not first and not second:
        assert cells.empty
        return
    axis = np.zeros(sum(SIZES), bool)
    for page in first:
        axis[page * PAGE : min((page + 1) * PAGE, SIZES[0])] = True
    for page in second:
        axis[SIZES[0] + page * PAGE : SIZES[0] + (page + 1) * PAGE] = True
    expected = [int(axis[begin:end].sum()) for begin, end in zip(cells["begin"], cells["end"], strict=True)]
    assert cells["resident_bytes"].tolist() == expected
    assert cells["begin"].iloc[0] == 0 and cells["end"].iloc[-1] == len(axis)
    assert cells["begin"].tolist()[1:] == cells["end"].tolist()[:-1]


def test_a_load_has_a_row_of_its_own_in_front() -> None:
    rows = resident_rows(CASE)
    assert rows["pass_id"].tolist() == CASE["passes"]["pass_id"].tolist()
    assert rows["row"].tolist() == list(range(len(rows))) and rows["label"].tolist()[:2] == ["load", "warm-up"]
    assert rows["label"].is_unique


def test_shares_are_means_of_a_row_and_neighbours_are_joined() -> None:
    rows = pd.DataFrame({"pass_id": [0, 1, 2, 3, 4], "row": [0, 1, 1, 2, 2], "n_passes": [1, 2, 2, 2, 2]})
    cells = pd.DataFrame(
        [
            (0, 0, 0, 10, 10),
            (0, 1, 10, 20, 10),
            (0, 2, 20, 30, 0),
            (1, 0, 0, 10, 10),
            (1, 1, 10, 20, 0),
            (1, 2, 20, 30, 0),
            (2, 0, 0, 10, 0),
            (2, 1, 10, 20, 0),
            (2, 2, 20, 30, 1),
            (3, 0, 0, 10, 10),
            (3, 1, 10, 20, 0),
            (3, 2, 20, 30, 0),  # after pass 4 nothing was in memory
        ],
        columns=["pass_id", "bin", "begin", "end", "resident_bytes"],
    )
    shares = joined_shares(cells, rows, 8)
    assert shares.values.tolist() == [[0, 7, 0, 20], [1, 3, 0, 10], [1, 0, 20, 30], [2, 3, 0, 10]]


def test_what_is_read_is_the_mean_of_a_row() -> None:
    rows = resident_rows(CASE)
    passes = CASE["passes"].assign(read_bytes=pd.array([4096] + [None] * (len(rows) - 1), "Int64"))
    assert read_per_row({"passes": passes}, rows).values.tolist() == [[0, 4096.0]]


def test_a_load_after_which_nothing_was_in_memory_is_said_to_have_nothing() -> None:
    runs = frame("residency", [dict(pass_id=4, file=0, first_page=0, n_pages=1)])
    shown = RESIDENCY.content(Context(a_run(host=HOST), CASE | {"residency": runs}))
    assert in_words(shown.answer).startswith("0 % of the file in memory after the load")


@pytest.mark.parametrize("figure", [RESIDENCY, RESIDENT_GROUPS])
def test_without_the_size_of_a_page_nothing_is_drawn(figure: Figure) -> None:
    runs = frame("residency", [dict(pass_id=0, file=0, first_page=0, n_pages=1)])
    shown = figure.content(Context(a_run(host={}), CASE | {"residency": runs}))
    assert shown.empty == "The size of the machine’s pages was not recorded."


def test_the_memory_page_shows_what_was_there() -> None:
    files = CASE["files"]
    total = int(files["size_bytes"].sum())
    half = -(-int(files["size_bytes"].iloc[0]) // 4096)
    runs = [dict(pass_id=0, file=0, first_page=0, n_pages=half), dict(pass_id=4, file=0, first_page=0, n_pages=1)]
    report = rendered(CASE | {"residency": frame("residency", runs)}, a_run(host=HOST))
    page, first = body(report, "appendix").replace("\u2009", " "), int(files["size_bytes"].iloc[0])
    assert 'id="fig-residency"' in page
    assert f"{first / total * 100:.1f} % of the file in memory after the load" in words(page)
    lines = report.files["data/residency.csv"].decode().splitlines()
    assert sum(int(line.split(",")[4]) for line in lines[1:] if line.startswith("0,")) == first


# Tensors that begin and end inside of pages, one that lies in one page, one in the second file: file, begin, end
PLACES = [(0, 5, 3 * PAGE + 1), (0, 3 * PAGE + 1, 3 * PAGE + 9), (0, 6 * PAGE, SIZES[0]), (1, 7, 5 * PAGE)]
TENSORS = pd.DataFrame(
    {
        "tensor": range(4),
        "file": [file for file, *_ in PLACES],
        "offset": [begin for _, begin, _ in PLACES],
        "size_bytes": [end - begin for _, begin, end in PLACES],
        "component": ["attention_q", "attention_k", "norm", "norm"],
    }
)
PASSES = pd.DataFrame({"pass_id": [0, 1, 2], "end_ns": pd.array([5, 6, None], dtype="Int64")})
TABLES = {"tensors": TENSORS, "passes": PASSES}


@given(st.sets(st.integers(0, 10)), st.sets(st.integers(0, 4)))
def test_resident_bytes_of_tensors_equal_a_count_byte_by_byte(first: set[int], second: set[int]) -> None:
    tables = tables_of([first, second]) | TABLES
    found = resident_tensors(tables, PAGE)
    if not first and not second:
        assert found.empty
        return
    axis = [np.zeros((n + 1) * PAGE, bool) for n in (10, 5)]
    for pages, file in zip((first, second), axis, strict=True):
        for page in pages:
            file[page * PAGE : (page + 1) * PAGE] = True
    expected = [int(axis[file][begin:end].sum()) for file, begin, end in PLACES]
    assert found[found["pass_id"] == 0]["resident_bytes"].tolist() == expected
    assert found[found["pass_id"] == 1]["resident_bytes"].tolist() == [0] * len(PLACES)  # it ended, with nothing there
    assert set(found["pass_id"]) == {0, 1}  # pass 2 never ended: nobody looked
    groups = by_group(found, TENSORS, {"attention_q": "attention", "attention_k": "attention", "norm": "norm"})
    now = groups[groups["pass_id"] == 0].set_index("group")["resident_bytes"]
    assert now.to_dict() == {"attention": sum(expected[:2]), "norm": sum(expected[2:])}


def test_a_run_that_did_not_look_has_no_rows() -> None:
    assert resident_tensors({"residency": frame("residency", []), "files": FILES} | TABLES, PAGE).empty
