"""What drafting gains and takes, where tokens are drafted and verified."""

from collections.abc import Iterator

import pandas as pd

from tracegen.analysis import speculation
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.speculation import SPECULATION
from tracegen.report.findings.finding import Finding

MOSTLY = 0.5  # of the time of measured passes


def findings(context: Context) -> Iterator[Finding]:
    """How long a token takes, what a batch gains, and where drafts make tokens slower, that."""
    if context.refusal(SPECULATION.needs):
        return
    table = context.rounds.dropna(subset=["n_gained"])
    drafted = table[table["n_drafted"].gt(0).to_numpy(bool)]
    token_ns, accepted = speculation.token_ns(table), speculation.accepted_share(table)
    if token_ns is None or accepted is None:
        return
    whole = int(table["round_ns"].sum())
    tokens, gained = float(drafted["n_drafted"].mean() + 1), float(drafted["n_gained"].mean())
    token, of_drafted = Amount(token_ns, "ns"), Amount(accepted, "share")
    drafting, verifying = (Amount(int(table[f"{part}_ns"].sum()) / whole, "share") for part in ("draft", "verify"))
    some = f"{of_drafted.text} of the drafted ones are" if accepted else "none of the drafted ones is"
    text = (
        f"A token takes {token.text}: a verified batch of {tokens:.1f} tokens gains {gained:.1f}, as {some} accepted. "
        f"Verifying takes {verifying.text} of this time, drafting {drafting.text}."
    )
    used = context.facts.model.n_experts_used
    if used and drafted["experts"].notna().any():
        text += f" A batch chooses {drafted['experts'].mean():.1f} experts of a layer, a single token {q.count(used)}."
    share = whole / max(int(context.measured["duration_ns"].sum()), whole)
    yield Finding(
        kind="time",
        text=text,
        amounts=(token, *((of_drafted,) if accepted else ()), verifying, drafting),
        scope="measured passes",
        population=q.counted(len(table), "verified batch", "verified batches"),
        effect=1.0 if share >= MOSTLY else share,  # of most of a run it explains all
        part=SPECULATION,
        otherwise=_without(token_ns, table),
    )


def _without(token_ns: float, table: pd.DataFrame) -> str:
    """How long a token would take without drafts, and what follows."""
    single, (least, most) = speculation.single_ns(table), speculation.bounds_ns(table)
    if single is not None:
        makes = "slower" if token_ns > single else "faster"
        return f"Steps without drafts take {q.duration(single)}: drafts make tokens {makes} here."
    if token_ns > most:
        return f"Without drafts a token would take at most {q.duration(most)}: drafts make tokens slower here."
    between = f"between {q.duration(least)} and {q.duration(most)}"
    return f"Without drafts a token would take {between}; a run without them says whether they make tokens faster."
