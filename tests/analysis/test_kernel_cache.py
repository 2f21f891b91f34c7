"""What the kernel served, against counting single pages."""

from typing import Any

import pandas as pd
import pytest

from tests.builders import scaled_case
from tracegen.analysis import accesses, granules, kernel_cache, order
from tracegen.contract import tables as contract

PAGE = 4096
Tables = dict[str, pd.DataFrame]
CASE = scaled_case(3, 2, n_prompt=2, threads=1)
GENERATE = CASE["passes"].loc[CASE["passes"]["kind"] == "generate", "pass_id"].tolist()


def uses_of(tables: Tables) -> pd.DataFrame:
    return granules.granule_uses(order.disk_accesses(tables, accesses.ranges(tables)), PAGE)


def touched_pages(tables: Tables, pass_id: int) -> list[int]:
    uses = uses_of(tables)
    return sorted(set(uses.loc[uses["pass_id"] == pass_id, "granule"]))


def with_reads(tables: Tables, pages: list[tuple[int, int]]) -> Tables:
    """The tables with a request of a page in a pass, for each pair."""
    passes = tables["passes"].set_index("pass_id")
    rows: list[dict[str, Any]] = [
        dict(
            request=number,
            device="254:0",
            place=page * PAGE,
            size_bytes=PAGE,
            file_bytes=PAGE,
            kind="read",
            issue_ns=int(passes.loc[pass_id, "begin_ns"]),
            duration_ns=10,
            pass_id=pass_id,
            file=0,
            offset=page * PAGE,
        )
        for number, (pass_id, page) in enumerate(sorted(pages))
    ]
    return {**tables, "requests": contract.frame("requests", rows)}


def with_memory(tables: Tables, sizes: dict[int, int]) -> Tables:
    """The tables of a program with 100 bytes of its own, and so many of files."""
    own = {"anon": 100, "group": 100}
    rows = [
        dict(pass_id=of, kind=kind, resident_bytes=own[kind] + (n if kind == "group" else 0))
        for of, n in sizes.items()
        for kind in own
    ]
    return {**tables, "memory": contract.frame("memory", rows)}


def served(tables: Tables) -> list[tuple[str, float, float]]:
    found = kernel_cache.served(tables, uses_of(tables), PAGE, PAGE)
    assert list(found.columns) == kernel_cache.COLUMNS
    return list(found.itertuples(index=False, name=None))


HELD = dict.fromkeys(CASE["passes"]["pass_id"].tolist(), 7 * PAGE) | {GENERATE[0]: 9 * PAGE, GENERATE[1]: 5 * PAGE}


def test_a_page_that_is_read_in_the_pass_that_touches_it_was_not_served() -> None:
    first, second = (touched_pages(CASE, pass_id) for pass_id in GENERATE[:2])
    n_touched = sum(len(touched_pages(CASE, pass_id)) for pass_id in GENERATE)
    reads = [(GENERATE[0], first[0]), (GENERATE[0], first[1]), (GENERATE[1], second[0])]
    untouched = max(first) + 1
    tables = with_memory(with_reads(CASE, [*reads, (GENERATE[1], untouched)]), HELD)
    ((policy, size, rate),) = served(tables)
    held = [HELD[pass_id] for pass_id in GENERATE]
    assert (policy, size) == ("kernel", sum(held) / len(held)) and rate == pytest.approx(1 - 3 / n_touched)


def test_what_one_pass_reads_twice_takes_nothing_from_what_another_was_served() -> None:
    pages = {pass_id: touched_pages(CASE, pass_id) for pass_id in GENERATE}
    twice = [(GENERATE[0], page) for page in pages[GENERATE[0]] for _ in range(2)]
    ((_, _, rate),) = served(with_memory(with_reads(CASE, twice), HELD))
    others = sum(len(pages[pass_id]) for pass_id in GENERATE[1:])
    assert rate == pytest.approx(others / (others + len(pages[GENERATE[0]])))


def test_what_was_read_ahead_in_another_pass_was_served() -> None:
    second = touched_pages(CASE, GENERATE[1])
    first = touched_pages(CASE, GENERATE[0])
    ahead = [(GENERATE[0], page) for page in second if page not in first] or [(CASE["passes"]["pass_id"].iloc[0], 0)]
    assert served(with_memory(with_reads(CASE, ahead), HELD)) == []  # no pass waited: there is nothing to compare


def test_the_models_own_pages_count_where_they_are_known() -> None:
    tables = with_memory(with_reads(CASE, [(GENERATE[0], touched_pages(CASE, GENERATE[0])[0])]), HELD)
    cache = [
        dict(pass_id=of, file=0, cached_pages=3, dirty_pages=0, evicted_pages=0, recently_evicted_pages=0)
        for of in GENERATE
    ]
    tables["cache"] = contract.frame("cache", cache)
    ((_, size, _),) = served(tables)
    assert size == 3 * PAGE


@pytest.mark.parametrize("lacking", ["requests", "memory"])
def test_without_requests_or_memory_there_is_no_point(lacking: str) -> None:
    tables = with_memory(with_reads(CASE, [(GENERATE[0], touched_pages(CASE, GENERATE[0])[0])]), HELD)
    assert served({**tables, lacking: contract.frame(lacking)}) == []
