"""The one picture of a comparison: what a prompt and a token of each side touch, wait for and take, on one scale."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from tracegen.analysis import file_tokens
from tracegen.analysis.passes import of_kind
from tracegen.charts import file_plan, theme
from tracegen.charts import file_tokens as chart
from tracegen.comparing.places import same_files
from tracegen.comparing.side import Measured
from tracegen.contract import quantities as q
from tracegen.contract.model import Run
from tracegen.report.figures import needs
from tracegen.report.figures.context import Context
from tracegen.report.figures.file_tokens import Seen, beside, joined, median_passes, seen

TITLE = "What does a token of each side touch, wait for and take?"
KINDS = (("prompt", "prompt"), ("generate", "token"))  # kind of pass, what the picture calls it
SIDES = "AB"


def context_of(run: Measured) -> Context:
    """What the figures of a run are made of."""
    return Context(Run("", 0, run.created, run.checks, run.facts), run.tables())


def nothing(a: Context, b: Context) -> str:
    """Why two runs have no picture; empty if they have one."""
    if not same_files(a.tables, b.tables):
        return "The model files differ: their places cannot be compared."
    for side, of in zip(SIDES, (a, b), strict=True):
        if reason := of.refusal(needs.BYTES):
            return f"{side}: {reason}"
        if of_kind(of.measured, "generate").dropna(subset=["graph", "duration_ns"]).empty:
            return f"{side}: no generate pass has a time."
    return ""


def picture(a: Context, b: Context) -> tuple[pd.DataFrame, Callable[[int], Any]]:
    """The times of the rows (side, pass, n_passes, duration_ns, its parts in ns), and what draws them for a width.

    A row is the passes of one kind of one side: what they touched and read in the mean, the time of the median one.
    """
    contexts = (a, b)
    both = [seen(context) for context in contexts]
    of_passes = [_rows(context, number) for number, context in enumerate(contexts)]
    by_row = pd.concat(
        [median_passes(one.times.merge(of, on="pass_id")) for one, of in zip(both, of_passes, strict=True)]
    )
    by_row = by_row.drop(columns=["n_passes", "label", "is_prompt"]).sort_index().fillna(0.0)
    rows = pd.concat([of.drop(columns="pass_id").drop_duplicates("row") for of in of_passes]).sort_values("row")
    rows = rows.assign(pass_id=rows["row"], short=rows["label"], is_folded=False)
    rows = rows[rows["row"].isin(by_row.index).to_numpy(bool)].reset_index(drop=True)
    data = rows[["row", "label", "n_passes"]].merge(by_row.reset_index(), on="row").drop(columns="row")
    rows["took"] = [q.duration(ns) for ns in by_row["duration_ns"].loc[rows["row"]]]
    for name in ("read", "needed"):
        if any(name in one.sizes for one in both):
            means = rows["row"].map(_means(both, of_passes, name))
            rows[name] = ["" if pd.isna(size) else q.size(size) if size else "–" for size in means]
    return data, partial(_chart, contexts[0], both, of_passes, rows, by_row)


def _rows(context: Context, side: int) -> pd.DataFrame:
    """The passes of a side that are drawn, with their rows: pass_id, row, n_passes, label, is_prompt."""
    frames = []
    for number, (kind, name) in enumerate(KINDS):
        passes = of_kind(context.measured, kind).dropna(subset=["graph"])["pass_id"]
        of = pd.DataFrame({"pass_id": passes.astype("int64"), "row": number * len(SIDES) + side})
        frames.append(of.assign(n_passes=len(of), label=f"{SIDES[side]}: {name}", is_prompt=kind == "prompt"))
    return pd.concat(frames, ignore_index=True)


def _means(both: list[Seen], of_passes: list[pd.DataFrame], name: str) -> pd.Series:
    """The bytes of each row in the mean over its passes; none of a side whose reads are not known."""
    means: list[pd.Series] = []
    for one, of in zip(both, of_passes, strict=True):
        if name in one.sizes or one.has_read_nothing:
            sizes = one.sizes.get(name, pd.Series(dtype="float64"))
            means.append(of["pass_id"].map(sizes).fillna(0).groupby(of["row"]).mean())
    found: pd.Series = pd.concat(means)
    return found


def _chart(
    context: Context,
    both: list[Seen],
    of_passes: list[pd.DataFrame],
    rows: pd.DataFrame,
    by_row: pd.DataFrame,
    width: int,
) -> Any:
    found = file_tokens.parts(context.tables, theme.GROUP_OF, file_plan.most_parts(width))
    at = file_plan.plan(found, width, len(rows), "read" in rows)
    names = joined(by_row.copy())
    touched, waited, ahead = (
        pd.concat(
            [file_tokens.shares(getattr(one, of), passes[["pass_id", "row", "n_passes"]], at.cells)
             for one, passes in zip(both, of_passes, strict=True)]
        )
        for of in ("used", "waits", "read")
    )  # fmt: skip
    times, none = by_row.reset_index(), pd.DataFrame(columns=["cell", "share", "size_bytes"])
    return chart.chart(at, rows, touched, waited, beside(ahead, touched), times, names, none, none)


def caption(a: str, b: str) -> str:
    """What is drawn; `a`, `b`: names of the sides."""
    return (
        "Of the typical run of each side: columns are the model file in its order, each part as wide as the root of "
        "its bytes; right, the time of the median pass, mean of its threads; prompts have a scale of their own. "
        f"A: {a}; B: {b}."
    )
