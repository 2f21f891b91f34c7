"""The key figures of a run as plain numbers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracegen.contract.model import Run
from tracegen.contract.records import encode

if TYPE_CHECKING:
    from tracegen.analysis.accesses import Tables
    from tracegen.report.figures.context import Context


def figures_of_stored(folder: Path, run: Run) -> dict[str, Any]:
    """The key figures of a stored run, which are computed when it is shown for the first time."""
    from tracegen.storing import store
    from tracegen.storing.remembered import remembered

    files = [folder / store.RUN_FILE, *sorted((folder / "tables").glob("*.parquet"))]
    return remembered(folder, files, lambda: key_figures(run, store.StoredTables(folder / "tables")))


def key_figures(run: Run, tables: Tables) -> dict[str, Any]:
    """What the run is, its measures by key, and its verdict, as plain data; null is what was not recorded."""
    from tracegen.analysis import measures
    from tracegen.report.figures.context import Context
    from tracegen.report.pages.key_figures import described

    context = Context(run, tables)
    facts, conditions = run.facts, run.facts.conditions
    about = [
        {
            "file": model.file,
            "architecture": model.architecture,
            "size_bytes": model.size_bytes,
            "random_weights": model.random_weights,
        }
        for model in facts.models
    ]
    return {
        "run": f"{run.experiment}/{run.name}",
        **_answer(context),
        "generated": None if facts.private else facts.text.generated,
        "model": about[0],
        "more_models": about[1:],
        "passes": _kinds(tables),
        "skipped_passes": facts.trace.skipped_passes or 0,
        "interrupted": facts.stopped is True,
        "measures": described(context, measures.figures(context)),
        "prompt_tokens_reused": context.prompt_tokens[1] if context.prompt_tokens else None,
        "time_by_op_ns": _time_by_op(context),
        "tracing_cost_share": facts.trace.overhead_share,
        **({"repetition": encode(facts.repetition)} if facts.repetition else {}),
        **({"mlock": encode(conditions.mlock)} if conditions.mlock else {}),
        **({"pinned": encode(conditions.pinned)} if conditions.pinned else {}),
        **({"memory_limit": encode(conditions.memory_limit)} if conditions.memory_limit else {}),
        **_control(run),
        "verdict": run.verdict,
        "checks": [asdict(check) for check in run.checks if check.state in ("failed", "warning")],
    }


def _control(run: Run) -> dict[str, Any]:
    """What is known of the same program untraced, and its sentence; nothing where it did not run."""
    from tracegen.contract.quantities import THIN
    from tracegen.report.words.control_sentences import untraced

    control = run.facts.control
    text = untraced(control, run.checks).replace(THIN, " ")
    return {"untraced": text or None, "control": encode(control)} if control else {}


def _answer(context: Context) -> dict[str, Any]:
    """The answer of the first page of the run's report, and what would help; `answer` is None without any finding."""
    from tracegen.contract.quantities import THIN
    from tracegen.report.findings.answer import quick

    found = quick(context)
    if found is None:
        return {"answer": None, "would_help": [], "remedies": [], "nothing_would": None, "floor": None}
    helps = [text.replace(THIN, " ") for text in (found.caution, *(of.text for of in found.advice)) if text]
    remedies = [{**vars(of.remedy), "gain": of.remedy.gain} for of in found.advice]
    stop, floor = (text.replace(THIN, " ") or None for text in (found.stop, found.floor))
    return {
        "answer": found.text.replace(THIN, " "),
        "would_help": helps,
        "remedies": remedies,
        "nothing_would": stop,
        "floor": floor,
    }


def _kinds(tables: Tables) -> dict[str, int]:
    """Kind -> number of passes."""
    kinds = tables["passes"]["kind"].astype("object").fillna("of no known kind")
    return {str(kind): int(n) for kind, n in kinds.value_counts().items()}


def _time_by_op(context: Context) -> dict[str, int]:
    """Wall time of measured passes by op kind, largest first."""
    ops = context.ops
    known = ops[ops["pass_id"].isin(context.measured["pass_id"]) & ops["duration_ns"].notna()]
    sums = known.groupby("op", observed=True)["duration_ns"].sum().sort_values(ascending=False, kind="stable")
    return {str(op): int(ns) for op, ns in sums.items()}
