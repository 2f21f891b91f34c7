"""Moves what a text says of a superseded version to the newer one, where it says the same."""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tracegen.site.thesis.judged import Judged
from tracegen.storing import store


@dataclass(frozen=True)
class Fix:
    """A file with other text, and how many places of it changed."""

    path: Path
    before: str
    after: str
    n: int

    @property
    def difference(self) -> str:
        """What changes, as a unified diff."""
        before, after = (text.splitlines(keepends=True) for text in (self.before, self.after))
        return "".join(difflib.unified_diff(before, after, str(self.path), str(self.path), n=0))

    def write(self) -> None:
        """Replace the file. Raises EnvironmentFailure, and then leaves it as it was."""
        store.write_text(self.path, self.after)


def fixes(found: Iterable[Judged]) -> Iterator[Fix]:
    """The files in which something is safe to change; what comes out of a macro of the author's stays as it is.

    A file that is not UTF-8 stays as it is, too.
    """
    by_file: dict[Path, list[Judged]] = defaultdict(list)
    for one in found:
        if one.fixed and one.place.line:
            by_file[one.place.path].append(one)
    for path, of_file in by_file.items():
        try:
            before = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        lines, n = before.split("\n"), 0
        for one in of_file:
            line = lines[one.place.line - 1]
            written = _as_written(line, one.written)
            if written is not None:
                after = one.fixed if written == one.written else _escaped(one.fixed)
                lines[one.place.line - 1] = line.replace(written, after, 1)
                n += 1
        if n:
            yield Fix(path, before, "\n".join(lines), n)


def _as_written(line: str, words: str) -> str | None:
    """How words stand in a line: as they are, or with the escapes of LaTeX; None: not so."""
    return next((form for form in (words, _escaped(words)) if form in line), None)


def _escaped(words: str) -> str:
    return re.sub(r"([#%&_])", r"\\\1", words)
