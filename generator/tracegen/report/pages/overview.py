"""The first page: the question, its answer, the one picture, and how sure it is."""

from typing import Any

from tracegen.contract.facts import Tried
from tracegen.contract.text import text_of
from tracegen.report.document.assets import Assets
from tracegen.report.figures.context import Context
from tracegen.report.findings import answer as answers
from tracegen.report.findings import found, tried
from tracegen.report.pages import issue, ran
from tracegen.report.pages.facts import text_by_token
from tracegen.report.pages.key_figures import key_figures
from tracegen.report.words import control_sentences


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
        "ran": ran.what_ran(context),
        "setup": ran.setup(context),
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
