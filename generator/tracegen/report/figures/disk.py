"""Whether measured passes of a run could read from the disk."""

import pandas as pd

from tracegen.analysis.speed import total
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.contract.experiment import SETTINGS
from tracegen.contract.facts import PageCache
from tracegen.report.document.cells import Cell, Head, cells
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Rows, Table
from tracegen.report.words import control_sentences
from tracegen.report.words.sentences import OUTSIDE


def _room(context: Context, memory: int | None) -> int | None:
    """Bytes of memory that the run could use: RAM (`memory`) without locked memory, or the run's own limit if less."""
    if memory is None:
        return None
    locked, limit = _locked_and_limit(context)
    left = memory - (locked or 0)
    return min(left, limit) if limit else left


def _locked_and_limit(context: Context) -> tuple[int | None, int | None]:
    """Bytes of memory that were locked beside the program, and those that it was limited to; None: neither."""
    locked, limited = context.facts.conditions.mlock, context.facts.conditions.memory_limit
    return locked.locked_bytes if locked else None, limited.limit_bytes if limited else None


def _pressed(context: Context) -> str:
    """How the run's memory was limited, in words; empty if it was not."""
    locked, limit = _locked_and_limit(context)
    taken = [
        f"{q.size(locked)} were locked meanwhile" if locked else "",
        f"limited to {q.size(limit)}" if limit else "",
    ]
    return f" ({', '.join(filter(None, taken))})" if any(taken) else ""


def _settings(context: Context) -> list[tuple[Cell, ...]]:
    """The rows of settings that decide whether passes can reach the disk."""
    rows = []
    for name, (label, on, off) in ((key, of.reads) for key, of in SETTINGS.items() if of.reads):
        value = context.facts.settings.get(name)
        meaning = (on if value else off) if isinstance(value, bool) else ""
        if name == "prefault" and value is False and context.facts.settings.get("mmap") is False:
            meaning = "The file is not mapped as a whole, so there is nothing to prefault."
        if name == "mmap" and value is False and (lazy := context.facts.trace.n_weights_mapped):
            meaning = (
                f"Weights were read into memory at load, except {q.counted(lazy, 'tensor')} that llama.cpp reads "
                "lazily, from the mapped file."
            )
        rows.append(cells(label, q.yes_no(value), meaning))
    return rows


def _memory(context: Context) -> list[tuple[Cell, ...]]:
    """The rows of the page cache: how much of the file was in memory, and whether all of it fits."""
    file = context.summary.file_bytes or context.facts.model.size_bytes
    rows = []
    cache = context.facts.conditions.page_cache or PageCache()
    for words, cached in (("before the run", cache.before_bytes), ("after the run", cache.after_bytes)):
        share = q.percent(cached / file) if cached is not None and file else q.UNKNOWN
        size = f"{q.size(cached)} of the file’s pages were in memory (mincore)." if cached is not None else ""
        rows.append(cells(f"Page cache {words}", share, size))
    pressed, room = _pressed(context), _room(context, context.facts.host.memory_bytes)
    ratio = f"{q.percent(file / room)} of {'what is left' if pressed else 'RAM'}" if file and room else q.UNKNOWN
    rows += [*_resident(context), *_limit(context)]
    limit = context.facts.conditions.memory_limit
    if limit and limit.times_reached:  # which says more than sizes do
        return rows
    fits = ""
    if file and room:
        fits = " It may stay in memory." if file < room else " It is larger: not all of it can stay in memory."
    return [*rows, cells("File against memory", ratio, f"{q.size(file or None)} of {q.size(room)}{pressed}.{fits}")]


def _resident(context: Context) -> list[tuple[Cell, ...]]:
    """The row of what the program held in memory, where its group was limited: at the end of a pass, the median."""
    table = context.tables["memory"]
    table = table[table["pass_id"].isin(context.measured["pass_id"]).to_numpy(bool)]
    held = {kind: float(of["resident_bytes"].median()) for kind, of in table.groupby("kind", observed=True)}
    if set(held) != {"anon", "group"}:
        return []
    text = (
        f"{q.size(held['anon'])} of its own (heap, buffers as far as they were used, copied weights); the rest is "
        "pages of files, the model’s among them, and the kernel’s. At the end of a measured pass (median)."
    )
    return [cells("Resident memory of the program", q.size(held["group"]), text)]


