"""A finding: what a run shows, in sentences, with their numbers, what they are counted over, and the figure of it."""

from dataclasses import dataclass
from typing import Literal

from tracegen.report.document.amount import Amount
from tracegen.report.figures.figure import Figure, Part

Kind = Literal["waiting", "time", "bytes", "memory", "experts"]
Scope = Literal["generation", "prompt", "measured passes"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that a run shows.

    `text` is sentences, the same on pages, terminal and in Markdown; `amounts` are numbers of them, the one that counts
    first. `scope` is the phase that they are counted in, `population` what they are counted over (`16 of 259 tokens`).
    `effect` is the share (0 to 1) of the time, the bytes or the memory of that phase which it explains. `part` is the
    figure or table that shows it. `otherwise`: a sentence on how long a token would take without it, for an answer that
    has no prediction of what a setting would change.
    """

    kind: Kind
    text: str
    amounts: tuple[Amount, ...]
    scope: Scope
    population: str
    effect: float
    part: Part
    otherwise: str = ""

    @property
    def href(self) -> str:
        """The address of its figure from the first page."""
        anchor = f"#{'fig' if isinstance(self.part, Figure) else 'tab'}-{self.part.key}"
        return anchor if self.part.page == "overview" else f"{self.part.page}/index.html{anchor}"

    @property
    def data(self) -> dict[str, object]:
        """The finding for a program: the numbers exact, with their units."""
        return {
            "kind": self.kind,
            "text": self.text,
            "amounts": [vars(amount) for amount in self.amounts],
            "scope": self.scope,
            "population": self.population,
            "effect": self.effect,
            "figure": self.part.key,
        }
