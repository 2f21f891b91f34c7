"""How fast tokens would be with other amounts of memory: the simulated page cache at several sizes."""

import numpy as np
import pandas as pd

from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import phase_of
from tracegen.analysis.remedies.reading import reading

N_SIZES = 7
COLUMNS = ("memory_bytes", "read_bytes_per_token", "low_tokens_per_second", "high_tokens_per_second")


def memory_speed(of: Analyses) -> pd.DataFrame:
    """Predicted speed of generation by memory for pages of the model, from half of what the run had to all it needs.

    Columns: memory_bytes, read_bytes_per_token (simulated), low_tokens_per_second and high_tokens_per_second (see
    `reading.Reading.with_room`). One size is what the run had. No rows where the run cannot be simulated.
    """
    time = phase_of(of, "generate")
    model = None if time is None else reading(of, time)
    if time is None or model is None:
        return pd.DataFrame(columns=list(COLUMNS), dtype="float64")
    most = max(model.wanted, model.room)
    sizes = sorted({model.room, *np.linspace(model.room / 2, most, N_SIZES).astype(int).tolist()})
    rows = []
    for size in sizes:
        read, low_ns, high_ns = model.with_room(size)
        per_second = (time.n_passes * 1e9 / ns for ns in (high_ns, low_ns))
        rows.append((float(size), read / time.n_passes, *per_second))
    return pd.DataFrame(rows, columns=list(COLUMNS))
