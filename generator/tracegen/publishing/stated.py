"""The facts of a run as the provenance page of its version states them.

A version holds the tables of its run, but its facts only on that page: model, machine, settings, build. Numbers are
as exact as the page says them.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from tracegen.contract.quantities import THIN, UNKNOWN

# Id of a section of the page -> where its facts stand in `run.json`.
GROUPS = {
    "settings": ("settings",), "host": ("host",), "page_cache": ("conditions", "page_cache"),
    "mlock": ("conditions", "mlock"), "memory-limit": ("conditions", "memory_limit"), "model": ("model",),
    "metadata": ("model", "metadata"), "llama-cpp": ("llama_cpp",), "trace": ("trace",), "versions": ("versions",),
}  # fmt: skip
_BYTES = re.compile(r".*\((?P<n>[\d\u202f]+) bytes\)")
_NUMBER = re.compile(r"-?[\d\u202f]+")
_SHARE = re.compile(r"[<>]? ?(?P<n>[\d.]+) %")


def stated_facts(page: str) -> dict[str, Any]:
    """The facts that the body of a provenance page states, grouped as in `run.json`; others are absent."""
    reader = _Reader()
    reader.feed(page)
    facts: dict[str, Any] = {}
    for group, names in reader.groups.items():
        place = facts
        for step in GROUPS[group]:
            place = place.setdefault(step, {})
        place |= {name: _value(text) for name, text in names.items()}
    own = facts.get("llama_cpp", {})
    own["build"] = _pairs(reader.groups.get("llama-cpp", {}).get("build", ""))
    own["timings"] = _pairs(reader.groups.get("llama-cpp", {}).get("timings", ""))
    return {**facts, "llama_cpp": own}


def _value(text: str) -> Any:
    """The value that the page wrote as this text: a number of bytes, a count, a share, yes or no, or the text."""
    if text == UNKNOWN:
        return None
    if text in ("yes", "no"):
        return text == "yes"
    if found := _BYTES.fullmatch(text) or _NUMBER.fullmatch(text):
        return int((found.groupdict().get("n") or found.group()).replace(THIN, ""))
    if found := _SHARE.fullmatch(text):
        return float(found["n"]) / 100
    return text


def _pairs(text: str) -> dict[str, Any]:
    """The entries of `a = 1, b = two`; a value that holds commas and pairs itself is cut."""
    pairs = [tuple(part.split(" = ", 1)) for part in text.split(", ") if " = " in part]
    return {name: float(value) if re.fullmatch(r"\d+(\.\d+)?", value) else value for name, value in pairs}


class _Reader(HTMLParser):
    """Collects the definition lists of the sections that GROUPS names: section -> name -> text."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: dict[str, dict[str, str]] = {}
        self._group = self._tag = self._name = self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self._group = dict(attrs).get("id") or ""
        elif tag in ("dt", "dd"):
            self._tag, self._text = tag, ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "section":
            self._group = ""
        if tag != self._tag:
            return
        if tag == "dt":
            self._name = self._text
        elif self._group in GROUPS:
            self.groups.setdefault(self._group, {})[self._name] = self._text
        self._tag = ""
