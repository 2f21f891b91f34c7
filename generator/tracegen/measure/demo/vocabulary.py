"""The vocabulary of demo models: words, and the characters from which the tokenizer builds them."""

from collections.abc import Iterator
from itertools import chain, product

import gguf

Token = tuple[bytes, int, bool]  # text, type (gguf.TokenType), whether it is a readable word

_WORD_LIST = """
    the of and a to in is it that for on as with by at from this be are was or an which not have has one two
    page byte memory disk cache layer token model weight tensor file read write map fault row head key value
    expert router gate norm span pass graph node edge buffer thread core clock time wait work trace run load
    first last next same other each every all some more less few many long short near far old new cold warm
    small large slow fast high low left right early late here there then when where how why what who
    sees finds keeps moves holds reads opens takes gives turns asks tells shows counts follows begins ends
    water stone river tree light wind night day road house door hand eye book line word name number
"""
_WORDS = tuple(dict.fromkeys(_WORD_LIST.split()))
_PRINTABLE = [chr(code) for code in range(0x21, 0x7F)]
_SPACE = "▁"  # SentencePiece writes a space so


def vocabulary(size: int) -> list[Token]:
    """The tokens; made-up words fill the vocabulary up to `size`."""
    words, fragments = _readable_and_not()
    normal, byte = int(gguf.TokenType.NORMAL), int(gguf.TokenType.BYTE)
    control, unknown = int(gguf.TokenType.CONTROL), int(gguf.TokenType.UNKNOWN)
    tokens = [(b"<unk>", unknown, False), (b"<s>", control, False), (b"</s>", control, False)]
    tokens += [(f"<0x{value:02X}>".encode(), byte, False) for value in range(256)]
    tokens += [(fragment.encode(), normal, False) for fragment in fragments]
    taken = {text for text, _, _ in tokens}
    for word in chain(words, _made_up_words()):
        if len(tokens) == size:
            break
        if word.encode() not in taken:
            taken.add(word.encode())
            tokens.append((word.encode(), normal, True))
    return tokens


def _readable_and_not() -> tuple[list[str], list[str]]:
    """Complete words, and the characters and word beginnings from which the tokenizer builds them."""
    words = dict.fromkeys(_SPACE + word for word in _WORDS)
    beginnings = [word[:n] for word in words for n in range(2, len(word))]
    fragments = dict.fromkeys([_SPACE, *_PRINTABLE, *beginnings])
    return list(words), [fragment for fragment in fragments if fragment not in words]


def _made_up_words() -> Iterator[str]:
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    for n_syllables in (2, 3, 4):
        for letters in product(*(consonants, vowels) * n_syllables):
            yield _SPACE + "".join(letters)
