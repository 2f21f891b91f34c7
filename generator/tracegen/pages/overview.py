"""The overview: what was run, what was found, and how sure it is."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tracegen.analysis import buffers, timing
from tracegen.charts import components, layers, op_kinds, theme, tokens
from tracegen.figures.context import OUTSIDE, Context, text_of
from tracegen.pages.findings import component_groups, findings, key_figures, what_ran
from tracegen.pages.views import Cell, FigureView, Head, TableView, cells, table
from tracegen.words import quantities as q
from tracegen.words import sentences


def overview(context: Context) -> dict[str, Any]:
    """Everything the template of the overview prints."""
    figures = key_figures(context)
    return {
        "question": text_of(context.fact("settings", "question")) if context.fact("settings", "question") else "",
        "ran": what_ran(context),
        "key_figures": figures,
        "findings": findings(context, context.phase),
        "disk_panel": disk_panel(context),
        "figures": [figure(context) for figure in (components_figure, layers_figure, op_kinds_figure, tokens_figure)],
        "top": top_operations(context),
        "text": generated_text(context),
    }


def disk_panel(context: Context) -> TableView:
    """Is this a disk experiment? The settings that decide, and what they mean."""
    s = context.summary
    setting = {n: context.fact("settings", n) for n in ("mmap", "prefault", "repack", "warmup")}
    memory, file = context.fact("host", "memory_bytes"), s.file_bytes or context.fact("model", "size_bytes")
    passes = context.tables["passes"]
    load = passes[(passes["kind"] == "load").to_numpy()]["major_faults"].sum(min_count=1)
    meaning = {
        "mmap": (
            "Weights lie in a file mapping and are read when touched.",
            "Weights were read into memory at load; no operation reads the file.",
        ),
        "prefault": (
            "llama.cpp asks for the whole file at load (MAP_POPULATE), before the first token.",
            "There is no mapping, so nothing to prefault."
            if setting["mmap"] is False
            else "Pages are read when first touched, or by read-ahead.",
        ),
        "repack": (
            "llama.cpp may copy matrices into another layout at load; these are “copied”.",
            "Matrices stay as they are in the file.",
        ),
        "warmup": (
            "A warm-up pass touched weights before the prompt.",
            "The prompt is the first pass.",
        ),
    }
    label = {"mmap": "Memory mapping", "prefault": "Prefault", "repack": "Repacking", "warmup": "Warm-up"}
    rows = [
        cells(label[n], q.yes_no(v), meaning[n][0 if v else 1] if isinstance(v, bool) else "")
        for n, v in setting.items()
    ]
    pressed = _pressed(context)
    room = _room(context, memory)
    ratio = f"{q.percent(file / room)} of {'what is left' if pressed else 'RAM'}" if file and room else q.UNKNOWN
    fits = sentences.fits_into_memory(file, room, buffers.total_peak(context.tables))
    refused = context.refusal("storage")
    for which, amount, words in (
        ("while loading and warming up", s.read_bytes_outside, "load and warm-up passes"),
        ("in measured passes", s.read_bytes, "prompt, generate and other passes"),
    ):
        meaning_of = f"What {words} made the kernel read from storage, read-ahead included; 0 when memory had it all."
        rows.append(_counted(f"Read {which}", q.size(amount), meaning_of, refused))
    for when, words in (("before", "before the run"), ("after", "after it")):
        held = context.fact("conditions", "page_cache", f"{when}_bytes")
        share = q.percent(held / file) if held is not None and file else q.UNKNOWN
        told = f"{q.size(held)} of the file’s pages were in memory (mincore)." if held is not None else ""
        rows.append(cells(f"Page cache {words}", share, told))
    against = f"{q.size(file or None)} of {q.size(room)}{pressed}. {fits}".strip()
    rows.append(cells("File against memory", ratio, against))
    for which, faults, meaning_of in (
        (
            "while loading",
            load if q.known(load) else None,
            "Page faults of the process that waited for a read of their own (major).",
        ),
        (
            "in measured passes",
            s.major_faults,
            "The same in measured passes. A fault that found its page being read already (minor) waits too, and is "
            "not counted here.",
        ),
    ):
        rows.append(_counted(f"Page faults that waited for a read, {which}", q.count(faults), meaning_of, refused))
    return table(
        "disk",
        "Is this a disk experiment?",
        f"Settings and counters that decide whether a measured pass can reach the disk. {OUTSIDE}",
        (Head("What"), Head("Found"), Head("Meaning")),
        rows,
        csv=context.csv(
            "disk", pd.DataFrame([[c.text for c in r] for r in rows], columns=["what", "found", "meaning"])
        ),
    )


def _counted(what: str, found: str, meaning: str, refused: str) -> tuple[Cell, ...]:
    """A row of what passes were counted to do; not shown where a failed check makes the passes meaningless."""
    return cells(what, "not shown", refused) if refused else cells(what, found, meaning)


def _room(context: Context, memory: int | None) -> int | None:
    """Bytes of memory that the run could have at most: RAM without what was locked beside it, or its own limit."""
    if memory is None:
        return None
    limit = context.fact("conditions", "memory_limit", "limit_bytes")
    left = memory - (context.fact("conditions", "mlock", "locked_bytes") or 0)
    return min(left, limit) if limit else left


def _pressed(context: Context) -> str:
    """What was taken from the memory of the machine, in words; empty: nothing."""
    locked = context.fact("conditions", "mlock", "locked_bytes")
    limit = context.fact("conditions", "memory_limit", "limit_bytes")
    told = [f"{q.size(locked)} were locked beside it" if locked else "", f"limited to {q.size(limit)}" if limit else ""]
    return f" ({', '.join(filter(None, told))})" if any(told) else ""


def _phases(context: Context, only: str = "") -> str:
    s = context.summary
    rows = q.counted(context.tokens["prompt"], "token row")
    of = {
        "prompt": f"{q.counted(s.n_prompt_passes, 'prompt pass')} ({rows})",
        "generate": q.counted(s.n_generate_passes, "generate pass"),
    }
    without = f"; without operations on {context.untimed}, which have no times" if context.untimed else ""
    return f"n = {', '.join(text for phase, text in of.items() if only in ('', phase))}{without}"


# What `duration_ns` of an op is, said wherever it is shown.
WALL = "Wall time of executed operations: of each, from its first thread's begin to its last thread's end."
WHOLE = (
    "What lies in no operation stands beside them: before the first (llama.cpp prepares the graph, threads wake), "
    "between them (barriers), after the last. Together they are the passes’ whole time, of which the percentages are "
    "shares."
)
NO_TIMES = "The trace holds no timed operation of a prompt or generate pass."


def components_figure(context: Context) -> FigureView:
    """Time per token by component, prompt and generation side by side."""
    rows = timing.by(context.timed, "component", context.tokens, context.outside_ops)
    return context.figure(
        "components",
        "overview",
        "Where does a token's time go?",
        f"{WALL} Summed by component and divided by token rows; {_phases(context)}. {WHOLE} {OUTSIDE}",
        _alt("Operation time per token by component", rows, "component"),
        lambda: components.chart(rows),
        data=rows,
        empty="" if len(rows) else NO_TIMES,
    )


def op_kinds_figure(context: Context) -> FigureView:
    """Time per token by kind of operation."""
    rows = timing.by(context.timed, "op", context.tokens, context.outside_ops)
    return context.figure(
        "op-kinds",
        "overview",
        "Which kinds of operation take the time?",
        f"{WALL} Summed by ggml operation and divided by token rows; {_phases(context)}. {WHOLE} {OUTSIDE}",
        _alt("Operation time per token by kind", rows, "op"),
        lambda: op_kinds.chart(rows),
        data=rows,
        empty="" if len(rows) else NO_TIMES,
    )


def layers_figure(context: Context) -> FigureView:
    """Time per token by layer and component group."""
    phase = context.phase
    timed = context.timed[context.timed["phase"] == phase].dropna(subset=["duration_ns"])
    rows = (
        timed.assign(group=component_groups(timed))
        .groupby(["layer", "group"], dropna=False)["duration_ns"]
        .sum()
        .reset_index()
    )
    rows["ns_per_token"] = rows["duration_ns"].astype(float) / max(context.tokens[phase], 1)
    name = {"generate": "generate", "prompt": "prompt"}[phase]
    return context.figure(
        "layers",
        "overview",
        "Do all layers take the same time?",
        f"{WALL} Summed by layer and component group and divided by token rows; {name} passes only, "
        f"{_phases(context, phase)}. Operations outside all layers stand last, as “no layer”; time outside operations "
        f"is in no bar. {OUTSIDE}",
        f"Stacked bars of operation time per token for {rows['layer'].nunique()} layers; the data table has the "
        f"numbers.",
        lambda: layers.chart(rows),
        data=rows,
        empty="" if len(rows) else NO_TIMES,
        numbers={"phase": phase},
    )


def tokens_figure(context: Context) -> FigureView:
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
    prompt = q.duration(context.summary.prompt_ns)
    return context.figure(
        "tokens",
        "overview",
        sentences.token_times(rows["duration_ns"].astype(float).tolist()),
        f"Wall time of each generate pass, from its begin to its end, waiting included; token 0 comes from the "
        f"prompt, which took {prompt} and is not drawn. n = "
        f"{len(rows)}. Sampling between passes is not in it.",
        f"Pass duration per generated token, {len(rows)} tokens, median "
        f"{q.duration(rows['duration_ns'].median() if len(rows) else None)}.",
        lambda: tokens.chart(rows),
        data=rows,
        empty=""
        if len(rows)
        else "This run has no generate pass: one token was asked for, and the prompt gave it."
        if context.summary.n_prompt_passes
        else "This run has no generate pass.",
    )


def _alt(what: str, rows: pd.DataFrame, key: str) -> str:
    best = [
        f"{row[key]} {q.percent(row['share'])}"
        for _, row in rows[rows["phase"] == (rows["phase"].iloc[0] if len(rows) else "")].head(3).iterrows()
    ]
    return f"{what}: {', '.join(best)}; the data has all." if best else what


def top_operations(context: Context) -> TableView:
    """The nodes that took most time, each linked to its longest execution."""
    phase = context.phase
    rows = timing.top_ops(context.timed, phase)
    reason = context.refusal("top-operations")
    name = {"generate": "generate", "prompt": "prompt"}[phase]
    made = []
    longest = float(rows["share"].max()) if len(rows) else 1.0
    for row in [] if reason else rows.to_dict("records"):
        layer = "" if pd.isna(row["layer"]) else str(row["layer"])
        mean = float(row["duration_ns"]) / row["n_ops"]
        made.append(
            (
                Cell(
                    q.printable(row["name"]),
                    href=f"operations/index.html#pass={row['pass_id']}&node={row['node']}",
                    code=True,
                ),
                Cell(q.printable(row["op"]), code=True),
                Cell(layer, number=True),
                Cell(str(row["component"]), dot=theme.group(row["component"])),
                Cell(q.percent(row["share"]), number=True, bar=float(row["share"]) / longest if longest else 0),
                Cell(q.decimal(mean / 1e3, 2), number=True),
                *(Cell(q.decimal(float(row[c]) / row["n_ops"] / 1e3, 2), number=True) for c in timing.SUMS[1:]),
                Cell(q.count(row["n_ops"]), number=True),
            )
        )
    head = (
        Head("Result"),
        Head("Operation"),
        Head("Layer", number=True),
        Head("Component"),
        Head("Share", "of operations’ time", True),
        Head("Wall time", "µs", True),
        Head("Work", "µs", True),
        Head("Waiting inside", "µs", True),
        Head("Waiting after", "µs", True),
        Head("n", number=True),
    )
    return table(
        "top-operations",
        "Which operations take most time?",
        f"The {len(made)} results with the largest wall time, nodes of equal name together, summed over {name} passes. "
        f"{WALL} One late thread "
        f"lengthens it; work and waiting are summed over threads instead. All in µs are means of the n executions; "
        f"the link leads to the longest. {OUTSIDE}",
        head,
        made,
        reason or NO_TIMES,
        context.csv("top-operations", rows),
        numbers={"phase": phase},
    )


def generated_text(context: Context) -> dict[str, str]:
    """Prompt and answer, or that they are withheld or were not recorded."""
    if context.private:
        return {
            "prompt": "",
            "generated": "",
            "reason": "The experiment is private: prompt and generated text are withheld.",
        }
    prompt, generated = context.fact("text", "prompt"), context.fact("text", "generated")
    if prompt is None and generated is None:
        return {"prompt": "", "generated": "", "reason": "Prompt and generated text were not recorded."}
    return {"prompt": q.printable(prompt or ""), "generated": q.printable(generated or ""), "reason": ""}
