"""What fewer bytes would change: operations whose weights stream at memory bandwidth take as long as their bytes do."""

from collections.abc import Iterator, Sequence

from tracegen.analysis.causes.cause import Cause, Phase
from tracegen.analysis.remedies.remedy import Remedy
from tracegen.contract.ggml_types import BLOCKS

SMALLER = "Q4_K"


def remedies(phase: Phase, causes: Sequence[Cause]) -> Iterator[Remedy]:
    """A smaller type of weights, where memory bandwidth bounds the operations that read them.

    At best they take less time in proportion to their bytes; at worst, half of that is gained.
    """
    saved = 0.0
    for cause in causes:
        bits, fewer = (_bits(name) for name in (cause.names.get("dtype", ""), SMALLER))
        if cause.key == "memory-bandwidth" and bits and fewer and fewer < bits:
            saved += cause.ns * (1 - fewer / bits)
    if saved:
        n, whole = phase.n_passes, phase.whole_ns
        yield Remedy(
            key="quantisation",
            now_ns=whole / n,
            low_ns=(whole - saved) / n,
            high_ns=(whole - saved / 2) / n,
            names={"dtype": SMALLER},
        )


def _bits(dtype: str) -> float | None:
    """Bits for each weight of a type."""
    elements, size = BLOCKS.get(dtype, (0, 0))
    return size * 8 / elements if elements else None
