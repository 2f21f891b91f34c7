"""The first page: the question, its answer, the one picture, and how sure it is."""

from typing import Any

import pandas as pd

from tracegen.analysis import backends
from tracegen.contract import quantities as q
from tracegen.contract.facts import Tried
from tracegen.contract.text import text_of
from tracegen.report.document.assets import Assets
from tracegen.report.figures.context import Context
from tracegen.report.findings import answer as answers
from tracegen.report.findings import found, tried
from tracegen.report.pages import issue
from tracegen.report.pages.facts import text_by_token
from tracegen.report.pages.key_figures import key_figures
from tracegen.report.words import control_sentences, sentences

ATTACHED = (
    " The tracer was attached, without hooks: the work buffer, the types of the KV cache and the sampler’s choices are "
    "not recorded, and a warm-up is known only by what followed it."
)


def overview(context: Context, assets: Assets) -> dict[str, Any]:
    """Everything the template of the first page prints beside its picture."""
    question = context.facts.settings.question
    findings = found.findings(context)
    answer = answers.answer(context, findings)
    text = issue.issue_text(context, findings, assets.citable)
    assets.keep(issue.PATH, text)
    return {
        "question": text_of(question) if question else "",
        "answer": answer,
        "care": answer.care if answer else "",
        "tried": [_tried(of) for of in context.facts.tried],
        "findings": found.following(findings, answer.text if answer else ""),
        "rule": found.RULE,
        "ran": what_ran(context),
        "key_figures": key_figures(context),
        "text": text_by_token(context),
        "control": control_sentences.untraced(context.facts.control, context.run.checks),
        "issue": {"path": issue.PATH, "text": text},
    }


def _tried(of: Tried) -> dict[str, Any]:
    """A remedy that was tried: where, and what came out; of a miss, where the time went instead."""
    return {
        "key": of.remedy,
        "setting": f"{of.setting} = {of.after}",
        "experiment": of.experiment,
        "text": tried.sentence(of),
        "instead": tried.instead(of) if of.outcome == "not as predicted" else [],
    }


def what_ran(context: Context) -> str:
    """What llama.cpp did in this run, and what statistics leave out."""
    s = context.summary
    model = context.facts.model.name or context.facts.model.file
    more = len(context.facts.more_models)
    beside = f" and {q.counted(more, 'more model')}" if more else ""
    first = f"llama.cpp ran “{q.printable(model)}”{_shape(context)}{beside}." if model else "llama.cpp ran a model."
    if context.facts.imported and context.facts.imported.format:
        first = sentences.imported(q.printable(model) if model else "")
    elif not model and context.tables["contexts"].empty:
        first = "A program ran graphs of ggml without llama.cpp; what they compute is not recorded."
    second = " " + sentences.read_and_wrote(
        s.prompt_tokens, s.n_prompt_passes, s.generated_tokens, s.n_generate_passes, s.n_other_passes
    )
    if reused := sentences.reused_prefix(s.prompt_tokens, context.reused_tokens):
        second += f" {reused}."
    skipped = context.facts.trace.skipped_passes
    if context.facts.stopped:
        second += " The program was interrupted after its trace was closed."
    elif skipped:
        second += (
            f" Only a window of the run was recorded: {q.counted(skipped, 'pass')} outside it left out. Tokens are "
            "counted from the start of the window."
        )
    return f"{first}{second}{_other_backends(context)}{ATTACHED if context.facts.trace.attached else ''}"


def _other_backends(context: Context) -> str:
    """The operations that ran on other backends than the CPU and have no times of their own; empty without any."""
    ops, splits = context.tables["ops"], context.tables["splits"]
    by_split = ops["time_basis"].eq("split")
    if not by_split.any():
        return ""
    handed = backends.submitted(splits)
    of = sentences.of_other_backends
    return f" {q.counted(int(by_split.sum()), 'operation')} of all passes ran on {context.untimed}." + of(
        *_number_and_time(splits[~splits["by_op"].to_numpy(bool) & ~handed]), *_number_and_time(splits[handed])
    )


def _number_and_time(splits: pd.DataFrame) -> tuple[int, float]:
    """How many splits there are, and their times together, ns."""
    return len(splits), float((splits["end_ns"] - splits["begin_ns"]).sum())


def _shape(context: Context) -> str:
    """The model's architecture, layers and experts as an apposition; empty if nothing is known."""
    kind, layers = context.facts.model.architecture, context.facts.model.n_layers
    experts, used = context.facts.model.n_experts, context.facts.model.n_experts_used
    parts = [q.counted(layers, "layer")] if isinstance(layers, int) else []
    if isinstance(experts, int):
        parts.append(q.counted(experts, "expert") + (f", {used} of them per token" if isinstance(used, int) else ""))
    named = f", a model of the {q.printable(kind)} architecture" if kind else ", a model" if parts else ""
    return f"{named}{' with ' if parts else ''}{' and '.join(parts)}"
