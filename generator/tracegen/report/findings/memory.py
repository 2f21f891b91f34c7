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
        lru, share = Amount(found.lru, "bytes"), Amount(min(found.lru / file, 1.0), "share")
        best, less = Amount(found.best, "bytes"), None if found.below is None else Amount(found.below, "share")
        target = q.percent(TARGET)
        with_less = "" if less is None else f" With any less it serves {less.text} at most."
        yield Finding(
            kind="memory",
            text=f"To serve {target} of repeated uses, an LRU cache of the file needs {lru.text}, {share.text} of it."
            f"{with_less} No cache does so with less than {best.text}.",
            amounts=(lru, share, *(() if less is None else (less,)), best),
            scope="measured passes",
            population=q.counted(len(context.measured), "pass"),
            effect=share.value,
            part=CACHE_RATES,
        )
    one, new, several = (context.windows.of(*of) for of in ((1, "bytes"), (1, "new_bytes"), (MIDDLE, "bytes")))
    if one and new is not None and several and not context.refusal(WORKING_SET.needs):
        touched, fresh = Amount(one, "bytes"), Amount(new, "bytes")
        row = Amount(several, "bytes")
        yield Finding(
            kind="memory",
            text=f"Of the {touched.text} that a token touches, the token before did not touch {fresh.text}. "
            f"{q.counted(MIDDLE, 'token')} in a row touch {row.text}.",
            amounts=(fresh, touched, row),
            scope="generation",
            population=q.counted(context.summary.n_generate_passes, "token"),
            effect=new / one,
            part=WORKING_SET,
        )
