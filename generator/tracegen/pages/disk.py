"""The disk page: how long each token waited for the disk, and for which bytes of the model file."""

from __future__ import annotations

from typing import Any

from tracegen.pages.collector import Collector


def disk(_: Collector) -> dict[str, Any]:
    """The values of the template of the disk page: it has figures and tables only."""
    return {}
