"""Numbers typed by hand beside a citation: those that a version publishes, those that are nearly so, and others."""

import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from tracegen.contract.quantities import SIUNITX
from tracegen.site.references import Quoted, References, quoted
from tracegen.site.thesis.documents import Document
from tracegen.site.thesis.findings import Finding, State
from tracegen.site.thesis.mentions import place_of, sentences

LEAST_DIGITS = 3  # of a number that is taken for a published one
MOST_KEYS = 3  # that are named
_SIZES = {  # unit of a text -> the unit of the value, and how many of these it is
    "B": ("bytes", 1),
    **{f"{prefix}iB": ("bytes", 1 << 10 * n) for n, prefix in enumerate("KMGT", 1)},
    **{f"{prefix}B": ("bytes", 1000**n) for n, prefix in enumerate("kMGT", 1)},
    **{unit: ("ns", 1000**n) for n, unit in enumerate(("ns", "µs", "ms", "s"))},
    "min": ("ns", 60 * 10**9),
    "h": ("ns", 3600 * 10**9),
    "%": ("share", 0.01),
    "tokens/s": ("tokens/s", 1),
}
_UNIT = "|".join(map(re.escape, _SIZES))
_TYPED = re.compile(
    rf"(?<![\w.,-])(?P<number>[0-9]++(?:[.,][0-9]++)?)(?:[\s\u00a0\u2009\u202f]|\\[,; ])*+(?P<unit>{_UNIT})(?![\w/])"
)
_SIUNITX = re.compile(r"\\(?:SI|qty)\s*+(?:\[[^][]*+\])?\{(?P<number>[0-9.,]+)\}\s*\{(?P<unit>[^{}]*)\}")
_SHORT = {r"\ns": "ns", r"\us": "µs", r"\ms": "ms", r"\s": "s"}
_DECIMAL = {r"\kilo\byte": "kB", r"\mega\byte": "MB", r"\giga\byte": "GB", r"\tera\byte": "TB"}
_NAMED = {macros: unit for unit, macros in SIUNITX.items()} | _SHORT | _DECIMAL
_WORD = re.compile("[a-z]{4,}")
_INFLECTED = re.compile("(?:s|es|ed|ing|e)$")
_STEM = 5  # letters in which `generates` and `generation` are the same

Values = Mapping[tuple[str, str], Quoted]


def typed_numbers(known: References, document: Document) -> Iterator[Finding]:
    """Each number of at least LEAST_DIGITS digits with a unit, in a sentence that cites a version: whether it is one of
    its values, nearly one (`_is_near`, `_is_scaled`), or none.
    """
    for paragraph in document.paragraphs:
        for sentence in sentences(paragraph):
            values = _values(known, sentence.citations, sentence.free, document.is_latex)
            for at, written, number, unit in _numbers(sentence.free) if values else ():
                place = place_of(document, paragraph, sentence.at + at)
                yield Finding(place, *_judged(values, written, number, unit, document.is_latex))


def _judged(values: Values, written: str, number: str, unit: str, is_latex: bool) -> tuple[State, str, str]:
    same = [name for name, of in values.items() if _is_same(number, unit, of)]
    if same:
        names = (_quoted(name, is_latex) for name in same[:MOST_KEYS])
        return "typed by hand", written, f"write {' or '.join(names)}"
    near = [name for name, of in values.items() if _is_near(f"{number} {unit}", of.words)]
    near += [name for name, of in values.items() if _is_scaled(number, unit, of)]
    if near:
        texts = (f"{key} of {of} is {values[of, key].words}" for of, key in near[:MOST_KEYS])
        return "near a value", written, "; ".join(texts)
    return "matches no value", written, ""


