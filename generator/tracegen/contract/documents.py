"""Reads JSON and TOML, and the files that hold them: nothing that a file says can take more than a bounded time.

The parsers of Python take what they are given: nesting until their stack ends, a number of a million digits in
quadratic time, a key of 50,000 parts in gigabytes. So a text is looked at first, in one pass: how deep it nests, how
long its numbers and keys are. Only regular files are opened: a pipe would wait, and /dev/zero has no end.
"""

import json
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from tracegen.contract.errors import SettingsError, StoreError, TracegenError

MOST_JSON = 256 << 20  # bytes
MOST_TOML = 4 << 20  # tomllib reads some MB a second
MOST_DEPTH = 64  # of lists and objects in one another
MOST_TABLES = 16  # of lists and tables in one another, in TOML
MOST_DIGITS = 400  # of a number: the largest float has 309, written in full
MOST_PARTS = 16  # of a dotted key: a.b.c has three
RESTORE = "restore it from a copy"

_BOM = b"\xef\xbb\xbf"
_OPEN, _CLOSE = b"[{", b"]}"
_ONLY_BRACKETS = bytes(set(range(256)) - set(_OPEN + _CLOSE + b'"'))  # what is left out
_AS_LISTS = bytes.maketrans(b"{}", b"[]")
_AS_ZEROS = bytes.maketrans(bytes(range(256)), bytes(0x30 if 0x30 <= i <= 0x39 else 0x20 for i in range(256)))
_RUNS = re.compile(rb"\[+|\]+")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # of a surrogate pair
_JSON_TOKEN = re.compile(
    rb'"(?:[^"\\]++|\\.)*+"?|(?P<open>[\[{])|(?P<close>[\]}])|(?P<long>[0-9]{%d,})' % (MOST_DIGITS + 1),
    re.DOTALL,
)
_TOML_TOKEN = re.compile(
    rb'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5})?|' + rb"'''(?:[^']++|'(?!''))*+(?:'{3,5})?|"
    rb'"(?:[^"\\\n]++|\\[^\n])*+"?|' + rb"'[^'\n]*+'?|#[^\n]*+|"
    rb"(?P<open>[\[{])|(?P<close>[\]}])|(?P<dot>\.)|(?P<next>[\n=,])|"
    rb"(?P<long>0[xob][0-9a-fA-F_]{%d,}|[0-9][0-9_]{%d,})" % (MOST_DIGITS, MOST_DIGITS),
    re.DOTALL,
)


