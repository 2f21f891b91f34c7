"""`tracegen export NAME@vN archive`: one file, the same bytes everywhere, that opens, checks and builds by itself."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import yaml

from tests.builders import a_run, scaled_case, stored
from tracegen.cli.main import main
from tracegen.contract.model import Version
from tracegen.export import deposit
from tracegen.publishing import versions
from tracegen.publishing.versions import identity_of
from tracegen.storing import resources

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("archive") / "sample-v1.zip"
    assert main(["export", str(EXPERIMENTS / "sample" / "versions" / "1"), "archive", "--out", str(target)]) == 0
    return target


def test_the_same_version_gives_the_same_bytes(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On another day, in another zone, with another mask, from files with other times and other rights."""
    copy = tmp_path / "experiments" / "sample"
    shutil.copytree(EXPERIMENTS / "sample" / "versions" / "1", copy / "versions" / "1", copy_function=shutil.copyfile)
    shutil.copy(EXPERIMENTS / "sample" / "ledger.json", copy)
    for path in copy.rglob("*.*"):
        path.chmod(0o600)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "C")
    time.tzset()
    before = os.umask(0o077)
    try:
        assert main(["export", str(copy / "versions" / "1"), "archive", "--out", str(tmp_path / "b.zip")]) == 0
    finally:
        os.umask(before)
        monkeypatch.undo()
        time.tzset()
    assert (tmp_path / "b.zip").read_bytes() == file.read_bytes()


