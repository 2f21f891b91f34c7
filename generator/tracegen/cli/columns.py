"""Tables as plain text, for files, pipes and narrow terminals."""

from collections.abc import Container, Iterable, Iterator


def aligned(columns: Iterable[tuple[str, Iterable[object]]], right: Container[str] = ()) -> Iterator[str]:
    """The lines of a table with columns of equal width, the heads first; columns in `right` are aligned right."""
    padded = []
    for name, values in columns:
        cells = [name, *map(str, values)]
        width = max(map(len, cells))
        padded.append([cell.rjust(width) if name in right else cell.ljust(width) for cell in cells])
    for row in zip(*padded, strict=True):
        yield "  ".join(row).rstrip()
