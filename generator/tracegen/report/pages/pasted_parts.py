"""What the pasted lines about a run say: of bytes, the page cache, loading, operations or the disk.

Each function returns blocks of Markdown. Tables are those of the pages, with fewer columns and rows.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from tracegen.analysis import passes, routing, timing, weights
from tracegen.charts import theme
from tracegen.contract import quantities as q
from tracegen.contract.text import text_of
from tracegen.report.figures import columns as col
from tracegen.report.figures import needs
from tracegen.report.figures.buffers import BUFFER_PEAKS
from tracegen.report.figures.cells import Cell, size
from tracegen.report.figures.disk import DISK
from tracegen.report.figures.disk_reads import DISK_DEVICE, DISK_REQUESTS, DISK_SIZES
from tracegen.report.figures.disk_waits import DISK_SPLIT, DISK_TENSORS
from tracegen.report.figures.expert_shares import EXPERTS_LOAD
from tracegen.report.figures.figure import Part, Table
from tracegen.report.figures.residency import RESIDENCY
from tracegen.report.figures.shared_experts import no_choice
from tracegen.report.figures.tensors import BIGGEST_TENSORS, TENSOR_GROUPS
from tracegen.report.figures.times import OP_KINDS
from tracegen.report.figures.top_operations import TOP_OPERATIONS
from tracegen.report.pages.collector import Collector
from tracegen.report.pages.key_figures import key_figures
from tracegen.report.words import markdown as md
from tracegen.report.words import sentences

# Rows of tables: with them, no text has more than 40 lines.
MOST_GROUPS, MOST_NAMES, MOST_EXPERTS, MOST_KINDS, MOST_OPS, MOST_MEASURED, MOST_WAITS = 6, 4, 3, 8, 10, 4, 5
REFUSED = "not shown, because a check failed (see the verdict)"
PHASES = {"load": "load", "warmup": "warm-up", "prompt": "prompt", "generate": "generation"}
# Rows of the table of the disk whose third column has the bytes to the share in the second.
WITH_BYTES = ("Page cache before the run", "Page cache after the run", "File against memory")


def hot(context: Collector) -> list[str]:
    """Which bytes a token touches: how many, of which parts of the model, of which tensors and experts."""
    each = "pass" if context.embeddings else "token"
    lines = [
        *_key_figures(context, f"weight_bytes_per_{each}", "touched_share"),
        *_findings(context, EXPERTS_LOAD),
    ]
    return [_listed(lines), _groups(context), _names(context), _experts(context)]


def cache(context: Collector) -> list[str]:
    """Whether passes read from the disk: the page cache, residency, bytes read, and page faults."""
    lines = [*_findings(context, DISK, DISK_SPLIT, DISK_REQUESTS), _residency(context)]
    rows = [[cell.text for cell in row] for row in context.table(DISK).rows]
    shown = [
        (md.prose(what), md.prose(f"{found}: {meaning}" if what in WITH_BYTES and meaning else found))
        for what, found, meaning in rows[4:]  # the first four are settings, which the second line has
    ]
    return [_listed(lines), md.table((("what", False), ("found", False)), shown)]


def load(context: Collector) -> list[str]:
    """How long loading and warming up took and what they read, what was copied, and the peaks of the buffers."""
    own, warmed = context.fact("llama_cpp", "timings", "load_ms"), context.fact("settings", "warmup")
    counted = "" if warmed is True else " (without a warm-up it includes the prompt)"
    reported = f"{text_of(own)} ms{counted}" if isinstance(own, int | float) else "not recorded"
    lines = [
        f"load time as llama.cpp reports it: {reported}",
        *_copied(context),
        *_key_figures(context, "peak_buffer_bytes"),
    ]
    peaks = _of_page(context, BUFFER_PEAKS, {"Group": "buffers", "Allocations": "", "Peak": "peak, MiB"}, range(8))
    return [_phases(context), _listed(lines), peaks]


def ops(context: Collector) -> list[str]:
    """Which kinds of operation and which operations take the time."""
    first = f"operations that took most time, {context.phase}"
    columns = {
        "Result": first,
        "Operation": "op",
        "Layer": "",
        "Component": "",
        "Share": "share of operations’ time",
        "Wall time": "mean, µs",
        "n": "",
    }
    return [_op_kinds(context), _of_page(context, TOP_OPERATIONS, columns, range(MOST_OPS))]


def disk(context: Collector) -> list[str]:
    """How long tokens waited for the disk, what it was asked for, and what it can do."""
    lines = _findings(context, DISK, DISK_SPLIT, DISK_REQUESTS)
    if not context.run.has_faults:
        lines.append("waits for the disk: not recorded (`faults = true` records them)")
    elif context.refusal((*DISK_SPLIT.needs, *needs.STORAGE)):
        lines.append(f"waits for the disk: {REFUSED}")
    titles = [context.table(part).title for part in (DISK_DEVICE, DISK_SIZES) if _shown(context, part)]
    lines += [md.prose(q.ended(title)) for title in titles if not title.endswith("?")]
    if not context.run.has_requests:
        lines.append("requests: not recorded (`disk = true` records them)")
    elif not context.fact("device", "measurements"):
        lines.append("what the device can do at most: not recorded")
    waits = {
        "Tensor": "waited for longest",
        "Page faults": "",
        "of them major": "",
        "Waited": "waited, ms",
        "Share of waiting": "",
        "Used in": "",
    }
    return [
        _listed(lines),
        _sizes(context),
        _of_page(context, DISK_TENSORS, waits, range(MOST_WAITS)),
    ]


def _sizes(context: Collector) -> str:
    """What the device was asked for in each phase, then the fastest of what was measured on it before the run."""
    measured = context.fact("device", "measurements") or ()
    what = "requests (device: measured before the run)" if measured else "requests"
    columns = {
        "What": what,
        "Requests": "n",
        "Mean size": "mean size, KiB",
        "Queue depth": "",
        "Rate": "rate, MiB/s",
        "Median duration": "median, µs",
    }
    n_phases = len(context.table(DISK_SIZES).rows) - len(measured) if _shown(context, DISK_SIZES) else 0
    rates = {n_phases + at: float(m["bytes_per_second"]) for at, m in enumerate(measured)}
    fastest = sorted(rates, key=lambda at: -rates[at])[:MOST_MEASURED]
    return _of_page(context, DISK_SIZES, columns, rows=[*range(n_phases), *fastest])


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {text}" for text in lines)


def _key_figures(context: Collector, *keys: str) -> list[str]:
    """Key figures of the overview with their notes: `6.10 MiB of weights touched per token (median, …)`."""
    by_key = {figure.key: figure for figure in key_figures(context)}
    lines = []
    for figure in (by_key[key] for key in keys):
        refused = context.refusal(figure.needed)
        label, text, note = (md.prose(words) for words in (figure.label, figure.text, figure.note))
        counted = figure.text[:1].isdigit() or figure.text[:1] in ("<", ">")
        said = f"{text} {label}" if counted else f"{label.removeprefix('of ')}: {text}"
        lines.append(f"{label.removeprefix('of ')}: {REFUSED}" if refused else f"{said} ({note})")
    return lines


def _findings(context: Collector, *parts: Part) -> list[str]:
    """The findings of the overview that these figures and tables show."""
    return [md.prose(finding.text) for finding in context.findings if finding.part in parts]


def _shown(context: Collector, part: Part) -> bool:
    """Whether the run has a figure or table, and no check that it needs failed."""
    return part.when.holds(context) and not context.refusal(part.needs)


def _of_page(context: Collector, part: Table, columns: Mapping[str, str], rows: Sequence[int]) -> str:
    """These rows of a table of a page, as far as it has them.

    `columns`: its label there -> its head here (empty: the same label in small letters).

    Empty for a run that does not have the table.
    """
    if not part.when.holds(context):
        return ""
    first = md.prose(next(iter(columns.values())))
    if context.refusal(part.needs):
        return f"{first[:1].upper()}{first[1:]}: {REFUSED}."
    view = context.table(part)
    if not view.rows:
        return f"{first[:1].upper()}{first[1:]}: {md.prose(view.reason)}"
    wanted = [at for at, head in enumerate(view.head) if head.label in columns]
    heads = [(columns[view.head[at].label] or view.head[at].label.lower(), view.head[at].number) for at in wanted]
    taken = [view.rows[number] for number in rows if number < len(view.rows)]
    return md.table(
        heads,
        [[md.code(row[at].text) if row[at].code else md.prose(row[at].text) for at in wanted] for row in taken],
    )


def _table(rows: pd.DataFrame, *columns: col.Column) -> str:
    """A table with a row for each row of an analysis; its texts are Markdown already."""
    head, cells = col.laid_out(rows, *columns)
    return md.table([(of.label, of.number) for of in head], [[cell.text for cell in row] for row in cells])


def _mib(context: Collector, value: object) -> str:
    """Bytes in MiB as tables of pages have them; an unknown number of a private run is withheld."""
    if not q.known(value) and context.private:
        return "withheld"
    text = size(value).text
    return "< 0.001" if text == "0.000" else text


def _per(context: Collector) -> str:
    """What a mean is taken over: `per token`, or `per prompt pass`."""
    return "per token" if context.phase == "generate" else "per prompt pass"


def _groups(context: Collector) -> str:
    """Bytes per token by part of the model, and how much of each was touched at all."""
    if context.refusal(TENSOR_GROUPS.needs):
        return f"Bytes by part of the model: {REFUSED}."
    ids = context.phase_passes
    touched = weights.touched_by_group(context.ops, ids, theme.GROUP_OF)
    if not len(ids) or touched.empty:
        return "Bytes by part of the model: not recorded."
    at = {row[0].text: row for row in context.table(TENSOR_GROUPS).rows}  # group, tensors, size, …, touched once
    nothing = [Cell("")] * 3
    return _table(
        touched.head(MOST_GROUPS),
        col.text(f"touched {_per(context)}, mean of {q.counted(len(ids), 'pass')}", lambda r: str(r["group"])),
        col.number("weights, MiB", lambda r: _mib(context, r["weight_bytes"])),
        col.number("buffers, MiB", lambda r: _mib(context, r["buffer_bytes"])),
        col.number("in the file, MiB", lambda r: at.get(r["group"], nothing)[2]),
        col.number("touched at least once", lambda r: at.get(r["group"], nothing)[-1]),
    )


def _names(context: Collector) -> str:
    """The weights of which a token touches most bytes, layers together."""
    if context.refusal(BIGGEST_TENSORS.needs):
        return ""  # as the table of parts says already
    ids = context.phase_passes
    touched = weights.touched_by_name(context.accessed, context.tables["tensors"], ids)
    if not len(ids) or touched.empty:
        return ""
    return _table(
        touched.head(MOST_NAMES),
        col.text(f"weights touched most {_per(context)}", lambda r: md.code(str(r["name"]))),
        col.count("tensors", "n_tensors"),
        col.text("type", lambda r: md.code(str(r["dtype"]), 20) if q.known(r["dtype"]) else "not known"),
        col.number("in the file, MiB", lambda r: _mib(context, r["size_bytes"])),
        col.number("touched, MiB", lambda r: _mib(context, r["bytes_per_pass"])),
    )


def _experts(context: Collector) -> str:
    """The experts that got the largest shares of their layers' choices; empty for a dense model."""
    if not EXPERTS_LOAD.when.holds(context):
        return ""
    if context.refusal(EXPERTS_LOAD.needs):
        return f"Chosen experts: {REFUSED}."
    if reason := no_choice(context):
        return f"Chosen experts: {md.prose(reason)}"
    ranked = routing.ranked(context.choice.counts)
    ranked = ranked.sort_values(["share", "layer", "place"], ascending=[False, True, True])
    n_rows = q.count(context.choice.n_rows)
    return _table(
        ranked.head(MOST_EXPERTS),
        col.text("experts chosen most", lambda r: f"layer {int(r['layer'])}, expert {int(r['expert'])}"),
        col.number("tokens that chose it", lambda r: f"{q.count(r['n_tokens'])} of {n_rows}"),
        col.percent("share of the layer’s choices", "share"),
        col.percent("share if even", "even"),
    )


