"""How much memory is enough: a cache of the mapped file, and what tokens in a row need."""

from collections.abc import Iterator

from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures import caches
from tracegen.report.figures.caches import CACHE_RATES, MIDDLE, TARGET, WORKING_SET
from tracegen.report.figures.context import Context
from tracegen.report.findings.finding import Finding


def findings(context: Context) -> Iterator[Finding]:
    """The memory that serves most repeated uses, and what the next token needs that the one before did not."""
    if caches.nothing(context) or context.refusal(CACHE_RATES.needs):
        return
    file = context.summary.file_bytes or 0
    found = caches.enough(context)
    if found and file:
        share = min(found.lru / file, 1.0)
        below = () if found.below is None else (Amount(found.below, "share", "with any less"),)
        yield Finding(
            kind="memory",
            measure=f"Memory that serves {q.percent(TARGET)} of repeated uses",
            amount=Amount(found.lru, "bytes", "with LRU"),
            more=(Amount(share, "share", "of the file"),),
            beside=(*below, Amount(found.best, "bytes", "at best")),
            scope="measured passes",
            population=q.counted(len(context.measured), "pass"),
            effect=share,
            part=CACHE_RATES,
        )
    one, new, several = (context.windows.of(*of) for of in ((1, "bytes"), (1, "new_bytes"), (MIDDLE, "bytes")))
    if one and new is not None and several and not context.refusal(WORKING_SET.needs):
        yield Finding(
            kind="memory",
            measure="Bytes of a token that the one before did not touch",
            amount=Amount(new, "bytes"),
            more=(Amount(new / one, "share", f"of the {q.size(one)} that it touches"),),
            beside=(Amount(several, "bytes", f"by {q.count(MIDDLE)} in a row"),),
            scope="generation",
            population=q.counted(context.summary.n_generate_passes, "token"),
            effect=new / one,
            part=WORKING_SET,
        )
