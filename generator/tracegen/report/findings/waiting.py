"""Waiting for the disk: of how many tokens, and for what."""

from collections.abc import Iterator, Mapping

import pandas as pd

from tracegen.analysis import disk_waits
from tracegen.charts import theme
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.disk import DISK
from tracegen.report.figures.disk_waits import DISK_SPLIT
from tracegen.report.figures.file_tokens import FILE_TOKENS
from tracegen.report.figures.shared_disk import CONCERNED
from tracegen.report.findings.computing import OF
from tracegen.report.findings.finding import Finding, Scope

PHASES: Mapping[str, Scope] = {"generate": "generation", "prompt": "prompt"}
MOSTLY = 0.5  # what has this share is named
MUCH = 0.1  # of the time: how long a token would take without waiting is said
LEAST = 0.01  # of the waiting, or of the time: less is not said
SPEND: Mapping[Scope, str] = {"generation": "Generated tokens spend", "prompt": "The prompt spends"}
READ: Mapping[Scope, str] = {"generation": "Generated tokens read", "prompt": "The prompt reads"}
ALONE = 0.2  # of the waiting: a pass that has more of it, and more than twice its part, is named
FEW = 5  # tokens that do not wait: fewer say nothing of how long one takes


def findings(context: Context) -> Iterator[Finding]:
    """Waiting in each phase; what was read, where it is not known how long that took."""
    if context.refusal(needs.STORAGE):
        return
    split_known = disk_waits.recorded(context.tables) and not context.refusal(DISK_SPLIT.needs)
    for kind, scope in PHASES.items():
        split = context.of_kind(context.disk_split, kind)
        waits = split_known and split[["disk_ns", "behind_ns", "paging_ns"]].any(axis=None)
        found = _of_phase(context, split, scope) if waits else _read(context, kind, scope)
        if found is not None:
            yield found


def _of_phase(context: Context, split: pd.DataFrame, scope: Scope) -> Finding:
    """How much of the time of the passes that wait is waiting, for what, and how long the others take."""
    cost = split["disk_ns"] + split["behind_ns"]
    waits = (cost >= CONCERNED * split["duration_ns"]).to_numpy(bool)
    of = split[waits] if waits.any() else split
    whole, waited, paging = (float(x.sum()) for x in (of["duration_ns"], cost[of.index], of["paging_ns"]))
    noun = "token" if scope == "generation" else "pass"
    n, some = int(waits.sum()), 0 < int(waits.sum()) < len(split)
    every = q.counted(len(split), noun)
    faults = Amount(paging / whole, "share")
    if paging and not waited:
        return Finding(
            kind="time",
            text=f"Page faults with no read under way take {faults.text} of the time of {OF[scope]}.",
            amounts=(faults,),
            scope=scope,
            population=every,
            effect=paging / whole,
            part=DISK_SPLIT,
        )
    share = Amount(waited / whole, "share")
    what = _for_what(context, set(of["pass_id"]) if waits.any() else set())
    for_ = "".join(f", {amount.number} of it for {amount.words}" for amount in what)
    if some:
        verb = "waits" if n == 1 else "wait"
        who = f"{q.count(n)} of {every} {verb} for the disk, for {share.text} of their time{for_}."
    else:
        their = "their" if scope == "generation" else "its"
        who = f"{SPEND[scope]} {share.text} of {their} time waiting for the disk{for_}."
    paged = (faults,) if paging >= LEAST * whole else ()
    sentences = [who]
    if paged:
        first = scope == "generation" or not context.summary.n_generate_passes
        why = ": the kernel makes room, prepares a read or maps pages" if first else ""
        sentences.append(f"Another {faults.text} of the time is page faults with no read under way{why}.")
    alone = _one_pass(cost[of.index], of["duration_ns"], noun)
    sentences += [text for text, _ in alone]
    usual, rest = (split.loc[chosen, "duration_ns"].astype("float64") for chosen in (waits, ~waits))
    times: tuple[Amount, ...] = ()
    otherwise = ""
    if scope == "generation" and not some and share.value >= MUCH:
        left = whole - waited - paging * bool(paged)
        times = Amount(left / len(of), "ns"), Amount(whole / len(of), "ns")
        without = "Without both" if paged else "Without waiting for the disk"
        otherwise = f"{without}, a token would take {times[0].text} instead of {times[1].text} in the mean."
    if scope == "generation" and some and len(rest) >= FEW and rest.median() < usual.median():
        times = Amount(float(usual.median()), "ns"), Amount(float(rest.median()), "ns")
        sentences.append(f"A token that waits takes {times[0].text} in the median, one that does not {times[1].text}.")
    return Finding(
        kind="waiting",
        text=" ".join(sentences),
        amounts=(share, *what, *paged, *(amount for _, amounts in alone for amount in amounts), *times),
        scope=scope,
        population=every,
        effect=float(cost.sum()) / float(split["duration_ns"].sum()),
        part=FILE_TOKENS if scope == "prompt" and not context.refusal(FILE_TOKENS.needs) else DISK_SPLIT,
        otherwise=otherwise,
    )


