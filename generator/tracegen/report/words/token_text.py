"""The text of tokens on pages: white space has marks that can be seen."""

from collections.abc import Mapping

from tracegen.contract import quantities as q

_VISIBLE = str.maketrans({" ": "·", "\n": "↵", "\t": "⇥", "\r": "␍"})


def visible(text: str | None, token: int | None) -> str:
    """The text with marks for white space; where it is not known the id of the token: `⟨7⟩`, or `⟨?⟩` without one."""
    if text is None:
        return "⟨?⟩" if token is None else f"⟨{token}⟩"
    return q.printable(text.translate(_VISIBLE))


def pieces(recorded: object) -> dict[int, str]:
    """The text of each token by its id, from the fact `text.pieces`; entries of another form are left out."""
    known = recorded if isinstance(recorded, Mapping) else {}
    return {int(k): v for k, v in known.items() if str(k).isdecimal() and isinstance(v, str)}
