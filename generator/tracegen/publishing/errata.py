"""Faults of earlier tracegens, shown above the versions that they published and on the reference page.

A published version never changes. Each entry says what is false in older versions, and what the word or figure means
since then. The change that corrects a fault adds an entry; entries are never removed.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    """A fault of all versions that a tracegen before `since` published.

    `pages` are the keys of the pages with the fault, `was` says what they show, `now` what pages show since. `until`:
    what tracegen `since` itself published before that moment, in UTC, has the fault too.
    """

    since: str
    pages: tuple[str, ...]
    title: str
    was: str
    now: str
    until: str = ""


ERRATA: tuple[Erratum, ...] = (
    Erratum(
        "0.2.0",
        ("overview", "memory", "operations", "graph"),
        "Bytes of the KV cache and of views",
        "A view counted its whole extent, holes included. Flash attention counted all reserved rows, also those that "
        "its mask hides. Bytes touched in buffers are therefore too large, the more so the longer the context.",
        "A view counts its elements times the size of their type; the KV cache counts the rows that the mask lets "
        "through.",
    ),
    Erratum(
        "0.2.0",
        ("overview", "memory", "operations", "graph"),
        "Intermediate results of fused operations",
        "Results that a fused kernel keeps inside itself counted as written and read: some per cent of the bytes in "
        "buffers.",
        "Results that stay inside a kernel are not counted.",
    ),
    Erratum(
        "0.2.0",
        ("memory",),
        "Tensors in two kinds of memory",
        "A tensor whose rows are looked up in the mapped model file and which is multiplied from a copy (tied "
        "embeddings) was shown as touched in the copy only.",
        "Touched bytes are stated separately, mapped and copied.",
    ),
    Erratum(
        "0.2.0",
        ("overview", "timeline"),
        "Time outside operations",
        "“Where does a token's time go?” and the shares of thread time left out the time outside operations: 4 to 30 % "
        "of a pass.",
        "Time outside operations has its own part; shares are of the whole time of the passes.",
    ),
    Erratum(
        "0.2.0",
        ("overview", "provenance"),
        "Tracing cost",
        "The cost was an average over prompt, warm-up and generate passes, and included what was recorded after a "
        "pass.",
        "The cost is that of the median pass of each kind; only recording inside the pass counts.",
    ),
    Erratum(
        "0.2.0",
        ("overview", "timeline", "operations", "graph"),
        "Whether other programs interfered",
        "Forced context switches per pass were counted: disturbed runs with short passes passed the check, undisturbed "
        "runs with passes of seconds failed it.",
        "What counts is the share of thread time that was runnable without a processor, as the kernel measures it.",
    ),
    Erratum(
        "0.2.0",
        ("caches",),
        "The best cache of a long run",
        "“No cache does better” stood at a line (Belady) that was simulated for a sample of the granules, beside LRU "
        "and a static set that were counted for all: the static set lay above it, by up to 0.6 % of the uses. One "
        "error of the sample, that of LRU, stood for all policies.",
        "Belady is counted for all granules. LFU and FIFO are sampled, each with its own error.",
        until="2026-11-25T02:30:00Z",
    ),
    Erratum(
        "0.2.0",
        ("experts",),
        "Segment cache best hit rate (SCH)",
        "It was said to bound what reading ahead can reach. The cache of this measure drops the expert that the next "
        "tokens choose least often; one that drops the expert chosen again last can serve more.",
        "It is said to be the paper’s measure, and no bound.",
        until="2026-11-25T02:30:00Z",
    ),
    Erratum(
        "0.2.0",
        ("overview", "memory"),
        "What no token touched",
        "The header of the model file, and the padding between tensors, counted as bytes that no token touched. Where "
        "all weights were touched, all of the share that was called untouched is header and padding.",
        "Shares of untouched bytes are shares of the weights; header and padding are told apart from them.",
        until="2026-11-25T02:30:00Z",
    ),
    Erratum(
        "0.2.0",
        ("access",),
        "The path of a pass",
        "Accesses of operations that were computed inside of another one (fused) are missing.",
        "They stand at the time of the operation that computed them.",
        until="2026-11-25T02:30:00Z",
    ),
    Erratum(
        "0.2.0",
        ("caches",),
        "Memory for tensors that are used again",
        "A tensor counted with its whole size between two uses, also an embedding of which a few rows are looked up: "
        "the memory that LRU needs for tensors and experts is too large.",
        "A tensor counts with the bytes of it that the run touched.",
        until="2026-11-25T02:30:00Z",
    ),
    Erratum(
        "0.2.0",
        ("disk",),
        "Waiting for a tied embedding",
        "Waiting for a tensor was told by its part of the model alone. Where the embedding is also the matrix of the "
        "output (tied), waiting for “embedding” is nearly all of the output product.",
        "Beside a tensor stands the kind of operation in which it was waited for longest.",
        until="2026-11-25T02:30:00Z",
    ),
    Erratum(
        "0.2.0",
        ("overview", "caches"),
        "What some memory would save",
        "The saving is that of a memory that drops what was not used for longest (LRU), which was not said. Where "
        "tokens read more than fits, such a memory serves next to nothing, and a set of bytes that never changes much "
        "more.",
        "The policy is named, and what holding the most used bytes would serve stands beside it.",
        until="2026-11-25T02:30:00Z",
    ),
    Erratum(
        "0.2.0",
        ("overview", "provenance"),
        "Page faults",
        "Faults without a read of their own were called “served from memory”; only faults with one were said to wait.",
        "Pages state which faults waited for a read of their own; others may have waited for a read already under way.",
    ),
    Erratum(
        "0.2.0",
        ("overview", "experts"),
        "Which token chose the experts",
        "A row of experts was named by the token that its pass gave; but the token that the row held, the one before, "
        "had chosen them. The expert that the router chose first was called the strongest; if the router chooses with "
        "a bias, it need not have the largest weight. Pairs of layer and expert were called experts.",
        "Rows are named by the token that they hold, the strongest expert has the largest weight, and pairs are called "
        "pairs.",
    ),
    Erratum(
        "0.2.0",
        ("overview", "caches"),
        "Whether there is a hot set of experts",
        "“No experts of each layer serve clearly more than chance” and “choices do not repeat” stood also where the "
        "gain of the one set that was tested lay surely above chance, but not surely above a limit of 0.1. “There is a "
        "hot set” stood also where the interval of the gain reached below that limit.",
        "The gain stands with its interval and the limit: reached, not reached, or neither shown nor excluded, for the "
        "one set that was learned.",
        until="2026-11-25T02:30:00Z",
    ),
    Erratum(
        "0.2.0",
        ("overview", "provenance"),
        "Tracing cost on a busy machine",
        "The cost was a share of the time that passed, so it shrank where other programs took processors: to a fifth "
        "and less of what it was on a quiet machine.",
        "The cost is a share of the passes’ time without waits for processors. What the tracer does between passes and "
        "at the begin stands beside it.",
        until="2026-11-25T02:30:00Z",
    ),
    Erratum(
        "0.2.0",
        ("overview",),
        "What bounds an operation",
        "“Bound by memory” stood at a rate of at least half of memory’s, also above 100 % of it, which only caches of "
        "processors can give; “bound by computing” stood at every lower rate, though nothing showed it, and at rates "
        "that were measured while other programs took processors.",
        "Memory is named only where weights beyond the size of the last-level caches come with at least 70 % of its "
        "rate; above 100 %, and for what has room in these caches, processors’ caches serve the operation; else it is "
        "not known what bounds it. With other programs on the processors it is withheld.",
        until="2026-11-25T02:30:00Z",
    ),
    Erratum(
        "0.2.0",
        ("caches",),
        "The smallest cache “at best”",
        "The size that the best choice (Belady) needs for a hit rate was found to 2 %, so that it may stand above that "
        "of a static set or of LRU, which are exact; no policy needs less than the best choice.",
        "It is never larger than the size of another policy.",
        until="2026-11-25T02:30:00Z",
    ),
    Erratum(
        "0.2.0",
        ("experts",),
        "Choices “as often as” chance",
        "Titles said that tokens choose “as often as” shuffled ones, or “as even as” or “as much as” chance, where a "
        "test found no difference. That shows no equality, least of all with few tokens.",
        "They say that no difference is shown, or within what chance gives.",
        until="2026-11-25T02:30:00Z",
    ),
)


def errata_of(generator: str, page: str | None = None, *, created: str) -> tuple[Erratum, ...]:
    """The faults of a version that `generator` ("tracegen 0.1.0") published, on one page or on all pages.

    A generator without a readable version number counts as the oldest. `created` is the version's moment, as its
    version.json says it.
    """
    made_by = _numbers(generator)

    def has(one: Erratum) -> bool:
        since = _numbers(one.since)
        return made_by < since or (made_by == since and created < one.until)

    return tuple(one for one in ERRATA if has(one) and (page is None or page in one.pages))


def _numbers(version: str) -> tuple[int, ...]:
    digits = re.search(r"(\d+)\.(\d+)\.(\d+)", version)
    return tuple(int(n) for n in digits.groups()) if digits else ()
