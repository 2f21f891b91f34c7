"""GGUF models: one file, or the files NAME-00001-of-0000N.gguf … of a split model, as tables.

The first split carries the metadata; the tables hold offsets from the begin of each file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from tracegen import tables
from tracegen.errors import ModelFormatError
from tracegen.naming import component_of, layer_of
from tracegen.readers.gguf.header import GgufFile, TensorInfo, opened, read_header

_SPLIT_NAME = re.compile(r"(?P<stem>.+)-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})\.gguf")
_MAX_SPLITS = 99_999  # five digits in the name


@dataclass(frozen=True)
class Model:
    """A GGUF model: its files and tensors as tables, and what its metadata says.

    `metadata` holds scalars and short strings as they are; an array is
    `{"array": type, "n": count}`, a string over 4,096 bytes `{"string": bytes}`.
    `data_begin` is where the data section of each file begins, `alignment` what its tensors
    begin at multiples of (each file says its own), in bytes.
    """

    paths: tuple[Path, ...]
    files: pd.DataFrame
    tensors: pd.DataFrame
    metadata: dict[str, object]
    data_begin: tuple[int, ...]
    alignment: tuple[int, ...]
    architecture: str | None
    name: str | None
    n_layers: int | None
    n_experts: int | None
    n_experts_used: int | None
    random_weights: bool

    def with_hashes(self, hashes: Sequence[str]) -> Model:
        """The same model with the sha256 of each of its files."""
        columns = {str(name): column for name, column in self.files.items()} | {"sha256": list(hashes)}
        return replace(self, files=tables.frame("files", columns))


def join_models(models: Sequence[Model]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`files` and `tensors` of several models, numbered through, one behind the other on the disk axis."""
    files, tensors = [], []
    n_files = n_tensors = axis = 0
    for number, model in enumerate(models):
        own = model.files
        files.append(own.assign(file=own["file"] + n_files, model=number, axis_begin=own["axis_begin"] + axis))
        own = model.tensors
        tensors.append(own.assign(file=own["file"] + n_files, tensor=own["tensor"] + n_tensors))
        n_files, n_tensors = n_files + len(model.files), n_tensors + len(model.tensors)
        axis += int(model.files["size_bytes"].sum())
    return _joined("files", files), _joined("tensors", tensors)


def _joined(name: str, parts: list[pd.DataFrame]) -> pd.DataFrame:
    return tables.frame(name, pd.concat(parts, ignore_index=True).to_dict("list") if parts else ())  # type: ignore[arg-type]


def read_model(path: Path) -> Model:
    """Read a GGUF model, all its splits when it has several (any of them may be named); its data is not read.

    The hashes of its files are null. Raises ModelFormatError.
    """
    files = _all_splits(read_header(path))
    metadata = files[0].metadata
    architecture = _text(files[0], "general.architecture")
    sizes = [file.size_bytes for file in files]
    description = metadata.get("general.description")
    return Model(
        paths=tuple(file.path for file in files),
        files=tables.frame(
            "files",
            {
                "file": range(len(files)),
                "model": [0] * len(files),
                "split_index": range(len(files)),
                "path": [file.path.name for file in files],
                "size_bytes": sizes,
                "sha256": [None] * len(files),
                "axis_begin": [sum(sizes[:i]) for i in range(len(files))],
            },
        ),
        tensors=_tensor_table(files),
        metadata=metadata,
        data_begin=tuple(file.data_begin for file in files),
        alignment=tuple(file.alignment for file in files),
        architecture=architecture,
        name=_text(files[0], "general.name"),
        n_layers=_count(files[0], f"{architecture}.block_count"),
        n_experts=_count(files[0], f"{architecture}.expert_count"),
        n_experts_used=_count(files[0], f"{architecture}.expert_used_count"),
        random_weights=metadata.get("tracegen.random_weights") is True
        or (isinstance(description, str) and "random weights" in description.lower()),
    )


def is_gguf(path: Path) -> bool:
    """Whether the file begins as a GGUF file does. Raises ModelFormatError when it cannot be opened."""
    with opened(path) as stream:
        return stream.read(4) == b"GGUF"


