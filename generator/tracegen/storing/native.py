"""What lies in native/: the files that hooking adds to a tree of llama.cpp, and the releases that the hooks fit."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCES = "ggml/src/tensor-trace"  # paths in a hooked tree
HEADER = "ggml/include/tensor_trace.h"
LIST = f"{SOURCES}/llama-cpp.toml"
_OWN = (("include", "*.h"), ("core", "*.[ch]"), ("ggml", "*.[ch]"), ("hooks", "*.cmake"), ("hooks", "llama-cpp.toml"))


@dataclass(frozen=True)
class Upstream:
    """A pinned release: a source distribution of PyPI with its sha256; `source` is the path of llama.cpp in it."""

    package: str
    version: str
    sha256: str
    source: str


def hooks_version(native: Path) -> str:
    """A short hash of the files that hooking adds to a tree: the version of the hooks."""
    digest = hashlib.sha256()
    for file, content in own_files(native).items():
        digest.update(f"{file}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


def own_files(native: Path) -> dict[str, bytes]:
    """Path in the tree -> content, for the files that tracegen adds; the list of hooks comes first."""
    contents = {}
    for folder, pattern in reversed(_OWN):
        for path in sorted((native / folder).glob(pattern)):
            contents[HEADER if path.name == Path(HEADER).name else f"{SOURCES}/{path.name}"] = path.read_bytes()
    return contents


def read_upstream(native: Path) -> Upstream:
    """The pinned release in native/hooks/UPSTREAM."""
    (upstream,) = _pins(native / "hooks" / "UPSTREAM")
    return upstream


def read_releases(native: Path) -> tuple[Upstream, ...]:
    """All releases that the hooks fit, oldest first: native/hooks/RELEASES, then UPSTREAM."""
    return (*_pins(native / "hooks" / "RELEASES"), read_upstream(native))


def _pins(path: Path) -> Iterator[Upstream]:
    """The releases in a file of blocks `key = value`, separated by empty lines."""
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        fields = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in block.splitlines())}
        yield Upstream(fields["package"], fields["version"], fields["sha256"], fields["source"])