def _one_pass(cost: pd.Series, duration: pd.Series, noun: str) -> list[tuple[str, tuple[Amount, ...]]]:
    """What is said where one pass has much of the waiting, and more than twice its part: its share, and what is left.

    A share that rests on one pass is as likely to be another in the next run.
    """
    whole = float(cost.sum())
    if not whole or cost.max() <= max(ALONE, 2 / len(cost)) * whole:
        return []
    others = cost.index != cost.idxmax()
    amounts = (
        Amount(float(cost.max()) / whole, "share"),
        Amount(float(cost[others].sum() / duration[others].sum()), "share"),
    )
    text = f"One {noun} has {amounts[0].text} of that waiting; without it, the share is {amounts[1].text}."
    return [(text, amounts)]


def _for_what(context: Context, pass_ids: set[int]) -> tuple[Amount, ...]:
    """The tensor, or else the part of the model, that most of the waiting of these passes was for: its share, named."""
    rows = context.attribution
    chosen = rows["pass_id"].isin(pass_ids) & rows["part"].isin(["disk_ns", "behind_ns"])
    rows = rows[chosen.to_numpy(bool)]
    about = context.tables["tensors"].set_index("tensor")
    groups = rows["tensor"].map(about["component"]).astype("object").map(theme.GROUP_OF)
    whole = float(rows["thread_ns"].sum())
    for place, words in ((rows["tensor"], lambda tensor: _tensor(context, tensor, pass_ids)), (groups, str)):
        sums = rows["thread_ns"].groupby(place).sum()
        if len(sums) and sums.max() >= MOSTLY * whole > 0:
            return (Amount(float(sums.max()) / whole, "share", words(sums.idxmax())),)
    return ()


def _tensor(context: Context, tensor: int, pass_ids: set[int]) -> str:
    """A tensor by name; where rows of it are looked up, that they are, or that it is the matrix of the output too."""
    tensors, accessed = context.tables["tensors"].set_index("tensor"), context.accessed
    name = q.printable(str(tensors["name"][tensor]))
    used = accessed[(accessed["tensor"] == tensor).fillna(False).to_numpy(bool) & accessed["pass_id"].isin(pass_ids)]
    if "GET_ROWS" not in set(used["op"]):
        return name
    return f"rows of {name}" if set(used["op"]) == {"GET_ROWS"} else f"{name} (tied: the output matrix too)"


def _read(context: Context, kind: str, scope: Scope) -> Finding | None:
    """What the kernel read, where no page faults were recorded."""
    s = context.summary
    read = context.of_kind(context.measured, kind)["read_bytes"].dropna()
    if s.read_bytes is None or read.empty:
        return None
    n, size = int((read > 0).sum()), Amount(float(read.sum()), "bytes")
    whose = f"{q.count(n)} of {q.counted(len(read), 'token' if kind == 'generate' else 'pass')}"
    some = f" {whose} read anything." if n < len(read) else ""
    return Finding(
        kind="bytes",
        text=f"{READ[scope]} {size.text} from the disk.{some}" if n else f"{READ[scope]} nothing from the disk.",
        amounts=(size,),
        scope=scope,
        population=whose,
        effect=min(float(read.sum()) / s.file_bytes, 1.0) if s.file_bytes else 0.0,
        part=DISK,
    )