def _tensor_table(files: tuple[GgufFile, ...]) -> pd.DataFrame:
    placed = [(i, t) for i, file in enumerate(files) for t in sorted(file.tensors, key=_place)]
    seen: dict[str, int] = {}
    for i, tensor in placed:
        if tensor.name in seen:
            where = f" and in {files[seen[tensor.name]].path.name}" if seen[tensor.name] != i else ""
            raise ModelFormatError(f"{files[i].path}: the tensor {tensor.name!r} is there twice{where}")
        seen[tensor.name] = i
    columns: dict[str, object] = {
        "tensor": range(len(placed)),
        "name": [t.name for _, t in placed],
        "file": [i for i, _ in placed],
        "offset": [t.offset for _, t in placed],
        "size_bytes": [t.size_bytes for _, t in placed],
        "dtype": [t.dtype for _, t in placed],
        "layer": [layer_of(t.name) for _, t in placed],
        "component": [component_of(t.name) for _, t in placed],
        "n_experts": [_experts_in(t) for _, t in placed],
    }
    for axis in range(4):
        columns[f"ne{axis}"] = [t.shape[axis] for _, t in placed]
    return tables.frame("tensors", columns)


def _place(tensor: TensorInfo) -> tuple[int, str]:
    return tensor.offset, tensor.name


def _experts_in(tensor: TensorInfo) -> int | None:
    """How many experts are stacked: the last axis of `ffn_*_exps.weight` (2), `.bias` (1), `.scale` (0)."""
    stem, _, kind = tensor.name.rpartition(".")
    if not stem.endswith("exps") or not component_of(tensor.name).startswith("expert_"):
        return None
    return tensor.shape[{"weight": 2, "bias": 1}.get(kind, 0)]


# Splits


def _all_splits(given: GgufFile) -> tuple[GgufFile, ...]:
    """The files of the model that `given` belongs to, in order; alone when it is not split."""
    count = _count(given, "split.count") or 1
    if count == 1:
        return (given,)
    if count > _MAX_SPLITS:
        raise ModelFormatError(f"{given.path}: split.count is {count}, more than file names can number")
    number = _count(given, "split.no")
    match = _SPLIT_NAME.fullmatch(given.path.name)
    if match is None or number is None or (int(match["number"]), int(match["count"])) != (number + 1, count):
        nth = (number or 0) + 1
        wanted = f"NAME-{nth:05d}-of-{count:05d}.gguf"
        raise ModelFormatError(f"{given.path}: is file {nth} of a model split in {count}; it must be called {wanted}")
    paths = [given.path.with_name(f"{match['stem']}-{i + 1:05d}-of-{count:05d}.gguf") for i in range(count)]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise ModelFormatError(
            f"{given.path}: the model is split in {count} files, and {len(missing)} are missing beside it:"
            f" {', '.join(missing[:5])}{' …' if missing[5:] else ''}; get them too"
        )
    files = tuple(given if path == given.path else read_header(path) for path in paths)
    for i, file in enumerate(files):
        if (_count(file, "split.no"), _count(file, "split.count")) != (i, count):
            raise ModelFormatError(f"{file.path}: split.no or split.count is not that of its name")
    promised = _count(files[0], "split.tensors.count")
    found = sum(len(file.tensors) for file in files)
    if promised is not None and promised != found:
        raise ModelFormatError(
            f"{files[0].path}: promises {promised} tensors, its {count} files hold {found}; get them anew"
        )
    return files


def _count(file: GgufFile, key: str) -> int | None:
    """The whole number under `key`; None when it is absent or an array."""
    value = file.metadata.get(key)
    if value is None or isinstance(value, dict):
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ModelFormatError(f"{file.path}: the metadata {key!r} is {value!r}, not a count; the file is broken")
    return value


def _text(file: GgufFile, key: str) -> str | None:
    value = file.metadata.get(key)
    if value is not None and not isinstance(value, str):
        raise ModelFormatError(f"{file.path}: the metadata {key!r} is {value!r}, not a text; the file is broken")
    return value
