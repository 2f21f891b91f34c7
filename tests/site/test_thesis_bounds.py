"""`tracegen check` on texts that were made to take all time and memory: one pass each, and limits that are named."""

import re
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tracegen.contract.errors import SettingsError
from tracegen.site.references import References
from tracegen.site.thesis import macros
from tracegen.site.thesis.claims import claims
from tracegen.site.thesis.documents import MOST_INPUTS, documents
from tracegen.site.thesis.findings import Finding, findings_of
from tracegen.site.thesis.fixing import fixes
from tracegen.site.thesis.mentions import Place
from tracegen.site.thesis.numbers import typed_numbers

SIZE = 1_000_000  # signs; in quadratic time each of these texts takes minutes, most take hours
MOST_SECONDS = 20  # of processor time; all take less than three


def flood(of: str) -> str:
    return of * (SIZE // len(of))


FLOODS = {
    "comments.html": flood("<!--"),
    "scripts.html": flood("<script>"),
    "addresses.html": "<a " + flood('href="" '),
    "tags.html": flood("<a"),
    "number.html": f"&#{flood('9')};",
    "listings.tex": flood("\\begin{verbatim}"),
    "pictures.tex": flood("\\includegraphics["),
    "folders.tex": f"\\graphicspath{{{'{a} ' * 60}",  # exponential
    "braces.tex": "\\newcommand\\m[9]{#1#9}" + flood("\\m{"),
    "closed.tex": "\\newcommand\\m[9]{#1#9}" + "\\m{" * 200_000 + "}" * 200_000,
    "spaces.tex": f"\\def\\a{flood(' ')}x",
    "optional.tex": flood("\\newcommand\\a[1]["),
    "names.tex": "".join(f"\\def\\{n:b}{{#1}}\n".translate({48: "a", 49: "b"}) for n in range(30_000)) + flood("\\c "),
    "inputs.tex": flood("\\input{a}"),
    "value.md": "{{a:" + flood(" "),
    "reference.md": "[[a@v1" + flood(" "),
    "macro.md": "\\tracegen{" + flood(" "),
    "cites.md": flood("\\cite["),
    "cite.md": "\\" + flood("cite"),
    "links.md": flood("https://"),
    "versions.md": flood("a@v1 "),
    "sentences.md": flood("a@v1. B "),
    "number.md": "a@v1 is 1.23" + "\u00a0" * 60 + "x",  # exponential
    "siunitx.md": "a@v1 " + flood("\\SI["),
    "reads.md": "a@v1 and b@v1 " + flood("reads "),
    "percent.md": "a@v1 and b@v1 reads " + flood("1,"),
    "fences.md": flood("```\n~~~\n"),
}


@pytest.fixture
def limited() -> Iterator[None]:
    """Ends a test that takes more processor time than MOST_SECONDS; the engine of `re` hears it, too."""

    def end(*_: object) -> None:
        raise TimeoutError(f"more than {MOST_SECONDS} s of processor time")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("name", FLOODS)
@pytest.mark.usefixtures("limited")
def test_a_flood_is_read_in_one_pass(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FLOODS[name])
    (document,) = documents([tmp_path / name])
    list(findings_of(References(), document))
    list(typed_numbers(References(), document))
    list(claims(References(), document, tmp_path))


def read(path: Path, text: str) -> str:
    path.write_text(text)
    (document,) = documents([path])
    return "\n".join(paragraph.text for paragraph in document.paragraphs)


def test_macros_that_multiply_one_another_end_with_their_file_line_and_limit(tmp_path: Path) -> None:
    """Nine arguments, each with the next in it nine times: 9**9 times what stands in the last one."""
    path = tmp_path / "nine.tex"
    body = "".join(f"#{n}" * 9 for n in range(1, 10))
    call = "\\m" + "{\\m" * 8 + "{x}" * 9 + "}" * 8
    for text in (f"\\newcommand\\m[9]{{{body}}}\n\n{call}", "\\def\\m#1{" + "#1" * 20_000 + "}\n\n\\m{\\m{\\m{xx}}}"):
        with pytest.raises(
            SettingsError, match=rf"^{re.escape(str(path))}:3: .*\\m .*8,388,608 signs; leave this file"
        ):
            read(path, text)


def test_what_macros_put_in_is_counted_over_all_paragraphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(macros, "MOST_SIGNS", 1000)
    ten = "\\def\\m#1{#1#1}\n" + "\\m{" + "x" * 50 + "}\n\n"
    assert read(tmp_path / "a.tex", ten + ("\\m{" + "x" * 50 + "}\n\n") * 9).count("x") == 1000
    with pytest.raises(SettingsError, match=r"a\.tex:22: .* more than 1,000 signs"):
        read(tmp_path / "a.tex", ten + ("\\m{" + "x" * 50 + "}\n\n") * 9 + "\\m{x}")


def test_an_argument_that_looks_like_a_parameter_is_text(tmp_path: Path) -> None:
    assert read(tmp_path / "a.tex", r"\newcommand{\m}[2]{(#1) experiments/ (#2)} \m{#2}{b}").strip() == (
        "(#2) experiments/ (b)"
    )


def test_a_long_text_with_macros_is_read_to_its_end(tmp_path: Path) -> None:
    text = r"\def\s{experiments/}" + " word" * 500_000 + r" \s dense/v1/"
    assert read(tmp_path / "a.tex", text).endswith(" experiments/dense/v1/")


def test_definitions_in_one_another_end_with_their_file_line_and_limit(tmp_path: Path) -> None:
    def nested(n: int) -> str:
        return "".join(f"\n\\def\\{name}{{" for name in "abcdefghi"[:n]) + "@v1" + "}" * n

    assert read(tmp_path / "a.tex", nested(macros.MOST_DEPTH)).strip() == ""
    with pytest.raises(SettingsError, match=r"a\.tex:10: the definition of \\i stands in more than 8 others; "):
        read(tmp_path / "a.tex", nested(macros.MOST_DEPTH + 1))


def test_macros_that_lead_on_and_on_are_noted(tmp_path: Path) -> None:
    for deepest, note in (
        (macros.MOST_DEPTH, ""),
        (macros.MOST_DEPTH + 1, "in line 11 macros lead to one another more"),
    ):
        names = "abcdefghi"[:deepest]
        chain = "".join(f"\\def\\{a}{{@v1\\{b}}}\n" for a, b in pairwise(names))
        text = f"{chain}\\def\\{names[-1]}{{@v1}}\n\n\\a"
        (tmp_path / "a.tex").write_text(text)
        (document,) = documents([tmp_path / "a.tex"])
        assert document.note.startswith(note) and bool(document.note) == bool(note)


def test_inputs_in_one_another_end_with_their_file_line_and_limit(tmp_path: Path) -> None:
    for n in range(1000):
        (tmp_path / f"{n}.tex").write_text(f"\n\\input{{{n + 1}}}")
    assert len(documents([tmp_path / f"{999 - MOST_INPUTS}.tex"])) == MOST_INPUTS + 1
    with pytest.raises(SettingsError, match=rf"{MOST_INPUTS}\.tex:2: inputs '16' below 15 others, more than TeX takes"):
        documents([tmp_path / "0.tex"])


@pytest.mark.usefixtures("limited")
def test_many_places_of_one_line_are_moved_once_each(tmp_path: Path) -> None:
    """`v1` becomes `v10` and not `v100`."""
    n = SIZE // 20
    (tmp_path / "a.md").write_text("experiments/a/v1 and " * n)
    place = Place(tmp_path / "a.md", 1)
    found = [Finding(place, "superseded", "experiments/a/v1", "", "experiments/a/v10")] * n
    (fix,) = fixes(found)
    assert (fix.n, fix.after) == (n, "experiments/a/v10 and " * n)
