"""Tables as plain text, for files, pipes and narrow terminals."""

from collections.abc import Iterable, Iterator, Sequence


def aligned(columns: Iterable[tuple[str, Sequence[str]]], numbers: Sequence[bool]) -> Iterator[str]:
    """The lines of a table with columns of equal width, the heads first; columns of `numbers` are aligned right."""
    padded = []
    for (name, texts), number in zip(columns, numbers, strict=True):
        cells = (name, *texts)
        width = max(map(len, cells))
        padded.append([cell.rjust(width) if number else cell.ljust(width) for cell in cells])
    for row in zip(*padded, strict=True):
        yield "  ".join(row).rstrip()
