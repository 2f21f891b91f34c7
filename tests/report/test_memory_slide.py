"""The slider of memory: what a token uses again, the curves that are drawn, and the fastest reads that are known."""

import pytest

from tests.builders import a_moe_run, scaled_case, with_requests
from tracegen.analysis import requests
from tracegen.report.figures.context import Context
from tracegen.report.pages.explorers.memory_slide import memory_slide

TABLES = scaled_case(6, 3, moe=True)
MEASURED = [
    dict(pattern="random", queue_depth=1, block_bytes=4096, bytes_per_second=50e6),
    dict(pattern="sequential", queue_depth=8, block_bytes=1 << 20, bytes_per_second=700e6),
]


def test_what_a_token_uses_again_is_counted_use_by_use() -> None:
    context = Context(a_moe_run(), TABLES)
    slide = memory_slide(context)
    assert slide is not None
    kinds, seen, again = dict(TABLES["passes"][["pass_id", "kind"]].itertuples(index=False)), set(), 0
    for pass_id, granule in context.granule_uses[["pass_id", "granule"]].itertuples(index=False):
        again += granule in seen and kinds[pass_id] == "generate"
        seen.add(granule)
    assert slide["token_bytes"] == round(again * context.granule_bytes / list(kinds.values()).count("generate"))
    assert slide["most"] == len(seen) * context.granule_bytes


def test_curves_have_the_hits_of_plain_lru_up_to_the_next_size() -> None:
    context = Context(a_moe_run(), TABLES)
    slide = memory_slide(context)
    assert slide is not None
    uses = context.used_granules.tolist()
    sizes, rates = slide["curves"]["LRU"]
    for size, rate in zip(sizes, rates, strict=True):
        kept: list[int] = []  # the last used at the end
        hits = 0
        for granule in uses:
            hits += granule in kept
            kept = [*(one for one in kept if one != granule), granule][-(size // context.granule_bytes) :]
        assert rate == pytest.approx(hits / (len(uses) - len(set(uses))), abs=0.01)
    assert all(of[0] == sorted(of[0]) and of[0][0] >= slide["least"] for of in slide["curves"].values())


def test_what_the_run_itself_reached_counts() -> None:
    """How the rates are counted is tested in tests/analysis/test_requests.py."""
    tables = with_requests(TABLES)
    rates = requests.by_kind(tables)["bytes_per_second"]
    slide = memory_slide(Context(a_moe_run(trace=dict(requests_recorded=True)), tables))
    assert slide is not None and slide["known"] and slide["rate"] == rates.max() > rates.min() > 0


def test_no_token_is_faster_than_the_fastest_reads_that_are_known() -> None:
    stated = memory_slide(Context(a_moe_run(), TABLES))
    known = memory_slide(Context(a_moe_run(device=dict(measurements=MEASURED)), TABLES))
    assert stated is not None and not stated["known"] and stated["rate"] == 1e9
    assert known is not None and known["known"] and known["rate"] == 700e6
