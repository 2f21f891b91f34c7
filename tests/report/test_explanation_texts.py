"""Every figure has a file of explanations, every file a figure; a fault in one is reported with its name."""

import re
from pathlib import Path

import pytest

from tracegen.report.figures import texts
from tracegen.report.figures.catalogue import FIGURES

WHOLE = "# What it shows\n\nA.\n\n# What it counts\n\nB {{b}},\n{{c}}.\n\n# How to read it\n\nC.\n"


def test_each_figure_has_a_file_and_each_file_a_figure() -> None:
    assert {path.stem for path in texts.FOLDER.iterdir()} == {"shared", *(part.key for part in FIGURES)}
    for part in FIGURES:
        assert all((part.shows, part.counts, part.read)), part.key


def test_every_shared_sentence_and_word_is_used() -> None:
    files = {path.stem: path.read_text(encoding="utf-8") for path in texts.FOLDER.iterdir()}
    shared = re.findall(r"^# (\w+)$", files.pop("shared"), re.MULTILINE)
    used = {key: set(re.findall(r"{{(\w+)}}", text)) for key, text in files.items()}
    assert set().union(*used.values()) >= set(shared)
    for part in FIGURES:
        assert set(part.words) <= used[part.key], part.key


def test_lines_are_joined_and_names_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, monkeypatch, WHOLE)
    assert texts.texts("one", {"b": "b {{c}}"}) == ("A.", "B b {{c}}, shared words.", "C.")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", r"one\.md: has the heads none; needed are What it shows"),
        (WHOLE.partition("\n# How")[0], r"one\.md: has the heads What it shows, What it counts; needed are"),
        (WHOLE.replace("A.", ""), r"one\.md: “What it shows” has no text"),
        (WHOLE.replace("{{b}}", "{{d}}"), r"one\.md: {{d}} is neither in shared\.md nor among the words"),
    ],
)
def test_a_fault_names_the_file(text: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, monkeypatch, text)
    with pytest.raises(ValueError, match=fault):
        texts.texts("one", {"b": "b"})


def written(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A folder of texts with one figure, in the place of the package's own."""
    (folder / "one.md").write_text(text, encoding="utf-8")
    (folder / "shared.md").write_text("# c\n\nshared\nwords\n", encoding="utf-8")
    monkeypatch.setattr(texts, "FOLDER", folder)
