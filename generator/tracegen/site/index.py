"""The index of experiments: a list that reads without scripts, and what its script needs to filter and sort it."""

import json
from collections import Counter
from collections.abc import Sequence
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
Filter = tuple[str, str, list[tuple[str, int]]]  # key, name, words with the number of cards that have them
STYLE, SCRIPT = "index.css", "index.js"


def index(cards: Sequence[Card], pictures: Pictures) -> str:
    """The HTML of the index; `pictures` collects the pictures that it shows."""
    shown = newest_first(cards)
    addresses = [pictures.of(card.about) for card in shown]
    template = shells().get_template("experiments.html")
    cards_and_pictures, filters = list(zip(shown, addresses, strict=True)), _filters(shown)
    data = Markup(_script_data(shown, filters))
    return template.render(cards=cards_and_pictures, filters=filters, sorts=SORTS, data=data)


def _words_of(card: Card) -> dict[str, Sequence[str]]:
    """The words that a card has for each filter; empty where one is not known."""
    about = card.about
    return {
        "model": [card.model if about.model else ""],
        "architecture": [card.architecture if about.fact("model", "architecture") else ""],
        "tag": card.tags,
        "verdict": [card.verdict],
        "recorded": about.recorded,
    }


def _filters(cards: Sequence[Card]) -> list[Filter]:
    """The filters with the words of the cards, sorted."""
    of_cards = [_words_of(card) for card in cards]
    filters = []
    for key, name in FILTERS:
        counts = Counter(word for of in of_cards for word in of[key] if word)
        words = RECORDED if key == "recorded" else sorted(counts, key=lambda word: (word.casefold(), word))
        filters.append((key, name, [(word, counts[word]) for word in words]))
    return filters


def _script_data(cards: Sequence[Card], filters: Sequence[Filter]) -> str:
    """What the script filters and sorts by, as JSON: a row of numbers for each card. The form has the words of filters.

    A row has size of the model, tokens/s, touched share (null if not known), then its places in the lists of models,
    architectures and verdicts (-1 if not known), and lists of places in those of tags and of what was recorded.
    """
    places = {key: {word: place for place, (word, _) in enumerate(words)} for key, _, words in filters}
    rows: list[list[Any]] = []
    for card in cards:
        about, of = card.about, _words_of(card)
        rows.append(
            [
                about.size_bytes,
                _short(about.typical(RATE)),
                _short(about.number(SHARE)),
                *(places[key].get(of[key][0], -1) for key in ("model", "architecture", "verdict")),
                *([places[key][word] for word in of[key]] for key in ("tag", "recorded")),
            ]
        )
    text = json.dumps(rows, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _short(value: float | None) -> float | None:
    """Six digits are enough to sort by."""
    return None if value is None else float(f"{value:.6g}")
