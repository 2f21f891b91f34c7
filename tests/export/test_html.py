"""`tracegen export … html`: one file that needs no other, in its public form."""

import re
import shutil
from pathlib import Path

import pytest

from tests.builders import scaled_case
from tests.builders.runs import with_facts
from tests.report.rendered import Tags
from tests.site_project import (
    NOW,
    PRIVATE_ANSWER,
    PRIVATE_IDS,
    PRIVATE_PROMPT,
    SCRIPT,
    SECRETS,
    hostile_run,
    hostile_tables,
    plain_run,
    private_run,
    private_tables,
    stored,
)
from tracegen.cli.main import main
from tracegen.contract.model import Run
from tracegen.export import html
from tracegen.publishing import errata, versions
from tracegen.publishing.bundle import read_bundle
from tracegen.publishing.freeze import freeze
from tracegen.storing.resources import package_version

ROOT = Path(__file__).parents[2]


def not_yet_private() -> Run:
    """The private run, recorded before its experiment asked for privacy."""
    run = private_run()
    return with_facts(run, settings={"private": False}, text={"private": False})


MADE = {
    "demo": (plain_run, lambda: scaled_case(4, 2, moe=True)),
    "hostile": (hostile_run, hostile_tables),
    "private": (not_yet_private, private_tables),
}
PUBLISHED = ("sample@v1", "fits@v1", "does-not-fit@v1", "hot-set@v1")


class Read(Tags):
    """The elements of a page, which are nested right, its anchors, what it links to or loads, and its text."""

    def __init__(self, text: str) -> None:
        self.loads: list[str] = []
        self.words: list[str] = []
        super().__init__(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        for name, value in attrs:
            self.links += [value or ""] if name == "xlink:href" else []
            self.loads += [value or ""] if name in ("src", "srcset", "data", "poster", "action") else []

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The exported overviews of runs and versions, by name."""
    root = tmp_path_factory.mktemp("mailed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for name, (run, tables) in MADE.items():
            stored(Path("experiments"), run(), tables())
            if name == "private":
                Path("experiments/private/experiment.toml").write_text("private = true\n")
            assert main(["export", name, "html"]) == 0
        patch.chdir(ROOT)
        for name in PUBLISHED:
            assert main(["export", name, "html", "--out", str(root / f"{name}.html")]) == 0
    written = {path.stem.removesuffix("-run-001"): path for path in root.glob("*.html")}
    assert set(written) == {*MADE, *PUBLISHED} and all(path.stat().st_size <= html.LIMIT for path in written.values())
    return {name: path.read_text(encoding="utf-8") for name, path in written.items()}


@pytest.mark.parametrize("name", [*MADE, *PUBLISHED])
def test_nothing_leads_out_of_the_file_or_nowhere(name: str, files: dict[str, str]) -> None:
    page = Read(files[name])
    assert page.links and {link for link in page.links if link[:1] != "#" or link[1:] not in page.ids} == set()
    assert page.loads == [] and page.handlers == []
    assert page.tags & {"script", "link", "img", "iframe", "form", "button", "base"} == set()
    assert {"svg", "style", "details"} <= page.tags
    addresses = set(re.findall(r"[a-z]+://[^\"' <)]*", files[name]))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names, not places
    assert re.findall(r"url\((?!#)", files[name]) == [] and "@import" not in files[name]
    assert "default-src 'none'" in files[name]


@pytest.mark.parametrize("name", [*MADE, *PUBLISHED])
def test_it_begins_with_question_and_verdict_and_ends_with_its_origin(name: str, files: dict[str, str]) -> None:
    page = Read(files[name])
    body = page.text.partition("Skip to the content")[2]
    address = name if "@" in name else f"{name}/run-001"
    assert f"· {address}</title>" in files[name]
    assert 0 < body.index("?") < body.index("Verdict: complete") < body.index("llama.cpp ran")
    origin = body[-300:]
    assert address in origin and f"tracegen {package_version()} wrote this file" in origin
    assert ("Draft, not citable." in body) == (name in MADE)
    assert "link leads" not in body and "Each token leads" not in body


def test_a_run_is_withheld_as_when_it_is_published(files: dict[str, str]) -> None:
    for name in MADE:
        for secret in SECRETS:
            assert secret not in files[name], (name, secret)
    for text in (PRIVATE_PROMPT, PRIVATE_ANSWER, *map(str, PRIVATE_IDS)):
        assert text not in files["private"]
    assert "Once upon a time" in Read(files["demo"]).text


def test_hostile_text_stays_text(files: dict[str, str]) -> None:
    assert SCRIPT not in files["hostile"] and SCRIPT in Read(files["hostile"]).text
    assert all(c.isprintable() or c in "\n\u202f\u2009\u00a0" for c in files["hostile"])


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_version_is_as_it_was_published(name: str, files: dict[str, str]) -> None:
    experiment, _, number = name.partition("@v")
    bundle = read_bundle(ROOT / "experiments" / experiment / "versions" / number)
    for value in re.findall(r"<dd><strong>(.*?)</strong>", bundle.body("index.html").decode()):
        assert f"<dd><strong>{value}</strong>" in files[name]
    assert bundle.body("index.html").count(b"<svg") == files[name].count("<svg") > 0
    assert f"published {bundle.document['created'][:10]} by {bundle.document['generator']}" in Read(files[name]).text


@pytest.mark.usefixtures("empty_figures")
def test_what_became_known_of_a_version(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stored(Path("experiments"), plain_run(), scaled_case(1, 1))
    for why in ("first", "second"):
        freeze(Path("experiments/demo"), run, why, NOW, again=True)
    fault = errata.Erratum("9.0.0", ("overview",), "Bytes were wrong", "They were too many.", "They are right.")
    monkeypatch.setattr(errata, "ERRATA", (fault,))
    assert main(["export", "demo@v1", "html"]) == 0
    said = Read(Path("demo-v1.html").read_text(encoding="utf-8")).text
    assert "Superseded. demo@v2 is newer" in said.replace(" .", ".")
    assert f"Erratum. tracegen {package_version()} published this page" in said and "They were too many." in said
    versions.withdraw(Path("experiments/demo"), 2, f"On battery {SCRIPT}", 1, NOW)
    assert main(["export", "demo@v2", "html"]) == 0
    text = Path("demo-v2.html").read_text(encoding="utf-8")
    said = Read(text).text
    assert "Withdrawn. On battery <script>alert(1)</script>. Use demo@v1 instead." in said
    assert "Withdrawn: demo@v2 , published" in said and "Cite as" not in text
    assert "script" not in Read(text).tags


def test_a_changed_page_is_not_exported(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(ROOT / "experiments" / "sample" / "versions" / "1", here / "mine")
    assert main(["export", "mine", "html"]) == 0  # without the ledger: its own manifest holds
    page = Path("mine/data/overview.txt")
    page.write_text(page.read_text(encoding="utf-8").replace("MiB", "GiB"), encoding="utf-8")
    assert main(["export", "mine", "html", "--force"]) == 2
    assert "overview.txt: is missing or has changed since it was published" in capsys.readouterr().err


def test_what_it_cannot_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "experiments" / "sample" / "versions" / "1", tmp_path / "mine")
    assert main(["export", "mine", "html", "--pass", "2"]) == 2
    assert "--pass: html shows the whole run; leave it out" in capsys.readouterr().err
    monkeypatch.setattr(html, "LIMIT", 10_000)
    assert main(["export", "mine", "html"]) == 2
    assert "more than the 10,000 of a file to mail" in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["mine"]
