"""Figures, tables and values for LaTeX: sizes on paper, embedded fonts, and text that always compiles."""

import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader

from tests.builders import a_moe_run, scaled_case
from tests.report.rendered import everything, rendered
from tracegen.contract.model import Version
from tracegen.report.document import tex
from tracegen.report.document.page import Report
from tracegen.report.pages.render import render_report

HOSTILE = "\\input{x} 50 % of $a_b^c$ & #1 ~{}\u202e\x00 -- ''\" [x] * <|> \u4f60 é … 1\u202f000 “q” – µ\n\n`"
# What may stand in text: plain signs, escaped signs, the commands that `text` writes, and braces that match.
COMMANDS = (
    r"\\(?:text(?:backslash|asciitilde|asciicircum|asciigrave|less|greater|bar|endash|emdash"
    r"|quote(?:dbl)?(?:left|right))\{\}|ldots\{\}|ensuremath\{-?(?:\\[a-z]+)?\}|[{}$&#_%,])"
)


@pytest.fixture(scope="module")
def report() -> Report:
    run = a_moe_run()
    version = Version("demo", 3, run.created, "m", (3,), run.verdict, "t")
    return render_report(run, scaled_case(12, 4, moe=True), citable=version)


def paper(report: Report) -> dict[str, tuple[int, bytes]]:
    """The PDFs of figures that are laid out for paper: file -> width in mm, content."""
    keys = [figure.key for figure in report.figures if figure.layouts and figure.page != "appendix"]
    files = {f"figures/{key}{end}": mm for key in keys for end, mm in (("-86mm.pdf", 86), (".pdf", 160))}
    return {name: (mm, report.files[name]) for name, mm in files.items()}


def test_every_chart_is_drawn_for_a_column_and_for_a_page(report: Report) -> None:
    files = paper(report)
    assert len(files) >= 14
    for name, (mm, content) in files.items():
        (page,) = PdfReader(io.BytesIO(content)).pages
        assert float(page.mediabox.width) == pytest.approx(mm / 25.4 * 72, abs=0.05), name
        assert float(page.mediabox.height) < 260 / 25.4 * 72, name


def test_type_on_paper_has_8_to_9_points_and_fonts_are_embedded(report: Report) -> None:
    for name, (_, content) in paper(report).items():
        (page,) = PdfReader(io.BytesIO(content)).pages
        fonts = [font.get_object() for font in page["/Resources"]["/Font"].values()]
        for font in fonts:
            described = font.get("/DescendantFonts", [font])[0].get_object()["/FontDescriptor"]
            assert {"/FontFile", "/FontFile2", "/FontFile3"} & set(described), name
        sizes: list[float] = []

        def note(text: str, matrix: list[float], within: list[float], _: object, size: float, to: list[float] = sizes):
            if text.strip():
                to.append(size * abs(within[3] * matrix[3]))

        page.extract_text(visitor_text=lambda t, cm, tm, font, size: note(t, cm, tm, font, size))
        assert sizes and min(sizes) >= 8.0 and max(sizes) <= 9.6, (name, sorted(set(sizes)))


def test_a_figure_has_its_latex_with_caption_label_and_alternative(report: Report) -> None:
    for figure in report.figures:
        if figure.page == "appendix":
            assert not [name for name in report.files if re.match(rf"figures/{figure.key}[.-].*(?:tex|pdf|png)$", name)]
            continue
        written = report.files[f"figures/{figure.key}.tex"].decode()
        assert f"\\label{{fig:tracegen-{a_moe_run().experiment}-v3-{figure.key}}}" in written
        assert tex.text(figure.caption) in written and f"alt={{{tex.text(figure.alt)}}}" in written
        for file in re.findall(r"\\includegraphics\[[^\]]*\]\{([^}]*)\}", written.replace(tex.text(figure.alt), "")):
            assert f"figures/{file}" in report.files


def test_downloads_name_the_sizes_on_paper_and_latex(report: Report) -> None:
    pages = everything(report)
    links = dict(re.findall(r'<a href="(?:\.\./)?(figures/[^"]+)" download>([^<]+)</a>', pages))
    for key in ("file-tokens", "components"):
        assert links[f"figures/{key}.pdf"] == "PDF, 160 mm" and links[f"figures/{key}-86mm.pdf"] == "PDF, 86 mm"
        assert links[f"figures/{key}.tex"] == "LaTeX"
    assert [name for name, label in links.items() if label == "PNG"] == ["figures/file-tokens.png"]
    assert 'href="../data/top-operations.tex" download>LaTeX<' in pages


def test_a_draft_has_no_files_for_paper() -> None:
    files = rendered(scaled_case(3, 2, moe=True), a_moe_run()).files
    assert [name for name in files if name.endswith((".pdf", ".tex"))] == ["data/values.tex"]


def test_values_are_commands_with_exact_number_and_unit(report: Report) -> None:
    values = json.loads(report.files["data/values.json"])
    written = report.files["data/values.tex"].decode()
    kept = re.findall(r"\\tracegenkeep\{(.*?):#1\}\{#2\}\{#3\}\{#4\}", written)
    assert kept == [a_moe_run().experiment, "demo@v3"]
    for key, value in values.items():
        said = (value["text"], "" if value["value"] is None else value["value"], value["unit"])
        assert f"\\tracegenvalue{{{key}}}{''.join(f'{{{tex.text(words)}}}' for words in said)}%\n" in written
    assert written.count("\n\\tracegenvalue{") == len(values)
    wanted = ("token_ns_median", "token_ns_p95", "layer_ns_per_token_generate_0", "layer_ns_per_token_generate_mean")
    assert set(wanted) | {"most_chosen_expert_generate_0", "component_ns_per_token_generate_expert_up"} <= set(values)


