"""All explanations by the key of their figure or table."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tracegen.figures.explanation import Explanation
from tracegen.pages.explain.experts import EXPERTS
from tracegen.pages.explain.memory import MEMORY
from tracegen.pages.explain.others import OTHERS
from tracegen.pages.explain.threads import THREADS
from tracegen.pages.explain.times import TIMES

EXPLANATIONS: Mapping[str, Explanation] = {e.key: e for e in (*TIMES, *THREADS, *MEMORY, *EXPERTS, *OTHERS)}


def explanation(key: str) -> Explanation | None:
    """The explanation of a figure or table; graphs and their blocks are numbered and share one each."""
    plain = re.sub(r"^graph-\d+(-block)?(-\d+)?$", r"graph\1", key)
    return EXPLANATIONS.get(plain)
