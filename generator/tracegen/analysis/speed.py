"""How fast a run was, and how much repeated runs differ; load and warm-up passes are left out."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import pandas as pd


@dataclass(frozen=True)
class Speed:
    """Times in ns, rates in tokens per second, bytes read from the disk; None where the trace does not say."""

    prompt_tokens: int | None
    prompt_ns: int | None
    generate_ns: int | None
    prompt_rate: float | None
    generate_rate: float | None
    major_faults: int | None
    read_bytes: int | None


@dataclass(frozen=True)
class Spread:
    """The median of a value over several runs, and its range."""

    median: float
    least: float
    most: float


def speed_of(passes: pd.DataFrame) -> Speed:
    """The speed of `passes`, the result of `passes.measured`."""
    prompt, generate = passes[passes["kind"] == "prompt"], passes[passes["kind"] == "generate"]
    prompt_ns, generate_ns = total(prompt["duration_ns"]), total(generate["duration_ns"])
    prompt_tokens = total(prompt["n_tokens"])
    return Speed(
        prompt_tokens=prompt_tokens,
        prompt_ns=prompt_ns,
        generate_ns=generate_ns,
        prompt_rate=prompt_tokens / prompt_ns * 1e9 if prompt_tokens and prompt_ns else None,
        generate_rate=len(generate) / generate_ns * 1e9 if generate_ns else None,
        major_faults=total(passes["major_faults"]),
        read_bytes=total(passes["read_bytes"]),
    )


def spread_of(values: Sequence[float | None]) -> Spread | None:
    """Median and range of a value over several runs; None without runs, or when the value of one is not known."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return Spread(median(known), min(known), max(known))


def total(values: pd.Series) -> int | None:
    """The sum, or None when there is nothing to add or one value is unknown."""
    return None if values.empty or bool(values.isna().any()) else int(values.sum())
