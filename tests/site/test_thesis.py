"""`tracegen check`: what a thesis says of versions, compared with what was published."""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.comparing.made import side, timed
from tests.stand_in import a_report, a_run
from tracegen.charts.stamp import Stamp, in_svg
from tracegen.cli.main import main
from tracegen.contract.errors import SettingsError
from tracegen.publishing import privacy
from tracegen.publishing import versions as publish
from tracegen.report.document import tex
from tracegen.site.references import References, references
from tracegen.site.thesis import claims as of_claims
from tracegen.site.thesis.documents import documents
from tracegen.site.thesis.findings import findings_of
from tracegen.site.thesis.numbers import typed_numbers

VALUES = {
    "speed": {"value": 136.2, "unit": "tokens/s", "text": "136 tokens/s"},
    "touched": {"value": 3178275840, "unit": "bytes", "text": "2.96 GiB"},
    "waiting": {"value": 0.83, "unit": "share", "text": "83.0 %"},
    "tokens": {"value": 24, "unit": "tokens", "text": "24"},
}
FASTER = VALUES | {"speed": {"value": 159.0, "unit": "tokens/s", "text": "159 tokens/s"}}


LATER = datetime(2026, 12, 1, tzinfo=UTC)  # than all that was mended in errata


def published(experiments: Path, name: str, number: int, values: dict[str, Any], when: datetime = LATER) -> None:
    (experiments / name).mkdir(parents=True, exist_ok=True)
    report, run = replace(a_report(), values=values), privacy.public_run(a_run(name, number))
    publish.publish(experiments / name, run, lambda planned: report, "why", when)


@pytest.fixture(scope="module")
def experiments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """dense: v1 withdrawn, v2 superseded by v3, whose speed is another one; moe: v1; old: v1, with known faults."""
    folder = tmp_path_factory.mktemp("project") / "experiments"
    for number, values in ((1, VALUES), (2, VALUES), (3, FASTER)):
        published(folder, "dense", number, values)
    published(folder, "moe", 1, VALUES)
    published(folder, "old", 1, VALUES, datetime(2026, 11, 20, tzinfo=UTC))
    publish.withdraw(folder / "dense", 1, "the wrong model", 3, LATER)
    return folder


@pytest.fixture(scope="module")
def known(experiments: Path) -> References:
    return references(p for name in ("dense", "moe", "old") for p in publish.read_published(experiments / name, None))


@pytest.fixture
def states_of(known: References, tmp_path: Path) -> Any:
    def states(text: str, name: str = "thesis.tex") -> list[tuple[str, str]]:
        (tmp_path / name).write_text(text)
        (document,) = documents([tmp_path / name])
        found = [*findings_of(known, document), *typed_numbers(known, document)]
        return [(one.state, one.why) for one in found if one.state != "fine"]

    return states


CHAPTER = r"""
\documentclass{article}
\newcommand{\site}[1]{https://example.org/a/experiments/#1}
\newcommand{\dense}[1]{\tracegen{dense@v2}{#1}}
\begin{document}
A run of \tracegen{dense@v1}{speed} was withdrawn.                               % 1 withdrawn
See \url{https://example.org/experiments/dense/v1/}.                             % 2 withdrawn
It reached \tracegen{dense@v2}{speed}.                                           % 3 superseded, another number
So did \dense{speed} with a macro of one's own.                                  % 4 superseded, another number
It touched \tracegen{dense@v2}{touched}, which is the same since.                % 5 superseded
Its page is \href{\site{dense/v2/file/\#fig-file}}{here}.                        % 6 superseded
\tracegen{dense@v3}{sped} is not a value.                                           % 7 unknown
\dense{wait} is none either.                                                     % 8 unknown
\tracegen{dense@v9}{speed} was never published.                                  % 9 unknown
\tracegen{sparse@v1}{speed} neither.                                             % 10 unknown
\url{https://example.org/experiments/dense/v3/file/#fig-nothing} is gone.        % 11 unknown
\url{https://example.org/experiments/dense/v3/nowhere/} is not a page.              % 12 unknown
\url{https://example.org/experiments/dense/run-003/} is a draft.                 % 13 unknown
\url{https://example.org/experiments/old/v1/file/} has faults.                   % 22 erratum
\tracegen{dense}{speed} names no version.                                        % 14 no version

In moe@v1 a token touches 2.69 GiB.                                              % 15 near a value
It waits for 83.0 \% of the time \cite{x}, see moe@v1.                           % 16 typed by hand
The speed of moe@v1 is \qty{137}{tokens/s} or 137~tokens/s.                      % 17 near a value
In moe@v1 it touches \SI{2.96}{\gibi\byte}.                                      % 18 typed by hand

\input{chapters/missing}                                                         % 19 unknown
\includegraphics{moe-v1/figures/file}                                            % 20 another file
\includegraphics{moe-v1/figures/nothing.pdf}                                     % 21 unknown
\include{chapters/two}
% \tracegen{dense@v1}{speed} in a comment says nothing.
\begin{verbatim}
\tracegen{dense@v1}{speed}
\end{verbatim}
Nothing is wrong with \tracegen{moe@v1}{speed}, \url{https://example.org/experiments/moe/v1/} and moe@v1.
\includegraphics{own/picture}
\end{document}
"""
TWO = r"It \emph{was} dense@v1 again.  % withdrawn"


