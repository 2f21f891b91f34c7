"""Untrusted text made fit to be shown: names of tensors and operations, prompts, what a model wrote."""

from __future__ import annotations

import re

# Control characters (XML forbids most), lone surrogates, and what turns the direction of writing.
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: object) -> str:
    """The text with each unfit character shown as U+FFFD; line breaks and tabs stay."""
    return _UNFIT.sub("\ufffd", str(text))