def test_what_is_unpacked_is_whole_and_makes_a_site(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(file) as opened:
        opened.extractall(tmp_path)
    (top,) = tmp_path.iterdir()
    version = EXPERIMENTS / "sample" / "versions" / "1"
    unpacked = top / "experiments" / "sample" / "versions" / "1"
    assert top.name == "sample-v1"
    assert {p.relative_to(version): p.read_bytes() for p in version.rglob("*") if p.is_file()} == {
        p.relative_to(unpacked): p.read_bytes() for p in unpacked.rglob("*") if p.is_file()
    }
    sums = dict(line.split("  ")[::-1] for line in (top / "SHA256SUMS").read_text().splitlines())
    files = {p.relative_to(top).as_posix(): p for p in top.rglob("*") if p.is_file() and p.name != "SHA256SUMS"}
    assert sums == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    readme = (top / "README.md").read_text()
    assert "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53" in readme and "SmolLM2" in readme
    monkeypatch.chdir(top)
    assert main(["build", "--strict"]) == 0
    page = top / "site" / "experiments" / "sample" / "v1" / "index.html"
    assert page.is_file() and "sample@v1" in page.read_text() and "site/index.html" in capsys.readouterr().out


def test_what_is_no_whole_version_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = stored(tmp_path / "experiments", a_run(), scaled_case(1, 1))
    assert main(["export", str(run.folder), "archive", "--out", str(tmp_path / "x.zip")]) == 2
    assert "publish it, and export NAME@vN" in capsys.readouterr().err
    copy = tmp_path / "other" / "experiments" / "sample"
    shutil.copytree(EXPERIMENTS / "sample" / "versions" / "1", copy / "versions" / "1")
    asked = ["export", str(copy / "versions" / "1"), "archive", "--out", str(tmp_path / "x.zip")]
    assert main(asked) != 0 and "ledger.json" in capsys.readouterr().err
    shutil.copy(EXPERIMENTS / "sample" / "ledger.json", copy)
    (copy / "versions" / "1" / "data" / "values.json").write_text("{}")
    assert main(asked) != 0 and "values.json: has changed since it was written" in capsys.readouterr().err
    assert not (tmp_path / "x.zip").exists()


def altered(folder: Path, **changes: object) -> list[str]:
    """How to export a copy of sample@v1 whose record says something else, with a ledger that agrees."""
    version = folder / "experiments" / "sample" / "versions" / "1"
    shutil.copytree(EXPERIMENTS / "sample" / "versions" / "1", version)
    document = json.loads((version / "version.json").read_text()) | changes
    (version / "version.json").write_text(json.dumps(document))
    digest = hashlib.sha256((version / "version.json").read_bytes()).hexdigest()
    ledger = {"schema": 1, "experiment": "sample", "versions": [{"version": 1, "created": "", "sha256": digest}]}
    (version.parents[1] / "ledger.json").write_text(json.dumps(ledger))
    return ["export", str(version), "archive", "--out", str(folder / "x.zip")]


def test_a_withdrawn_version_says_so_and_words_are_no_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = altered(
        tmp_path,
        question="What?\n\n## Check\n\n    curl x | sh\n<script>",
        author='Ä "S".',
        url="https://e/x\n",
        licence="CC-BY-4.0",
        packages={"pandas": "3.1.1", "--index-url": "x", "a": "1\n-r b", "vl-convert": "1.9.0.post1+cpu"},
    )
    versions.withdraw(
        tmp_path / "experiments" / "sample", 1, "the wrong *model*", None, datetime(2026, 12, 1, tzinfo=UTC)
    )
    assert main(asked) == 0
    with zipfile.ZipFile(tmp_path / "x.zip") as opened:
        opened.extractall(tmp_path / "out")
    top = tmp_path / "out" / "sample-v1"
    readme = (top / "README.md").read_text()
    assert readme.startswith("# sample@v1\n\nWITHDRAWN: the wrong \\*model\\*. Computing MUL_MAT takes 84.5")
    assert '\n\nWhat? ## Check curl x \\| sh &lt;script>\n\nBy Ä "S".. Published 2026-11-26.' in readme
    assert "How to cite it: `experiments/sample/versions/1/citation.bib`." in readme
    assert readme.count("\n## Check\n") == 1 and "Licence: CC-BY-4.0." in readme
    assert (top / "LICENSE").read_text().startswith("SPDX-License-Identifier: CC-BY-4.0\n")
    assert (top / "requirements.txt").read_text() == "pandas==3.1.1\nvl-convert==1.9.0.post1+cpu\n"
    entities = {entity["@id"]: entity for entity in json.loads((top / "ro-crate-metadata.json").read_text())["@graph"]}
    assert entities["./"]["description"].startswith("WITHDRAWN: the wrong *model*. ")
    assert entities["#author"]["name"] == 'Ä "S".' and entities["./"]["license"] == {"@id": f"{deposit.SPDX}CC-BY-4.0"}
    assert yaml.safe_load((top / "CITATION.cff").read_text()) == {
        "cff-version": "1.2.0",
        "message": "If you use these data, please cite them.",
        "type": "dataset",
        "title": json.loads((EXPERIMENTS / "sample/versions/1/version.json").read_text())["title"],
        "version": "1",
        "date-released": "2026-11-26",
        "authors": [{"name": 'Ä "S".'}],
        "url": "https://e/x",
        "license": "CC-BY-4.0",
        "identifiers": [{"type": "swh", "value": swhid_by_git(tmp_path, top)}],
    }
    monkeypatch.chdir(top)
    assert main(["build"]) == 0
    assert "the wrong *model*" in (top / "site" / "experiments" / "sample" / "v1" / "index.html").read_text()


def test_a_version_records_what_is_installed() -> None:
    """What the lock file names, and nothing that only tests need."""
    lock = (EXPERIMENTS.parent / "requirements.lock").read_text()
    locked = set(re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE))  # of some packages two, by Python
    recorded = {re.sub(r"[._-]+", "-", name).lower(): of for name, of in resources.packages().items()}
    assert set(recorded.items()) <= locked and {"pandas", "vl-convert-python", "mergedeep"} <= recorded.keys()
    assert recorded.keys().isdisjoint({"pytest", "tracegen", "playwright"})
    document = identity_of(Version("a", 1, "", "", (), "complete", ""), "")
    assert document["packages"] == resources.packages()


def test_the_hooks_that_ran_come_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = json.loads((EXPERIMENTS / "sample/versions/1/data/run.json").read_text())
    hooks = re.search(r"hooks = (\w+)", run["facts"]["llama_cpp"]["build"]["build.hooked"])
    assert hooks is not None
    for version, there in ((hooks[1], True), ("0" * 12, False)):
        monkeypatch.setattr(deposit, "hooks_version", lambda _, version=version: version)
        asked = ["export", str(EXPERIMENTS / "sample/versions/1"), "archive", "--out", str(tmp_path / f"{version}.zip")]
        assert main(asked) == 0
        with zipfile.ZipFile(tmp_path / f"{version}.zip") as opened:
            names = [name for name in opened.namelist() if name.startswith("sample-v1/llama-cpp/")]
        assert bool(names) == there and (not there or any(name.endswith("/llama-cpp.toml") for name in names))


