"""Numbers typed by hand beside a citation: those that a version publishes, and those that are nearly so."""

import re
from collections.abc import Iterator

from tracegen.contract.quantities import SIUNITX
from tracegen.site.references import References, quoted
from tracegen.site.thesis.documents import Document
from tracegen.site.thesis.findings import Finding, State
from tracegen.site.thesis.mentions import place_of, sentences

LEAST_DIGITS = 3  # of a number that is taken for a published one
MOST_KEYS = 3  # that are named
_UNIT = "|".join(map(re.escape, SIUNITX))
_TYPED = re.compile(
    rf"(?<![\w.,-])(?P<number>[0-9]++(?:[.,][0-9]++)?)(?:[\s\u00a0\u2009\u202f]|\\[,; ])*+(?P<unit>{_UNIT})(?![\w/])"
)
_SIUNITX = re.compile(r"\\(?:SI|qty)\s*+(?:\[[^][]*+\])?\{(?P<number>[0-9.,]+)\}\s*\{(?P<unit>[^{}]*)\}")
_SHORT = {r"\ns": "ns", r"\us": "µs", r"\ms": "ms", r"\s": "s"}
_NAMED = {macros: unit for unit, macros in SIUNITX.items()} | _SHORT


def typed_numbers(known: References, document: Document) -> Iterator[Finding]:
    """Each number of at least LEAST_DIGITS digits with a unit, in a sentence that cites a version, that is one of its
    values, or nearly: two neighbouring digits changed places, or the last one is off by one.
    """
    for paragraph in document.paragraphs:
        for sentence in sentences(paragraph):
            values = _values(known, sentence.citations, document.is_latex)
            for at, written, number, unit in _numbers(sentence.free):
                place = place_of(document, paragraph, sentence.at + at)
                same = [name for name, text in values.items() if text == f"{number} {unit}"]
                state: State = "typed by hand"
                if same:
                    why = f"write {' or '.join(_quoted(name, document.is_latex) for name in same[:MOST_KEYS])}"
                else:
                    same = [name for name, text in values.items() if _is_near(f"{number} {unit}", text)]
                    near = (f"{key} of {of} is {values[of, key]}" for of, key in same[:MOST_KEYS])
                    state, why = "near a value", "; ".join(near)
                if same:
                    yield Finding(place, state, written, why)


def _values(known: References, citations: list[str], is_latex: bool) -> dict[tuple[str, str], str]:
    """The texts of the values of these versions, by version and by what quotes them.

    Of several runs a macro of LaTeX has the run that is drawn, a reference in Markdown the median, and with `:run` that
    run.
    """
    found: dict[tuple[str, str], str] = {}
    for citation in citations:
        published = known.published.get(citation)
        if published is None:
            continue
        for key in published.bundle.document["values"]:
            drawn, typical = (quoted(known, published, key, part).words for part in ("run", ""))
            found[citation, key] = drawn if is_latex else typical
            if drawn != typical and not is_latex:
                found[citation, f"{key}:run"] = drawn
    return found


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
