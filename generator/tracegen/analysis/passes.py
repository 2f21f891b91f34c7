"""Which passes statistics count: all but load and warm-up."""

from collections import Counter

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables

OUTSIDE = ("load", "warmup")


def with_duration(tables: Tables) -> pd.DataFrame:
    """All passes with `duration_ns` (end - begin; null when the end was not recorded)."""
    passes = tables["passes"]
    return passes.assign(duration_ns=passes["end_ns"] - passes["begin_ns"].astype("Int64"))


def measured(tables: Tables) -> pd.DataFrame:
    """The passes that statistics count: all but load and warm-up, in order, with `duration_ns`."""
    passes = with_duration(tables)
    order = np.argsort(passes["pass_id"].to_numpy("int64"), kind="stable")
    inside = ~passes["kind"].isin(OUTSIDE).to_numpy(bool)
    return passes.take(order[inside[order]]).reset_index(drop=True)


def of_kind(passes: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Those of the passes that are of a kind; a pass of unknown kind is not."""
    return passes[(passes["kind"] == kind).fillna(False).to_numpy(bool)]


def median_pass(passes: pd.DataFrame) -> int:
    """The pass of median length: of an even number the shorter one of two, of equals the first."""
    ordered = passes.sort_values(["duration_ns", "pass_id"])
    return int(ordered["pass_id"].iloc[(len(ordered) - 1) // 2])


def labels(tables: Tables) -> dict[int, str]:
    """The name of each pass on pages: `token 3`, `prompt, ubatch 0`, `warm-up`, `load`; unique within a run."""
    passes = tables["passes"]
    known = (passes[name].astype("object") for name in ("pass_id", "kind", "produced_token", "ubatch"))
    columns = (column.where(column.notna(), None) for column in known)
    names = {number: _label(number, kind, token, ubatch) for number, kind, token, ubatch in zip(*columns, strict=True)}
    often = {label for label, n in Counter(names.values()).items() if n > 1}
    return {number: f"{label} (pass {number})" if label in often else label for number, label in names.items()}


def _label(number: int, kind: str | None, token: int | None, ubatch: int | None) -> str:
    if kind in OUTSIDE:
        return {"load": "load", "warmup": "warm-up"}[kind]
    if token is not None:
        return f"{'prompt → ' if kind == 'prompt' else ''}token {token}"
    if kind == "prompt" and ubatch is not None:
        return f"{kind}, ubatch {ubatch}"
    return f"{kind or 'pass'} (pass {number})"
