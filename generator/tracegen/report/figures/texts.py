"""The texts of explanations: `explained/KEY.md` for each figure, and `shared.md` with sentences that several have."""

import re
from collections.abc import Mapping
from pathlib import Path

from tracegen.contract.prose import joined, sections

FOLDER = Path(__file__).with_name("explained")
HEADS = ("What it shows", "What it counts", "How to read it")


def texts(key: str, words: Mapping[str, str]) -> tuple[str, ...]:
    """The text under each of HEADS in the file of a figure; `{{name}}` stands for one of `words` or a shared sentence.

    Raises ValueError with the name of the file where a head or text is missing, or a name is unknown.
    """
    file = f"{key}.md"
    parts = sections(FOLDER / file)
    if tuple(parts) != HEADS:
        raise ValueError(f"{file}: has the heads {', '.join(parts) or 'none'}; needed are {', '.join(HEADS)}")
    shared = {name: joined(text) for name, text in sections(FOLDER / "shared.md").items()}
    return tuple(_filled(joined(text), {**shared, **words}, file) for text in parts.values())


def _filled(text: str, words: Mapping[str, str], file: str) -> str:
    unknown = [name for name in re.findall(r"{{(\w+)}}", text) if name not in words]
    if unknown:
        raise ValueError(f"{file}: {{{{{unknown[0]}}}}} is neither in shared.md nor among the words of the figure")
    return re.sub(r"{{(\w+)}}", lambda name: words[name[1]], text)
