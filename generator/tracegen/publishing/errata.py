"""Faults of earlier tracegens, shown above the versions that they published and on the reference page.

A published version never changes. Each entry of errata.md says what is false in older versions, and what the word or
figure means since then. The change that corrects a fault adds an entry, which stays as long as versions can show it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from tracegen.contract.prose import joined, sections


@dataclass(frozen=True)
class Erratum:
    """A fault of all versions that a tracegen before `since` published.

    `pages` are the keys of the pages with the fault, `was` says what they show, `now` what pages show since. `until`:
    what tracegen `since` itself published before that moment, in UTC, has the fault too.
    """

    since: str
    pages: tuple[str, ...]
    title: str
    was: str
    now: str
    until: str = ""


def _read() -> tuple[Erratum, ...]:
    """The entries of errata.md: title, since when and on which pages, what was false, what is shown since."""
    found = []
    for title, text in sections(Path(__file__).with_suffix(".md")).items():
        of, was, now = map(joined, text.split("\n\n"))
        when, _, pages = of.removeprefix("Before ").partition(": ")
        since, _, until = when.partition(", and by it until ")
        found.append(Erratum(since, tuple(pages.split(", ")), title, was, now, until))
    return tuple(found)


ERRATA = _read()


def errata_of(generator: str, page: str | None = None, *, created: str) -> tuple[Erratum, ...]:
    """The faults of a version that `generator` ("tracegen 0.1.0") published, on one page or on all pages.

    A generator without a readable version number counts as the oldest. `created` is the version's moment, as its
    version.json says it.
    """
    publisher = _numbers(generator)

    def has(one: Erratum) -> bool:
        since = _numbers(one.since)
        return publisher < since or (publisher == since and created < one.until)

    return tuple(one for one in ERRATA if has(one) and (page is None or page in one.pages))


def _numbers(version: str) -> tuple[int, ...]:
    digits = re.search(r"(\d+)\.(\d+)\.(\d+)", version)
    return tuple(int(n) for n in digits.groups()) if digits else ()
