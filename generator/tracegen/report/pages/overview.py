"""The overview: what was run, what was found, and how sure it is."""

from __future__ import annotations

from typing import Any

from tracegen.contract.text import text_of
from tracegen.report.pages.collector import Collector
from tracegen.report.pages.facts import text_by_token
from tracegen.report.pages.findings import findings, what_ran
from tracegen.report.pages.key_figures import key_figures
from tracegen.report.pages.pasted import paste
from tracegen.report.pages.ranking import ranked
from tracegen.report.words import sentences


def overview(collector: Collector) -> dict[str, Any]:
    """Everything the template of the overview prints beside its figures and tables."""
    question = collector.fact("settings", "question")
    return {
        "question": text_of(question) if question else "",
        "ranked": ranked(findings(collector), text_of(question) if question else ""),
        "ran": what_ran(collector),
        "care": sentences.care_in_brief(collector.care),
        "not_drawn": f"{collector.gaps} They are not drawn." if collector.gaps else "",
        "key_figures": key_figures(collector),
        "text": text_by_token(collector),
        "pasted": paste(collector),
    }
