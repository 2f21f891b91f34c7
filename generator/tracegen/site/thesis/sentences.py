"""Sentences of a paragraph with the versions that they cite."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tracegen.site.thesis.documents import Paragraph
from tracegen.site.thesis.mentions import Mention, mentions

_END = re.compile(r"(?<=[.!?])[)\]}'’”\"]*\s+(?=[A-Z\\\[({“\"]|$)")
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|cf|Fig|Sec|Tab|vs|approx|ca|Eq|No|z\.B)\.$")


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
    text, begin = paragraph.text, 0
    for end in [*_ends(text, every), len(text)]:
        cited = tuple(one for one in every if begin <= one.at < end)
        if any("@" in one.citation for one in cited):
            free = list(text[begin:end])
            for one in cited:
                free[one.at - begin : one.at - begin + len(one.written)] = " " * len(one.written)
            yield Sentence(text[begin:end], "".join(free), begin, cited)
        begin = end


def _ends(text: str, every: list[Mention]) -> Iterator[int]:
    for match in _END.finditer(text):
        inside = any(one.at < match.start() < one.at + len(one.written) for one in every)
        if not inside and not _ABBREVIATED.search(text[: match.start()]):
            yield match.end()