def opened(path: Path, error: type[TracegenError], advice: str) -> BinaryIO:
    """The regular file at `path`, or at the end of a link, open for reading.

    Raises FileNotFoundError and other OSErrors as they are, and `error` with `advice` for a pipe, a device or a folder:
    it is opened without waiting, and looked at before it is read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except ValueError as why:  # a NUL character
        raise error(f"{path}: is not a path: {why}; {advice}") from why
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise error(f"{path}: is not a regular file; {advice}")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def content(path: Path, most_bytes: int, error: type[TracegenError] = StoreError, advice: str = RESTORE) -> bytes:
    """All bytes of a regular file. Raises OSError, and `error` where it is not a regular file or has too many bytes."""
    with opened(path, error, advice) as stream:
        data = stream.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise error(f"{path}: has more than {most_bytes:,} bytes; {advice}")
    return data


def read_json(path: Path, error: type[TracegenError] = StoreError, advice: str = RESTORE, *, nan: bool = False) -> Any:
    """The JSON document in a file. Raises OSError, and `error` as `parse_json` does."""
    return parse_json(content(path, MOST_JSON, error, advice), str(path), error, advice, nan=nan)


def parse_json(
    data: str | bytes,
    where: str,
    error: type[TracegenError] = StoreError,
    advice: str = RESTORE,
    *,
    most_bytes: int = MOST_JSON,
    nan: bool = False,
) -> Any:
    """A JSON document in UTF-8; a byte order mark at its start is passed over.

    Raises `error`, which names `where` and the line and ends with `advice`, for what is not JSON, has more than
    `most_bytes`, nests too deep, holds a number of too many digits or half a surrogate pair, which no table and no
    page can hold; and, unless `nan`, for NaN and Infinity, which JSON has not.
    """

    def refuse(why: object, at: int | None = None) -> NoReturn:
        raise error(f"{where}: cannot be read: {why}{'' if at is None else _line(plain, at)}; {advice}")

    plain = _plain(data)
    if len(plain) > most_bytes:
        refuse(f"has {len(plain):,} bytes, but at most {most_bytes:,} are read")
    if _may_nest_too_deep(plain) or b"0" * (MOST_DIGITS + 1) in plain.translate(_AS_ZEROS):
        _look(plain, _JSON_TOKEN, MOST_DEPTH, refuse)

    def no_number(name: str) -> NoReturn:
        refuse(f"{name} is not a number in JSON")

    try:
        document = json.loads(plain.decode(), parse_constant=None if nan else no_number)
        if _HALF.search(plain):
            json.dumps(document, ensure_ascii=False).encode()
    except UnicodeDecodeError as why:
        refuse(f"it is not UTF-8 at byte {why.start}")
    except UnicodeEncodeError:
        refuse("it holds half a surrogate pair (surrogates not allowed)")
    except (ValueError, RecursionError) as why:
        refuse(why)
    return document


def read_toml(path: Path) -> dict[str, Any]:
    """The TOML document in a file. Raises OSError, and SettingsError as `parse_toml` does."""
    return parse_toml(content(path, MOST_TOML, SettingsError, "write a regular, smaller file"), str(path))


def parse_toml(data: str | bytes, where: str) -> dict[str, Any]:
    """A TOML document in UTF-8; a byte order mark at its start is passed over.

    Raises SettingsError, which names `where` and the line, for what is not TOML, is larger than MOST_TOML, nests too
    deep, or holds a number of too many digits or a key of too many parts.
    """

    def refuse(why: object, at: int | None = None) -> NoReturn:
        raise SettingsError(f"{where}: cannot be read: {why}{'' if at is None else _line(plain, at)}; make it smaller")

    plain = _plain(data)
    if len(plain) > MOST_TOML:
        refuse(f"has {len(plain):,} bytes, but at most {MOST_TOML:,} are read")
    _look(plain, _TOML_TOKEN, MOST_TABLES, refuse)
    try:
        return tomllib.loads(plain.decode())
    except UnicodeDecodeError as why:
        raise SettingsError(f"{where}: is not UTF-8 at byte {why.start}; save it as UTF-8") from why
    except (ValueError, RecursionError) as why:  # ValueError: also a date or a number that cannot be
        raise SettingsError(f"{where}: is not TOML: {why}; correct it") from why


def _plain(data: str | bytes) -> bytes:
    return (data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data).removeprefix(_BOM)


def _line(data: bytes, at: int) -> str:
    return f" (at line {data.count(10, 0, at) + 1:,})"


def _may_nest_too_deep(data: bytes) -> bool:
    """Whether brackets outside of strings may nest deeper than allowed. Fast: a document has many, and few are deep."""
    if b"\\" in data:
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    # Two quotes beside each other turn "in a string" over and back: without them, all else is in it or not as before.
    brackets = data.translate(_AS_LISTS, _ONLY_BRACKETS).replace(b'""', b"")
    if b'"' in brackets:
        brackets = re.sub(rb'"[^"]*"?', b"", brackets)
    depth = 0
    for _ in range(4):  # most of the document is in its innermost lists
        shorter = brackets.replace(b"[]", b"")
        if len(shorter) == len(brackets):
            break
        brackets, depth = shorter, depth + 1
    inside = depth
    for run in _RUNS.finditer(brackets):
        inside += len(run[0]) if run[0][0] == _OPEN[0] else -len(run[0])
        if inside > MOST_DEPTH:
            return True
    return False


def _look(data: bytes, token: re.Pattern[bytes], most_depth: int, refuse: Any) -> None:
    """Go through the tokens of a text; `refuse` what nests too deep, and a number or a key that is too long."""
    depth = parts = 0
    for found in token.finditer(data):
        kind = found.lastgroup
        if kind == "open":
            depth, parts = depth + 1, 0
            if depth > most_depth:
                refuse(f"it nests deeper than {most_depth} lists or tables", found.start())
        elif kind == "close":
            depth, parts = depth - 1, 0
        elif kind == "dot":
            parts += 1
            if parts >= MOST_PARTS:
                refuse(f"a key has more than {MOST_PARTS} parts", found.start())
        elif kind == "next":
            parts = 0
        elif kind == "long":
            refuse(f"a number has more than {MOST_DIGITS} digits", found.start())
