"""Claims that two versions differ, compared with what their comparison shows.

A sentence counts only where it cites exactly two versions and says which is faster, or which reads or touches more;
one that asks, supposes or denies a difference does not count.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import Compared, Comparison, compare
from tracegen.comparing.sides import side_of
from tracegen.contract.errors import TracegenError
from tracegen.site.references import References
from tracegen.site.thesis.documents import Document
from tracegen.site.thesis.findings import Finding
from tracegen.site.thesis.mentions import Sentence, place_of, sentences

_FASTER = re.compile(
    r"\b(faster|quicker|outperforms?|speeds? up|sped up|shorter|less time|higher (?:speed|throughput))\b"
)
_SLOWER = re.compile(r"\b(slower|takes longer|longer|more time|slows? down|lower (?:speed|throughput))\b")
_BYTES = re.compile(r"\b(reads?|touch(?:es)?|waits?|loads?|copies)\b")
_MORE = re.compile(r"\b(more|less|fewer|twice|half|[0-9.,]{1,30} ?%)")
_DOUBTED = re.compile(
    r"\b(whether|would|could|might|may|if|should|expect\w*|suppos\w*|hypothes\w*|no evidence|no difference|"
    r"not|neither|cannot|nothing|the same (?:speed|time)|(?:is|are|stays?|remains?) the same|equal(?:ly)?|as fast as|"
    r"no (?:faster|slower|less|more)|question|ask\w*|unclear)\b|\?",
    re.IGNORECASE,
)
_OF_BYTES = (
    "disk_read_bytes",
    "disk_read_bytes_load",
    "disk_wait_ns_per_token",
    "mapped_bytes_per_token",
    "copied_bytes_per_token",
)
_OF_PROMPT = re.compile(r"\b(prompts?|prefill\w*|time to (?:the )?first token)\b")
_THAN = re.compile(
    r"(compared (?:with|to)|relative to|unlike|against|than|over|versus)(?:\s*+the )?\W*+$", re.IGNORECASE
)


def claims(known: References, document: Document, experiments: Path) -> Iterator[Finding]:
    """The claims of a document that the comparison of the two versions does not show."""
    compared = cache(lambda a, b: _compared(a, b, experiments))
    for paragraph in document.paragraphs:
        for sentence in sentences(paragraph):
            if why := _why_not(known, sentence, compared):
                place = place_of(document, paragraph, sentence.at)
                yield Finding(place, "no difference shown", " ".join(sentence.text.split()), why)


def _compared(a: str, b: str, experiments: Path) -> Comparison | str:
    """The comparison of two versions, or why there is none."""
    try:
        return compare(side_of(a, experiments), side_of(b, experiments))
    except TracegenError as error:
        return f"these versions cannot be compared: {error}"


def _why_not(known: References, sentence: Sentence, compared: Callable[[str, str], Comparison | str]) -> str:
    """Why the claim of a sentence is not shown; empty where it makes none, or a true one."""
    words, cited = sentence.free, sentence.citations
    faster, slower, of_bytes = _FASTER.search(words), _SLOWER.search(words), _says_of_bytes(words)
    if len(cited) != 2 or not (faster or slower or of_bytes) or _DOUBTED.search(words):
        return ""
    if any(citation not in known.published for citation in cited):
        return ""
    comparison = compared(*cited)
    if isinstance(comparison, str):
        return comparison
    if not (faster or slower):
        return _of_bytes(comparison)
    row = comparison.known(f"tokens_per_second_{'prompt' if _OF_PROMPT.search(words) else 'generate'}")
    if row is None:
        return "the versions hold no speed"
    if row.state != "different":
        return _said(row, comparison)
    first = sentence.text.index(cited[0].partition("@")[0])
    subject_is_a = not _THAN.search(sentence.text[:first])
    claimed_better = (bool(faster) and not slower) == (not subject_is_a)  # of B, as the comparison sees it
    if (faster and slower) or row.better is None or row.better == claimed_better:
        return ""
    return f"it is the other way round: {_said(row, comparison)}"


def _says_of_bytes(words: str) -> bool:
    """Whether a sentence says that something reads, and then, before a full stop, that it is more."""
    more = _MORE.search(words)
    for found in _BYTES.finditer(words):
        while more and more.start() < found.end():
            more = _MORE.search(words, more.start() + 1)
        if more is None:
            return False
        if words.find(".", found.end(), more.start()) < 0:
            return True
    return False


def _of_bytes(comparison: Comparison) -> str:
    """Why no difference in bytes or waiting is shown; empty if one is."""
    rows = [row for key in _OF_BYTES if (row := comparison.known(key))]
    if not rows or any(row.state == "different" for row in rows):
        return ""
    return _said(rows[0], comparison)


def _said(row: Compared, comparison: Comparison) -> str:
    return say.finding(row, comparison.margin, ends=True)
