"""Which passes a statistic may count: load and warm-up stand outside all of them."""

from __future__ import annotations

from collections import Counter

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
    inside = passes[~passes["kind"].isin(OUTSIDE).to_numpy()]
    return inside.sort_values("pass_id", ignore_index=True)


def labels(tables: Tables) -> dict[int, str]:
    """What pages call each pass: `token 3`, `prompt, ubatch 0`, `warm-up`, `load`; no two of a run alike."""
    made: dict[int, str] = {}
    for row in tables["passes"].to_dict("records"):
        number = int(row["pass_id"])
        kind = "pass" if pd.isna(row["kind"]) else str(row["kind"])
        if kind in OUTSIDE:
            made[number] = {"load": "load", "warmup": "warm-up"}[kind]
        elif pd.notna(row["produced_token"]):
            made[number] = f"{'prompt → ' if kind == 'prompt' else ''}token {row['produced_token']}"
        elif kind == "prompt" and pd.notna(row["ubatch"]):
            made[number] = f"{kind}, ubatch {row['ubatch']}"
        else:
            made[number] = f"{kind} (pass {number})"
    often = {label for label, n in Counter(made.values()).items() if n > 1}
    return {number: f"{label} (pass {number})" if label in often else label for number, label in made.items()}
