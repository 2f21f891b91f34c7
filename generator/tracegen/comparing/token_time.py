"""What became of the time of a token: its parts as shares of the time of generation, and how many tokens changed."""

from collections.abc import Iterator, Mapping
from statistics import median

from tracegen.analysis.passes import measured, of_kind
from tracegen.analysis.significance import reverse
from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import Compared, Comparison
from tracegen.contract import quantities as q
from tracegen.publishing.side import Measured, Side
from tracegen.report.document.amount import Amount, Said

SPEED, MEDIAN = "tokens_per_second_generate", "token_ns_median"
# Part of the time of a token, with its verb -> its measure.
PARTS: Mapping[str, str] = {
    "Waiting for the disk takes": "disk_wait_ns_per_token",
    "Page faults with no read under way take": "paging_ns_per_token",
    "Waiting for a processor takes": "processor_wait_ns_per_token",
}
LEAST = 0.02  # of the time of generation: a part that changed by less is not named
AS_MUCH = 0.5  # of the largest change: so large a change of another part is named, too
SHOWN = ("different", "interval without zero")


def parts(comparison: Comparison) -> list[Said]:
    """The parts of the time of generation whose share changed most; none of sides with runs of several cells."""
    speed = comparison.known(SPEED)
    if speed is None or speed.several:
        return []
    found = {}
    for words, key in PARTS.items():
        shares = [_share(side, key) for side in (comparison.a, comparison.b)]
        if None not in shares and _is_shown(comparison.known(key)):
            found[words] = [share or 0.0 for share in shares]
    most = max((abs(b - a) for a, b in found.values()), default=0.0)
    said = []
    for words, (a, b) in found.items():
        if abs(b - a) >= max(LEAST, AS_MUCH * most):
            of = Amount(a, "share"), Amount(b, "share")
            said.append(Said(f"{words} {of[0].number} of the time of generation in A and {of[1].number} in B.", of))
    return said


def _is_shown(row: Compared | None) -> bool:
    """Whether a change is one of the rule, or of so few runs that nothing tells how far they lie apart."""
    return row is not None and (row.state in SHOWN or (row.difference is not None and row.difference.low is None))


def _share(side: Side, key: str) -> float | None:
    """What this measure is of the time of generation, in the median over runs; None where a run lacks it."""
    shares = []
    for run in side.runs:
        speed, ns = run.value(SPEED), run.value(key)
        if speed is None or ns is None:
            return None
        shares.append(speed * ns / 1e9)
    return median(shares)


def some_tokens(comparison: Comparison) -> list[Said]:
    """That some tokens changed and most did not, where the mean says one thing and the median another."""
    speed, middle, margin = comparison.known(SPEED), comparison.known(MEDIAN), comparison.margin
    if speed is None or middle is None or speed.several or not speed.a or not speed.b or not middle.a or not middle.b:
        return []
    longer, of_median = speed.a / speed.b - 1, middle.b / middle.a - 1
    same = middle.state in ("equal", "same within the margin") or (
        middle.difference is not None and middle.difference.low is None
    )
    if -reverse(margin) <= longer <= margin or not -reverse(margin) <= of_median <= margin:
        return []
    if not (same and _is_shown(speed)):
        return []
    mean = Amount(abs(longer), "share")
    text = f"The mean token takes {mean.number} {'longer' if longer > 0 else 'shorter'}"
    text += f", the median token is the same within {say.margin_of(margin)}"
    counts = tuple(_changed(comparison))
    if counts:
        n, whole = counts
        text += f": {n.number} of {q.counted(whole.value, 'token')} changed by more"
    return [Said(f"{text}.", (mean, *counts))]


def _changed(comparison: Comparison) -> Iterator[Amount]:
    """How many tokens of the typical runs changed by more than the margin, and of how many; nothing without pairs."""
    a, b = (_times(side.typical) for side in (comparison.a, comparison.b))
    if a and len(a) == len(b):
        m = comparison.margin
        yield Amount(sum(not -reverse(m) <= y / x - 1 <= m for x, y in zip(a, b, strict=True)), "")
        yield Amount(len(a), "")


def _times(run: Measured) -> list[float]:
    """How long each generate pass took, in their order; nothing where one has no end."""
    times = of_kind(measured(run.tables()), "generate")["duration_ns"]
    return [] if times.isna().any() else times.astype("float64").tolist()
