"""What earlier versions of tracegen showed wrongly: said at what they published, and on the reference page.

A published version never changes. Each entry says what is false in versions of before, and what the word or figure
means since. An entry is added with the change that mends the fault, and stays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    """A fault of all versions published before tracegen `since`.

    `pages` are the keys of the pages that show it, `was` what they show, `now` what is shown since.
    """

    since: str
    pages: tuple[str, ...]
    title: str
    was: str
    now: str


ERRATA: tuple[Erratum, ...] = (
    Erratum(
        "0.2.0",
        ("overview", "memory", "operations", "graph"),
        "Bytes of the KV cache and of views",
        "A view counted its extent, holes included, and flash attention all rows that were reserved, those that its "
        "mask hides too: bytes touched in buffers are too large, the more so the longer the context.",
        "A view counts its elements times the size of their type, the KV cache the rows that the mask lets through.",
    ),
    Erratum(
        "0.2.0",
        ("overview", "memory", "operations", "graph"),
        "Intermediate results of fused operations",
        "What a fused kernel hands on inside itself counted as written and read: some per cent of the bytes in "
        "buffers.",
        "What stays inside a kernel counts nothing.",
    ),
    Erratum(
        "0.2.0",
        ("memory",),
        "Tensors in two kinds of memory",
        "Of a tensor that is looked up through the mapping and multiplied from a copy (tied embeddings) nothing was "
        "said to be used through the mapping.",
        "The bytes used are told for the mapping and for the copy.",
    ),
    Erratum(
        "0.2.0",
        ("overview", "timeline"),
        "Time outside operations",
        "“Where does a token's time go?” and the shares of thread time left out what lies in no operation: 4 to 30 % "
        "of a pass.",
        "It is a part like any other, and shares are of the passes’ whole time.",
    ),
    Erratum(
        "0.2.0",
        ("overview", "provenance"),
        "Tracing cost",
        "The cost was an average over prompt, warm-up and generate passes, and held what was recorded after a pass.",
        "The cost is that of the median pass of each kind, and only what lies inside it counts.",
    ),
    Erratum(
        "0.2.0",
        ("overview", "timeline", "operations", "graph"),
        "Whether other programs interfered",
        "Forced context switches per pass were counted: disturbed runs of short passes passed the check, passes of "
        "seconds failed it undisturbed.",
        "What counts is the share of thread time that was runnable and had no processor, as the kernel tells it.",
    ),
    Erratum(
        "0.2.0",
        ("overview", "provenance"),
        "Page faults",
        "Faults without a read of their own were called “served from memory”, and those with one the only ones that "
        "waited.",
        "It is told which faults waited for a read of their own; others may have waited for one that was under way.",
    ),
    Erratum(
        "0.2.0",
        ("overview", "experts"),
        "Whose choice it was",
        "A row of experts was named by the token that its pass gave; it was chosen by the token that the row held, "
        "the one before. The strongest was the first that the router chose, which in models with a biased router is "
        "not the one with the largest weight. Pairs of layer and expert were called experts.",
        "Rows are named by the token they hold, strength goes by weight, and pairs are called pairs.",
    ),
)


def errata_of(generator: str, page: str | None = None) -> tuple[Erratum, ...]:
    """What is false in a version that this generator ("tracegen 0.1.0") published, on one page or on any.

    A generator whose version cannot be read counts as older than all.
    """
    made_by = _numbers(generator)
    return tuple(e for e in ERRATA if made_by < _numbers(e.since) and (page is None or page in e.pages))


def _numbers(version: str) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", version)
    return tuple(int(n) for n in found.groups()) if found else ()