def _residency(context: Collector) -> str:
    """How much of the file was in memory, as the title of its figure says it."""
    if not RESIDENCY.when.holds(context):
        return "residency after each pass: not recorded (`residency = true` records it)"
    if context.refusal(RESIDENCY.needs):
        return f"residency after each pass: {REFUSED}"
    content = RESIDENCY.content(context)
    return md.prose(content.empty or q.ended(content.title))


def _phases(context: Collector) -> str:
    """Duration, bytes read and page faults of load, warm-up, prompt and generation."""
    rows = passes.with_duration(context.tables)
    kinds = rows["kind"].astype("object")
    untimed, uncounted = bool(context.refusal(needs.TIMES)), bool(context.refusal(needs.STORAGE))
    if untimed and uncounted:
        return f"Load, warm-up and passes: {REFUSED}."

    def summed(part: pd.DataFrame, column: str) -> int | None:
        return None if part.empty or part[column].isna().any() else int(part[column].sum())

    shown = []
    for kind, name in PHASES.items():
        part = rows[(kinds == kind).to_numpy(bool)]
        counts = [
            q.size(summed(part, "read_bytes")),
            *(q.count(summed(part, f"{f}_faults")) for f in ("major", "minor")),
        ]
        time = "not shown" if untimed else q.duration(summed(part, "duration_ns"))
        if len(part):
            shown.append((name, q.count(len(part)), time, *(["not shown"] * 3 if uncounted else counts)))
    head = (
        ("phase", False),
        ("passes", True),
        ("time", True),
        ("read from the disk", True),
        ("major faults", True),
        ("minor faults", True),
    )
    return md.table(head, shown) if shown else "Passes: not recorded."


