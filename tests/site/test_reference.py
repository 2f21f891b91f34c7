"""The reference page is made of the contract: every table, column, word and check is on it, and links work."""

import re
from html import unescape
from pathlib import Path

import pytest

from tracegen.contract import tables
from tracegen.contract.check_keys import CHECKED
from tracegen.site import reference
from tracegen.storing import resources


@pytest.fixture(scope="module")
def page() -> str:
    return reference.render()


def test_every_column_and_check_can_be_linked_to(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    columns = {f"{table.name}.{column.name}" for table in tables.TABLES for column in table.columns}
    checks = {f"check-{key.value}" for key in CHECKED}
    assert columns | checks | {f"table-{table.name}" for table in tables.TABLES} <= set(ids)


def test_every_value_that_a_column_may_have_is_there(page: str) -> None:
    for table in tables.TABLES:
        for column in table.columns:
            assert ", ".join(column.values) in page and column.meaning in unescape(page)


def test_a_word_without_explanation_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "KINDS", {k: v for k, v in reference.KINDS.items() if k != "verify"})
    with pytest.raises(ValueError, match="the reference explains"):
        reference.render()


def test_it_is_made_once_for_each_renderer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    (tmp_path / "reference-old.html").write_text("old")
    assert reference.content(tmp_path) == page
    monkeypatch.setattr(reference, "render", lambda: pytest.fail("rendered again"))
    assert reference.content(tmp_path) == page
    assert [path.name for path in tmp_path.iterdir()] == [f"reference-{resources.renderer_hash()[:16]}.html"]
