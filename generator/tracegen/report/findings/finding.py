"""A finding: numbers with their units, what they are counted over, and the figure that shows them; and its sentence."""

from dataclasses import dataclass
from typing import Literal

from tracegen.report.document.amount import Amount, in_words
from tracegen.report.figures.figure import Figure, Part

Kind = Literal["waiting", "time", "bytes", "memory", "experts"]
Scope = Literal["generation", "prompt", "measured passes"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that a run shows, as numbers.

    `measure` is what was measured, `amount` the number that counts, `more` what follows from it, `beside` what it is
    compared with: another set of tokens, chance, another size. `scope` is the phase that it is counted in, `population`
    what it is counted over (`16 of 259 tokens`). `effect` is the share (0 to 1) of the time, the bytes or the memory of
    that phase which it explains. `part` is the figure or table that shows it.
    """

    kind: Kind
    measure: str
    amount: Amount
    more: tuple[Amount, ...] = ()
    beside: tuple[Amount, ...] = ()
    scope: Scope
    population: str
    effect: float
    part: Part

    @property
    def text(self) -> str:
        """The finding as a sentence, the same on pages, terminal and in Markdown."""
        numbers = in_words((self.amount, *self.more))
        counted = f"{self.scope}, {self.population}" if self.population else self.scope
        return f"{self.measure}: {numbers} ({'; '.join([counted, *(amount.text for amount in self.beside)])})."

    @property
    def href(self) -> str:
        """The address of its figure from the first page."""
        anchor = f"#{'fig' if isinstance(self.part, Figure) else 'tab'}-{self.part.key}"
        return anchor if self.part.page == "overview" else f"{self.part.page}/index.html{anchor}"

    @property
    def data(self) -> dict[str, object]:
        """The finding for a program: the numbers exact, with their units."""
        amounts = {name: [vars(a) for a in getattr(self, name)] for name in ("more", "beside")}
        return {
            "kind": self.kind,
            "measure": self.measure,
            "amount": vars(self.amount),
            **amounts,
            "scope": self.scope,
            "population": self.population,
            "effect": self.effect,
            "figure": self.part.key,
            "text": self.text,
        }