def test_every_planted_fault_of_a_chapter_is_found_and_nothing_else(known: References, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text(CHAPTER.lstrip("\n"))
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "two.tex").write_text(TWO)
    (tmp_path / "moe-v1" / "figures").mkdir(parents=True)
    (tmp_path / "moe-v1" / "figures" / "file.svg").write_text("<svg/>")
    found = [
        (one.place.path.name, one.place.line, one.state)
        for document in documents([tmp_path / "thesis.tex"])
        for one in (*findings_of(known, document), *typed_numbers(known, document))
        if one.state != "fine"
    ]
    planted = re.compile(r"% (?:\d+ )?([a-z][a-z, ]*)$")
    lines = enumerate(CHAPTER.lstrip("\n").splitlines(), start=1)
    expected = [("thesis.tex", n, m[1]) for n, line in lines if (m := re.search(r"% \d+ ([a-z, ]+)$", line))]
    expected.append(("two.tex", 1, "withdrawn"))
    assert len(expected) >= 20 and planted.search(TWO)
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("notes.md", "Of [[dense@v1]] and {{ dense@v2:speed }}.\n\n```\n[[dense@v1]]\n```\n"),
        ("page.html", "<a href='../experiments/dense/v1/'>It</a>, <b>dense@v2</b><script>'dense@v1'</script>"),
        ("refs.bib", "@misc{a, url = {https://a.org/experiments/dense/v1/},\n note = {\\tracegen{dense@v2}{speed}}}"),
        (
            "notes.ipynb",
            json.dumps(
                {
                    "cells": [
                        {"cell_type": "markdown", "source": ["Of [[dense@v1]]", " and {{ dense@v2:speed }}"]},
                        {"cell_type": "code", "source": "load('dense@v1')"},
                    ]
                }
            ),
        ),
    ],
)
def test_references_are_found_in_markdown_html_bibtex_and_notebooks(states_of: Any, name: str, text: str) -> None:
    found = states_of(text, name)
    assert found[0][0] == "withdrawn" and len(found) == 2
    assert found[1][0].startswith("superseded") and "the wrong model; see dense@v3" in found[0][1]


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("In moe@v1 it is 2.96 GiB.", "typed by hand"),
        ("In moe@v1 it is 2,96 GiB.", "typed by hand"),
        ("In moe@v1 it is 9.26 GiB.", "near a value"),
        ("In moe@v1 it is 2.95 GiB.", "near a value"),
        ("In moe@v1 it is 29.6 GiB.", "near a value"),
        ("In moe@v1 it is 2.96 MiB.", "near a value"),
        ("In moe@v1 it is 2.96 GB.", "near a value"),
        ("In moe@v1 it is 8.30 %.", "near a value"),
        ("In moe@v1 it is 3.18 GB.", "typed by hand"),
        ("In moe@v1 it is 3031 MiB.", "typed by hand"),
        ("In moe@v1 it is 136.2 tokens/s.", "typed by hand"),
        ("In moe@v1 it is 2.69 MiB.", "matches no value"),
        ("In moe@v1 it is 2.9 GiB.", ""),
        ("In moe@v1 it is 3.96 GiB.", "matches no value"),
        ("In moe@v9 it is 3.96 GiB.", "unknown"),
        ("In general it is 2.69 GiB.", ""),
        ("Of moe@v1. It is 2.69 GiB.", ""),
        ("The 83.0 % of moe@v1.", "typed by hand"),
        ("The 38.0 % of moe@v1.", "near a value"),
        ("In moe@v1 it is version 1.2.96 GiB.", ""),
    ],
)
def test_which_typed_numbers_are_reported(states_of: Any, text: str, state: str) -> None:
    assert [found for found, _ in states_of(text, "notes.md")] == ([state] if state else [])


