"""GGUF models as tables: a single file, or the files NAME-00001-of-0000N.gguf … of a split model.

The first split holds the metadata. Offsets in the tables count from the start of each file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from tracegen.contract import tables, withheld
from tracegen.contract.errors import ModelFormatError
from tracegen.contract.naming import component_of, layer_of
from tracegen.readers.gguf.header import GgufFile, TensorInfo, Update, read_header

_SPLIT_NAME = re.compile(r"(?P<stem>.+)-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})\.gguf")
_MAX_SPLITS = 99_999  # five digits in the name


@dataclass(frozen=True)
class Model:
    """A GGUF model: its files and tensors as tables, and its metadata.

    `metadata` holds scalars and short strings as they are; an array is `{"array": type, "n": count}`, a string over
    4,096 bytes is `{"string": length in bytes}`, a number that is not finite `{"number": "-inf"}`. Per file, in
    bytes: `data_begin` is the offset of the data section; tensors begin at multiples of `alignment`.
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
    random_weights: bool | None

    def with_hashes(self, hashes: Sequence[str | None]) -> Model:
        """A copy of the model with `hashes` as the sha256 of its files, in their order; None: not known."""
        columns = {str(name): column for name, column in self.files.items()} | {"sha256": list(hashes)}
        return replace(self, files=tables.frame("files", columns))


def join_models(models: Sequence[Model]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`files` and `tensors` of several models as one table each, numbered through, in sequence on the disk axis."""
    files, tensors = [], []
    n_files = n_tensors = axis = 0
    for number, model in enumerate(models):
        table = model.files
        files.append(table.assign(file=table["file"] + n_files, model=number, axis_begin=table["axis_begin"] + axis))
        table = model.tensors
        tensors.append(table.assign(file=table["file"] + n_files, tensor=table["tensor"] + n_tensors))
        n_files, n_tensors = n_files + len(model.files), n_tensors + len(model.tensors)
        axis += int(model.files["size_bytes"].sum())
    return _joined("files", files), _joined("tensors", tensors)


def _joined(name: str, parts: list[pd.DataFrame]) -> pd.DataFrame:
    return tables.frame(name, pd.concat(parts, ignore_index=True).to_dict("list") if parts else ())  # type: ignore[arg-type]


def read_model(path: Path, progress: Update | None = None, *, whole: bool = True) -> Model:
    """Read the headers of a GGUF model; of a split model `path` may be any file. Tensor data is not read.

    `progress` is called while many tensors are read, `Progress.update` for example. `files.sha256` is null. Without
    `whole` the data of files may be cut: then their size is the one that their tensors need. Raises ModelFormatError.
    """
    files = _all_splits(read_header(path, progress, whole=whole), progress, whole)
    metadata = withheld.metadata(files[0].metadata)
    architecture = _text(files[0], "general.architecture")
    sizes = [file.size_bytes for file in files]
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
        tensors=tensor_table(files),
        metadata=metadata,
        data_begin=tuple(file.data_begin for file in files),
        alignment=tuple(file.alignment for file in files),
        architecture=architecture,
        name=None if (name := _text(files[0], "general.name")) is None else withheld.text(name),
        n_layers=_count(files[0], f"{architecture}.block_count"),
        n_experts=_count(files[0], f"{architecture}.expert_count"),
        n_experts_used=_count(files[0], f"{architecture}.expert_used_count"),
        random_weights=_random(metadata),
    )


def _random(metadata: Mapping[str, object]) -> bool | None:
    """Whether the file says that its weights are random; None where it says nothing."""
    flag = metadata.get("tracegen.random_weights")
    texts = (metadata.get(key) for key in ("general.description", "general.name"))
    if any(isinstance(text, str) and "random weights" in text.lower() for text in texts):
        return True
    return flag if isinstance(flag, bool) else None


def tensor_table(files: Sequence[GgufFile]) -> pd.DataFrame:
    """The table `tensors` of the files of one model, in the order of files and offsets.

    Raises ModelFormatError when a name occurs twice.
    """
    placed = [
        (i, t)
        for i, file in enumerate(files)
        for t in sorted(file.tensors, key=lambda tensor: (tensor.offset, tensor.name))
    ]
    places: dict[str, int] = {}
    for i, tensor in placed:
        if tensor.name in places:
            where = "" if places[tensor.name] == i else f", also in {files[places[tensor.name]].path.name}"
            raise ModelFormatError(
                f"{files[i].path}: the tensor {tensor.name!r} occurs twice{where}; the file is broken, get it again"
            )
        places[tensor.name] = i
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


def _experts_in(tensor: TensorInfo) -> int | None:
    """How many experts a tensor stacks: the size of axis 2 of `ffn_*_exps.weight`, 1 of `.bias`, 0 of `.scale`."""
    stem, _, kind = tensor.name.rpartition(".")
    if not stem.endswith("exps") or not component_of(tensor.name).startswith("expert_"):
        return None
    return tensor.shape[{"weight": 2, "bias": 1}.get(kind, 0)]


# Splits


def _all_splits(header: GgufFile, progress: Update | None, whole: bool) -> tuple[GgufFile, ...]:
    """All files of the model that `header` belongs to, in order; `header` alone when the model is not split."""
    count = _count(header, "split.count") or 1
    if count == 1:
        return (header,)
    if count > _MAX_SPLITS:
        raise ModelFormatError(
            f"{header.path}: split.count is {count}, but a model has at most {_MAX_SPLITS} splits; the file is broken,"
            " get it again"
        )
    number = _count(header, "split.no")
    match = _SPLIT_NAME.fullmatch(header.path.name)
    if match is None or number is None or (int(match["number"]), int(match["count"])) != (number + 1, count):
        nth = (number or 0) + 1
        wanted = f"NAME-{nth:05d}-of-{count:05d}.gguf"
        raise ModelFormatError(
            f"{header.path}: is file {nth} of a model that is split into {count} files; rename it to {wanted}"
        )
    paths = [header.path.with_name(f"{match['stem']}-{i + 1:05d}-of-{count:05d}.gguf") for i in range(count)]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise ModelFormatError(
            f"{header.path}: the model is split into {count} files, and {len(missing)} of them are missing in its"
            f" folder: {', '.join(missing[:5])}{' …' if missing[5:] else ''}; put them there"
        )
    files = tuple(header if path == header.path else read_header(path, progress, whole=whole) for path in paths)
    for i, file in enumerate(files):
        if (_count(file, "split.no"), _count(file, "split.count")) != (i, count):
            raise ModelFormatError(
                f"{file.path}: split.no or split.count differs from the file name; get the file again, or restore its"
                " name"
            )
    promised = _count(files[0], "split.tensors.count")
    n_found = sum(len(file.tensors) for file in files)
    if promised is not None and promised != n_found:
        raise ModelFormatError(
            f"{files[0].path}: announces {promised} tensors, but its {count} files hold {n_found}; get the files again"
        )
    return files


def _count(file: GgufFile, key: str) -> int | None:
    """The count under the metadata key `key`; None when it is absent or an array."""
    value = file.metadata.get(key)
    if value is None or isinstance(value, dict):
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ModelFormatError(
            f"{file.path}: the metadata {key!r} is {value!r}, not a count; the file is broken, get it again"
        )
    return value


def _text(file: GgufFile, key: str) -> str | None:
    value = file.metadata.get(key)
    if value is not None and not isinstance(value, str):
        raise ModelFormatError(
            f"{file.path}: the metadata {key!r} is {value!r}, not a text; the file is broken, get it again"
        )
    return value
