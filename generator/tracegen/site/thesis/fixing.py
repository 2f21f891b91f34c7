"""Moves what a text says of a superseded version to the newer one, where it says the same."""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tracegen.site.thesis.findings import Finding
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


def fixes(found: Iterable[Finding]) -> Iterator[Fix]:
    """The files in which something is safe to change; what comes out of a macro of the author's stays as it is.

    A file that is not UTF-8 stays as it is, too.
    """
    by_file: dict[Path, list[Finding]] = defaultdict(list)
    for one in found:
        if one.fixed and one.place.line:
            by_file[one.place.path].append(one)
    for path, of_file in by_file.items():
        try:
            before = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        lines, n = before.split("\n"), 0
        for number, of_line in groupby(of_file, key=lambda one: one.place.line):
            lines[number - 1], changed = _fixed(lines[number - 1], of_line)
            n += changed
        if n:
            yield Fix(path, before, "\n".join(lines), n)


def _fixed(line: str, of_line: Iterable[Finding]) -> tuple[str, int]:
    """A line with what stands in it changed, from left to right, as it is or with LaTeX's escapes; and how often."""
    parts, at, n = [], 0, 0
    absent: set[str] = set()  # from here to the end, so it is looked for once
    for one in of_line:
        for form, after in ((one.written, one.fixed), (_escaped(one.written), _escaped(one.fixed))):
            place = -1 if form in absent else line.find(form, at)
            if place >= 0:
                parts += [line[at:place], after]
                at, n = place + len(form), n + 1
                break
            absent.add(form)
    return "".join(parts) + line[at:], n


def _escaped(words: str) -> str:
    return re.sub(r"([#%&_])", r"\\\1", words)
