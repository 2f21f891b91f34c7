"""`tracegen show --issue`: of runs and of versions, old ones and withdrawn ones too."""

import json
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean

import pytest

from tests.builders import a_moe_run, scaled_case
from tests.commands.test_show import on_a_terminal
from tests.pages.rendered import body, rendered
from tests.site_project import NOW, SECRETS, plain_run, private_run, private_tables, stored
from tracegen.cli.main import main
from tracegen.contract import quantities as q
from tracegen.contract.model import Check, Run, Version
from tracegen.publishing import privacy, versions
from tracegen.report.pages import run_file
from tracegen.report.pages.collector import Collector
from tracegen.report.pages.page import Report
from tracegen.report.pages.pasted import PARTS, pasted, path_of

ROOT = Path(__file__).parents[2]
TABLES = scaled_case(3, 2, moe=True)
DEMO = replace(
    plain_run(), facts={**plain_run().facts, "model": {**a_moe_run().facts["model"], "file": "/srv/x/moe.gguf"}}
)


pytestmark = pytest.mark.usefixtures("here")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["show", *words]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["show", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def published(run: Run, *, kept: bool = True, without: tuple[str, ...] = ()) -> Report:
    """Publish the run as `demo@v1`; not `kept`: without the lines for an issue, as versions had none.

    `without`: files that it does not have either.
    """
    public = privacy.public_run(run, privacy.this_machine())
    version = Version("demo", 1, run.created, "why", (run.number,), run.verdict, "title")
    report = rendered(privacy.public_tables(run, TABLES), public, version)
    files = {name: content for name, content in report.files.items() if kept or not name.startswith("data/issue-")}
    files = {name: content for name, content in files.items() if name not in without}
    Path("experiments/demo").mkdir(parents=True)
    versions.publish(Path("experiments/demo"), public, lambda planned: replace(report, files=files), "why", NOW)
    return report


# A run


def test_every_part_of_a_run_is_what_its_page_keeps(capsys: pytest.CaptureFixture[str]) -> None:
    stored(Path("experiments"), DEMO, TABLES)
    draft = rendered(TABLES, privacy.public_run(DEMO, privacy.this_machine()))
    for part in PARTS:
        text = printed(capsys, "demo", "--issue", part)
        assert text == draft.files[path_of(part)].decode() and text.endswith("recorded by 0.1.0\n")
    assert printed(capsys, "demo/run-001", "--issue") == printed(capsys, "--issue=hot", "demo")
    assert printed(capsys, "--issue", "ops", "demo") == printed(capsys, "demo", "--issue", "ops")


def test_a_terminal_gets_the_same_lines() -> None:
    stored(Path("experiments"), DEMO, TABLES)
    shown = on_a_terminal(Path.cwd(), "show", "demo", "--issue", columns=80)
    context = Collector(privacy.public_run(DEMO, privacy.this_machine()), TABLES)
    assert shown.replace("\r\n", "\n") == pasted(context, "hot")


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    stored(Path("experiments"), DEMO, TABLES)
    for words, message in {
        "demo --issue --json": "'--issue' is not allowed with '--json'",
        "demo --json --issue ops": "'--issue' is not allowed with '--json'",
        "demo --issue --ops": "not allowed with '--ops'",
        "demo --issue speed": "'speed' is none of its parts: hot, cache, load, ops, disk",
        "--issue demo": "'demo' is none of its parts: hot, cache, load, ops, disk; a RUN stands before it",
        "demo --issue --limit 3": "--limit: is allowed only with --ops",
        "nothing --issue": "nothing: there is no such run",
        "demo@v9 --issue": "demo@v9: there is no such version",
    }.items():
        assert message in refused(capsys, *words.split()), words


def test_what_must_not_become_public_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    stored(Path("experiments"), DEMO, TABLES)
    stored(Path("experiments"), private_run(), private_tables())
    for name, part in product(("demo", "private"), PARTS):
        text = printed(capsys, name, "--issue", part)
        assert not [secret for secret in (*SECRETS, "Once upon", "umbrella", str(Path.home())) if secret in text]


def test_an_experiment_that_became_private_later_is_private(capsys: pytest.CaptureFixture[str]) -> None:
    stored(Path("experiments"), DEMO, TABLES)
    assert "withheld" not in printed(capsys, "demo", "--issue")
    Path("experiments/demo/experiment.toml").write_text("private = true\n")
    assert "weights touched per token: withheld" in printed(capsys, "demo", "--issue")
    Path("experiments/demo/experiment.toml").write_text("private = \n")
    assert "experiment.toml: cannot be read, and may ask for privacy" in refused(capsys, "demo", "--issue")


def repeated(number: int, **place: object) -> Run:
    """A stored run whose generate passes each took 1,000 ns times its number longer than those of run 0."""
    run = replace(DEMO, number=number, facts={**DEMO.facts, **place})
    passes = TABLES["passes"]
    longer = (passes["kind"] == "generate").astype("int64") * 1000 * number
    return stored(Path("experiments"), run, {**TABLES, "passes": passes.assign(end_ns=passes["end_ns"] + longer)})


SERIES = {"repetition": {"number": 1, "of": 3, "first_run": "run-001"}}
CELL = {"slot": {"matrix": "ab/1", "factors": {"threads": "2"}, "round": 1, "number": 1, "of": 4}}
OTHER_CELL = {"slot": {**CELL["slot"], "factors": {"threads": "4"}}}


@pytest.mark.parametrize(("place", "other"), [(SERIES, {}), (CELL, OTHER_CELL)])
def test_a_run_that_was_repeated_has_means(
    place: dict[str, object], other: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2, 3):
        repeated(number, **place)
    repeated(4, **other)
    failed = Check("one_run_id", "One", "failed", "2", "1")
    stored(Path("experiments"), replace(DEMO, number=5, checks=(failed,), facts={**DEMO.facts, **place}), TABLES)
    (Path("experiments/demo/runs/006")).mkdir()
    generate = TABLES["passes"][(TABLES["passes"]["kind"] == "generate").to_numpy(bool)]
    whole = [float((generate["end_ns"] - generate["begin_ns"] + 1000 * n).sum()) for n in (1, 2, 3)]
    rates = [len(generate) / ns * 1e9 for ns in whole]
    text = printed(capsys, "demo/run-002", "--issue")
    mean, deviation = fmean(rates), (sum((rate - fmean(rates)) ** 2 for rate in rates) / 2) ** 0.5
    assert f" tg3 | {q.three(mean)} ± {q.three(deviation)} |" in text
    assert "Mean ± standard deviation of 3 runs with these settings. This run alone: pp " in text
    assert f", tg {q.three(rates[1])} t/s." in text and len(text.splitlines()) <= 40
    assert "±" not in printed(capsys, "demo/run-004", "--issue")
    unusable = printed(capsys, "demo/run-005", "--issue")
    assert "±" not in unusable and "not shown" in unusable


# A version


def test_a_version_prints_what_its_page_offers(capsys: pytest.CaptureFixture[str]) -> None:
    report = published(DEMO)
    before = sorted(Path("experiments").rglob("*"))
    for part in PARTS:
        assert printed(capsys, "demo@v1", "--issue", part) == report.files[path_of(part)].decode()
    assert sorted(Path("experiments").rglob("*")) == before, "nothing is left behind"
    text = printed(capsys, "experiments/demo/versions/1", "--issue")
    assert text.splitlines()[-1] == "`demo@v1`; tracegen 0.2.0, recorded by 0.1.0"
    assert f">{text}</textarea>" in body(report, "overview").replace("&lt;", "<").replace("&#39;", "'")


def test_a_version_without_lines_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """From its tables, and from the facts that it holds."""
    report = published(DEMO, kept=False)
    for part in PARTS:
        assert printed(capsys, "demo@v1", "--issue", part) == report.files[path_of(part)].decode()


def test_a_version_without_facts_says_what_its_tables_tell(capsys: pytest.CaptureFixture[str]) -> None:
    """As those that an older tracegen published elsewhere: model, machine and settings are on its pages only."""
    report = published(DEMO, kept=False, without=(run_file.PATH,))
    for part in PARTS:
        text = printed(capsys, "demo@v1", "--issue", part)
        assert "`demo@v1`" in text and "AMD EPYC" not in text and len(text.splitlines()) <= 40
    speed = str(report.values["tokens_per_second_generate"]["text"]).removesuffix(" tokens/s")
    assert f"| {speed} |" in printed(capsys, "demo@v1", "--issue")


def test_a_withdrawn_version_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    published(DEMO)
    shutil.copytree("experiments/demo/versions/1", "elsewhere/versions/1")
    versions.withdraw(Path("experiments/demo"), 1, "measured | on @battery #1", None, NOW)
    lines = printed(capsys, "demo@v1", "--issue").splitlines()
    assert lines[-1].endswith(". **This version is withdrawn**: measured \\| on @\u2060battery #\u20601")
    assert "withdrawn" not in printed(capsys, "elsewhere/versions/1", "--issue")  # an archived copy: nobody knows


@pytest.mark.parametrize("name", ["data/issue-hot.md", "version.json"])
def test_a_version_that_was_changed_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    published(DEMO)
    path = Path("experiments/demo/versions/1") / name
    path.write_text(path.read_text().replace("tracegen", "Tracegen"))
    assert "has changed since it was published" in refused(capsys, "demo@v1", "--issue")
    path.unlink()
    assert str(path) in refused(capsys, str(path.parents[name.count("/")]), "--issue") or name == "version.json"


@pytest.mark.parametrize("name", ["data/run.json", "data/tables/ops.parquet"])
def test_a_version_without_lines_that_was_changed_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    published(DEMO, kept=False)
    path = Path("experiments/demo/versions/1") / name
    path.write_bytes(path.read_bytes() + b"\n")
    assert f"{path.name}: is missing or has changed" in refused(capsys, "demo@v1", "--issue")


@pytest.mark.parametrize("named", ["sample@v1", "sample@v2", "disk-small@v1"])
def test_committed_versions(named: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    folder = ROOT / "experiments" / named.replace("@v", "/versions/")
    values = json.loads((folder / "data" / "values.json").read_text())
    for part in PARTS:
        text = printed(capsys, named, "--issue", part)
        assert len(text.splitlines()) <= 40 and f"`{named}`; tracegen 0." in text and "AMD EPYC, 2 threads" in text
        for key in ("tokens_per_second_generate", "tokens_per_second_prompt"):
            assert f"| {values[key]['text'].removesuffix(' tokens/s')} |" in text
    faults = "differ where that had faults (Bytes of the KV cache and of views;"
    assert (faults in text) == (named == "sample@v1")  # as the errata say
    hot = printed(capsys, named, "--issue")
    assert f"- {values['touched_share']['text']} of the file touched at least once (" in hot
    assert f"- {values['weight_bytes_per_token']['text']} of weights touched per token (" in hot
