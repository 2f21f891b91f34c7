"""What passes waited for and read of pieces, counted again fault by fault and request by request."""

from collections import Counter

import pandas as pd
import pytest

from tests.builders import scaled_case, with_faults, with_requests
from tracegen.analysis import axis, piece_disk
from tracegen.analysis.pieces import pieces

TABLES = with_requests(with_faults(scaled_case(3, 2, moe=True)))
CUT = pieces(TABLES)


def counted() -> tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]]:
    """Waiting (ns) and bytes read by pass and piece."""
    begins, waited, read = axis.begins(TABLES), Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    ends = list(zip(CUT["begin"].tolist(), CUT["end"].tolist(), strict=True))
    for one in TABLES["faults"].to_dict("records"):
        place = begins[one["file"]] + one["offset"]
        for piece in [i for i, (begin, end) in enumerate(ends) if begin <= place < end]:
            waited[one["pass_id"], piece] += one["duration_ns"]
    for one in TABLES["requests"].to_dict("records"):
        if pd.isna(one["pass_id"]) or pd.isna(one["file"]):
            continue
        first = begins[one["file"]] + one["offset"]
        asked = range(first, first + one["file_bytes"])
        for piece, (begin, end) in enumerate(ends):
            if n_bytes := len(range(max(asked.start, begin), min(asked.stop, end))):
                read[one["pass_id"], piece] += n_bytes
    return waited, read


@pytest.mark.parametrize(("waits", "reads"), [(True, True), (True, False), (False, True), (False, False)])
def test_each_piece_has_what_was_recorded(waits: bool, reads: bool) -> None:
    waited, read = counted()
    rows = piece_disk.by_piece(TABLES, CUT, waits=waits, reads=reads).to_dict("records")
    found = {(row["pass_id"], row["piece"]): (row["waited_ns"], row["read_bytes"]) for row in rows}
    assert set(found) == (set(waited) if waits else set()) | (set(read) if reads else set())
    for key, (ns, n_bytes) in found.items():
        assert (ns == waited[key]) if waits else pd.isna(ns)
        assert (n_bytes == read[key]) if reads else pd.isna(n_bytes)
    assert len(waited) > 5 and len(read) > 5 and max(read.values()) > 1000
