"""The same fact has the same number everywhere: in every version that is published here, and in a new report.

`places.py` collects what states it, `parts_of_time.py` what says it in other words. Each kind of place is tried with a
wrong number.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

import tracegen
from tests.builders.runs import stored
from tests.report import parts_of_time
from tests.report.places import Report, issue_of, lines, measures, numbers, wrong_measures, wrong_sentences
from tests.report.rendered import disk_case, rendered
from tracegen.contract.model import Version
from tracegen.publishing.bundle import read_bundle
from tracegen.publishing.versions import Published
from tracegen.reading.notebook.loaded import LoadedVersion
from tracegen.reading.shown.figures import key_figures
from tracegen.reading.shown.words import in_words
from tracegen.report.figures.answers import answers
from tracegen.report.figures.caches import TARGET
from tracegen.report.figures.catalogue import part_of
from tracegen.report.figures.context import Context
from tracegen.report.findings.found import findings
from tracegen.site.references import quoted, references

ROOT = Path(__file__).parents[2]
VERSIONS = {f"{path.parents[1].name}@v{path.name}": path for path in sorted(ROOT.glob("experiments/*/versions/[0-9]*"))}
NEW = "a new report"
ASKED = ("tokens", "disk-split", "disk-tensors", "waiting-kinds")
READ = (".html", ".txt", ".md", ".tex", ".json", ".csv", ".bib")


def asked_of(context: Context) -> dict[str, str]:
    """What the command prints that answers questions."""
    parts = [part for key in ASKED if (part := part_of(key)) is not None]
    return {of.key: f"{of.answer}. {of.counts}" for of in answers(context, parts)}


@lru_cache
def version(citation: str) -> tuple[Report, parts_of_time.Times]:
    """All that tells of a published version."""
    folder = VERSIONS[citation]
    loaded = tracegen.load(folder)
    assert isinstance(loaded, LoadedVersion)
    files = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.suffix in READ and "tables" not in path.parts
    }
    context = Context(loaded.measured, loaded.tables)
    of = loaded.document
    cited = Version(of["experiment"], of["version"], of["created"], of["message"], tuple(of["runs"]), of["verdict"], "")
    bundle = Published(cited, read_bundle(folder))
    known = references([bundle])
    quotes = {key: quoted(known, bundle, key, "run") for key in of["values"]}
    report = Report(
        citation,
        files,
        dict(loaded.tables),
        asked_of(context),
        {key: (quote.number, quote.words) for key, quote in quotes.items()},
    )
    return report, parts_of_time.Times(report)


@lru_cache
def analysed(folder: Path) -> Context:
    """A run that was stored in this folder, as a notebook loads it."""
    run, tables = disk_case()
    stored(folder, run, tables)
    loaded = tracegen.load(folder / run.experiment)
    return Context(loaded.measured, loaded.tables)


@lru_cache
def new(folder: Path) -> tuple[Report, parts_of_time.Times]:
    """All that tells of a run that was stored in this folder."""
    context = analysed(folder)
    made = rendered(dict(context.tables), context.run)
    files = {path: content.decode() for path, content in made.files.items() if path.endswith(READ)}
    files |= {page.path: page.body for page in made.pages}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tracegen.report.figures.context.Context", lambda *_: context)  # what is known is not made again
        figures = key_figures(context.run, context.tables)
    report = Report(NEW, files, dict(context.tables), asked_of(context), shown=figures, printed=in_words(figures))
    return report, parts_of_time.Times(report)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the run of the new report is stored."""
    return tmp_path_factory.mktemp("experiments")


@pytest.fixture(scope="module")
def told(folder: Path) -> Callable[[str], tuple[Report, parts_of_time.Times]]:
    """A report by name, with its attribution."""
    return lambda name: new(folder) if name == NEW else version(name)


Told = Callable[[str], tuple[Report, parts_of_time.Times]]


def wrong(report: Report, times: parts_of_time.Times) -> list[str]:
    """All places that contradict another."""
    return [*wrong_measures(report), *wrong_sentences(report), *parts_of_time.wrong_parts(report, times)]


@pytest.mark.parametrize("name", [*VERSIONS, NEW])
def test_all_places_that_state_a_fact_state_the_same_number(name: str, told: Told) -> None:
    found = wrong(*told(name))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", [*VERSIONS, NEW])
def test_no_kind_of_place_is_empty(name: str, told: Told) -> None:
    """Else nothing would be compared."""
    report, times = told(name)
    stated = list(measures(report))
    places = {of.place for of in stated}
    assert {"index.html", "data/overview.txt", "data/values.tex", "data/issue.md", "tracegen.load"} <= places
    assert places >= ({"show", "show --json"} if name == NEW else {"version.json", "a quotation in the journal"})
    assert {of.key for of in stated if of.place == "data/values.tex"} == set(report.values)
    assert issue_of(report.files["index.html"]) == report.files["data/issue.md"]
    assert len({of.fact for of in parts_of_time.named(report, times)}) >= 3


