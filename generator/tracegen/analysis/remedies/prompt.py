"""What would make a prompt faster that was computed in several passes: one pass reads the model once."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from tracegen.analysis import buffers, requests
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Cause, Phase
from tracegen.analysis.remedies.reading import Reading, reading
from tracegen.analysis.remedies.remedy import Remedy, narrowed, remedy

WAITING = {"unused-reads", "evicted", "first-reads"}


def remedies(of: Analyses, phase: Phase, causes: Sequence[Cause]) -> Iterator[Remedy]:
    """The largest prompt in one pass, where it took several.

    What one pass would read is simulated. Its buffers of intermediate results grow with it, and leave less memory for
    pages of the model. At best, operations that memory bandwidth bounds take as long as they do for one of the passes;
    at worst, as long as they did.
    """
    passes = of.of_kind(of.tables["passes"], "prompt").dropna(subset=["call", "n_tokens"])
    sizes = passes["n_tokens"].astype("int64").groupby(passes["call"])
    n = int(sizes.size().max()) if len(passes) else 0
    if phase.name != "prompt" or n < 2:
        return
    tokens = int(sizes.sum()[sizes.size() == n].max())
    bound = sum(cause.ns for cause in causes if cause.key == "memory-bandwidth") * (1 - 1 / n)
    model = reading(of, phase) if WAITING & {cause.key for cause in causes} else None
    low = high = phase.whole_ns
    numbers = {"n_passes": float(n), "n_tokens": float(tokens)}
    if model is not None:
        room = max(model.room - _grown(of, tokens), model.unit)
        size = _joined(of, model).simulated(room, model.ahead)
        low, high = model.phase_ns(size, model.ahead)
        numbers["factor"] = model.factor
    yield remedy(phase, "ubatch", narrowed(low - bound, high), ({"ubatch": tokens},), numbers)


def _joined(of: Analyses, model: Reading) -> Reading:
    """The run as if the passes of a call had been one: the first of them."""
    passes = of.of_kind(of.tables["passes"], "prompt").dropna(subset=["call"])
    first = passes.groupby("call")["pass_id"].transform("min")
    one = dict(zip(passes["pass_id"].tolist(), first.tolist(), strict=True))
    used = of.used.assign(pass_id=of.used["pass_id"].replace(one))
    return replace(model, passes=requests.touched_by_pass(of.tables, model.unit, used)[0])


def _grown(of: Analyses, n_tokens: int) -> int:
    """Bytes by which buffers of intermediate results grow for passes of so many tokens: in proportion to them."""
    peaks, now = buffers.peaks(of.tables), of.tables["contexts"]["n_ubatch"].max()
    size = int(peaks.loc[(peaks["group"] == "compute").to_numpy(bool), "peak_bytes"].sum())
    return 0 if pd.isna(now) or not now else round(size * (n_tokens / int(now) - 1))
