"""Reads of model files as rows of their table, placed by name or by the tensors that begin there."""

import struct

import numpy as np
import pandas as pd
import pytest

from tests.native.trace_bytes import (
    Trace,
    compute,
    file_read,
    op,
    pass_begin,
    pass_end,
    record,
    string,
    thread_begin,
    thread_end,
)
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.trace import ModelTables, read_trace

FILES = {"file": [0], "model": [0], "split_index": [0], "path": ["model.gguf"], "size_bytes": [10_000]}


def model() -> ModelTables:
    tensors = {"tensor": [0, 1], "file": [0, 0], "offset": [4096, 5000], "size_bytes": [900, 1000]}
    more = dict(name=["a", "b"], model=[0, 0], layer=[None, None], dtype=["F32", "F32"], component=["other", "other"])
    frames = pd.DataFrame({**tensors, **more}), pd.DataFrame(FILES)
    return ModelTables(frames[1], frames[0])


def rows(*run: bytes, name: str = "/there/model.gguf") -> pd.DataFrame:
    strings = [*Trace().strings, string(40, name)]
    trace = Trace(strings=strings, run=[pass_begin(), *run, pass_end()], events=[])
    files = {name: np.frombuffer(data, np.uint8) for name, data in trace.files().items()}
    return read_trace(files, model()).tables["reads"]


def test_a_read_says_what_of_which_tensor_it_brought() -> None:
    found = rows(file_read(4096, 800, path=40), file_read(4864, 1136, path=40, call=0, direct=1, got=512))
    assert found["file"].tolist() == [0, 0] and found["tensor"].tolist() == [0, 1]
    assert found["call"].tolist() == ["fread", "read"] and found["direct"].tolist() == [False, True]
    assert found["got_bytes"].tolist() == [800, 512] and set(found["thread"]) == {77}
    assert found["pass_id"].notna().all() and (found["end_ns"] - found["begin_ns"]).eq(1_000).all()


def test_a_file_that_no_model_has_is_not_one() -> None:
    found = rows(file_read(path=40), name="/elsewhere/other.gguf")
    assert found["file"].isna().all() and found["tensor"].isna().all()


def test_a_link_is_the_file_whose_tensors_begin_in_its_reads() -> None:
    """Direct reads begin at whole blocks, before the tensors."""
    weights = [weight(offset, size) for offset, size in ((4096, 900), (5000, 1000))]
    direct = [file_read(offset, 1024, path=40, call=0, direct=1) for offset in (4096, 4608)]
    assert rows(*weights, *direct, name="/blobs/6f2a")["file"].tolist() == [0, 0]
    assert rows(*weights, file_read(4096, 64, path=40), name="/blobs/6f2a")["file"].isna().all()  # one of two is chance


def test_a_read_of_a_computing_thread_lies_in_its_operation() -> None:
    """The thread of the trace computes a node from 4,000 to 5,000 ns, and nothing from then on."""
    strings = [*Trace().strings, string(40, "model.gguf")]
    inside = file_read(path=40, begin_ns=4_300, end_ns=4_600, os_thread=4242)
    after = file_read(path=40, begin_ns=5_200, end_ns=5_600, os_thread=4242)
    other = file_read(path=40, begin_ns=4_400, end_ns=4_500)
    run = [pass_begin(), compute(), inside, other, after, pass_end()]
    trace = Trace(strings=strings, run=run, events=[thread_begin(), op(), thread_end()])
    files = {name: np.frombuffer(data, np.uint8) for name, data in trace.files().items()}
    found = read_trace(files, model()).tables["reads"].sort_values("begin_ns")
    assert found["pool_thread"].fillna(-1).tolist() == [0, -1, 0]
    assert found["node"].fillna(-1).tolist() == [0, -1, -1]


def test_a_read_between_passes_is_of_none() -> None:
    assert rows(file_read(path=40, begin_ns=1))["pass_id"].isna().all()


def weight(offset: int, size: int) -> bytes:
    """A weight of the first file of the first load, copied."""
    return record(7, struct.pack("<IIIIQQQII", 0, 2, 0, 0, offset, size, 1 << 21, 0xFFFFFFFF, 0), 5_000)


BROKEN = {
    "more than was asked for": file_read(size=10, got=11),
    "no such call": file_read(call=6),
    "neither direct nor not": file_read(direct=2),
    "a string that was not written": file_read(path=99),
    "it ended before it began": file_read(begin_ns=7_000),
    "beyond every file": file_read(offset=(1 << 63) - 1),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_is_refused(broken: bytes) -> None:
    with pytest.raises(TraceFormatError):
        rows(broken)
