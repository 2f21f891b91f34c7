"""What a program has allocated, for tables that have samples of its memory."""

from collections.abc import Mapping

import pandas as pd

from tracegen.contract.tables import frame

MIB = 1 << 20
KEPT = "_Znwm@libstdc++.so.6 < _ZN5cache4keepEm@server < _ZN6server6answerEv@server < server+0x10"
BUFFER = "ggml_aligned_malloc@libggml-base.so < ggml_new@libggml-base.so < _ZN7contextC1Ev@libllama.so"


def with_allocations(tables: Mapping[str, pd.DataFrame], each_bytes: int = 4 * MIB) -> dict[str, pd.DataFrame]:
    """The same tables: at each sample one more block of this size is kept, beside a buffer and 100 small blocks."""
    rows = []
    for sample in sorted(tables["footprint"]["sample"].unique()):
        kept = int(sample) + 1
        size_class = each_bytes.bit_length() - 1
        each = [
            dict(kind="size", size_class=5, n_live=100, live_bytes=4_000),
            dict(kind="size", size_class=size_class, n_live=kept, live_bytes=kept * each_bytes),
            dict(kind="size", size_class=25, n_live=1, live_bytes=40 * MIB),
            dict(kind="calls", calls=BUFFER, n_live=1, live_bytes=40 * MIB, n_all=1),
            dict(kind="calls", calls=KEPT, n_live=kept, live_bytes=kept * each_bytes, n_all=kept + 2),
        ]
        rows += [dict(row, sample=int(sample), part=part) for part, row in enumerate(each)]
    return {**tables, "allocations": frame("allocations", rows)}
