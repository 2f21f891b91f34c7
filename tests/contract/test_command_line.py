"""Code on a command line is neither stored nor published; only words of llama.cpp's own programs are harmless."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders.runs import facts_of, with_groups
from tests.stand_in import a_run, a_run_folder
from tracegen.contract import withheld
from tracegen.contract.command_line import INTERPRETERS, LLAMA_CPP, WRAPPERS, Kind, kinds
from tracegen.contract.withheld import WITHHELD
from tracegen.publishing import privacy
from tracegen.storing import store

CODE = "export K=canary; llama-completion -m m.gguf --pin canary"
LINES = (
    *((shell, "-c", CODE) for shell in ("sh", "/bin/bash", "dash", "zsh", "fish", "ksh", "/opt/x/bash-5.2", "tcsh")),
    *((shell, "-lc", CODE, "canary", "-canary") for shell in ("bash", "zsh")),
    ("bash", "-x", "-c", CODE),
    ("bash", "-c", "-e", CODE),
    ("fish", "--command", CODE),
    ("fish", f"-C{CODE}"),
    ("busybox", "sh", "-c", CODE),
    ("bash", "-c", "login canary run.sh"),
    ("sh", "-c", "canary.sh"),
    *((python, "-c", CODE) for python in ("python", "/usr/bin/python3", "python3.12", "python3.13t", "Python")),
    ("python3", f"-c{CODE}"),
    ("python", "-W", "ignore", "-c", CODE),
    ("python", "-Ic", CODE),
    ("perl", "-e", CODE),
    ("perl5.36", "-E", CODE),
    ("perl", "-ne", CODE),
    ("perl", f"-e{CODE}", "-e", CODE),
    ("ruby", "-e", CODE),
    ("ruby3.2", "-rjson", "-e", CODE),
    ("php", "-r", CODE),
    ("php8.2", "-B", CODE),
    ("node", "-e", CODE),
    ("node", "-p", CODE),
    ("node", "--eval", CODE),
    ("nodejs", f"--print={CODE}"),
    ("lua", "-e", CODE),
    ("luajit", "-e", CODE),
    ("R", "-e", CODE),
    ("Rscript", "-e", CODE),
    ("julia", "-E", CODE),
    ("awk", CODE),
    ("gawk", "-v", "k=canary", CODE),
    ("sed", CODE),
    ("sed", "-e", CODE),
    ("jq", CODE),
    ("ssh", "host", CODE),
    ("ssh", "host", "bash", "-c", CODE),
    ("watch", CODE),
    ("parallel", CODE),
    ("docker", "run", "-e", "K=canary", "image", "bash", "-c", CODE),
    ("podman", "exec", "it", "sh", "-c", CODE),
    ("psql", "-c", CODE),
    ("mysql", "-e", CODE),
    ("sqlite3", "db", CODE),
    ("gdb", "-ex", CODE),
    ("su", "ada", "-c", CODE),
    ("script", "-qc", CODE),
    ("flock", "lock", "-c", CODE),
    ("find", ".", "-exec", "sh", "-c", CODE, ";"),
    ("env", "K=canary", "python", "x.py"),
    ("env", "-S", CODE),
    ("env", f"--split-string={CODE}"),
    ("sudo", "-s", CODE),
    ("sudo", "-u", "ada", "K=canary", "bash", "-c", CODE),
    ("/usr/bin/env", "-i", "K=canary", "perl", "-e", CODE),
    *((wrapper, "5", "bash", "-c", CODE) for wrapper in ("timeout", "taskset", "chrt", "nice", "nohup", "stdbuf")),
    *((wrapper, "-n", "5", "bash", "-c", CODE) for wrapper in ("nice", "ionice", "xargs", "numactl", "setsid", "time")),
    ("timeout", "5", "env", "K=canary", "nice", "-n", "5", "sh", "-c", CODE),
    ("my-launcher", "--", "bash", "-c", CODE),
)


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_code_is_neither_stored_nor_published(line: tuple[str, ...]) -> None:
    stored, public = withheld.words(line), withheld.public_words(line)
    assert "canary" not in " ".join((*stored, *public)).replace("-canary", "")
    assert WITHHELD in " ".join(stored) and len(stored) == len(public) == len(line)
    assert withheld.words(stored) == stored and withheld.public_words(stored) == public


def test_the_table_has_thirty_programs_and_all_wrappers_that_are_in_daily_use() -> None:
    assert len({line[0] for line in LINES}) >= 30
    assert {"nice", "timeout", "env", "sudo", "xargs", "taskset", "numactl", "stdbuf"} <= WRAPPERS.keys()
    assert not [name for name in INTERPRETERS if name.startswith(LLAMA_CPP)]


OWN = ("/x/llama-server", "-m", "m.gguf", "-c", "4096", "-p", "bash", "-e", "sh -c x")


@pytest.mark.parametrize(
    "before",
    [
        (),
        ("nice",),
        ("nice", "-n", "5"),
        ("nice", "-n19"),
        ("timeout", "-k", "5", "10"),
        ("timeout", "--signal=INT", "9"),
        ("taskset", "-c", "0-3"),
        ("taskset", "0xf"),
        ("numactl", "-m", "0", "--cpunodebind=0"),
        ("stdbuf", "-oL", "-e0"),
        ("env", "-u", "A", "OMP_NUM_THREADS=4"),
        ("sudo", "-u", "ada", "--"),
        ("chrt", "-f", "50"),
        ("ionice", "-c2", "-n", "7"),
        ("xargs", "-n", "1"),
        ("/usr/bin/time", "-v"),
        ("nohup",),
        ("setsid", "-w"),
        ("env", "-i", "nice", "timeout", "9"),
    ],
    ids=" ".join,
)
def test_words_of_llama_cpp_behind_a_wrapper_are_public(before: tuple[str, ...]) -> None:
    line = (*before, *OWN)
    assert kinds(line)[len(before) :] == [Kind.LLAMA] * len(OWN)
    assert withheld.words(line) == list(line)
    assert withheld.public_words(line)[len(before) :] == list(OWN)


@pytest.mark.parametrize(
    "line",
    [
        ("sudo", "-p", "llama-x", "mysql", "-n", "canary"),
        ("timeout", "5", "mysql", "llama-x", "-m", "canary"),
        ("nice", "--what", "llama-x", "-m", "canary"),
        ("taskset", "llama-x", "mysql", "-c", "canary"),
        ("env", "-u", "llama-x", "mysql", "-c", "canary"),
        ("sh", "llama-x", "-c", "canary"),
        ("env", "-S", "mysql", "llama-x", "-c", "canary"),
        ("mysql", "-pcanary"),
        ("mysql", "-pcanary=1", "-s", "canary"),
        *(("other", flag, "canary") for flag in ("-c", "-s", "-t", "-b", "-n", "-m", "-ub", "--model")),
    ],
    ids=" ".join,
)
def test_words_of_another_program_are_not_public_whatever_its_flags_are_called(line: tuple[str, ...]) -> None:
    assert "canary" not in " ".join(withheld.public_words(line))


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (("python", "x.py", "-c", "5"), "x.py"),
        (("bash", "-x", "run.sh"), "run.sh"),
        (("python3", "-u", "a/x.py"), "a/x.py"),
        (("bash", "my.txt", "x.sh"), ""),
        (("other", "x.sh"), ""),
        (("python", "-W", "a", "x.py"), ""),
        (("ruby", "a b.rb"), ""),
    ],
)
def test_a_script_is_named_where_an_interpreter_reads_it(line: tuple[str, ...], shown: str) -> None:
    assert [w for w in withheld.public_words(line)[1:] if w != WITHHELD and w[0] != "-"] == [shown] * bool(shown)
    assert withheld.words(line) == list(line), "arguments of a script are no code"


def test_variables_of_a_command_line_are_those_of_the_environment() -> None:
    line = ["env", "OMP_NUM_THREADS=4", "K=canary", "GGML_UNKNOWN=canary", "llama-cli", "-p", "K=5"]
    stored = ["env", "OMP_NUM_THREADS=4", f"K={WITHHELD}", f"GGML_UNKNOWN={WITHHELD}", *line[4:]]
    assert withheld.words(line) == stored


def test_secrets_in_code_are_withheld_where_the_output_repeats_them() -> None:
    code = "export HF_TOKEN=canary-one; llama-server --api-key 'canary-two' -m m.gguf"
    assert {"canary-one", "canary-two"} <= set(withheld.secret_values(["bash", "-c", code], {}))
    assert withheld.secret_values(["bash", "-c", f"echo 'it; {code}"], {}), "a quote without its other"


def test_no_file_of_a_run_holds_the_code_that_started_it(tmp_path: Path) -> None:
    run = a_run()
    run = with_groups(run, command=["/bin/bash", "-c", CODE], private=False)
    run = replace(run, facts=withheld.facts(run.facts))
    folder = a_run_folder(tmp_path, run)
    assert not [path for path in folder.rglob("*") if path.is_file() and b"canary" in path.read_bytes()]
    public = privacy.public_run(store.read_run(folder))
    assert list(public.facts.command) == ["bash", "-c", WITHHELD]
    assert f"command line: bash -c '{WITHHELD}'" in privacy.public_summary(run)


def test_a_run_that_was_stored_with_code_is_read_without_it(tmp_path: Path) -> None:
    folder = a_run_folder(tmp_path, a_run())
    path = folder / store.RUN_FILE
    document = json.loads(path.read_text(encoding="utf-8"))
    document["facts"]["command"] = ["/bin/bash", "-c", CODE]
    path.write_text(json.dumps(document), encoding="utf-8")
    assert "canary" not in json.dumps(facts_of(store.read_run(folder)))


def test_a_published_line_with_code_is_named_as_exposed() -> None:
    assert withheld.exposed(f"bash -c '{CODE}'", {}) == ["-c"]
    assert withheld.exposed(f"bash -c '{WITHHELD}'", {}) == []
