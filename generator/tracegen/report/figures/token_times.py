"""How long each generated token took."""

from __future__ import annotations

import pandas as pd

from tracegen.charts import tokens
from tracegen.contract import quantities as q
from tracegen.report.figures import needs
from tracegen.report.figures.context import Context
from tracegen.report.figures.explanation import Explanation
from tracegen.report.figures.figure import Content, Figure, Values
from tracegen.report.words import sentences


def _content(context: Context) -> Content:
    """The time that each generated token took."""
    m = context.measured
    rows = m[(m["kind"] == "generate").to_numpy()].dropna(subset=["produced_token", "duration_ns"])
    rows = rows[
        [
            "produced_token",
            "pass_id",
            "duration_ns",
            "n_tokens",
            "major_faults",
            "minor_faults",
            "read_bytes",
            "run_delay_ns",
            "involuntary_switches",
        ]
    ]
    known = q.known(context.summary.prompt_ns)
    took = f", which took {q.duration(context.summary.prompt_ns)}" if known else ""
    return Content(
        title=sentences.token_times(rows["duration_ns"].astype(float).tolist()),
        caption=f"Wall time of each generate pass, from its begin to its end, waiting included. Token 0 comes from the "
        f"prompt{took}, and is not drawn. n = {len(rows)}. Sampling between passes is left out.",
        alt=f"Pass duration per generated token, {len(rows)} tokens, median "
        f"{q.duration(rows['duration_ns'].median() if len(rows) else None)}.",
        chart=lambda width: tokens.chart(rows, width=width),
        data=rows,
        values=_values(rows["duration_ns"].astype(float)),
        empty=""
        if len(rows)
        else "When the generate passes ended was not recorded, so they have no duration."
        if context.summary.n_generate_passes
        else "This run has no generate pass: one token was asked for, and the prompt gave it."
        if context.summary.n_prompt_passes
        else "This run has no generate pass.",
    )


def _values(times: pd.Series) -> Values:
    """Median and 95th percentile (between neighbours: linear) of the time of a generated token."""
    if times.empty:
        return {}
    named = {"token_ns_median": float(times.median()), "token_ns_p95": float(times.quantile(0.95))}
    return {key: (ns, "ns", q.duration(ns)) for key, ns in named.items()}


TOKENS = Figure(
    key="tokens",
    page="overview",
    section="more-time",
    title="How long does each token take?",
    needs=needs.TIMES,
    content=_content,
    explanation=Explanation(
        "The duration of each generate pass, from its begin to its end, waiting included. The CSV also has its page "
        "faults, bytes read from the disk, time without a processor and forced context switches.",
        "Generate passes whose generated token is known. Token 0 comes from the prompt and is not drawn; sampling "
        "between passes is left out.",
        "The dashed line is the median. A single long bar often comes from the disk or from another program: look at "
        "its bytes read, faults and run delay in the data. A slow rise may come from the growing KV cache; a step in "
        "the middle does not.",
        code="""
rows = run.passes[run.passes["kind"] == "generate"].sort_values("pass_id")
rows = rows.assign(duration_ns=rows["end_ns"] - rows["begin_ns"]).dropna(subset=["produced_token", "duration_ns"])
data = rows[["produced_token", "pass_id", "duration_ns", "n_tokens", "major_faults", "minor_faults", "read_bytes",
             "run_delay_ns", "involuntary_switches"]]
""",
    ),
)
