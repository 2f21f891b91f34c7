"""The pages that have figures and tables only: access, caches, disk."""

from __future__ import annotations

from typing import Any

from tracegen.report.pages.collector import Collector


def figures_only(_: Collector) -> dict[str, Any]:
    """The values of the template of such a page: none."""
    return {}