def test_a_sentence_may_begin_with_the_name_of_a_version(states_of: Any, claimed: Any) -> None:
    link = r"The pages are at \url{https://example.org/experiments/moe/v1/}."
    for before in (f"{link} ", f"{link}\n", f"{link}\\\\", f"{link}\\\\ "):
        assert len(claimed(f"{before}dense@v3 is faster than moe@v1.", 1.3)) == 1, before
        assert [state for state, _ in states_of(f"{before}moe@v1 touches 2.69 GiB.")] == ["near a value"], before


def test_of_equal_values_the_one_is_named_that_the_sentence_is_about(tmp_path: Path) -> None:
    size = {"value": 96577380, "unit": "bytes", "text": "92.1 MiB"}
    labels = {
        "cache_bytes_50_lru": "LRU cache that serves 50 % of the bytes",
        "mapped_bytes_per_token": "weights touched per token, mapped",
        "peak_buffer_bytes": "peak buffer memory",
    }
    published(tmp_path, "fits", 1, {key: size | {"label": label} for key, label in labels.items()})
    known = references(publish.read_published(tmp_path / "fits", None))

    def first(text: str) -> str:
        (tmp_path / "thesis.tex").write_text(text)
        (found,) = typed_numbers(known, *documents([tmp_path / "thesis.tex"]))
        return next(key for key in re.findall(r"\w+_\w+", found.why))

    assert first("In fits@v1 a token touches 92.1 MiB.") == "mapped_bytes_per_token"
    assert first("In fits@v1 a token touches 92.1 GiB.") == "mapped_bytes_per_token"
    assert first("In fits@v1 buffers take 92.1 MiB.") == "peak_buffer_bytes"
    assert first("A cache of 92.1 MiB would do for fits@v1.") == "cache_bytes_50_lru"


def test_what_a_version_holds_for_latex_is_no_text_of_the_author(known: References, tmp_path: Path) -> None:
    own = tex.values("moe", "moe@v1", VALUES, "moe@v1")
    (tmp_path / "moe-v1" / "data").mkdir(parents=True)
    (tmp_path / "moe-v1" / "data" / "values.tex").write_text(own)
    (tmp_path / "thesis.tex").write_text("\\documentclass{article}\\input{moe-v1/data/values}\\tracegen{moe@v1}{speed}")
    (document,) = documents([tmp_path / "thesis.tex"])
    found = [one.state for one in (*findings_of(known, document), *typed_numbers(known, document))]
    assert found == ["fine", "another file"], "its bytes are compared, and nothing in it is typed by hand"


def test_keys_of_the_bibliography_name_versions(states_of: Any) -> None:
    """Those of tracegen's own entries; `states_of` leaves out what is fine."""
    assert states_of(r"As measured \cite{dense-v3, moe-v1, smith-v2} and \autocite[see][3]{moe-v1-fig-layers}.") == []
    ((state, why),) = states_of(r"As measured \citep[p.~2]{knuth84,dense-v1-fig-heatmap}.")
    assert state == "withdrawn" and "the wrong model" in why
    ((state, why),) = states_of(r"It is fast \cite{dense-v2}.")
    assert state == "superseded" and "dense@v3" in why
    ((state, why),) = states_of(r"It is fast \cite{dense-v9}.")
    assert state == "unknown"
    assert [state for state, _ in states_of(r"It gives 163 tokens/s \cite{dense-v3}.")] == ["matches no value"]
    assert [state for state, _ in states_of(r"It touches 2.69 GiB \cite{dense-v3}.")] == ["near a value"]


