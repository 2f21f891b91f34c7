"""Text that is shown: untrusted names without unsafe characters, and numbers with three significant digits."""

import math
import re
from collections.abc import Mapping

UNKNOWN = "not recorded"

# Control characters (XML forbids most), lone surrogates, and characters that change the direction of writing.
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: object) -> str:
    """The text with each unfit character shown as U+FFFD; line breaks and tabs stay."""
    return _UNFIT.sub("\ufffd", str(text))


def visible(text: str) -> str:
    """`text` with control and format characters escaped, so that it cannot control a terminal."""
    return "".join(c if c.isprintable() or c in "\t\u2009\u202f" else c.encode("unicode_escape").decode() for c in text)


def without_controls(csv: str) -> str:
    """CSV in which a control character is its escape (`\\x1b`); line breaks and tabs stay, as CSV may hold them."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", csv)


def ended(sentence: str) -> str:
    """The sentence with a full stop, unless it has one or ends in a question mark."""
    return sentence if sentence.rstrip().endswith((".", "?", "!", "…")) else f"{sentence.rstrip()}."


def three(value: float) -> str:
    """Three significant digits without an exponent; a thin space between thousands."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{places}f}".replace(",", "\u202f")


def whole_percent(share: float) -> str:
    """`12 %`; a share above 0 is never shown as 0 %."""
    return "< 1 %" if 0 < share < 0.005 else f"{share * 100:.0f} %"


def text_of(value: object, longest: int = 400) -> str:
    """A fact as text, without a unit; lists are joined, long texts and lists are cut and state their length."""
    if value is None or value == "":
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{k} = {text_of(v)}" for k, v in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        shown = ", ".join(text_of(v, 60) for v in value[:12])
        return f"{shown}, … ({len(value)} in all)" if len(value) > 12 else shown or "none"
    text = printable(value)
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters in all)"