@given(st.one_of(st.text(max_size=60), st.text("\\{}$&#_%~^-'`\"[]*,<>|?! \u202f–µ", max_size=40)))
def test_any_text_is_made_of_plain_signs_and_known_commands(words: str) -> None:
    written = tex.text(words)
    rest = re.sub(COMMANDS, "", written)
    assert re.fullmatch(r"[ -~À-ÿ]*", rest) and not re.search(r"[\\$&#_%^`\"<>|]", rest)
    assert not re.search(r"--|''|,,", written.replace("{''}", "")), "LaTeX would join them"
    depth = 0
    for brace in re.findall("[{}]", re.sub(r"\\[{}]", "", written)):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0 and not re.search(r"(?<!\{)[\[\]*]", written)


def test_a_long_table_says_that_the_csv_has_the_rest() -> None:
    written = tex.table("tab:x", "s", "T", "c", [("name", False), ("n", True)], [[HOSTILE, "1"]] * (tex.MOST + 5))
    assert written.count(r"\\") >= tex.MOST and f"first {tex.MOST} of {tex.MOST + 5} rows" in written
    assert re.search(r"\\begin\{tabular\}\{p\{[0-9.]+em\}r\}", written) and written.count("\\\\\n") == tex.MOST + 1


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_a_page_with_figures_tables_values_and_hostile_text_compiles(report: Report, tmp_path: Path) -> None:
    keys = [figure.key for figure in report.figures if figure.layouts and figure.page != "appendix"][:4]
    unpacked(report, tmp_path)
    experiment = a_moe_run().experiment
    body = "".join(f"\\input{{{key}}}\n" for key in (*keys, "top-operations"))
    hostile = tex.table("tab:h", HOSTILE, HOSTILE, HOSTILE, [(HOSTILE, False)], [[HOSTILE], ["*"], ["[1pt]"]])
    (tmp_path / "page.tex").write_text(
        "\\documentclass[a4paper]{article}\\usepackage{graphicx,booktabs}\\nonstopmode\\input{values}\n"
        f"\\begin{{document}}Median: \\tracegen{{{experiment}}}{{token_ns_median}}.\n"
        f"{body}{hostile}\\end{{document}}\n",
        encoding="utf-8",
    )
    compiled(tmp_path)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_no_figure_and_no_table_is_wider_than_the_line(report: Report, tmp_path: Path, columns: str) -> None:
    unpacked(report, tmp_path)
    names = sorted(path.stem for path in tmp_path.glob("*.tex") if path.stem != "values")
    assert {"disk", "top-operations", "biggest-tensors", "file-tokens", "cache-rates"} <= set(names)
    body = "".join(f"\\typeout{{BEGIN {name}}}\\input{{{name}}}\\clearpage\n" for name in names)
    (tmp_path / "page.tex").write_text(
        f"\\documentclass[a4paper,{columns}]{{article}}\\usepackage{{graphicx,booktabs}}\n"
        f"\\begin{{document}}\n{body}\\end{{document}}\n",
        encoding="utf-8",
    )
    log = compiled(tmp_path)
    parts = dict(re.findall(r"^BEGIN (\S+)(.*?)(?=^BEGIN |\Z)", log, re.MULTILINE | re.DOTALL))
    wide = {name: re.findall(r"Overfull \\hbox \([^)]*\)", part) for name, part in parts.items()}
    assert len(parts) == len(names) and not {name: lines for name, lines in wide.items() if lines}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_two_versions_in_one_document_keep_their_values(tmp_path: Path) -> None:
    for n in (1, 2):
        value = {"n": {"value": n, "unit": "1", "text": f"value {n}"}}
        (tmp_path / f"v{n}.tex").write_text(tex.values("demo", f"demo@v{n}", value, f"demo@v{n}"), encoding="utf-8")
    (tmp_path / "page.tex").write_text(
        "\\documentclass{article}\\input{v1}\\input{v2}\\begin{document}x\\typeout{"
        "FOUND \\tracegen{demo@v1}{n}, \\tracegen{demo@v2}{n}, \\tracegen{demo}{n}}\\end{document}",
        encoding="utf-8",
    )
    assert "FOUND value 1, value 2, value 2\n" in compiled(tmp_path)


def unpacked(report: Report, folder: Path) -> None:
    """The LaTeX and the PDFs of the report, in one folder."""
    for name, content in report.files.items():
        if name.startswith(("figures/", "data/")) and name.endswith((".tex", ".pdf")):
            (folder / Path(name).name).write_bytes(content)


def compiled(folder: Path) -> str:
    """Make page.pdf from page.tex; its log."""
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "page.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stdout[-3000:].decode("utf-8", "replace")
    assert (folder / "page.pdf").read_bytes().startswith(b"%PDF")
    return (folder / "page.log").read_text(encoding="latin-1")
