"""Which version a file or a number came from."""

from collections.abc import Iterator
from pathlib import Path

from tracegen.publishing.versions import Published
from tracegen.site.references import References
from tracegen.storing import store

SPACES = str.maketrans({"\u00a0": " ", "\u2009": " ", "\u202f": " "})


def of_file(known: References, path: Path) -> list[tuple[Published, str]]:
    """The versions that hold a file with these bytes, and its name there. Raises EnvironmentFailure or OSError."""
    sha256 = store.sha256_of(path)
    return [
        (published, name)
        for published in known.published.values()
        for name, entry in published.bundle.document["manifest"].items()
        if entry["sha256"] == sha256
    ]


def of_value(known: References, text: str) -> Iterator[tuple[Published, str, str]]:
    """The versions with a value that reads so, or is this number exactly: version, key, the value's text."""
    wanted = " ".join(text.translate(SPACES).split())
    for published in known.published.values():
        for key, value in published.bundle.document["values"].items():
            shown = str(value.get("text", "")).translate(SPACES)
            if wanted in (shown, shown.replace(" ", ""), str(value.get("value"))):
                yield published, key, shown
