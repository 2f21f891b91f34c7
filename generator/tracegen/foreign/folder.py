"""Finds out what the files of a foreign trace are: content decides, never a name or a size."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure, SettingsError, TraceFormatError, os_errors
from tracegen.foreign import dot, ggmlviz, memory_map, older_json
from tracegen.foreign.json_text import parse_json
from tracegen.foreign.profilers import nsys, opencl, scheduler
from tracegen.foreign.source import SourceFile, opened
from tracegen.foreign.tensor_trace.layouts import LAYOUTS, SAMPLE, layout_of

HEAD = LAYOUTS[-1].size_bytes * SAMPLE  # bytes that decide what a file is
LARGEST_TEXT = 1 << 30  # bytes of a file that is read at once
MOST_FILES = 20_000
GGUF_MAGIC = b"GGUF"
# What a file can be, in words. The first six are traces, the others lie beside one.
ROLES: Mapping[str, str] = {
    "tensor_trace": "tensor_trace.bin",
    "ggmlviz": ".ggmlviz",
    "trace_json": "exported trace (JSON)",
    "opencl": "cl_profiling.csv of the OpenCL backend",
    "scheduler": "profile of ggml's scheduler (JSON)",
    "nsys": "export of Nsight Systems (SQLite)",
    "dot": "dump of a graph (DOT)",
    "graph_json": "exported graph (JSON)",
    "map_csv": "list of tensors (CSV of gguf-dump)",
    "map_json": "memory map (JSON)",
    "buffers": "log of buffers",
    "settings": "settings.json",
    "opencl_events": "cl_trace.json of the OpenCL backend",
    "gguf": "model (GGUF)",
}
TRACES = ("tensor_trace", "ggmlviz", "trace_json", "opencl", "scheduler", "nsys")


@dataclass(frozen=True)
class Found:
    """A file, and what it is; `named`: it was named itself, and not found in a folder or beside another file."""

    path: Path
    role: str
    named: bool = False


def role_of(file: SourceFile) -> str | None:
    """What a file is; None for none of the known formats. Raises TraceFormatError where several could be meant."""
    head = file.read(0, HEAD)
    if head.startswith(GGUF_MAGIC):
        return "gguf"
    if ggmlviz.looks_like(head):
        return "ggmlviz"
    if nsys.looks_like(head):
        return "nsys" if nsys.is_export(file.path) else None
    if opencl.looks_like(head):
        return "opencl"
    if opencl.looks_like_events(head):
        return "opencl_events"
    if dot.looks_like(head):
        return "dot"
    if memory_map.looks_like_csv(head):
        return "map_csv"
    if head.lstrip()[:1] == b"{":
        return _json_role(file, head)
    if not head.strip(b"\0"):
        return None
    try:
        layout_of(file.name, head)
    except TraceFormatError as error:
        if "several layouts" in str(error):
            raise
        return None
    return "tensor_trace"


def _json_role(file: SourceFile, head: bytes) -> str | None:
    if head.lstrip().startswith(b'{"timestamp_ms"'):
        return "buffers"
    document = parse_json(file.name, whole(file))
    if older_json.is_trace(document):
        return "trace_json"
    if scheduler.looks_like(document):
        return "scheduler"
    if older_json.is_graph(document):
        return "graph_json"
    if memory_map.is_map(document):
        return "map_json"
    if isinstance(document, dict) and isinstance(document.get("timeline"), list):
        return "buffers"
    if isinstance(document, dict) and isinstance(document.get("experiment"), dict):
        return "settings"
    return None


def whole(file: SourceFile) -> bytes:
    """All bytes of a file that is read at once. Raises TraceFormatError when it is too large, or changes."""
    if file.size_bytes > LARGEST_TEXT:
        raise TraceFormatError(
            f"{file.name}: has {file.size_bytes:,} bytes, but at most {LARGEST_TEXT:,} are read at once; split it"
        )
    data = file.read(0, file.size_bytes + 1)
    file.refuse_change()
    return data


def files_of(sources: Sequence[Path]) -> tuple[list[Found], list[str]]:
    """The known files among the sources, in their folders and beside a trace; and why others could not be read.

    A file that is named must be of a known format. Raises SettingsError, TraceFormatError and EnvironmentFailure.
    """
    found: dict[Path, Found] = {}
    unread: list[str] = []
    files = [source for source in sources if not source.is_dir()]
    for source in files:
        with opened(source) as file:
            role = role_of(file)
            if role is None:
                raise TraceFormatError(f"{source}: {_unknown(file)}")
        found[source] = Found(source, role, named=True)
    for source in sources:
        if source not in files:
            _add(found, _below(source), unread)
        elif found[source].role in TRACES:  # what lies beside a companion belongs to another trace
            _add(found, _beside(source), unread, companions=True)
    return list(found.values()), unread


def _add(found: dict[Path, Found], paths: Iterable[Path], unread: list[str], *, companions: bool = False) -> None:
    """Add the files of known formats, of `companions` those that are no traces; nobody named them."""
    for path in paths:
        if path in found:
            continue
        try:
            with opened(path) as file:
                role = role_of(file)
        except (TraceFormatError, SettingsError, EnvironmentFailure) as error:
            unread.append(str(error))
            continue
        if role is not None and not (companions and role in TRACES):
            found[path] = Found(path, role)


def _unknown(file: SourceFile) -> str:
    """Why a file is none of the known formats, and what was tried."""
    if file.size_bytes == 0:
        return "is empty; name the file that holds the trace"
    tried = ""
    try:
        layout_of(file.name, file.read(0, HEAD))
    except TraceFormatError as error:
        tried = str(error).removeprefix(f"{file.name}: ")
    known = ", ".join(ROLES.values())
    return f"is none of the known formats ({known}); {tried}"


def _below(folder: Path, depth: int = 3) -> Iterator[Path]:
    """The regular files in a folder and in its folders, in the order of their names; links out of it are left out."""
    with os_errors(f"{folder}: cannot be read", SettingsError):
        entries = sorted(folder.iterdir())
    if len(entries) > MOST_FILES:
        raise SettingsError(f"{folder}: holds {len(entries):,} files, more than a trace has; name the files of one")
    for entry in entries:
        if entry.is_symlink() or entry.name.startswith("."):
            continue
        if entry.is_dir() and depth > 1:
            yield from _below(entry, depth - 1)
        elif entry.is_file():
            yield entry


def _beside(source: Path) -> Iterator[Path]:
    """The files in the folder of a trace, and those in a folder `graphs` there."""
    yield from _below(source.parent, 1)
    graphs = source.parent / "graphs"
    if graphs.is_dir() and not graphs.is_symlink():
        yield from _below(graphs, 1)
