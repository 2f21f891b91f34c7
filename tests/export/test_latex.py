"""`tracegen export NAME@vN latex`: what a thesis takes from a version compiles, and says what the version says."""

import contextlib
import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from tracegen.charts.stamp import stamps
from tracegen.cli.main import main

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
ENGINES = ("pdflatex", "xelatex", "lualatex")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("thesis")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(top)
        assert main(["export", str(EXPERIMENTS / "sample" / "versions" / "1"), "latex"]) == 0
    return top / "sample-v1"  # its files use this name


def test_every_value_figure_and_table_of_the_version_is_there(folder: Path) -> None:
    document = json.loads((EXPERIMENTS / "sample/versions/1/version.json").read_text())
    quantities = (folder / "data/quantities.tex").read_text()
    found = dict(re.findall(r"\\csname tracegenqty:([\w-]+)\\endcsname\{(.*)\}%", quantities))
    assert set(found) == set(document["values"])
    for key, value in document["values"].items():
        text = re.sub(r"(?<=\d)\s(?=\d{3})", "", value["text"])
        number = re.match(r"[0-9.]+(?= ?[%\w/]+$)", text)
        if found[key].startswith((r"\qty", r"\num")):
            assert re.search(r"\{([0-9.]+)\}", found[key])[1] == re.match(r"[0-9.]+", text)[0]  # type: ignore[index]
        else:
            assert number is None or value["unit"] not in ("bytes", "share", "ns", "tokens/s"), (key, text)
    assert r"\qty{96.2}{\mebi\byte}" in found["bytes_touched_per_token"]
    drawn = {f["key"] for f in document["figures"] if f["page"] != "appendix"}
    figures = {path.stem for path in (folder / "figures").glob("*.tex")}
    assert figures == {key for key in drawn if not key.startswith("graph-")} and "file-tokens" in figures
    for key in figures:
        tex = (folder / "figures" / f"{key}.tex").read_text()
        assert f"\\label{{fig:sample-{key}}}" in tex and f"\\label{{fig:tracegen-sample-v1-{key}}}" in tex
        for mm in (86, 120, 160):
            assert width_of(folder / "figures" / f"{key}-{mm}mm.pdf") == pytest.approx(mm, rel=0.12)
    tables = {path.stem for path in (folder / "data").glob("*.tex")} - {"values", "quantities"}
    assert {"top-operations", "biggest-tensors"} <= tables and "downloads" not in tables
    assert all("belowcaptionskip" in (folder / "data" / f"{key}.tex").read_text() for key in tables)
    for line in (folder / "references.bib").read_text().splitlines():
        assert not re.search("[0-9a-f]{17}", line), "a hash that no line can break"


def width_of(pdf: Path) -> float:
    """The width of the page in mm; a PDF keeps its objects in deflated streams."""
    data = pdf.read_bytes()
    parts = [data]
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL):
        with contextlib.suppress(zlib.error):
            parts.append(zlib.decompress(stream))
    (box,) = {m[1] for part in parts for m in re.finditer(rb"/MediaBox\s*\[\s*0 0 ([\d.]+)", part)}
    return float(box) / 72 * 25.4


def test_a_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.builders import a_run, scaled_case, stored

    run = stored(tmp_path / "experiments", a_run(), scaled_case(1, 1))
    assert main(["export", str(run.folder), "latex", "--out", str(tmp_path / "x")]) == 2
    assert "publish it, and export NAME@vN" in capsys.readouterr().err and not (tmp_path / "x").exists()


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("lualatex") is None, reason="needs pdflatex, xelatex and lualatex")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", ["10pt", "11pt", "12pt", "10pt,twocolumn"])
def test_the_sample_compiles_and_nothing_is_wider_than_the_line(
    folder: Path, tmp_path: Path, engine: str, size: str
) -> None:
    shutil.copytree(folder, tmp_path / "sample-v1")
    sample = (folder / "sample.tex").read_text()
    assert "[11pt,a4paper]" in sample
    (tmp_path / "sample.tex").write_text(sample.replace("[11pt,a4paper]", f"[{size},a4paper]"))
    for command in (engine, "bibtex", engine, engine):
        words = (
            [command, "sample"]
            if command == "bibtex"
            else [command, "-halt-on-error", "-interaction=nonstopmode", "sample"]
        )
        done = subprocess.run(words, cwd=tmp_path, capture_output=True)
        assert done.returncode == 0, done.stdout[-2000:].decode("utf-8", "replace")
    log = (tmp_path / "sample.log").read_text("utf-8", "replace")
    assert not re.findall(r"Overfull \\hbox|Float too large|undefined", log)
    fonts = subprocess.run(["pdffonts", "sample.pdf"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    rows = fonts.splitlines()[2:]
    assert rows and all(re.search(r"\byes\s+(yes|no)\s+(yes|no)\s+\d", row) for row in rows), fonts
    text = subprocess.run(
        ["pdftotext", "sample.pdf", "-"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    named = {(stamp.version, stamp.figure) for stamp in stamps((tmp_path / "sample.pdf").read_bytes())}
    drawn = {("sample@v1", path.stem) for path in (folder / "figures").glob("*.tex")}
    assert named == (set() if engine == "xelatex" else drawn)
    values = json.loads((EXPERIMENTS / "sample/versions/1/version.json").read_text())["values"]
    for key in ("tokens_per_second_generate", "mapped_bytes_per_token"):
        number = values[key]["text"].split()[0]
        assert text.count(number) >= 2, "as a macro and as a quantity"


def test_a_thesis_that_uses_the_folder_is_checked_through_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder, tmp_path / "sample-v1")
    (tmp_path / "thesis.tex").write_text(
        "\\documentclass{article}\\input{sample-v1/tracegen}\n\\begin{document}\n"
        "\\tracegentext{mapped_bytes_per_token}\n\\tracegentext{nothing}\n\\tracegenfigure{file-tokens}\n\\end{document}\n"
    )
    check = ["check", str(tmp_path), "--all", "--experiments", str(EXPERIMENTS)]
    assert main(check) == 1
    said = capsys.readouterr().out
    assert "thesis.tex:3: fine" in said and "thesis.tex:4: unknown" in said and "no value 'nothing'" in said
    assert "fine: sample-v1/figures/file-tokens" in said and "1 unknown" in said
    (tmp_path / "sample-v1" / "figures" / "file-tokens.tex").write_text("edited")
    assert main(check) == 1 and "is not what was exported of sample@v1" in capsys.readouterr().out
