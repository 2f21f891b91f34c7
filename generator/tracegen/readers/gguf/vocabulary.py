"""The text of tokens, from the vocabulary in a GGUF file, as llama.cpp's `llama_token_to_piece` gives it.

A vocabulary does not hold the text itself: SentencePiece writes a space as “▁” and a single byte as `<0x0A>`;
byte-level BPE, which came with GPT-2, writes each byte as a character that can be printed.
"""

import re
import struct
from collections.abc import Collection, Mapping
from pathlib import Path

from tracegen.readers.gguf.header import Cursor, opened

MODEL, TOKENS, TYPES = "tokenizer.ggml.model", "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_WITH_SPACES = ("llama", "bert", "t5")  # values of MODEL whose tokens write a space as “▁”
_BYTE_LEVEL = ("gpt2",)
_NORMAL, _BYTE = 1, 6  # llama.cpp's types of tokens; tokens of other types stand for their own text
_LONGEST = 65_536  # bytes of one token
_INT32, _STRING, _ARRAY = 5, 8, 9
_BROKEN = {0xDC00 + byte: f"<0x{byte:02X}>" for byte in range(0x80, 0x100)}  # how Python marks a byte that is not UTF-8
_BYTE_TOKEN = re.compile(rb"<0x([0-9A-Fa-f]{2})>")


def pieces(path: Path, ids: Collection[int]) -> dict[int, bytes]:
    """The bytes that each token of `ids` stands for; they need not be whole UTF-8 characters.

    `path` is the first file of a model. A token that the vocabulary lacks has no entry; nor has any token where the
    file has no vocabulary, or one of a kind that this reader does not know. Reads the header only. Raises
    ModelFormatError when it is broken.
    """
    wanted = frozenset(ids)
    with opened(path) as stream:
        kind, texts, types = _read(Cursor(path, stream), wanted)
    if kind not in (*_WITH_SPACES, *_BYTE_LEVEL):
        return {}
    return {token: _piece(kind, text, types.get(token, _NORMAL)) for token, text in texts.items()}


def shown(piece: bytes) -> str:
    """A piece as text; bytes that are no whole UTF-8 character are written `<0xE2>`."""
    return piece.decode("utf-8", "surrogateescape").translate(_BROKEN)


def _read(cursor: Cursor, wanted: Collection[int]) -> tuple[object, dict[int, bytes], dict[int, int]]:
    """The kind of vocabulary, and the texts and types of the wanted tokens."""
    cursor.take(8, "the magic number and the version")
    cursor.number("<Q", "the number of tensors")
    kind: object = None
    texts: dict[int, bytes] = {}
    types: dict[int, int] = {}
    for _ in range(cursor.number("<Q", "the number of metadata pairs")):
        key = cursor.text("a metadata key", 65_535)
        if key == TOKENS:
            texts = _texts(cursor, wanted)
        elif key == TYPES:
            types = _types(cursor, wanted)
        else:
            value = cursor.value(key)
            kind = value if key == MODEL else kind
    return kind, texts, types


def _array(cursor: Cursor, key: str, kind: int) -> int:
    """The number of elements of an array, which must have this kind; the cursor then stands at its first element."""
    found = (cursor.number("<I", f"the type of {key!r}"), cursor.number("<I", f"the element type of {key!r}"))
    if found != (_ARRAY, kind):
        raise cursor.broken(f"{key!r} has the types {found}, but a vocabulary needs {(_ARRAY, kind)}")
    return cursor.number("<Q", f"the length of {key!r}")


def _texts(cursor: Cursor, wanted: Collection[int]) -> dict[int, bytes]:
    n = _array(cursor, TOKENS, _STRING)
    cursor.need(8 * n, f"the array {TOKENS!r}")
    texts = {}
    for token in range(n):
        length = cursor.number("<Q", f"the length of token {token}")
        if token in wanted and length <= _LONGEST:
            texts[token] = cursor.take(length, f"token {token}")
        else:
            cursor.skip(length, f"token {token}")
    return texts


def _types(cursor: Cursor, wanted: Collection[int]) -> dict[int, int]:
    n = _array(cursor, TYPES, _INT32)
    data = cursor.take(4 * n, f"the array {TYPES!r}")
    return {token: struct.unpack_from("<i", data, 4 * token)[0] for token in wanted if 0 <= token < n}


def _piece(kind: object, text: bytes, token_type: int) -> bytes:
    if kind in _BYTE_LEVEL:
        return _of_characters(text) if token_type == _NORMAL else text
    byte = _BYTE_TOKEN.fullmatch(text)
    if token_type == _BYTE and byte:
        return bytes([int(byte.group(1), 16)])
    return text.replace("▁".encode(), b" ") if token_type == _NORMAL else text


def _of_characters(text: bytes) -> bytes:
    """The bytes that the characters of a byte-level token stand for; a character that stands for none stays."""
    return b"".join(
        bytes([_BYTES[character]]) if character in _BYTES else character.encode("utf-8", "replace")
        for character in text.decode("utf-8", "replace")
    )


def _byte_characters() -> Mapping[str, int]:
    """The character of each byte in byte-level BPE: itself if Latin-1 can print it, else the next from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}


_BYTES = _byte_characters()