def test_the_numbers_of_a_finding_are_its_amounts(folder: Path) -> None:
    for finding in findings(analysed(folder)):
        amounts = [amount.number.replace("\u202f", " ") for amount in finding.amounts]
        given = [shown for text in amounts for shown in numbers(text)]
        for shown in numbers(finding.text.replace("\u202f", " ")):
            chosen = shown.unit == "share" and shown.stands_for(TARGET)
            assert not shown.unit or chosen or any(map(shown.agrees, given)), (finding.text, amounts)


# A wrong number in one place


def in_file(path: str, found: str, instead: str | Callable[[re.Match[str]], str]) -> Callable[[Report], Report]:
    """A report with the first place of a file changed that a pattern finds."""

    def changed(report: Report) -> Report:
        text, n = re.subn(found, instead, report.files[path], count=1, flags=re.DOTALL)
        assert n and text != report.files[path], f"{path} has nothing to plant it in"
        return replace(report, files={**report.files, path: text})

    return changed


def in_values(report: Report) -> Report:
    values = {**report.values, "ttft_ns": {**report.values["ttft_ns"], "value": 7.0}}
    return replace(report, files={**report.files, "data/values.json": json.dumps(values)})


def in_document(report: Report) -> Report:
    document = json.loads(report.files["version.json"])
    document["values"]["touched_share"]["text"] = "12.3 %"
    return replace(report, files={**report.files, "version.json": json.dumps(document)})


def in_caption(report: Report) -> Report:
    document = json.loads(report.files["version.json"])
    for figure in document["figures"]:
        figure["caption"] = re.sub(r"\b\d+\b", "12345", figure["caption"], count=1)
    return replace(report, files={**report.files, "version.json": json.dumps(document)})


def in_finding(report: Report) -> Report:
    document = json.loads(report.files["version.json"])
    document["finding"] = more(document["finding"])
    return replace(report, files={**report.files, "version.json": json.dumps(document)})


def more(text: str) -> str:
    """The text with other digits in its first number that has a unit."""
    first = next(shown.text for shown in numbers(text.replace("\u202f", " ")) if shown.unit)
    digits = re.search(r"\d[\d.]*", first)
    assert digits
    return text.replace(digits[0], f"7{digits[0]}", 1)


def answer_in(path: str) -> Callable[[Report], Report]:
    """Another number in the answer that a page or the lines for an issue have."""
    begin = r'(class="tg-answer">)([^<]*)' if path.endswith((".html", ".txt")) else r"(\*\*)([^*]*)"
    return in_file(path, begin, lambda found: found[1] + more(found[2]))


def below_a_figure(report: Report) -> Report:
    """Another number in the first finding of the first page that stands below its figure too."""
    said = [line.text for line in lines(report.files["index.html"]) if "findings" in line.ids]
    begins = [rf"({re.escape(found[0])})(?=\d)" for text in said if (found := re.match(r"\D{9,}(?=\d)", text))]
    pages = [name for name in report.files if name.endswith("/index.html")]
    begin, path = next((begin, path) for begin in begins for path in pages if re.search(begin, report.files[path]))
    return in_file(path, begin, r"\g<1>7")(report)


def cited(report: Report) -> Report:
    number, _ = report.cited["load_ns"]
    return replace(report, cited={**report.cited, "load_ns": (number, "7.77 s")})


def in_tables(report: Report) -> Report:
    passes = report.tables["passes"]
    return replace(report, tables={**report.tables, "passes": passes.assign(end_ns=passes["end_ns"] + 7_000_000)})


def in_json(report: Report) -> Report:
    of = report.shown["measures"]
    return replace(report, shown={**report.shown, "measures": {**of, "file_bytes": {**of["file_bytes"], "value": 7}}})


def printed(report: Report) -> Report:
    label = report.shown["measures"]["weight_bytes_per_token"]["label"]
    name = next(name for name in report.printed if name.startswith(label))
    return replace(report, printed={**report.printed, name: "77.7 TiB"})


def shown_answer(report: Report) -> Report:
    return replace(report, shown={**report.shown, "answer": more(str(report.shown["answer"]))})


def asked(report: Report) -> Report:
    return replace(report, asked={**report.asked, "tokens": more(report.asked["tokens"])})