def test_a_version_that_cannot_be_compared_claims_nothing(tmp_path: Path) -> None:
    asked = altered(tmp_path, verdict="not usable")
    assert main(asked) == 0
    with zipfile.ZipFile(tmp_path / "x.zip") as opened:
        assert "sample-v1/claims.json" not in opened.namelist()


def swhid_by_git(tmp_path: Path, top: Path) -> str:
    """The SWHID of the folder of the version, by git."""
    git = ["git", "--git-dir", str(tmp_path / "git"), "--work-tree", str(top / "experiments" / "sample/versions/1")]
    for command in (["init", "-q"], ["add", "-A", "-f"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    written = subprocess.run([*git, "write-tree"], check=True, capture_output=True, text=True)
    return f"swh:1:dir:{written.stdout.strip()}"


def test_each_claim_is_a_measure_of_the_version(file: Path) -> None:
    with zipfile.ZipFile(file) as opened:
        said = json.loads(opened.read("sample-v1/claims.json"))
    claims = {claim["claim"]: claim for claim in said["claims"]}
    tables = EXPERIMENTS / "sample/versions/1/data/tables"
    ops, passes, nodes = (pd.read_parquet(tables / f"{name}.parquet") for name in ("ops", "passes", "graph_nodes"))
    of = passes.loc[passes["kind"] == "generate", ["pass_id", "graph"]]
    generated = ops[ops["state"] == "executed"].merge(of).merge(nodes[["graph", "node", "op"]])
    n = int(generated["op"].eq("MUL_MAT").sum())
    assert claims["n_ops_generate_MUL_MAT"] == {
        "claim": "n_ops_generate_MUL_MAT",
        "label": "generation, operations, MUL_MAT",
        "values": [n],
        "unit": "",
        "judged": "equal",
        "command": "tracegen reproduce sample@v1 n_ops_generate_MUL_MAT",
    }
    assert claims["tokens_per_second_generate"]["judged"] == "by a test of runs on one machine"


@pytest.mark.nightly
def test_the_crate_is_valid(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the validator of RO-Crate, with the JSON-LD context that another package of theirs holds."""
    services = pytest.importorskip("rocrate_validator.services")
    rocrate, models = pytest.importorskip("rocrate"), pytest.importorskip("rocrate_validator.models")
    from rdflib.plugins.shared.jsonld import context
    from rocrate_validator.utils import http

    text = (Path(rocrate.__file__).parent / "data" / "ro-crate.jsonld").read_text()
    answer = SimpleNamespace(
        status_code=200,
        ok=True,
        headers={"Content-Type": "application/ld+json"},
        text=text,
        content=text.encode(),
        json=lambda: json.loads(text),
        raise_for_status=lambda: None,
    )
    monkeypatch.setattr(http.HttpRequester, "get", lambda *_, **__: answer)
    monkeypatch.setattr(context, "source_to_json", lambda *_, **__: (json.loads(text), None))
    with zipfile.ZipFile(file) as opened:
        opened.extractall(tmp_path)
    settings = services.ValidationSettings(
        rocrate_uri=str(tmp_path / "sample-v1"),
        profile_identifier="ro-crate-1.2",
        requirement_severity=models.Severity.REQUIRED,
        skip_availability_check=True,
    )
    assert [issue.message for issue in services.validate(settings).get_issues()] == []


@pytest.mark.parametrize(
    ("name", "said"),
    [("../../../../../evil", "outside the folder"), ("/etc/hostname", "outside the folder"), ("a\nb", "not|missing")],
)
def test_names_that_escape_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    document = json.loads((EXPERIMENTS / "sample/versions/1/version.json").read_text())
    digest = hashlib.sha256(b"x").hexdigest()
    asked = altered(tmp_path, manifest=document["manifest"] | {name: {"size_bytes": 1, "sha256": digest}})
    assert main(asked) == 2 and re.search(said, capsys.readouterr().err)
    assert not (tmp_path / "x.zip").exists()


@pytest.mark.parametrize("changes", [{"experiment": "other"}, {"runs": None}, {"version": 2}])
def test_a_record_that_is_not_of_this_version_is_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    assert main(altered(tmp_path, **changes)) == 2 and not (tmp_path / "x.zip").exists()
