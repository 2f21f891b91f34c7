"""An amount: a number with its unit and the words that follow it. Answers are rows of amounts, written here alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracegen.contract import quantities as q


@dataclass(frozen=True)
class Amount:
    """A number with its unit and the words that follow it: what it is a share of, or where it is.

    The units are those of measures (`share`: 0 to 1), `times` for a factor, and `p` for the p of a test.
    """

    value: float
    unit: str
    words: str = ""

    @property
    def number(self) -> str:
        """`54.7 ms`."""
        if self.unit == "times":
            return f"{q.three(self.value)} ×"
        return q.p_words(self.value) if self.unit == "p" else q.amount(self.value, self.unit)

    @property
    def text(self) -> str:
        """`54.7 ms where it waits`."""
        return f"{self.number} {self.words}".strip()


@dataclass(frozen=True)
class Said:
    """A sentence, and the numbers in it."""

    text: str
    amounts: tuple[Amount, ...] = ()


def in_words(amounts: Sequence[Amount]) -> str:
    """`4.12 MiB with LRU, 2.77 MiB with Belady`; empty without any."""
    return ", ".join(amount.text for amount in amounts)