def test_versions_of_other_tools_are_none_of_ours(states_of: Any) -> None:
    assert states_of("actions/checkout@v4, package@v2 and a.b@v1 are others.") == []
    assert [state for state, _ in states_of("Of dnese@v1 and dense@v4.")] == ["unknown", "unknown"]


def test_bad_input_is_named_and_harmless(states_of: Any, tmp_path: Path) -> None:
    (tmp_path / "latin.tex").write_bytes("Größe von dense@v1".encode("latin-1"))
    (document,) = documents([tmp_path / "latin.tex"])
    assert document.note and "Größe" in document.paragraphs[0].text
    assert states_of(r"\newcommand{\a}{\b experiments/}\newcommand{\b}{\a\a experiments/} \a \tracegen{dense@v9}{x}")
    assert states_of("\\newcommand{\\a}[2]{tracegen #1#2}\\a{x" + "{" * 3000) == []
    (tmp_path / "loop.tex").write_text(r"\input{loop}\input{../loop} dense@v1")
    assert len(documents([tmp_path / "loop.tex"])) == 1
    for name, content in (("a.ipynb", "{"), ("b.ipynb", '{"cells": 3}'), ("c.ipynb", '{"cells": [3]}'), ("d.txt", "")):
        (tmp_path / name).write_text(content)
        with pytest.raises(SettingsError, match=re.escape(name)):
            documents([tmp_path / name])
    os.mkfifo(tmp_path / "pipe.tex")
    for name in ("none.tex", "pipe.tex"):
        with pytest.raises(SettingsError, match=name):
            documents([tmp_path / name])
    broken = "@misc{a, url = {https://example.org/experiments/dense/v1/"
    assert [state for state, _ in states_of(broken, "broken.bib")] == ["withdrawn"]
    assert states_of("no such thing \\tracegen{{}{}} [[@v1]] {{ : }} experiments//v1/ " * 50_000) == []  # 3 MB


SHOWN = [
    "moe@v1 is faster than dense@v3.",
    "Compared with dense@v3, moe@v1 is faster.",
    "dense@v3 is slower than moe@v1.",
    "With repacking, moe@v1 is 12 % faster than dense@v3.",
    "moe@v1 outperforms dense@v3.",
    "A token takes longer in dense@v3 than in moe@v1.",
    "moe@v1 generates quicker than dense@v3 does.",
    "Against dense@v3, a token of moe@v1 takes less time.",
    "moe@v1 has a higher speed than dense@v3.",
    "In moe@v1 generation is 1.3 times faster than in dense@v3.",
    "dense@v3 slows down by a third beside moe@v1.",
    "Relative to moe@v1, dense@v3 is slower.",
    "dense@v3 needs more time for a token than moe@v1.",
    "On the same machine moe@v1 is faster than dense@v3.",
    "moe@v1 is much faster than dense@v3!",
]
HARMLESS = [
    "dense@v3 and moe@v1 were recorded on one day.",
    "We ask whether moe@v1 is faster than dense@v3.",
    "moe@v1 is not faster than dense@v3.",
    "It is unclear if dense@v3 is slower than moe@v1.",
    "Is moe@v1 faster than dense@v3?",
    "moe@v1 could be faster than dense@v3.",
    "moe@v1 is as fast as dense@v3.",
    "Neither dense@v3 nor moe@v1 is slower.",
    "One would expect moe@v1 to be faster than dense@v3.",
    "dense@v3 and moe@v1 have the same speed.",
    "No difference between dense@v3 and moe@v1 makes one slower.",
    "Nothing shows that moe@v1 is faster than dense@v3.",
    "moe@v1 is faster.",
    "A faster disk helps.",
    "Table 3 lists dense@v3 and moe@v1.",
    "moe@v1 follows dense@v3 in the next section.",
    "See dense@v3, and for experts moe@v1.",
    "It may be faster in moe@v1 than in dense@v3.",
    "That moe@v1 is faster than dense@v3 cannot be said.",
    "dense@v3 asks the question that moe@v1 answers.",
    "If moe@v1 is faster than dense@v3, repacking helps.",
    "dense@v3 might take longer than moe@v1.",
    "The models of dense@v3 and moe@v1 are equally large.",
    "Both dense@v3 and moe@v1 use two threads.",
    "moe@v1 was made after dense@v3.",
    "The settings of dense@v3 are those of moe@v1.",
    "moe@v1 should be faster than dense@v3.",
    "We supposed that dense@v3 is slower than moe@v1.",
    "The figures of dense@v3 and moe@v1 stand side by side.",
    "No evidence says that dense@v3 is slower than moe@v1.",
]


