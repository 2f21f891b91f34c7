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
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.contract.model import Run
from tracegen.publishing.side import Measured
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.file_tokens import Seen, beside, joined, median_passes, seen

TITLE = "What does a token of each side touch, wait for and take?"
CAPTION = (
    "Of the typical run of each side the prompt and the token that took the median time. Columns: the model file in "
    "its order, each part as wide as the root of its bytes. Right: times, mean of threads; prompts have a scale of "
    "their own."
)
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

    A row is one pass: of those of one kind of one side the one that took the median time.
    """
    contexts = (a, b)
    both = [seen(context) for context in contexts]
    typical = [
        median_passes(one.times.merge(_rows(context, number), on="pass_id")).reset_index()
        for number, (context, one) in enumerate(zip(contexts, both, strict=True))
    ]
    table = pd.concat(typical).sort_values("row", ignore_index=True, kind="stable")
    named = ["label", "n_passes", "is_prompt"]
    by_row = table.drop(columns=["pass_id", *named]).set_index("row").fillna(0.0)
    rows = table[["row", *named]].assign(pass_id=table["row"], short=table["label"], is_folded=False)
    rows["took"] = [q.duration(ns) for ns in table["duration_ns"]]
    for name in ("read", "needed"):
        if any(name in one.sizes for one in both):
            found = pd.concat([_sizes(one, of, name) for one, of in zip(both, typical, strict=True)])
            sizes = rows["row"].map(found)
            rows[name] = ["" if pd.isna(size) else q.size(int(size)) if size else "–" for size in sizes]
    data = rows[["label", "n_passes"]].join(by_row.reset_index(drop=True))
    return data, partial(_chart, contexts[0], both, typical, rows, by_row)


def tokens(data: pd.DataFrame) -> tuple[Amount, ...]:
    """How long the token of each side took; `data`: the rows of `picture`."""
    took = data.set_index("label")["duration_ns"]
    return tuple(Amount(float(took[f"{side}: token"]), "ns", f"for a token of {side}") for side in SIDES)


def _rows(context: Context, side: int) -> pd.DataFrame:
    """The passes of a side and the rows that they may stand for: pass_id, row, n_passes, label, is_prompt."""
    frames = []
    for number, (kind, name) in enumerate(KINDS):
        passes = of_kind(context.measured, kind).dropna(subset=["graph"])["pass_id"]
        of = pd.DataFrame({"pass_id": passes.astype("int64"), "row": number * len(SIDES) + side})
        frames.append(of.assign(n_passes=len(of), label=f"{SIDES[side]}: {name}", is_prompt=kind == "prompt"))
    return pd.concat(frames, ignore_index=True)


def _sizes(one: Seen, typical: pd.DataFrame, name: str) -> pd.Series:
    """The bytes of each row of a side; none where its reads are not known."""
    known = one.sizes.get(name, pd.Series(dtype="float64"))
    sizes = typical.set_index("row")["pass_id"].map(known).fillna(0)
    return sizes if name in one.sizes or one.has_read_nothing else sizes.iloc[:0]


def _chart(
    context: Context,
    both: list[Seen],
    typical: list[pd.DataFrame],
    rows: pd.DataFrame,
    by_row: pd.DataFrame,
    width: int,
) -> Any:
    found = file_tokens.parts(context.tables, theme.GROUP_OF, file_plan.most_parts(width))
    at = file_plan.plan(found, width, len(rows), "read" in rows)
    names = joined(by_row.copy())
    touched, waited, ahead = (
        pd.concat(
            [
                file_tokens.shares(getattr(one, of), passes[["pass_id", "row"]].assign(n_passes=1), at.cells)
                for one, passes in zip(both, typical, strict=True)
            ]
        )
        for of in ("used", "waits", "read")
    )
    unused, times = beside(ahead, touched), by_row.reset_index()
    return chart.chart(chart.Picture(at, rows, touched, waited, unused, times, names))
