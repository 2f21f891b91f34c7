"""Running an experiment of someone else is as safe as opening it: what its flags may do outside is refused or asked."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.llama_builds import whole_build
from tracegen.cli.commands import run
from tracegen.cli.main import main
from tracegen.contract import llama_flags
from tracegen.contract.errors import SettingsError
from tracegen.contract.settings import OWN_FLAGS, experiment_from
from tracegen.contract.withheld import is_secret_flag
from tracegen.measure.capture.llama_cpp import TARGET

LEAST = {"question": "?", "model": "demo", "prompt": "p", "tokens": 1}
LISTS = (llama_flags.WRITES, llama_flags.DOWNLOADS, llama_flags.STARTS, llama_flags.READS, llama_flags.SENDS)
_FLAGS = re.compile(r"(--?[A-Za-z][\w-]*(?:,\s+--?[A-Za-z][\w-]*)*) *(.*)")
_FILE = re.compile(r"FNAME|FILE|PATH|DIR|URL|repo|\bfile\b|path to")


@pytest.mark.llama
def test_every_flag_of_the_help_is_in_one_list() -> None:
    """A flag that is new in llama.cpp fails here, until someone says what it does."""
    program = whole_build(traced=False).programs / TARGET
    output = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    entries = [match for line in output.splitlines() if not line.startswith("---") and (match := _FLAGS.match(line))]
    assert len(entries) > 100
    for entry in entries:
        for name in re.split(r",\s+", entry[1]):
            lists = [flags for flags in (*LISTS, llama_flags.SETTINGS, OWN_FLAGS) if name in flags]
            assert len(lists) + is_secret_flag(name) >= 1, f"{name}: put it into a list of llama_flags: {entry[2]}"
            files = bool(_FILE.search(entry[2])) and name not in OWN_FLAGS and not is_secret_flag(name)
            assert not files or lists != [llama_flags.SETTINGS], f"{name}: may name a file: {entry[2]}"


def test_no_flag_is_in_two_lists() -> None:
    every = [name for flags in (*LISTS, llama_flags.SETTINGS) for name in flags]
    assert len(set(every)) == len(every)


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--log_file=/x"], "it writes outside of the run"),
        (["--prompt_cache_all"], "it writes outside of the run"),
        (["--slot-save-path", "x"], "it writes outside of the run"),
        (["--hf-repo-draft", "a/b"], "it downloads"),
        (["--gpt-oss-20b-default"], "it downloads"),
        (["--mcp-servers-config", "x"], "it lets a model or a file start programs"),
        (["--hf_token", "hf_x"], "it holds a secret"),
        (["--api-key=canary"], "it holds a secret"),
        (["--hf_repo", "a/b"], "nothing is downloaded"),
        (["--no_warmup"], "`warmup` sets it"),
    ],
)
def test_flags_that_are_refused(tmp_path: Path, flags: list[str], why: str) -> None:
    with pytest.raises(SettingsError) as error:
        experiment_from("a", LEAST | {"flags": flags}, tmp_path)
    assert why in str(error.value) and "canary" not in str(error.value)


def test_what_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    (project / "link").symlink_to(tmp_path)

    def asked(*flags: str) -> bool:
        return bool(llama_flags.questions(flags, project))

    for inside in (
        ["--lora", "a.gguf"],
        ["--lora", f"{project}/x/a.gguf"],
        ["--lora-scaled", "a:0.5,b/c:-1"],
        ["--grammar-file", "../project/g"],
        ["--temp", "0.5"],
        ["--logit-bias", "5+1"],
        ["--new-switch"],
        ["--override-kv", "a.b=str:x/y"],
        ["-1"],
        [],
    ):
        assert not asked(*inside), inside
    for outside in (
        ["--lora", "/etc/passwd"],
        ["--lora", "a.gguf,../b.gguf"],
        ["--lora-scaled", "../a:0.5"],
        ["--grammar_file=/x"],
        ["--grammar-file", "link/x"],
        ["--rpc", "host:1"],
        ["--new", "/etc/x"],
        ["--new=~/x"],
        ["--new-file", "x"],
        ["--dump-it"],
        ["-x", "a/b"],
    ):
        assert asked(*outside), outside


@pytest.fixture
def experiment(here: Path) -> Path:
    folder = here / "experiments" / "case"
    folder.mkdir(parents=True)
    return folder / "experiment.toml"


@pytest.mark.parametrize(
    "more",
    [
        'flags = ["--lora", "/etc/adapter"]\n',
        '[matrix]\nthreads = [1]\nflags = [["--new", "/etc/adapter"], []]\n',
        '[matrix]\nllama_cpp = ["/etc/adapter", "/usr"]\n',
    ],
)
def test_without_an_answer_nothing_runs(
    experiment: Path, more: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment.write_text(f'question = "?"\nmodel = "demo"\nprompt = "p"\ntokens = 1\n{more}')
    calls: list[object] = []
    monkeypatch.setattr(run, "_run_all", lambda chosen, *_: calls.append(chosen) or [])
    monkeypatch.setattr(run, "make_matrix", lambda matrix, *_, **__: calls.append(matrix) or 0)
    assert main(["run", "case"]) == 2
    said = capsys.readouterr()
    assert "add --yes to agree" in said.err and "/etc/adapter" in said.out and not calls
    assert main(["run", "case", "--yes"]) == 0
    assert "/etc/adapter" in capsys.readouterr().out and len(calls) == 1