@pytest.fixture
def claimed(known: References, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The claims that are reported of a sentence where moe@v1 has so many times the speed of dense@v3."""

    def reported(sentence: str, factor: float) -> list[str]:
        speeds = {"dense@v3": 100.0, "moe@v1": 100.0 * factor}
        monkeypatch.setattr(
            of_claims,
            "side_of",
            lambda name, experiments: side(name, [[timed(speeds[name] * (1 + n / 1000))] for n in range(9)]),
        )
        (tmp_path / "claim.md").write_text(sentence)
        (document,) = documents([tmp_path / "claim.md"])
        return [one.why for one in of_claims.claims(known, document, tmp_path)]

    yield reported


def test_claims_are_checked_against_the_comparison(claimed: Any) -> None:
    for sentence in SHOWN:
        assert claimed(sentence, 1.3) == [], sentence
        (why,) = claimed(sentence, 1.001) or [""]
        assert "same within 5 %" in why, sentence
        (why,) = claimed(sentence, 0.7) or [""]
        assert why.startswith("it is the other way round"), sentence
    false = [sentence for sentence in HARMLESS if claimed(sentence, 1.001)]
    assert 15 + len(SHOWN) + len(HARMLESS) >= 60 and len(false) * 20 <= len(HARMLESS), false


def test_check_prints_judges_and_fixes_references(
    experiments: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chapter, of = tmp_path / "a.tex", ["--experiments", str(experiments)]
    links = r"\url{https://example.org/experiments/dense/v2/file/\#fig-file}"
    chapter.write_text(f"{links}\n\\tracegen{{dense@v2}}{{touched}} \\tracegen{{dense@v2}}{{speed}}\n")
    assert main(["check", str(tmp_path), *of]) == 1
    said = capsys.readouterr()
    assert "a.tex:2: superseded, another number: " in said.out and "159 tokens/s instead of 136" in said.out
    assert "one place would mislead a reader" in said.err and "3 found: 2 superseded, 1 " in said.out
    assert main(["check", str(chapter), "--json", *of]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [one["misleads"] for one in found] == [False, False, True] and found[0]["place"].endswith("a.tex:1")
    assert main(["check", str(chapter), "--fix", *of]) == 1
    assert "+\\tracegen{dense@v3}{touched} \\tracegen{dense@v2}{speed}" in capsys.readouterr().out
    assert chapter.read_text() == (
        f"{links.replace('v2', 'v3')}\n\\tracegen{{dense@v3}}{{touched}} \\tracegen{{dense@v2}}{{speed}}\n"
    )
    chapter.write_text("Of 512 MiB, dense@v3 touches 1.25 GiB.")
    assert main(["check", str(chapter), *of]) == 0
    assert capsys.readouterr().out == "3 found: 1 fine, 2 matches no value\n"
    assert (
        main(["check", str(chapter), "--all", *of]) == 0
        and "a.tex:1: matches no value: 1.25 GiB" in capsys.readouterr().out
    )
    chapter.write_text("Nothing.")
    assert main(["check", str(chapter), *of]) == 0 and "no version is mentioned" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "b.tex"), *of]) == 2
    assert main(["check", str(chapter), "--experiments", str(tmp_path / "none")]) == 2


def test_figures_that_name_their_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a file, inside a document, changed, of other data, superseded, withdrawn, of versions that are not there."""
    experiments, of = tmp_path / "experiments", ["--experiments", str(tmp_path / "experiments")]

    (experiments / "dense").mkdir(parents=True)

    def stamped(number: int, name: str = "dense", key: str = "file", data: bytes = b"x,y\n1,2\n") -> bytes:
        stamp = Stamp(f"{name}@v{number}", key, "complete", "data/file.csv", hashlib.sha256(data).hexdigest())
        return in_svg("<svg><title>a file</title></svg>", stamp).encode()

    for number, data in ((1, b"x,y\n1,2\n"), (2, b"x,y\n1,2\n"), (3, b"x,y\n1,3\n")):
        files = {"figures/file.svg": stamped(number, data=data), "data/file.csv": data}
        figures = [replace(f, path_svg="figures/file.svg") if f.key == "file" else f for f in a_report().figures]
        report = replace(a_report(), files=a_report().files | files, figures=tuple(figures))
        run = privacy.public_run(a_run("dense", number))
        publish.publish(experiments / "dense", run, lambda planned, report=report: report, "why", LATER)
    publish.withdraw(experiments / "dense", 1, "the wrong model", 3, LATER)

    def states(content: bytes, name: str = "a.svg") -> tuple[int, str]:
        (tmp_path / name).write_bytes(content)
        code = main(["check", str(tmp_path / name), *of])
        return code, capsys.readouterr().out

    current = stamped(3, data=b"x,y\n1,3\n")
    for content, name, code, said in (
        (current, "a.svg", 0, "fine: dense@v3: figures/file.svg\n    is what dense@v3 holds"),
        (b"%PDF" + current, "a.PDF", 0, "names the data of dense@v3; whether it was drawn from them cannot be seen"),
        (current.replace(b"a file", b"a lie"), "a.svg", 1, "another file: dense@v3"),
        (stamped(3), "a.svg", 1, "says of itself what this figure of dense@v3 does not"),
        (b"%PDF" + stamped(2), "a.pdf", 0, "dense@v2 is superseded by dense@v3; its data differ"),
        (stamped(2), "a.svg", 0, "dense@v2 is superseded by dense@v3; its data differ"),
        (stamped(1), "a.svg", 1, "dense@v1 is withdrawn: the wrong model; see dense@v3"),
        (b"%PDF" + stamped(1), "a.pdf", 1, "dense@v1 is withdrawn: the wrong model; see dense@v3"),
        (stamped(9), "a.svg", 1, "dense@v9 is not a published version; published are "),
        (stamped(3, key="fil"), "a.svg", 1, "dense@v3 has no such figure; "),
    ):
        ended, out = states(content, name)
        assert (ended, said in out) == (code, True), out
    (tmp_path / "thesis.pdf").write_bytes(b"%PDF-1.7" + current + stamped(1))
    assert main(["whose", str(tmp_path / "thesis.pdf"), *of]) == 0
    assert [line[:8] for line in capsys.readouterr().out.splitlines()] == ["dense@v3", "dense@v1"]
    (tmp_path / "thesis.pdf").write_bytes(b"%PDF-1.7" + stamped(9))
    assert main(["whose", str(tmp_path / "thesis.pdf"), *of]) == 1 and "holds this file" in capsys.readouterr().err
    (tmp_path / "note.md").write_text("[[dense@v9]]")
    for content in (b"", b"%PDF-1.7\n" + b"\0" * 4096):
        (tmp_path / "b.png").write_bytes(content)
        assert main(["check", str(tmp_path / "b.png"), str(tmp_path / "note.md"), *of]) == 1
        out = capsys.readouterr().out
        assert "names no version; XeLaTeX drops" in out and "unknown: [[dense@v9]]" in out
    (tmp_path / "none.svg").mkdir()
    assert [main(["check", str(tmp_path / name), *of]) for name in ("none.pdf", "none.svg")] == [2, 0]


def test_whose_a_file_or_a_value_is(experiments: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = ["--experiments", str(experiments)]
    (tmp_path / "renamed.svg").write_bytes((experiments / "moe/versions/1/figures/file.svg").read_bytes())
    assert main(["whose", str(tmp_path / "renamed.svg"), *of]) == 0
    assert "moe@v1 (current): figures/file.svg\n" in capsys.readouterr().out
    for value in ("159 tokens/s", "159.0", "159\u202ftokens/s"):
        assert main(["whose", value, *of]) == 0
        assert capsys.readouterr().out == "dense@v3 (current): speed = 159 tokens/s\n"
    assert (
        main(["whose", "160 tokens/s", *of]) == 1 and "no published version has this value" in capsys.readouterr().err
    )
    (tmp_path / "renamed.svg").write_bytes(b"<svg/>")
    assert main(["whose", str(tmp_path / "renamed.svg"), *of]) == 1 and "holds this file" in capsys.readouterr().err
