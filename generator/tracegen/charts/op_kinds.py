"""Time per token by kind of operation."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tracegen.charts import components, theme


def chart(rows: pd.DataFrame, *, width: int = theme.WIDTHS[-1]) -> Any:
    """Bars of `timing.by(…, "op", …)`: one panel per phase on one scale, longest first."""
    return components.chart(rows, "op", width=width)