def said(text: str) -> Callable[[Report], Report]:
    """A sentence more on a page."""
    return in_file("appendix/index.html", "(?=</section>)", f"<p>{text}</p>")


DISK, MACROS, SPLIT = "does-not-fit@v1", "data/values.tex", "data/disk-split.csv"
SHARE = "(value-touched_share.*?"
PLANTED: Mapping[str, tuple[str, str, Callable[[Report], Report]]] = {
    "values": (DISK, "version.json", in_values),
    "the list of a version": (DISK, "version.json", in_document),
    "a key figure": (
        DISK,
        "index.html",
        in_file("index.html", r"(value-touched_share.*?<strong>)[\d.]+", r"\g<1>12.3"),
    ),
    "beside a key figure": (
        DISK,
        "index.html",
        in_file("index.html", r"(value-touched_share.*?<small>)[\d.]+", r"\g<1>12.3"),
    ),
    "the page to mail": (
        DISK,
        "data/overview.txt",
        in_file("data/overview.txt", r"(value-peak_buffer_bytes.*?<strong>)[\d.]+", r"\g<1>12.3"),
    ),
    "a macro in words": (DISK, "data/values.tex", in_file("data/values.tex", r"(\{load_ns\}\{)[\d.]+", r"\g<1>12.3")),
    "a macro exact": (
        DISK,
        "data/values.tex",
        in_file("data/values.tex", r"(\{load_ns\}\{[^}]*\}\{)[\d.]+", r"\g<1>12.3"),
    ),
    "a speed for an issue": (DISK, "data/issue.md", in_file("data/issue.md", r"(\| +tg\d+ \| +)[\d.]+", r"\g<1>7.77")),
    "a size for an issue": (DISK, "data/issue.md", in_file("data/issue.md", r"(\| )[\d.]+ MiB", r"\g<1>7.77 MiB")),
    "the lines for an issue on the page": (
        DISK,
        "index.html, for an issue",
        in_file("index.html", r"(<textarea.*?\| +pp\d+ \| +)[\d.]+", r"\g<1>7.77"),
    ),
    "the data of a figure": (DISK, "data/tokens.csv", in_file("data/tokens.csv", r"(\n(?:\d+,){6})\d+", r"\g<1>7")),
    "the parts of times": (
        DISK,
        "data/disk-split.csv",
        in_file("data/disk-split.csv", r"\n3,(?:[\d.]+,){6}", "\n3,1,2,3,4,5,6,"),
    ),
    "a quotation": (DISK, "a quotation", cited),
    "the notebook": (DISK, "tracegen.load", in_tables),
    "show as JSON": (NEW, "show --json", in_json),
    "show": (NEW, "show", printed),
    "the answer on the first page": (DISK, "data/issue.md", answer_in("index.html")),
    "the answer on the page to mail": (DISK, "data/overview.txt", answer_in("data/overview.txt")),
    "the answer for an issue": (DISK, "data/issue.md", answer_in("data/issue.md")),
    "the answer in lists": (DISK, "version.json", in_finding),
    "the answer of show": (NEW, "show --json", shown_answer),
    "the answer to a question": (DISK, "show QUESTION", asked),
    "a finding below another figure": (DISK, "file/index.html", below_a_figure),
    "a caption": (DISK, "version.json, caption", in_caption),
    "a caption in LaTeX": (DISK, "data/disk-tensors.tex", in_file("data/disk-tensors.tex", r"\d+\.\d+(?= \\%)", "7.7")),
    **{
        text: (DISK, "appendix/index.html", said(text))
        for text in (
            "Waiting for the disk was 33.3 % of the time of generated tokens.",
            "The prompt spends 54.3 % of its time waiting for the disk.",
            "For 22.2 % of their time tokens have page faults.",
            "In generation, threads wait for others for 77.7 % of the time.",
            "Tokens are outside operations for 44.4 % of their time.",
            "Tokens: computing MUL_MAT is 77.7 % of the time.",
            "Threads waited for a processor for 66.6 % of the time of tokens.",
            "Tokens wait for token_embd.weight for 99.9 % of all waiting.",
            "The median token takes 98.7 ms.",
            "A token has 98.7 ms of waiting for the disk.",
            "Generated tokens read 777 MiB.",
        )
    },
}


@lru_cache
def wrong_before(name: str, told: Told) -> set[str]:
    return set(wrong(*told(name)))


@pytest.mark.parametrize("kind", PLANTED)
def test_a_wrong_number_in_one_place_is_found(kind: str, told: Told) -> None:
    name, place, plant = PLANTED[kind]
    report, times = told(name)
    before = wrong_before(name, told)
    found = [line for line in wrong(plant(report), times) if line not in before]
    assert any(line.startswith(place) for line in found), found
