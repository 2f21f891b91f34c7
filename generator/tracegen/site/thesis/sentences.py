"""Sentences of a paragraph with the versions that they cite."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from tracegen.site.thesis.documents import Paragraph
from tracegen.site.thesis.mentions import Mention, mentions

_END = re.compile(r"(?<=[.!?])[)\]}'’”\"]*\s+(?=[A-Z\\\[({“\"]|$)")
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|cf|Fig|Sec|Tab|vs|approx|ca|Eq|No|z\.B)\.$")
_LONGEST_ABBREVIATED = 16  # signs, and one before it


@dataclass(frozen=True)
class Sentence:
    """A sentence, where it begins in its paragraph, and the versions that it mentions; `free`: without the mentions."""

    text: str
    free: str
    at: int
    cited: tuple[Mention, ...]

    @property
    def citations(self) -> list[str]:
        """The versions in their order, each once."""
        return list(dict.fromkeys(one.citation for one in self.cited if "@" in one.citation))


def sentences(paragraph: Paragraph) -> Iterator[Sentence]:
    """The sentences that cite a version."""
    every = mentions(paragraph)
    places = [one.at for one in every]
    text, begin = paragraph.text, 0
    for end in [*_ends(text, every, places), len(text)]:
        cited = tuple(every[bisect_left(places, begin) : bisect_left(places, end)])
        if any("@" in one.citation for one in cited):
            free = list(text[begin:end])
            for one in cited:
                free[one.at - begin : one.at - begin + len(one.written)] = " " * len(one.written)
            yield Sentence(text[begin:end], "".join(free), begin, cited)
        begin = end


def _ends(text: str, every: list[Mention], places: list[int]) -> Iterator[int]:
    for match in _END.finditer(text):
        before = bisect_left(places, match.start()) - 1
        inside = before >= 0 and match.start() < places[before] + len(every[before].written)
        last_word = text[max(0, match.start() - _LONGEST_ABBREVIATED) : match.start()]
        if not inside and not _ABBREVIATED.search(last_word):
            yield match.end()
