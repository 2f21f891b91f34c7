"""What fewer bytes would change: reading them, and operations whose weights stream at memory bandwidth."""

from collections.abc import Iterator, Sequence

import pandas as pd

from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Cause, Phase
from tracegen.analysis.remedies.reading import reading
from tracegen.analysis.remedies.remedy import Remedy, narrowed, remedy
from tracegen.contract.ggml_types import BLOCKS

SMALLER = ("Q4_K", "Q4_0")  # of the same size: the first where it can be, as its blocks are longer
OF_OUTPUT = ("Q6_K", "Q8_0")  # what llama.cpp makes of the matrix of the output then
MOSTLY = 0.8  # of the file: with less in larger types, a smaller file is not like the same file in more memory


def remedies(of: Analyses, phase: Phase, causes: Sequence[Cause]) -> Iterator[Remedy]:
    """A smaller type of weights, where memory bandwidth bounds the operations that read them, or pages were evicted.

    At best such operations take less time in proportion to their bytes; at worst, half of that is gained. What is read
    is simulated: a smaller file in the same memory as the same file in more memory. How fast other kernels compute is
    not predicted.
    """
    matrices = of.tables["tensors"]
    matrices = matrices[(matrices["ne1"].fillna(1) > 1).to_numpy(bool)]
    dtype = next((name for name in SMALLER if (matrices["ne0"] % BLOCKS[name][0] == 0).all()), SMALLER[-1])
    fewer = _bits(dtype)
    saved = sum(
        cause.ns * (1 - fewer / _bits(cause.names["dtype"]))
        for cause in causes
        if cause.key == "memory-bandwidth" and fewer < _bits(cause.names.get("dtype", ""))
    )
    whole, numbers = phase.whole_ns, {}
    low, high = whole - saved, whole - saved / 2
    left = _left(matrices, dtype, float(of.tables["files"]["size_bytes"].sum()))
    model = reading(of, phase) if left and any(cause.key == "evicted" for cause in causes) else None
    if model is not None and left:
        _, low, high = model.with_room(model.room, left)
        low, numbers = low - saved, {"factor": model.factor, "left_bytes": left * model.n_units * model.unit}
    if saved or model is not None:
        yield remedy(phase, "quantisation", narrowed(low, high), numbers=numbers, names={"dtype": dtype})


def _left(matrices: pd.DataFrame, dtype: str, size: float) -> float | None:
    """The share of a file that is left with weights of this type; None where few of its weights have more bits.

    The matrix of the output, which a tied embedding is, keeps more.
    """
    bits = matrices["dtype"].astype("object").map(_bits).astype(float)
    names = matrices["name"].astype(str)
    output = "output.weight" if (names == "output.weight").any() else "token_embd.weight"
    fewer = pd.Series(_bits(dtype), matrices.index)
    fewer = fewer.mask(names == output, _bits(OF_OUTPUT[SMALLER.index(dtype)]))
    larger = (bits > fewer).to_numpy(bool)
    of_larger = matrices["size_bytes"][larger].astype(float)
    if not larger.any() or of_larger.sum() < MOSTLY * size:
        return None
    return 1 - float((of_larger * (1 - fewer[larger] / bits[larger])).sum()) / size


def _bits(dtype: str) -> float:
    """Bits for each weight of a type; 0 where it is not known."""
    elements, size = BLOCKS.get(dtype, (0, 0))
    return size * 8 / elements if elements else 0.0
