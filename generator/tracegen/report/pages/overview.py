"""The first page: the question, its answer, the one picture, and how sure it is."""

from typing import Any

from tracegen.contract.text import text_of
from tracegen.report.findings import found
from tracegen.report.pages.collector import Collector
from tracegen.report.pages.facts import text_by_token
from tracegen.report.pages.key_figures import key_figures
from tracegen.report.pages.pasted import paste
from tracegen.report.pages.what_ran import what_ran


def overview(collector: Collector) -> dict[str, Any]:
    """Everything the template of the first page prints beside its picture."""
    question = collector.fact("settings", "question")
    findings = collector.findings
    return {
        "question": text_of(question) if question else "",
        "answer": findings[0] if findings else None,
        "findings": [finding for finding in findings[1:] if finding.effect > 0][: found.MOST],
        "rule": found.RULE,
        "ran": what_ran(collector),
        "key_figures": key_figures(collector),
        "text": text_by_token(collector),
        "pasted": paste(collector),
    }
