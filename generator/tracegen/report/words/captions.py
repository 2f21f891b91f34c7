"""Captions in two parts: what stands below a figure, and what its explanation adds."""

import re

MOST = 40  # words below a figure


def shortened(caption: str) -> tuple[str, str]:
    """The first sentences of a caption, at most MOST words if the first one has no more, and the others."""
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z\d“])", caption.strip())
    said = sentences[:1]
    for sentence in sentences[1:]:
        if sum(len(each.split()) for each in (*said, sentence)) > MOST:
            break
        said.append(sentence)
    return " ".join(said), " ".join(sentences[len(said) :])
