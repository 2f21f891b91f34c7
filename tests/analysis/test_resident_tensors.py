"""Resident bytes of tensors against a map of single bytes."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.test_residency import FILES, PAGE, SIZES, tables_of
from tracegen.analysis.resident_tensors import by_group, resident_tensors
from tracegen.contract.tables import frame

# Tensors that begin and end inside of pages, one that lies in one page, one in the second file: file, begin, end
PLACES = [(0, 5, 3 * PAGE + 1), (0, 3 * PAGE + 1, 3 * PAGE + 9), (0, 6 * PAGE, SIZES[0]), (1, 7, 5 * PAGE)]
TENSORS = pd.DataFrame(
    {
        "tensor": range(4), "file": [file for file, *_ in PLACES], "offset": [begin for _, begin, _ in PLACES],
        "size_bytes": [end - begin for _, begin, end in PLACES],
        "component": ["attention_q", "attention_k", "norm", "norm"]}
)  # fmt: skip
PASSES = pd.DataFrame({"pass_id": [0, 1, 2], "end_ns": pd.array([5, 6, None], dtype="Int64")})
TABLES = {"tensors": TENSORS, "passes": PASSES}


@settings(deadline=None)
@given(st.sets(st.integers(0, 10)), st.sets(st.integers(0, 4)))
def test_tensors_byte_by_byte(first: set[int], second: set[int]) -> None:
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
