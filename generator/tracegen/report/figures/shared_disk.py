"""What the figures of waiting for the disk share: which runs have them, and what a page fault is."""

from collections.abc import Mapping
from functools import partial

import pandas as pd

from tracegen.contract import needs
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Figure, Table, When


def _has_faults(context: Context) -> bool:
    faults = context.tables["faults"]
    return context.run.has_faults and bool(faults["pass_id"].isin(context.measured["pass_id"]).any())


RECORDED = When("a run that recorded page faults (faults = true)", lambda context: context.run.has_faults)
FAULTS = When(
    "a run that recorded page faults of its passes (faults = true), if there were any",
    _has_faults,
)
REQUESTED = When("a run that recorded the requests of devices (disk = true)", lambda context: context.run.has_requests)
FAULTED = (*needs.TIMES, needs.PLACES, needs.FAULTS)
fault_figure = partial(Figure, section="disk", needs=FAULTED, when=FAULTS)
fault_table = partial(Table, section="disk", needs=FAULTED, when=FAULTS)
request_table = partial(Table, section="disk", needs=(*needs.TIMES, needs.REQUESTS), when=REQUESTED)
PHASES = {"generate": "generate passes", "prompt": "the prompt"}
CONCERNED = 0.05  # a token waits for the disk where this share of its time goes to it
_LEAST_SHARE = 0.05  # of what the prompt reads: below it, generate passes read next to nothing


def phase_shown(read_bytes: Mapping[str, float]) -> str:
    """The phase that an answer is about: generate passes, unless the prompt read nearly all of `read_bytes`."""
    generate, prompt = (read_bytes.get(phase, 0.0) for phase in PHASES)
    return "generate" if generate and generate >= _LEAST_SHARE * prompt else "prompt"


def read_bytes(context: Context, pass_ids: pd.Series) -> int | None:
    """Bytes that the process read from the disk in these passes; None where it is not known."""
    read = context.measured.loc[context.measured["pass_id"].isin(pass_ids).to_numpy(bool), "read_bytes"]
    return None if read.empty or bool(read.isna().any()) else int(read.sum())