def _limit(context: Context) -> list[tuple[Cell, ...]]:
    """The rows of the memory limit, and of how much the program takes without it, where that was tried."""
    limit = context.facts.conditions.memory_limit
    if not limit:
        return []
    times = limit.times_reached
    reached = "not recorded" if times is None else q.counted(times, "time") if times else "never"
    peak = f"Peak: {q.size(limit.peak_bytes)}. Limit reached: {reached}."
    rows = [cells("Memory limit", q.size(limit.limit_bytes), peak)]
    control = context.facts.control
    whole = control.without_limit if control else None
    if whole and (more := control_sentences.more_memory(control)) is not None:
        peak = q.size(whole.peak_bytes)
        text = f"{q.size(more)} more than under the limit. So much holds all that the program uses: tried in one run."
        rows.append(cells("Memory without the limit, untraced", peak, text))
    return rows


def _counters(context: Context) -> list[tuple[Cell, ...]]:
    """The rows of bytes that the kernel read from the disk, and of major page faults."""
    summary, passes = context.summary, context.tables["passes"]
    outside = passes[~passes["pass_id"].isin(context.measured["pass_id"])]
    read = "What {} made the kernel read from the disk, read-ahead included; 0 if everything was in memory."
    found = (
        (
            "Read while loading and warming up",
            q.size(summary.read_bytes_outside),
            read.format("load and warm-up passes"),
        ),
        ("Read in measured passes", q.size(summary.read_bytes), read.format("prompt, generate and other passes")),
        (
            "Major page faults while loading and warming up",
            q.count(total(outside["major_faults"])),
            "Page faults of the process in load and warm-up passes that waited for a read of their own.",
        ),
        (
            "Major page faults in measured passes",
            q.count(summary.major_faults),
            "The same in measured passes. A fault whose page was already being read (a minor fault) waits too, but is "
            "not counted here.",
        ),
    )
    refused = context.refusal(needs.STORAGE)
    return [cells(what, "not shown", refused) if refused else cells(what, *shown) for what, *shown in found]


def _waiting(context: Context) -> list[tuple[Cell, ...]]:
    """The row of the time that generate passes waited for the disk; none if it is not known, or a check failed."""
    if not context.run.has_faults or context.refusal((*needs.TIMES, needs.FAULTS)):
        return []
    split = context.of_kind(context.disk_split, "generate")
    whole, waited = float(split["duration_ns"].sum()), float((split["disk_ns"] + split["behind_ns"]).sum())
    paging = float(split["paging_ns"].sum())
    beside = f", {q.percent(paging / whole)} in page faults with no read under way" if whole and paging else ""
    return [
        cells(
            "Generate passes waiting for the disk",
            f"{q.percent(waited / whole)} of their time{beside}" if whole else q.UNKNOWN,
            "Time in page faults of the model file, or behind a thread that has one, while a read of its device was "
            "under way; mean over threads. See the appendix, “What did the disk do?”.",
        )
    ]


def _read_again(context: Context) -> list[tuple[Cell, ...]]:
    """The row of what generate passes read once more; none if requests were not recorded, or a check failed."""
    if not context.run.has_requests or context.refusal((*needs.TIMES, needs.PLACES, needs.REQUESTS)):
        return []
    use = context.of_kind(context.disk_requests, "generate")
    read, again = float(use["page_bytes_read"].sum()), float(use["again_bytes"].sum())
    return [
        cells(
            "Read again in generate passes",
            f"{q.percent(again / read)} of {q.size(read)}" if read else "nothing was read",
            "Bytes of the model that had been read before in this run and were dropped from memory: see the "
            "appendix, “What did the disk do?”.",
        )
    ]


def disk_panel(context: Context) -> Rows:
    """Settings, bytes read from the disk, page cache, and page faults."""
    outside, read, *faults = _counters(context)
    rows = [
        *_settings(context),
        outside,
        read,
        *_memory(context),
        *faults,
        *_waiting(context),
        *_read_again(context),
    ]
    return Rows(
        caption=f"Settings and counters that decide whether a measured pass can reach the disk. {OUTSIDE}",
        head=(Head("What"), Head("Found"), Head("Meaning")),
        rows=rows,
        data=pd.DataFrame([[c.text for c in r] for r in rows], columns=["what", "found", "meaning"]),
    )


DISK = Table(
    key="disk",
    page="method",
    section="disk",
    title="Was this run I/O-bound?",
    content=disk_panel,
    made_by="tracegen.report.figures.disk.disk_panel",
)
