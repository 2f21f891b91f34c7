"""What a tracer could not record is null in the tables, never 0; a warm-up may be recorded after its passes."""

import struct

import pandas as pd
import pytest

from tests.native.trace_bytes import (
    NONE,
    Trace,
    compute,
    copy,
    done,
    info,
    pass_begin,
    pass_end,
    read,
    record,
    split,
    string,
)
from tracegen.contract.errors import TraceFormatError
from tracegen.readers.native.trace import NativeTrace

pytestmark = pytest.mark.native

CONTEXT = record(8, struct.pack("<8I", 0, 0, 64, 64, 64, 1, 0, 0))  # types of K and V: the empty string


def attached_pass(number: int, *, sequences: int = 0, token: int = 7, place: int = -1, output: int = NONE) -> bytes:
    """A pass of context 0 with one token, as attached tracing records it."""
    head = struct.pack("<5Q5IiII", 1, 2, 3, 4, 512, number, 0, 0, 0, 0, 0, 1, sequences)
    return record(15, head + struct.pack("<iiiI", token, place, -1, output), 3_000 + number)


def trace(*run: bytes, before: tuple[bytes, ...] = (), events: bool = False) -> NativeTrace:
    parts = Trace(run=list(run))
    parts.before = [*before, *parts.before]
    parts.after = []
    return read((parts if events else Trace(parts.strings, parts.before, parts.run, [], [])).files())


def test_unknown_sequences_positions_and_outputs() -> None:
    recorded = trace(attached_pass(0), pass_end(0), before=(CONTEXT,))
    (row,) = recorded.tables["passes"].to_dict("records")
    assert all(pd.isna(row[name]) for name in ("n_sequences", "n_outputs", "position_begin")) and row["n_tokens"] == 1
    assert row["kind"] == "mixed"  # there may be several sequences
    (token,) = recorded.tables["tokens"].to_dict("records")
    assert token["token_id"] == 7 and all(pd.isna(token[name]) for name in ("position", "sequence", "output"))


def test_unknown_types_of_a_cache() -> None:
    contexts = trace(before=(CONTEXT,)).tables["contexts"]
    assert contexts[["type_k", "type_v"]].isna().all(axis=None) and contexts["n_ctx"].tolist() == [64]


def test_a_kernel_that_does_not_count_what_is_read() -> None:
    passes = (pass_begin(), pass_end())
    assert trace(*passes).tables["passes"]["read_bytes"].tolist() == [0]
    uncounted = trace(*passes, before=tuple(info(20, "counters.read_bytes", "no"))).tables["passes"]
    assert uncounted["read_bytes"].isna().all() and uncounted["minor_faults"].tolist() == [0]


def test_a_warm_up_that_is_recorded_after_its_passes() -> None:
    known = dict(sequences=1, place=0, output=1)
    call, warmup = record(14, struct.pack("<II", 0, 0)), record(23, struct.pack("<II", 0, 0))
    run = [call, attached_pass(0, **known), pass_end(0), warmup, call, attached_pass(1, **known), pass_end(1)]
    passes = trace(*run, before=(CONTEXT,)).tables["passes"]
    assert passes[["kind", "kind_basis"]].values.tolist() == [["warmup", "recorded"], ["prompt", "inferred"]]


@pytest.mark.parametrize("backend, state, basis", [("GPU", "executed", "split"), ("CPU", None, "graph only")])
def test_an_op_without_events_ran_where_its_split_says(backend: str, state: str | None, basis: str) -> None:
    """A split of the CPU without recorded ops says nothing about its ops."""
    name = string(20, backend)
    (row,) = trace(pass_begin(), split(backend=20), pass_end(), before=(name,)).tables["ops"].to_dict("records")
    assert row["time_basis"] == basis
    assert (row["state"], row["backend"], row["split"]) == ("executed", "GPU", 0) if state else pd.isna(row["state"])
    assert pd.isna(row["begin_ns"]) and pd.isna(row["n_threads"])


def test_the_cpus_own_split_leaves_its_ops_as_they_are() -> None:
    tables = trace(pass_begin(), compute(), split(by_op=1), pass_end(), events=True).tables
    assert tables["ops"]["time_basis"].astype(str).tolist() == ["measured"]
    assert tables["splits"]["by_op"].tolist() == [True]


@pytest.mark.parametrize("number, proof", [(0, None), (1, "none"), (2, "synchronise"), (3, "blocking"), (4, "reply")])
def test_how_the_end_of_a_split_and_of_a_copy_is_known(number: int, proof: str | None) -> None:
    """A trace of before it was recorded holds 0, which is null."""
    tables = trace(pass_begin(), split(proof=number), copy(proof=number), pass_end()).tables
    for name in ("splits", "copies"):
        assert tables[name]["proof"].astype(object).where(tables[name]["proof"].notna(), None).tolist() == [proof]


@pytest.mark.parametrize("damaged", [split(proof=5), copy(proof=5)])
def test_a_proof_that_the_format_does_not_have(damaged: bytes) -> None:
    with pytest.raises(TraceFormatError, match="proof is 5, but must be below 5"):
        trace(pass_begin(), damaged, pass_end())


def test_a_wait_of_llama_cpp_says_when_splits_were_done() -> None:
    """Of a passive tracer: a split ends when it was waited for, and the waiting begins when it had been taken."""
    run = (pass_begin(), split(proof=1), split(proof=1, number=1), done((0, 0), (0, 1)), pass_end())
    splits = trace(*run).tables["splits"]
    assert splits["proof"].tolist() == ["synchronise"] * 2
    assert splits[["submitted_ns", "waiting_ns", "end_ns"]].to_numpy().tolist() == [[5_200, 6_100, 7_000]] * 2
    early = trace(pass_begin(), split(proof=1), done((0, 0), begin_ns=5_100, proof=4), pass_end()).tables["splits"]
    assert early["proof"].tolist() == ["reply"] and early["waiting_ns"].tolist() == [5_200]


def test_a_split_that_nobody_waited_for_has_no_end() -> None:
    splits = trace(pass_begin(), split(proof=1), pass_end()).tables["splits"]
    assert splits["proof"].tolist() == ["none"] and splits["waiting_ns"].isna().all()


def test_what_tracing_took_in_a_pass_and_before_it() -> None:
    record_of = record(26, struct.pack("<QIIQ", 500, 0, 1, 90), 9_100)
    facts = trace(attached_pass(0), pass_end(0), record_of, before=(CONTEXT,)).facts
    assert facts["hook_ns"] == {0: 500} and facts["between_ns"] == {0: 90}
