"""The key figures of a run as plain numbers."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracegen.contract.model import Run

if TYPE_CHECKING:
    import pandas as pd

    from tracegen.analysis.accesses import Tables

PER_TOKEN = "_bytes_per_token"  # after the name of a kind of memory


def figures_of_stored(folder: Path, run: Run) -> dict[str, Any]:
    """The key figures of a stored run, which are computed when it is shown for the first time."""
    from tracegen.storing import store
    from tracegen.storing.remembered import remembered

    files = [folder / store.RUN_FILE, *sorted((folder / "tables").glob("*.parquet"))]
    return remembered(folder, files, lambda: key_figures(run, store.read_tables(folder / "tables")))


def key_figures(run: Run, tables: Tables) -> dict[str, Any]:
    """The key figures as plain numbers, None when not recorded. All leave out load and warm-up."""
    from tracegen.analysis.accesses import accesses, placed, ranges, unseen
    from tracegen.analysis.buffers import total_peak
    from tracegen.analysis.operations import op_rows
    from tracegen.analysis.passes import measured
    from tracegen.analysis.reused_prefix import reused_tokens
    from tracegen.analysis.summary import embeddings, summarise

    ids = measured(tables)["pass_id"]
    rows = placed(tables, ids)
    ops = op_rows(tables, ids, accessed=accesses(tables, rows=rows))
    summary = summarise(tables, ops, ranges(tables, rows=rows), unseen(tables, rows=rows))
    if _lacks_bytes(run):  # what was not recorded would count as 0
        unknown = dict.fromkeys(summary.generate_token_bytes)
        summary = replace(summary, generate_token_bytes=unknown, touched_bytes=None)
    embedded = embeddings(tables, ops)
    if embedded and _lacks_bytes(run):
        embedded = replace(embedded, weight_bytes=None, touched_bytes=None)
    models = [run.facts.get("model", {}), *(run.facts.get("more_models") or ())]
    described = [
        {key: model.get(key) for key in ("file", "architecture", "size_bytes", "random_weights")} for model in models
    ]
    trace = run.facts.get("trace", {})
    return {
        "run": f"{run.experiment}/{run.name}",
        "answer": _answer(run, tables),
        "model": described[0],
        "more_models": described[1:],
        "passes": _kinds(tables),
        "skipped_passes": trace.get("skipped_passes") or 0,
        "interrupted": bool(run.facts.get("stopped")),
        "read_bytes": summary.read_bytes,
        "prompt_tokens": summary.prompt_tokens,
        "prompt_tokens_reused": reused_tokens(tables, whole=trace.get("skipped_passes") == 0),
        "prompt_ns": summary.prompt_ns,
        "tokens_per_second_prompt": summary.prompt_rate,
        "generated_tokens": summary.generated_tokens,
        "generate_ns": summary.generate_ns,
        "tokens_per_second_generate": summary.generate_rate,
        "ops_per_token": summary.ops_per_token,
        **{f"{memory}{PER_TOKEN}": n for memory, n in summary.generate_token_bytes.items()},
        **({"embeddings": asdict(embedded)} if embedded else {}),
        "file_bytes": summary.file_bytes or None,
        "touched_bytes": summary.touched_bytes,
        "touched_share": summary.touched_share,
        "touched_weight_share": summary.touched_weight_share,
        "header_bytes": summary.header_bytes,
        "time_by_op_ns": _time_by_op(ops),
        "peak_buffer_bytes": total_peak(tables),
        "tracing_cost_share": trace.get("overhead_share"),
        **({"repetition": series} if (series := run.facts.get("repetition")) else {}),
        **{key: facts for key in ("mlock", "memory_limit") if (facts := run.facts.get("conditions", {}).get(key))},
        **_control(run),
        "verdict": run.verdict,
        "checks": [asdict(check) for check in run.checks if check.state in ("failed", "warning")],
    }


def _control(run: Run) -> dict[str, Any]:
    """What is known of the same program untraced, and what is said of it; nothing where it did not run."""
    from tracegen.contract.quantities import THIN
    from tracegen.report.words.control_sentences import untraced

    control = run.facts.get("control")
    said = untraced(control, run.checks).replace(THIN, " ")
    return {"untraced": said or None, "control": control} if control else {}


def _answer(run: Run, tables: Tables) -> str | None:
    """The sentence that answers on the first page of the run's report; None without any finding."""
    from tracegen.contract.quantities import THIN
    from tracegen.report.figures.context import Context
    from tracegen.report.findings.found import answer

    found = answer(Context(run, tables))
    return None if found is None else found.text.replace(THIN, " ")


def _lacks_bytes(run: Run) -> bool:
    """Whether checks say that touched bytes are missing in the trace."""
    from tracegen.report.figures.needs import BYTES

    broken = {("failed", key) for need in BYTES for key in (*need.checks, *need.warned)}
    broken |= {("warning", key) for need in BYTES for key in need.warned}
    return any((check.state, check.key) in broken for check in run.checks)


def _kinds(tables: Tables) -> dict[str, int]:
    """Kind -> number of passes."""
    kinds = tables["passes"]["kind"].astype("object").fillna("of no known kind")
    return {str(kind): int(n) for kind, n in kinds.value_counts().items()}


def _time_by_op(ops: pd.DataFrame) -> dict[str, int]:
    """Wall time by op kind, largest first."""
    known = ops[ops["duration_ns"].notna()]
    sums = known.groupby("op", observed=True)["duration_ns"].sum().sort_values(ascending=False)
    return {str(op): int(ns) for op, ns in sums.items()}