def _copied(context: Collector) -> list[str]:
    """Where the weights that a token touches lay: in the mapped file, or in copies made at load."""
    mapped, copied = (context.summary.generate_token_bytes[memory] for memory in ("disk", "copied"))
    if context.refusal(needs.BYTES):
        return [f"copied weights: {REFUSED}"]
    if mapped is None or copied is None:
        return [f"copied weights: {'withheld' if context.private else 'not recorded'}"]
    return [md.prose(text) for text in (sentences.copied_weights(mapped, copied),) if text]


def _op_kinds(context: Collector) -> str:
    """Time per token row and share of the passes' time by kind of operation, in each phase."""
    if context.refusal(OP_KINDS.needs):
        return f"Time by kind of operation: {REFUSED}."
    content = OP_KINDS.content(context)
    if content.empty:
        return f"Time by kind of operation: {md.prose(content.empty)}"
    phases = [phase for phase in (context.phase, *timing.PHASES) if (content.data["phase"] == phase).any()]
    by = {phase: content.data[content.data["phase"] == phase].set_index("op") for phase in dict.fromkeys(phases)}
    head = [("time by kind of operation", False)]
    for phase in by:
        head += [(f"{phase}, per token", True), ("share", True)]
    rows = []
    for op in by[phases[0]].index[:MOST_KINDS]:
        row = [md.code(str(op), 40) if by[phases[0]].at[op, "n_ops"] else md.prose(str(op))]
        for data in by.values():
            known = op in data.index
            row += [
                q.duration(data.at[op, "ns_per_token"]) if known else "",
                q.percent(data.at[op, "share"]) if known else "",
            ]
        rows.append(row)
    return md.table(head, rows)
