"""Records: frozen dataclasses that stand in JSON documents, with the one codec that reads, checks and writes them.

A record is an object. Its annotations say what its values are: `str`, `int`, `float` (any number), `bool`, `Any`,
another record, `tuple[X, ...]` for a list, `Mapping[str, X]` for an object with keys of any name. A field without a
default has to be there, one of `X | None` may be null: not recorded.

A record that was read is written as it was read: its keys in their order, also those that it has no field for, as a
newer tracegen may have written them. One that was made here is written with all its fields, null or not, except for
records that have their default.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, Self, TypeVar, get_args, get_origin, get_type_hints

from tracegen.contract import shapes

_AS_READ = "as_read"


@dataclass(frozen=True, eq=False)
class Record:
    """What all records have: two are equal if their documents are.

    `as_read`: the keys of the document in their order, with the values of those that have no field; None if the record
    was not read.
    """

    as_read: Mapping[str, Any] | None = field(default=None, kw_only=True, repr=False)

    def __eq__(self, other: object) -> bool:
        """Whether it is a record of the same kind with the same document."""
        return encode(self) == encode(other) if isinstance(other, Record) and type(self) is type(other) else False

    @classmethod
    def absent(cls) -> Self:
        """The record that stands for one that a document lacks: nothing is recorded in it, and nothing is written."""
        return cls(as_read={})


Kind = TypeVar("Kind", bound=Record)


@dataclass(frozen=True)
class _Fields:
    """The fields of a kind of record: annotations, defaults of those that have one, and the shape of documents."""

    hints: Mapping[str, Any]
    defaults: Mapping[str, Any]
    shape: Mapping[str, Any]


_FIELDS: dict[type[Record], _Fields] = {}  # each worked out once


def _fields_of(kind: type[Record]) -> _Fields:
    if kind not in _FIELDS:
        hints = {name: hint for name, hint in get_type_hints(kind).items() if name != _AS_READ}
        made = {of.name: of.default_factory() for of in fields(kind) if of.default_factory is not MISSING}
        defaults = made | {of.name: of.default for of in fields(kind) if of.default is not MISSING}
        needed = {shapes.NEEDED: tuple(name for name in hints if name not in defaults)}
        _FIELDS[kind] = _Fields(hints, defaults, needed | {name: _shape(hint) for name, hint in hints.items()})
    return _FIELDS[kind]


def names_of(kind: type[Record]) -> tuple[str, ...]:
    """The names of a record's fields."""
    return tuple(_fields_of(kind).hints)


def shape_of(kind: type[Record]) -> Mapping[str, Any]:
    """The shape of the documents of a record, as `shapes.problem` takes it."""
    return _fields_of(kind).shape


def _kinds(hint: Any) -> tuple[Any, ...]:
    """What a value may be: the parts of `X | None`, else the annotation alone."""
    return get_args(hint) if isinstance(hint, UnionType) else (hint,)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Record)


def _shape(hint: Any) -> Any:
    kinds = _kinds(hint)
    compound = next(filter(None, map(_compound, kinds)), None)
    if compound:
        return (compound,) if NoneType in kinds else compound
    return object if Any in kinds else reduce(or_, (int | float if kind is float else kind for kind in kinds))


def _compound(kind: Any) -> Any:
    """The shape of a list, of an object with keys of any name, or of a record; None of another kind."""
    origin, of = get_origin(kind), get_args(kind)
    if origin is tuple:
        return [_shape(of[0])]
    if origin is Mapping:
        return {shapes.ANY: _shape(of[1])}
    return shape_of(kind) if _is_record(kind) else None


def decode(kind: type[Kind], document: object, place: str = "") -> Kind:
    """The record of a document. Raises ValueError for the first value of another kind, by its place below `place`."""
    if wrong := shapes.problem(document, shape_of(kind), place):
        raise ValueError(wrong)
    made: Kind = _made(kind, document)
    return made


def _made(hint: Any, value: Any) -> Any:
    """The value of a document as the annotation has it."""
    kind = next(filter(_compound, _kinds(hint)), None)
    if value is None or kind is None:
        return value
    origin, of = get_origin(kind), get_args(kind)
    if origin is tuple:
        return tuple(_made(of[0], item) for item in value)
    if origin is Mapping:
        return {key: _made(of[1], item) for key, item in value.items()}
    hints = _fields_of(kind).hints
    known = {name: _made(hint, value[name]) for name, hint in hints.items() if name in value}
    return kind(**known, as_read={key: None if key in hints else item for key, item in value.items()})


def encode(value: Any) -> Any:
    """The document of a record, and of lists and objects of them; any other value is its own."""
    if isinstance(value, Record):
        return _document(value)
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    return [encode(item) for item in value] if isinstance(value, list | tuple) else value


def _document(record: Record) -> dict[str, Any]:
    of = _fields_of(type(record))
    known = {name: getattr(record, name) for name in of.hints}
    changed = [name for name, value in known.items() if name not in of.defaults or value != of.defaults[name]]
    if record.as_read is None:
        keys = [name for name, hint in of.hints.items() if name in changed or not any(map(_is_record, _kinds(hint)))]
    else:
        keys = list(dict.fromkeys([*record.as_read, *changed]))
    others = record.as_read or {}
    return {key: encode(known[key] if key in known else others[key]) for key in keys}