def _values(known: References, citations: list[str], sentence: str, is_latex: bool) -> Values:
    """The values of these versions, by version and by what quotes them; first those with most words of the sentence.

    Of several runs a macro of LaTeX has the run that is drawn, a reference in Markdown the median, and with `:run` that
    run.
    """
    found: dict[tuple[str, str], Quoted] = {}
    shared: dict[tuple[str, str], int] = {}
    words = _stems(sentence)
    for citation in citations:
        published = known.published.get(citation)
        if published is None:
            continue
        for key, value in published.bundle.document["values"].items():
            drawn, typical = (quoted(known, published, key, part) for part in ("run", ""))
            found[citation, key] = drawn if is_latex else typical
            if drawn.words != typical.words and not is_latex:
                found[citation, f"{key}:run"] = drawn
            shared[citation, key] = len(words & _stems(f"{key} {value.get('label', '')}"))
    return dict(sorted(found.items(), key=lambda item: -shared[item[0][0], item[0][1].removesuffix(":run")]))


def _stems(text: str) -> set[str]:
    """The beginnings of the words of a text, in which `touches` and `touched` are the same."""
    return {_INFLECTED.sub("", word)[:_STEM] for word in _WORD.findall(text.lower())}


def _numbers(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Place, what is written, number with a decimal point, and unit."""
    for pattern in (_TYPED, _SIUNITX):
        for m in pattern.finditer(text):
            unit = _NAMED.get(m["unit"].replace(" ", ""), "") if pattern is _SIUNITX else m["unit"]
            number = m["number"].replace(",", ".")
            if unit and len(_digits(number)) >= LEAST_DIGITS:
                yield m.start(), m[0], number, unit


def _digits(number: str) -> str:
    return number.replace(".", "").lstrip("0")


@lru_cache(1 << 12)
def _printed(text: str) -> tuple[str, str] | None:
    """Number and unit of a value's text; None where it has none, as `24` and `not recorded`."""
    found = _TYPED.fullmatch(text)
    return (found["number"], found["unit"]) if found else None


def _is_same(number: str, unit: str, published: Quoted) -> bool:
    """Whether a number is what a version prints, in this unit or another, or its exact value in fewer digits."""
    of, size = _SIZES[unit]
    printed = _printed(published.words)
    if printed is None or _SIZES[printed[1]][0] != of:
        return False
    if math.isclose(float(number) * size, float(printed[0]) * _SIZES[printed[1]][1]):
        return True
    decimals = len(number.partition(".")[2])
    return isinstance(published.number, int | float) and f"{published.number / size:.{decimals}f}" == number


def _is_scaled(number: str, unit: str, published: Quoted) -> bool:
    """Whether a number has the digits of a value, but another unit or power of ten."""
    printed = _printed(published.words)
    if printed is None or _SIZES[unit][0] != _SIZES[printed[1]][0]:
        return False
    typed, digits = (_digits(text).rstrip("0") for text in (number, printed[0]))
    return typed == digits and len(digits) > 1  # a round number is not taken for one


def _is_near(typed: str, published: str) -> bool:
    """Whether two neighbouring digits changed places, or the last digit of the number is one more or less."""
    if len(typed) != len(published):
        return False
    differ = [n for n in range(len(typed)) if typed[n] != published[n]]
    if len(differ) == 2 and differ[1] - differ[0] in (1, 2):
        a, b = differ
        swapped = (typed[a], typed[b]) == (published[b], published[a])
        return swapped and typed[a + 1 : b] in ("", ".") and (typed[a] + typed[b]).isdigit()
    if len(differ) == 1:
        (at,) = differ
        digits, after = typed[at] + published[at], typed[at + 1 : at + 2]
        is_last = digits.isdigit() and not after.isdigit() and after != "."
        return is_last and abs(int(digits[0]) - int(digits[1])) == 1
    return False


def _quoted(name: tuple[str, str], is_latex: bool) -> str:
    citation, key = name
    return f"\\tracegen{{{citation}}}{{{key}}}" if is_latex else f"{{{{ {citation}:{key} }}}}"
