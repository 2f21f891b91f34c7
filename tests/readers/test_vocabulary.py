"""The reader of vocabularies: what it reads, what it leaves out, and broken files. Its oracle is llama.cpp:
tests/integration/test_vocabulary.py."""

import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.readers import gguf_bytes as made
from tracegen.contract.errors import ModelFormatError
from tracegen.readers.gguf.vocabulary import pieces, shown

WORDS = ("▁the", "<0x0A>", "<s>", "▁", "é")
KINDS = (1, 6, 3, 1, 1)


def written(path: Path, *pairs: bytes) -> Path:
    path.write_bytes(made.header(pairs))
    return path


def vocabulary(kind: str = "llama") -> tuple[bytes, ...]:
    return (
        made.array("tokenizer.ggml.token_type", 5, len(KINDS), struct.pack(f"<{len(KINDS)}i", *KINDS)),
        made.array("tokenizer.ggml.tokens", 8, len(WORDS), b"".join(made.text(word) for word in WORDS)),
        made.string("tokenizer.ggml.model", kind),
    )


def test_only_wanted_tokens_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "m.gguf", made.u32("x", 1), *vocabulary())
    assert pieces(path, [0, 1, 2, 99, -1]) == {0: b" the", 1: b"\n", 2: b"<s>"}
    assert pieces(path, [4]) == {4: "é".encode()}


def test_a_file_without_a_vocabulary_and_one_of_an_unknown_kind_have_no_pieces(tmp_path: Path) -> None:
    assert pieces(written(tmp_path / "none.gguf", made.u32("x", 1)), [0]) == {}
    assert pieces(written(tmp_path / "new.gguf", *vocabulary("of tomorrow")), [0]) == {}


@pytest.mark.parametrize(
    "pair",
    [
        made.array("tokenizer.ggml.tokens", 8, 1 << 60, b""),
        made.array("tokenizer.ggml.tokens", 8, 2, made.text("a") + struct.pack("<Q", 1 << 62)),
        made.array("tokenizer.ggml.tokens", 5, 2, struct.pack("<2i", 1, 2)),
        made.array("tokenizer.ggml.token_type", 5, 1 << 61, b""),
        made.string("tokenizer.ggml.token_type", "x"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, pair: bytes) -> None:
    with pytest.raises(ModelFormatError):
        pieces(written(tmp_path / "m.gguf", pair), [0, 1])


@given(st.binary(max_size=12))
def test_a_shown_piece_is_text_that_keeps_every_byte(piece: bytes) -> None:
    text = shown(piece)
    text.encode()  # no lone surrogate
    if b"<0x" not in piece:
        assert re.sub(rb"<0x(..)>", lambda m: bytes.fromhex(m.group(1).decode()), text.encode()) == piece


def test_half_a_character_shows_its_bytes() -> None:
    assert shown("€".encode()[:2]) == "<0xE2><0x82>" and shown(b" a\n") == " a\n"
