"""The index of experiments: a list that reads without scripts, and what its script needs to filter and sort it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

from tracegen.publishing.bundle import shells
from tracegen.site.about import RATE, SHARE
from tracegen.site.cards import Card, newest_first
from tracegen.site.pictures import Pictures

RECORDED = ("page faults", "disk requests", "experts")
STYLE, SCRIPT = "index.css", "index.js"


def index(cards: Sequence[Card], pictures: Pictures) -> str:
    """The HTML of the index; `pictures` collects the pictures that it shows."""
    shown = newest_first(cards)
    addresses = [pictures.of(card.about) if card.about else "" for card in shown]
    template = shells().get_template("experiments.html")
    return template.render(cards=list(zip(shown, addresses, strict=True)), data=Markup(_script_data(shown)))


def _script_data(cards: Sequence[Card]) -> str:
    """What the script filters and sorts by, as JSON: the words of each filter, and a row of numbers for each card.

    A row has size of the model, tokens/s, touched share (null if not known), then its places in the lists of models,
    architectures and verdicts (-1 if not known), and lists of places in those of tags and of what was recorded.
    """
    models = _words(_model(card) for card in cards)
    architectures = _words(_architecture(card) for card in cards)
    verdicts = _words(card.verdict for card in cards)
    tags = _words(tag for card in cards for tag in card.tags)
    rows: list[list[Any]] = []
    for card in cards:
        about = card.about
        recorded = about.recorded if about else ()
        rows.append([
            about.size_bytes if about else None,
            _short(about.number(RATE) if about else None),
            _short(about.number(SHARE) if about else None),
            _place(models, _model(card)),
            _place(architectures, _architecture(card)),
            _place(verdicts, card.verdict),
            [tags.index(tag) for tag in card.tags],
            [RECORDED.index(name) for name in recorded],
        ])  # fmt: skip
    words = {
        "model": models, "architecture": architectures, "verdict": verdicts, "tag": tags, "recorded": RECORDED,
    }  # fmt: skip
    text = json.dumps({"words": words, "rows": rows}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _model(card: Card) -> str:
    return card.model if card.about and card.about.model else ""


def _architecture(card: Card) -> str:
    return card.architecture if card.about and card.about.fact("model", "architecture") else ""


def _words(texts: Iterable[str]) -> list[str]:
    return sorted({text for text in texts if text}, key=lambda text: (text.casefold(), text))


def _place(words: list[str], text: str) -> int:
    return words.index(text) if text else -1


def _short(value: float | None) -> float | None:
    """Six digits are enough to sort by."""
    return None if value is None else float(f"{value:.6g}")
