"""Waiting for the disk: of how many tokens, for what, and whether it had been read before."""

from collections.abc import Iterator, Mapping

import pandas as pd

from tracegen.analysis import disk_waits
from tracegen.charts import theme
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.disk import DISK
from tracegen.report.figures.disk_reads import DISK_REQUESTS
from tracegen.report.figures.disk_waits import DISK_SPLIT
from tracegen.report.figures.file_tokens import FILE_TOKENS
from tracegen.report.figures.shared_disk import CONCERNED
from tracegen.report.findings.finding import Finding, Scope

PHASES: Mapping[str, Scope] = {"generate": "generation", "prompt": "prompt"}
MOSTLY = 0.5  # what has this share is named
LEAST = 0.01  # of the waiting, or of the time: less is not said
PAGING = "of the time in page faults with no read under way"
FEW = 5  # tokens that do not wait: fewer say nothing of how long one takes


def findings(context: Context) -> Iterator[Finding]:
    """Waiting in each phase; what was read, where it is not known how long that took."""
    if context.refusal(needs.STORAGE):
        return
    split_known = disk_waits.recorded(context.tables) and not context.refusal(DISK_SPLIT.needs)
    yield from _waits(context) if split_known else _read(context)
    yield from _again(context)


def _waits(context: Context) -> Iterator[Finding]:
    for kind, scope in PHASES.items():
        split = context.of_kind(context.disk_split, kind)
        whole = float(split["duration_ns"].sum())
        if whole:
            yield _of_phase(context, split, scope)


def _of_phase(context: Context, split: pd.DataFrame, scope: Scope) -> Finding:
    """How much of the time of the passes that wait is waiting, and how long the others take."""
    cost = split["disk_ns"] + split["behind_ns"]
    waits = (cost >= CONCERNED * split["duration_ns"]).to_numpy(bool)
    of = split[waits] if waits.any() else split
    passes = of["duration_ns"].astype("float64")
    whole, waited, paging = float(passes.sum()), float(cost[of.index].sum()), float(of["paging_ns"].sum())
    share = waited / whole
    if paging and not waited:
        return Finding(
            kind="time",
            measure="Page faults with no read under way",
            amount=Amount(paging / whole, "share", "of the time"),
            scope=scope,
            population=q.counted(len(of), "pass"),
            effect=paging / whole,
            part=DISK_SPLIT,
        )
    behind = float(of["behind_ns"].sum()) / waited if waited else 0.0
    ids = set(of["pass_id"]) if waits.any() else set[int]()
    noun = "token" if scope == "generation" else "pass"
    n, every = int(waits.sum()), q.counted(len(split), noun)
    some = 0 < n < len(split)
    whose = f"of the time of {q.count(n)} of {every}" if some else "of the time"
    beside = []
    if scope == "generation" and some:
        usual, rest = float(passes.median()), split.loc[~waits, "duration_ns"].astype("float64")
        beside = [Amount(usual, "ns", "for a token that waits, median")]
        beside += (
            [Amount(float(rest.median()), "ns", "for one that does not")]
            if len(rest) >= FEW and rest.median() < usual
            else []
        )
    elif scope == "generation":
        beside = [Amount(float(passes.median()), "ns", "for a token, median")]
    limited = context.facts.conditions.memory_limit
    limit = limited.limit_bytes if limited else None
    beside += [] if limit is None else [Amount(float(limit), "bytes", "of memory allowed")]
    threads = [Amount(behind, "share", "of it for another thread that waits there")] if behind >= LEAST else []
    paged = [Amount(paging / whole, "share", PAGING)] if paging >= LEAST * whole else []
    return Finding(
        kind="waiting",
        measure="Waiting for the disk",
        amount=Amount(share, "share", whose),
        more=(*threads, *_for_what(context, ids), *paged, *_read_before(context, ids)),
        beside=tuple(beside),
        scope=scope,
        population="" if some else every,
        effect=float(cost.sum()) / float(split["duration_ns"].sum()),
        part=FILE_TOKENS if scope == "prompt" and not context.refusal(FILE_TOKENS.needs) else DISK_SPLIT,
    )


def _for_what(context: Context, pass_ids: set[int]) -> list[Amount]:
    """The tensor, or else the part of the model, that most of the waiting of these passes was for."""
    rows = context.attribution
    chosen = rows["pass_id"].isin(pass_ids) & rows["part"].isin(["disk_ns", "behind_ns"])
    rows = rows[chosen.to_numpy(bool)]
    about = context.tables["tensors"].set_index("tensor")
    names = rows["tensor"].map(about["name"]).astype("object")
    groups = rows["tensor"].map(about["component"]).astype("object").map(theme.GROUP_OF)
    whole = float(rows["thread_ns"].sum())
    for place in (names, groups):
        sums = rows["thread_ns"].groupby(place).sum()
        if len(sums) and sums.max() >= MOSTLY * whole > 0:
            return [Amount(float(sums.max()) / whole, "share", f"of it for {q.printable(str(sums.idxmax()))}")]
    return []


def _read_before(context: Context, pass_ids: set[int]) -> list[Amount]:
    """How much of what these passes read had been read before, where that is most of it."""
    if not context.run.has_requests or context.refusal(DISK_REQUESTS.needs):
        return []
    use = context.disk_requests
    use = use[use["pass_id"].isin(pass_ids).to_numpy(bool)]
    read, again = float(use["page_bytes_read"].sum()), float(use["again_bytes"].sum())
    return [Amount(again / read, "share", "of the bytes read had been read before")] if again > MOSTLY * read else []


def _read(context: Context) -> Iterator[Finding]:
    """What the kernel read, where page faults were not recorded."""
    s = context.summary
    for kind, scope in PHASES.items():
        read = context.of_kind(context.measured, kind)["read_bytes"].dropna()
        if s.read_bytes is None or read.empty:
            continue
        n = int((read > 0).sum())
        population = f"{q.count(n)} of {q.counted(len(read), 'token' if kind == 'generate' else 'pass')} read anything"
        yield Finding(
            kind="bytes",
            measure="Read from the disk",
            amount=Amount(float(read.sum()), "bytes"),
            scope=scope,
            population=population,
            effect=min(float(read.sum()) / s.file_bytes, 1.0) if s.file_bytes else 0.0,
            part=DISK,
        )


def _again(context: Context) -> Iterator[Finding]:
    """What became of what generated tokens read."""
    if not context.run.has_requests or context.refusal(DISK_REQUESTS.needs):
        return
    use = context.of_kind(context.disk_requests, "generate")
    read, again, never = (float(use[name].sum()) for name in ("page_bytes_read", "again_bytes", "never_bytes"))
    if not read:
        return
    yield Finding(
        kind="memory",
        measure="Read again after it was dropped from memory",
        amount=Amount(again / read, "share", f"of the {q.size(read)} that were read"),
        beside=(Amount(never / read, "share", "was not used by any operation afterwards"),),
        scope="generation",
        population=q.counted(len(use), "token"),
        effect=again / read,
        part=DISK_REQUESTS,
    )
