"""What is imported: the trace among the files that were named, what lies beside it, and what is left out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracegen.contract.address import name_problem
from tracegen.contract.errors import SettingsError
from tracegen.foreign.folder import ROLES, TRACES, Found, files_of, role_of
from tracegen.foreign.source import opened
from tracegen.readers.gguf.file import Model, read_model
from tracegen.readers.gguf.header import Update


@dataclass(frozen=True)
class Import:
    """What is imported: one trace (its file, or the files of an exported one) and what lies beside it.

    `ignored` are files of known formats that are not used, each with the reason; `op_table` names the table of
    operation numbers, None: it is inferred.
    """

    role: str
    trace: tuple[Found, ...]
    beside: tuple[Found, ...]
    ignored: tuple[str, ...]
    model: Model | None = None
    op_table: str | None = None

    @property
    def files(self) -> tuple[Found, ...]:
        """All files that are kept."""
        return (*self.trace, *self.beside)


def found_in(
    sources: Sequence[Path],
    model: Path | None = None,
    role: str | None = None,
    op_table: str | None = None,
    progress: Update | None = None,
) -> Import:
    """What to import of the files and folders. `role`: the only format of a trace that counts, None: any.
    `progress`: see `read_model`.

    Raises SettingsError when they hold no trace, or several.
    """
    known, unread = files_of(sources)
    traces = {key: [found for found in known if found.role == key] for key in TRACES}
    wanted = [key for key in TRACES if traces[key] and role in (None, key)]
    ignored = unread
    if "tensor_trace" in wanted and "trace_json" in wanted:  # the JSON was made from the records
        wanted.remove("trace_json")
        ignored.append(
            f"{len(traces['trace_json'])} exported traces: made from tensor_trace.bin, which lies beside them"
        )
    if not wanted:
        what = f"no {ROLES[role]}" if role else "no trace"
        there = ", ".join(f"{f.path.name} ({ROLES[f.role]})" for f in known[:6]) or "nothing that is known"
        raise SettingsError(
            f"{sources[0]}: {what} was found; found: {there}; name the trace itself, or the folder that holds it"
        )
    single = [key for key in wanted if key != "trace_json"]
    several = sum(len(traces[key]) for key in single)
    if len(wanted) > 1 or several > 1:
        every = [str(f.path) for key in wanted for f in traces[key]]
        names = ", ".join(every[:8]) + (f" and {len(every) - 8} more" if len(every) > 8 else "")
        raise SettingsError(f"{sources[0]}: holds several traces ({names}); a run has one: name one of them")
    beside = [found for found in known if found.role not in TRACES]
    models = [found.path for found in beside if found.role == "gguf"]
    if model is None and len(models) > 1:
        names = ", ".join(path.name for path in models[:4])
        ignored.append(f"models {names}: nothing says which of them ran; name it with --model")
    chosen = model or (models[0] if len(models) == 1 else None)
    kept, left = _one_each([found for found in beside if found.role != "gguf"])
    return Import(
        wanted[0],
        tuple(traces[wanted[0]]),
        tuple(kept),
        (*ignored, *left),
        read_model(chosen, progress) if chosen is not None else None,
        op_table,
    )


def _one_each(beside: Sequence[Found]) -> tuple[list[Found], list[str]]:
    """One log of buffers, one list of tensors, one of events; all dumps of graphs. What is left out is said."""
    kept, left = [], []
    of: dict[str, Found] = {}
    for found in beside:
        groups = {"map_json": "map", "map_csv": "map", "buffers": "buffers", "opencl_events": "opencl_events"}
        group = groups.get(found.role)
        if found.role == "settings":
            left.append(f"{found.path.name}: settings of an experiment; `temp_files` and paths of it mean nothing here")
        if group is None or group not in of:
            kept.append(found)
            of |= {group: found} if group else {}
        else:
            left.append(f"{found.path.name}: {ROLES[found.role]}, as {of[group].path.name}, which is used")
    if any(found.role == "dot" for found in kept):
        graphs = [found for found in kept if found.role == "graph_json"]
        if graphs:
            kept = [found for found in kept if found.role != "graph_json"]
            left.append(f"{len(graphs)} exported graphs: made from the dumps, which lie beside them")
    return kept, left


def settings_in(sources: Sequence[Path]) -> Path | None:
    """The settings.json that alone is named; None for anything else."""
    if len(sources) != 1 or sources[0].is_dir():
        return None
    with opened(sources[0]) as file:
        return sources[0] if role_of(file) == "settings" else None


def default_name(sources: Sequence[Path]) -> str:
    """The name of the experiment, from that of the folder or file. Raises SettingsError when it gives none."""
    place = sources[0].absolute()
    stem = place.name if place.is_dir() else place.stem
    if not place.is_dir() and stem in ("tensor_trace", "trace", "token-00000"):
        stem = place.parent.name
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:64]
    if name_problem(name):
        raise SettingsError(f"{sources[0]}: gives no name for an experiment; name it with --as")
    return name
