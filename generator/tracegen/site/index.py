"""The index of experiments: a list that reads without scripts, and what its script needs to filter and sort it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

from tracegen.publishing.bundle import shells
from tracegen.site.about import RATE, SHARE
from tracegen.site.cards import Card, newest_first
from tracegen.site.pictures import Pictures

RECORDED = ("page faults", "disk requests", "experts")
FILTERS = (
    ("model", "Model"),
    ("architecture", "Architecture"),
    ("tag", "Tag"),
    ("verdict", "Verdict"),
    ("recorded", "Recorded"),
)
SORTS = (  # key in the address, words
    ("", "newest first"),
    ("oldest", "oldest first"),
    ("name", "name"),
    ("fastest", "fastest first"),
    ("slowest", "slowest first"),
    ("largest", "largest model first"),
    ("smallest", "smallest model first"),
    ("most", "most touched first"),
    ("least", "least touched first"),
)
STYLE, SCRIPT = "index.css", "index.js"


def index(cards: Sequence[Card], pictures: Pictures) -> str:
    """The HTML of the index; `pictures` collects the pictures that it shows."""
    shown = newest_first(cards)
    addresses = [pictures.of(card.about) if card.about else "" for card in shown]
    template = shells().get_template("experiments.html")
    cards_and_pictures = list(zip(shown, addresses, strict=True))
    data = Markup(_script_data(shown))
    return template.render(cards=cards_and_pictures, filters=_filters(shown), sorts=SORTS, data=data)


def _words_of(card: Card) -> dict[str, Sequence[str]]:
    """The words that a card has for each filter."""
    return {
        "model": [_model(card)],
        "architecture": [_architecture(card)],
        "tag": card.tags,
        "verdict": [card.verdict],
        "recorded": card.about.recorded if card.about else (),
    }


def _filters(cards: Sequence[Card]) -> list[tuple[str, str, list[tuple[str, int]]]]:
    """Each filter: its key, its name, and its words with the number of cards that have them."""
    of_cards = [_words_of(card) for card in cards]
    filters = []
    for key, name in FILTERS:
        counts = Counter(word for of in of_cards for word in of[key] if word)
        words: Sequence[str] = RECORDED if key == "recorded" else _words(counts)
        filters.append((key, name, [(word, counts[word]) for word in words]))
    return filters


def _script_data(cards: Sequence[Card]) -> str:
    """What the script filters and sorts by, as JSON: a row of numbers for each card. The form has the words of filters.

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
            _short(about.typical(RATE) if about else None),
            _short(about.number(SHARE) if about else None),
            _place(models, _model(card)),
            _place(architectures, _architecture(card)),
            _place(verdicts, card.verdict),
            [tags.index(tag) for tag in card.tags],
            [RECORDED.index(name) for name in recorded],
        ])  # fmt: skip
    text = json.dumps(rows, separators=(",", ":"), allow_nan=False)
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
