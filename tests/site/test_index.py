"""The index of experiments and the page of one: what they say of bundles, bare ones too."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from tests.many_experiments import a_full_report
from tests.site.test_site import gathered
from tests.stand_in import NOW, a_report, a_run, a_run_folder, a_version
from tracegen.contract.model import Check
from tracegen.publishing import versions as publish
from tracegen.publishing.bundle import read_bundle
from tracegen.site.about import About
from tracegen.site.cards import card

ROOT = Path(__file__).parents[2]
FACTS: dict[str, dict[str, object]] = {
    "settings": {"question": "Why?"},
    "model": {"file": "m.gguf", "architecture": "llama", "name": "A model", "size_bytes": 1024},
}
VALUES: dict[str, tuple[float | None, str]] = {
    "tokens_per_second_generate": (2030.97291, "2\u202f031 tokens/s"),
    "tokens_per_second_prompt": (4000.0, "4\u202f000 tokens/s"),
    "touched_share": (0.8143, "81.4 %"),
    "bytes_touched_per_token": (1000, "1000 B"),
    "peak_buffer_bytes": (10, "10 B"),
}


def facts(**changes: dict[str, object]) -> dict[str, dict[str, object]]:
    return {group: {**FACTS[group], **changes.get(group, {})} for group in FACTS}


def index_of(root: Path) -> str:
    return gathered(root).pages["experiments/index.md"].content()


def tags_in(html: str) -> list[str]:
    """The tags that the list offers, each with its number of experiments."""
    return [unescape(words) for words in re.findall(r'<option value="[^"]+">(.*?\))', html)]


def text_of(html: str) -> str:
    """The words of the list, as a browser reads them, one line for each block."""

    class Reader(HTMLParser):
        lines: list[str] = [""]  # noqa: RUF012

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag in ("li", "p", "h3", "br", "div", "ul"):
                self.lines.append("")

        def handle_data(self, data: str) -> None:
            self.lines[-1] += data

    reader = Reader()
    reader.lines = [""]
    reader.feed(html[html.index('<ul class="tracegen-index">') : html.index("</ul>")])
    return "\n".join(" ".join(re.split(r"[ \n]+", line)).strip() for line in reader.lines if line.strip())


# The facts of bundles


def test_the_facts_of_a_published_version() -> None:
    about = About(read_bundle(ROOT / "experiments" / "does-not-fit" / "versions" / "1"))
    assert about.text("tokens_per_second_generate") == "8.89 tokens/s"
    assert (about.facts.model.size_bytes, about.dtype) == (98_362_432, "Q4_1")
    assert about.architecture == "llama" and "waiting for the disk" in about.finding
    assert about.facts.llama_cpp.version == "0.3.36" and about.facts.command[0] == "llama-completion"


def test_what_a_bundle_lacks_is_not_recorded(tmp_path: Path) -> None:
    a_version(tmp_path / "experiments", report=a_report())
    text = text_of(index_of(tmp_path))
    assert text.splitlines() == [
        "no picture",
        "sample",
        "What is read?",
        "model not recorded",
        "architecture not recorded, type not recorded, size not recorded",
        "tokens/s not recorded",
        "61 % of the file touched",
        "sample@v1",
        "2026-11-21, complete",
        "1 version",
    ]
    assert "<select" not in index_of(tmp_path)


def test_what_a_bundle_holds_stands_in_the_index(tmp_path: Path) -> None:
    experiments = tmp_path / "experiments"
    report = a_full_report(
        facts(),
        finding="It reads 5 of 7. Then it stops.",
        values=VALUES,
        dtypes={"F32": 3, "Q4_K": 9, "Q6_K": 4},
        picture=b"a PNG",
    )
    for number in (1, 2):
        a_version(experiments, number=number, report=report)
    a_run_folder(experiments, a_run(number=5))
    (experiments / "sample" / "experiment.toml").write_text('question = "Why so?"\ntags = ["moe", "disk"]\n')
    html = index_of(tmp_path)
    assert text_of(html).splitlines() == [
        "sample",
        "Why so?",
        "It reads 5 of 7.",
        "A model",
        "llama, Q4_K, 1.00 KiB",
        "2\u202f031 tokens/s, 1 run",
        "81.4 % of the file touched",
        "sample@v2",
        "2026-11-22, complete",
        "2 versions, 1 draft",
        "tags: moe, disk",
    ]
    assert tags_in(html) == ["disk (1)", "moe (1)"]
    assert "<img src=sample/v2/figures/card.png " in html


def test_tags_are_those_of_the_settings_else_of_the_newest_bundle(tmp_path: Path) -> None:
    experiments = tmp_path / "experiments"
    a_version(experiments, report=a_full_report(facts(settings={"tags": ["old", "moe"]})))
    for settings, expected in (
        (None, "old, moe"),
        ('tags = ["new"]', "new"),
        ("tags = []", ""),
        ('tags = "new"', "old, moe"),
        ('tags = ["<b>"]', "old, moe"),
        ("tags = [", "old, moe"),
    ):
        if settings is not None:
            (experiments / "sample" / "experiment.toml").write_text(settings)
        assert ", ".join(card(gathered(tmp_path).entries[0]).tags) == expected


def test_the_newest_stand_first_and_withdrawn_versions_are_passed_over(tmp_path: Path) -> None:
    experiments = tmp_path / "experiments"
    for name, number in (("b", 3), ("a", 3), ("c", 9), ("gone", 1), ("back", 4), ("back", 5)):
        a_version(experiments, name, number)
    publish.withdraw(experiments / "gone", 1, "wrong", None, NOW)
    publish.withdraw(experiments / "back", 2, "wrong", None, NOW)
    (experiments / "waiting").mkdir()
    (experiments / "waiting" / "experiment.toml").write_text('question = "When?"')
    html = index_of(tmp_path)
    assert re.findall(r"<h3><a href=\"(.*?)/index.html", html) == ["c", "back", "a", "b", "gone", "waiting"]
    assert ">back@v1</a>" in html and ">back@v2</a>" not in html
    assert "1 version, none to read: withdrawn." in html and "<code>tracegen run waiting</code>" in html


def test_a_version_that_is_not_usable_is_marked(tmp_path: Path) -> None:
    run = replace(a_run(), checks=(Check("drops", "Dropped events", "failed", "3", "0"),))
    (tmp_path / "experiments" / "sample").mkdir(parents=True)
    publish.publish(tmp_path / "experiments" / "sample", run, lambda planned: a_report(), "why", NOW)
    assert "2026-11-20, ✕ not usable" in text_of(index_of(tmp_path))


def test_a_draft_says_that_it_is_one(tmp_path: Path) -> None:
    for number in range(1, 8):
        a_run_folder(tmp_path / "experiments", a_run(number=number))
    text = text_of(index_of(tmp_path))
    assert "sample/run-007, a draft" in text and "7 drafts" in text


def test_a_value_that_a_check_refused_is_not_called_a_number(tmp_path: Path) -> None:
    values: dict[str, tuple[float | None, str]] = {
        "tokens_per_second_generate": (None, "not shown"),
        "touched_share": (None, "withheld"),
    }
    a_version(tmp_path / "experiments", report=a_full_report(facts(), values=values))
    text = text_of(index_of(tmp_path))
    assert "tokens/s not shown" in text and "touched share withheld" in text


# Key measures by version


def measures_of(root: Path, name: str = "sample") -> list[list[str]]:
    """The rows of the table of versions, its cells with ` / ` between their lines."""
    html = gathered(root).pages[f"experiments/{name}/index.md"].content()
    table = html.partition('<h2 id="measures">')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*)</tr>", table.partition("<tbody>")[2])
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    return [[unescape(re.sub(r"<[^>]+>", "", cell.replace("<br>", " / "))) for cell in row] for row in cells]


def test_measures_by_version(tmp_path: Path) -> None:
    """The newest first; those of a withdrawn version are passed over."""
    for number, rate in enumerate((100.0, 150.0, 75.0, None), 1):
        values = {**VALUES, "tokens_per_second_generate": (rate, f"{rate:g} tokens/s" if rate else "not shown")}
        a_version(tmp_path / "experiments", number=number, report=a_full_report(facts(), values=values))
    publish.withdraw(tmp_path / "experiments" / "sample", 3, "wrong", None, NOW)
    others = ["4\u202f000 tokens/s", "81.4 %", "1000 B", "10 B"]
    assert measures_of(tmp_path) == [
        ["v4", "not shown", *others],
        ["v2", "150 tokens/s", *others],
        ["v1", "100 tokens/s", *others],
    ]
    html = gathered(tmp_path).pages["experiments/sample/index.md"].content()
    assert "a difference between single runs may be noise" in html and "<script" not in html


def test_no_version_has_no_measures(tmp_path: Path) -> None:
    a_version(tmp_path / "experiments")
    assert measures_of(tmp_path) == [["v1", *["not recorded"] * 2, "61 %", *["not recorded"] * 2]]
    publish.withdraw(tmp_path / "experiments" / "sample", 1, "wrong", None, NOW)
    assert measures_of(tmp_path) == []
