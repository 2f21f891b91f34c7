"""Drawings of a bundle that are opened alone: hostile text in them runs no script, and loads nothing."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tracegen.charts.policy import ELEMENT, POLICY, with_policy

pytestmark = pytest.mark.browser

HOSTILE = """
<script>document.documentElement.setAttribute("ran", "script")</script>
<rect width="9" height="9"><animate attributeName="x" dur="1s" onbegin="document.documentElement.id = 'ran'"/></rect>
<image href="data:image/png;base64,AAAA" width="1" height="1" onerror="document.documentElement.id = 'ran'"/>
<foreignObject width="9" height="9"><iframe xmlns="http://www.w3.org/1999/xhtml"
  srcdoc="&lt;script&gt;parent.document.documentElement.id = 'ran'&lt;/script&gt;"></iframe></foreignObject>
"""
LOADS = " onload=\"this.id = 'ran'\""
RAN = "() => document.documentElement.id === 'ran' || document.documentElement.hasAttribute('ran')"


def ran(chrome: Any, path: Path) -> bool:
    page = chrome.new_page()
    page.goto(path.as_uri())
    page.wait_for_timeout(300)
    result = bool(page.evaluate(RAN))
    page.close()
    return result


def hostile(svg: str) -> str:
    """The drawing with all of HOSTILE before its end, and an event handler at its root."""
    return svg.replace("<svg", f"<svg{LOADS}", 1).replace("</svg>", f"{HOSTILE}</svg>")


@pytest.fixture(scope="module")
def drawings(moe_report: Path) -> list[Path]:
    return sorted(moe_report.rglob("*.svg"))


def test_hostile_text_in_a_drawing_runs_nothing(chrome: Any, drawings: list[Path], tmp_path: Path) -> None:
    for path in {"graph" in path.name: path for path in drawings}.values():  # one of each kind
        text = path.read_text(encoding="utf-8")
        (tmp_path / "with.svg").write_text(hostile(text), encoding="utf-8")
        (tmp_path / "without.svg").write_text(hostile(text.replace(ELEMENT, "")), encoding="utf-8")
        assert ran(chrome, tmp_path / "without.svg"), "the attack works"
        assert not ran(chrome, tmp_path / "with.svg"), path.name


def test_the_policy_is_the_first_that_any_drawing_holds(drawings: list[Path]) -> None:
    assert len(drawings) > 20
    for path in drawings:
        first = ET.parse(path).getroot()[0]
        assert first.tag == "{http://www.w3.org/2000/svg}metadata", path.name
        assert first[0][0].get("content") == POLICY, path.name


def test_a_drawing_looks_the_same_with_its_policy(tab: Any, drawings: list[Path], tmp_path: Path) -> None:
    """Alone, where the policy could take its styles, and as text in a page, where it could end the drawing."""
    path = next(path for path in drawings if "graph" in path.name)
    text = path.read_text(encoding="utf-8")
    for kind, (begin, end) in {"svg": ("", ""), "html": ("<!doctype html><meta charset=utf-8>", "")}.items():
        seen = []
        for name, content in (("with", text), ("without", text.replace(ELEMENT, ""))):
            (tmp_path / f"{name}.{kind}").write_text(begin + content + end, encoding="utf-8")
            seen.append(tab(tmp_path / f"{name}.{kind}", viewport={"width": 900, "height": 700}).screenshot())
        assert seen[0] == seen[1], kind


def test_what_is_no_drawing_gets_no_policy() -> None:
    assert with_policy("<svg a=\">\" b='>'><g/></svg>") == f"<svg a=\">\" b='>'>{ELEMENT}<g/></svg>"
    for text in ("", "<g/>", "<svg"):
        with pytest.raises(ValueError, match="not an SVG"):
            with_policy(text)
