"""The best choice of a cache, counted the slow way: what `caches.most_hits` and libcachesim are held against."""

from collections.abc import Sequence


def belady(items: Sequence[int], size: int, *, bypass: bool = True) -> int:
    """Hits of a cache that drops what is used again last; with `bypass` it need not take in what it missed."""
    following, last = [len(items)] * len(items), dict[int, int]()
    for at in reversed(range(len(items))):
        following[at] = last.get(items[at], len(items))
        last[items[at]] = at
    held: dict[int, int] = {}
    hits = 0
    for at, item in enumerate(items):
        hits += item in held
        if item not in held and len(held) == size and not bypass:
            del held[max(held, key=held.__getitem__)]
        held[item] = following[at]
        if len(held) > size:
            del held[max(held, key=held.__getitem__)]
    return hits
