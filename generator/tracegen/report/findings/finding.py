"""A finding: numbers with their units, what they are counted over, and the figure that shows them; and its sentence."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from tracegen.contract import quantities as q
from tracegen.report.figures.figure import Figure, Part

Unit = Literal["share", "bytes", "ns", "count", "p"]
Kind = Literal["waiting", "time", "bytes", "memory", "experts"]
Scope = Literal["generation", "prompt", "measured passes"]

_WRITTEN: Mapping[Unit, Callable[[float], str]] = {
    "share": q.percent,
    "bytes": q.size,
    "ns": q.duration,
    "count": q.count,
    "p": q.p_words,
}


@dataclass(frozen=True)
class Amount:
    """A number with its unit (`share`: 0 to 1) and the words that follow it: what it is a share of, or where it is."""

    value: float
    unit: Unit
    words: str = ""

    @property
    def said(self) -> str:
        """`54.7 ms where it waits`."""
        return f"{_WRITTEN[self.unit](self.value)} {self.words}".strip()


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
        numbers = ", ".join(amount.said for amount in (self.amount, *self.more))
        counted = f"{self.scope}, {self.population}" if self.population else self.scope
        return f"{self.measure}: {numbers} ({'; '.join([counted, *(amount.said for amount in self.beside)])})."

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
