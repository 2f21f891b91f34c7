"""The best choice of a cache, counted the slow way: what `belady.Best` and libcachesim are compared with."""

from collections.abc import Sequence


def belady(items: Sequence[int], size: int, *, bypass: bool = True) -> int:
    """Hits of a cache that drops what is used again last; with `bypass` it need not take in what it missed."""
    following, last = [len(items)] * len(items), dict[int, int]()
    for at in reversed(range(len(items))):
        following[at] = last.get(items[at], len(items))
        last[items[at]] = at
    cached: dict[int, int] = {}
    hits = 0
    for at, item in enumerate(items):
        hits += item in cached
        if item not in cached and len(cached) == size and not bypass:
            del cached[max(cached, key=cached.__getitem__)]
        cached[item] = following[at]
        if len(cached) > size:
            del cached[max(cached, key=cached.__getitem__)]
    return hits
