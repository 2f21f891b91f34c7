"""Samples of a process's memory, and saved states, as rows of their tables; records that cannot be are refused."""

import pytest

from tests.native.trace_bytes import Trace, allocated, footprint, pass_begin, pass_end, read, saved
from tracegen.contract.errors import TraceFormatError

MODEL, FILES, ANONYMOUS, BUFFER, SAVED = 0, 1, 3, 7, 8


def tables(*run: bytes):  # type: ignore[no-untyped-def]
    return read(Trace(run=[pass_begin(), *run, pass_end()], events=[]).files()).tables


def test_each_part_of_a_sample_is_a_row() -> None:
    sample = footprint((10, MODEL, 0), (20, FILES, 0), (70, ANONYMOUS, 0), (30, BUFFER, 0), (40, SAVED, 0))
    rows = tables(saved(), sample)["footprint"]
    assert rows["kind"].tolist() == ["process", "model", "files", "anonymous", "buffer", "saved"]
    assert rows["resident_bytes"].tolist() == [100, 10, 20, 70, 30, 40]
    assert rows["buffer_id"].tolist()[4] == rows["saved"].tolist()[5] == 0 and rows["buffer_id"].isna().sum() == 5
    assert set(rows["took_ns"]) == {1_000} and set(rows["time_ns"]) == {9_000} and set(rows["occasion"]) == {"pass"}


def test_a_state_says_what_became_of_it() -> None:
    rows = tables(saved(), saved(1, flags=3, restored=1, size=9))["saved_states"]
    assert rows["event"].tolist() == ["saved", "restored"] and rows["size_bytes"].tolist() == [4096, 9]
    assert rows["partial"].tolist() == rows["on_device"].tolist() == [False, True] and set(rows["sequence"]) == {3}


def test_a_sample_without_a_pass_or_load_has_none() -> None:
    rows = tables(footprint((10, MODEL, 0), of_pass=0xFFFFFFFF, occasion=3))["footprint"]
    assert rows["pass_id"].isna().all() and set(rows["occasion"]) == {"end"}


def test_what_is_allocated_belongs_to_its_sample() -> None:
    """String 5 and 7 are of the builder's."""
    samples = [footprint((10, MODEL, 0)), footprint((11, MODEL, 0))]
    of_second = allocated((2, 8_000, 4, 7), (0, 1_000, 1, 7), classes=((3, 120, 5), (1, 9_000, 13)), lost=4)
    trace = read(Trace(run=[pass_begin(), *samples, of_second, pass_end()], events=[]).files())
    rows = trace.tables["allocations"]
    assert rows["sample"].tolist() == [1, 1, 1] and rows["kind"].tolist() == ["size", "size", "calls"]
    assert rows["size_class"].tolist()[:2] == [5, 13] and rows["calls"].tolist()[2] == "inp_tokens"
    assert rows["live_bytes"].tolist() == [120, 9_000, 9_000] and rows["n_live"].tolist() == [3, 1, 2]
    assert rows["n_all"].tolist()[2] == 5 and trace.facts["allocations_lost"] == 4
    assert read(Trace().files()).facts["allocations_lost"] is None


BROKEN = {
    "allocations of no sample": allocated(),
    "allocations of a sample twice": footprint((1, MODEL, 0)) + allocated() + allocated(),
    "more sites than there are": footprint((1, MODEL, 0)) + allocated(n_sites=1),
    "more classes than there are": footprint((1, MODEL, 0)) + allocated(n_classes=1 << 31),
    "blocks of no size": footprint((1, MODEL, 0)) + allocated(classes=((1, 1, 64),)),
    "calls without a name": footprint((1, MODEL, 0)) + allocated((1, 1, 1, 88)),
    "more blocks than there can be": footprint((1, MODEL, 0)) + allocated((1 << 63, 1, 1, 5)),
    "a part of no kind": footprint((1, 9, 0)),
    "more parts than there are": footprint((1, MODEL, 0), n=2),
    "an unknown buffer": footprint((1, BUFFER, 77)),
    "an unknown state": footprint((1, SAVED, 5)),
    "more bytes than there can be": footprint((1 << 63, MODEL, 0)),
    "an unknown occasion": footprint((1, MODEL, 0), occasion=4),
    "a pass that has not begun": footprint((1, MODEL, 0), of_pass=9),
    "a state twice": saved() + saved(),
    "a state that ends before it begins": saved(begin_ns=8_000),
    "a state of more bytes than there can be": saved(size=1 << 63),
    "neither saved nor restored": saved(restored=2),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_is_refused(broken: bytes) -> None:
    with pytest.raises(TraceFormatError):
        tables(broken)
