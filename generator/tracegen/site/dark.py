"""Figures on dark ground, for pages that show them as pictures: the journal.

A report draws its figures with the colours of the page. A picture has colours of its own, so each one is written
twice into the site, and the page's scheme chooses. Bundles stay as they are: the dark ones are made at every build.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from tracegen.charts.theme import on_dark
from tracegen.site.assets import ASSETS


@dataclass(frozen=True)
class DarkPictures:
    """The dark pictures that pages show: address from the site's root -> content."""

    files: dict[str, bytes] = field(default_factory=dict)

    def of(self, drawing: Path) -> str:
        """The address of a drawing on dark ground; empty if it has other colours than the figures of today."""
        content = on_dark(drawing.read_text(encoding="utf-8")).encode()
        if not content:
            return ""
        name = f"{ASSETS}/{hashlib.sha256(content).hexdigest()[:16]}.svg"
        self.files[name] = content
        return name

    def write(self, target: Path) -> None:
        """Write them into the built site."""
        for name, content in self.files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
