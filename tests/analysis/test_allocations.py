"""What is allocated: sums by hand, names of functions, and who is said to make memory grow."""

import pandas as pd
import pytest

from tests.builders import a_run, scaled_case, with_allocations, with_footprint
from tests.builders.allocations import KEPT
from tracegen.analysis import allocations
from tracegen.contract.tables import frame
from tracegen.report.figures.context import Context
from tracegen.report.findings import growth

MIB = 1 << 20


def case(each: int = 4 * MIB) -> dict[str, pd.DataFrame]:
    """A server whose heap grows by as much as it keeps, with no saved states."""
    return with_allocations(with_footprint(scaled_case(8, 3), state_bytes=0, heap_bytes=each), each)


def test_what_lives_at_the_last_sample_and_how_much_of_it_is_new() -> None:
    tables = case()
    samples = tables["footprint"].drop_duplicates("sample")
    computing = samples[samples["occasion"].isin(["pass", "saved"]).to_numpy(bool)]["sample"]
    first, last = int(computing.min()), int(computing.max())
    sizes = allocations.by_size(tables).set_index("size_class")
    assert sizes["live_bytes"].to_dict() == {5: 4_000, 22: (last + 1) * 4 * MIB, 25: 40 * MIB}
    assert sizes["grown_bytes"].to_dict() == {5: 0, 22: (last - first) * 4 * MIB, 25: 0}
    calls = allocations.by_calls(tables).set_index("calls")
    kept = calls.loc[KEPT, ["n_live", "n_all", "grown_bytes"]]
    assert kept.tolist() == [last + 1, last + 3, (last - first) * 4 * MIB]
    assert calls["live_bytes"].is_monotonic_decreasing and len(calls) == 2


def test_calls_whose_blocks_are_freed_have_no_row_and_sizes_have() -> None:
    tables = case()
    rows, last = tables["allocations"], allocations.looked_at(tables)
    assert last is not None
    kept = rows[~(rows["sample"].eq(last[1]) & (rows["calls"].eq(KEPT) | rows["size_class"].eq(22))).fillna(False)]
    tables = {**tables, "allocations": frame("allocations", {name: kept[name] for name in kept.columns})}
    assert KEPT not in set(allocations.by_calls(tables)["calls"])
    freed = allocations.by_size(tables).set_index("size_class").loc[22]
    assert freed["live_bytes"] == 0 and freed["grown_bytes"] < 0


def test_a_sample_at_the_end_does_not_count_and_none_is_none() -> None:
    tables = case()
    ended = tables["footprint"].assign(occasion="end")
    assert allocations.looked_at({**tables, "footprint": ended}) is None
    empty = {**tables, "allocations": frame("allocations")}
    assert allocations.by_size(empty).empty and allocations.by_calls(empty).empty


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN13llama_context14process_ubatchERK12llama_ubatch", "llama_context::process_ubatch"),
        ("_ZNK11llama_model13create_memoryERK19llama_memory_params", "llama_model::create_memory"),
        ("_ZN18common_init_resultC1ER13common_paramsb", "common_init_result::common_init_result"),
        ("_Z16llama_completioniPPc", "llama_completion"),
        ("ggml_backend_sched_new", "ggml_backend_sched_new"),
        ("_ZNSt6vectorIhSaIhEE17_M_default_appendEm", "_ZNSt6vectorIhSaIhEE17_M_default_appendEm"),
        ("_Z", "_Z"),
        ("", ""),
    ],
)
def test_names_are_those_of_the_source(symbol: str, name: str) -> None:
    assert allocations.readable(symbol) == name


def test_who_asked_is_the_first_function_of_the_program() -> None:
    found = allocations.asked(KEPT)
    assert (found.function, found.called_by, found.library) == ("cache::keep", "server::answer", "server")
    alone = allocations.asked("libtensor-trace.so+0x10 < libgomp.so.1+0x20")
    assert (alone.function, alone.called_by) == ("libgomp.so.1+0x20", "")


def test_growing_memory_is_said_with_who_asked_for_it() -> None:
    (found,) = growth.findings(Context(a_run(), case()))
    assert "Most of what is new was asked for by `cache::keep`, called by `server::answer`: " in found.text
    tables = with_footprint(scaled_case(8, 3), state_bytes=0, heap_bytes=4 * MIB)
    (found,) = growth.findings(Context(a_run(), tables))
    assert found.text.endswith("What allocates it was not recorded (`--allocations` does).")
