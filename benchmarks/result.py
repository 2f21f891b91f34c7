"""One figure of a benchmark, beside its limit."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """A measured value; `limit` is the most it may be, None where it only informs."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    note: str = ""

    @property
    def missed(self) -> bool:
        """Whether the value is beyond its limit (or no number at all)."""
        return self.limit is not None and not self.value <= self.limit


def table(results: Sequence[Result]) -> str:
    """The results as a Markdown table."""
    lines = ["| figure | value | limit | | how |", "|---|---:|---:|---|---|"]
    for r in results:
        limit = "" if r.limit is None else _number(r.limit, r.unit)
        state = "" if r.limit is None else "**missed**" if r.missed else "kept"
        lines.append(f"| {r.name} | {_number(r.value, r.unit)} | {limit and f'≤ {limit}'} | {state} | {r.note} |")
    return "\n".join(lines)


def _number(value: float, unit: str) -> str:
    digits = 0 if abs(value) >= 1000 or float(value).is_integer() else 3 if abs(value) < 10 else 1
    text = f"{value:,.{digits}f}".replace(",", "\u2009")
    return f"{text} {unit}".strip()
