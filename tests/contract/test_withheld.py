"""One place decides what is withheld, the tracer keeps the same lists, and what was stored before is read by them."""

import json
import re
import time
from pathlib import Path

import pytest

from tests.builders.runs import facts_of, with_groups
from tests.stand_in import a_run, a_run_folder
from tracegen.contract import withheld
from tracegen.contract.facts import Facts
from tracegen.contract.records import decode, encode
from tracegen.contract.withheld import WITHHELD
from tracegen.publishing import privacy
from tracegen.storing import store

HEADER = Path(__file__).parents[2] / "native" / "core" / "environment.h"
TOKEN = "hf_" + "canary" * 6


def _listed(name: str) -> tuple[str, ...]:
    found = re.search(rf"\b{name}\[\] = \{{(.*?)\n\}};", HEADER.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return tuple(re.findall(r'"([^"]*)"', found[1]))


def test_the_tracer_has_the_same_lists() -> None:
    assert _listed("tt_families") == withheld.FAMILIES
    assert _listed("tt_secret_words") == withheld.SECRET_WORDS
    assert _listed("tt_token_prefixes") == withheld.TOKEN_PREFIXES
    assert _listed("tt_harmless") == withheld.HARMLESS
    assert f'TT_WITHHELD "{WITHHELD}"' in re.sub(" +", " ", HEADER.read_text(encoding="utf-8"))


def test_no_harmless_name_looks_secret() -> None:
    known = [name for name in withheld.HARMLESS if withheld.looks_secret(f"{name}_")]
    assert known == ["TENSOR_TRACE_PASSES"], "it holds _PASS; both sides know the harmless names first"
    assert not withheld.looks_secret("TENSOR_TRACE_PASSES") and withheld.looks_secret("LLAMA_DB_PASS")
    assert all(name.startswith(withheld.FAMILIES) for name in withheld.HARMLESS)
    assert len(set(withheld.HARMLESS)) == len(withheld.HARMLESS)


def test_what_of_the_environment_is_named() -> None:
    variables = {
        "OMP_NUM_THREADS": "4",
        "GGML_UNKNOWN": "canary",
        "LLAMA_API_KEY": "canary",
        "LLAMA_ARG_HF_TOKEN": "canary",
        "llama_password": "canary",
        "GGML_VK_VISIBLE_DEVICES": TOKEN,
        "GGML_SCHED_DEBUG": "https://a:canary@b",
        "HOME": "/canary",
        "GGML_A/B": "1",
        f"KMP_{TOKEN}": "1",
    }
    assert withheld.environment(variables) == {
        "OMP_NUM_THREADS": "4",
        "GGML_UNKNOWN": WITHHELD,
        "GGML_VK_VISIBLE_DEVICES": WITHHELD,
        "GGML_SCHED_DEBUG": WITHHELD,
    }


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        (["--api-key", "canary"], ["--api-key", WITHHELD]),
        (["--api_key=canary"], [f"--api_key={WITHHELD}"]),
        (["-hft", "canary"], ["-hft", WITHHELD]),
        (["--hf-token", "-canary"], ["--hf-token", WITHHELD]),
        (["--use-auth-token", "--verbose"], ["--use-auth-token", "--verbose"]),
        (["--ssl-key-file", "canary.pem"], ["--ssl-key-file", WITHHELD]),
        (["--mcp-servers-json", '{"x": "canary"}'], ["--mcp-servers-json", WITHHELD]),
        (["HF_TOKEN=canary"], [f"HF_TOKEN={WITHHELD}"]),
        (["-c", "export HF_TOKEN=canary; go"], ["-c", f"export HF_TOKEN={WITHHELD}; go"]),
        (["-H", "Authorization: Bearer canary"], ["-H", f"Authorization: {WITHHELD}"]),
        (['{"api_key": "canary", "n": 1}'], [f'{{"api_key": {WITHHELD}, "n": 1}}']),
        (["postgres://ada:can@ary@host/db"], [f"postgres://{WITHHELD}@host/db"]),
        (["https://host/x?a=1&access_token=canary"], [f"https://host/x?a=1&access_token={WITHHELD}"]),
        (["--note", TOKEN], ["--note", WITHHELD]),
        (["-n", "5", "--cache-type-k", "f16"], ["-n", "5", "--cache-type-k", "f16"]),
        (["--override-kv", "tokenizer.ggml.add_bos_token=bool:false"],) * 2,
        (["-p", "The key: a token=5"], ["-p", "The key: a token=5"]),
        (["--print-token-count", "5"], ["--print-token-count", "5"]),
    ],
)
def test_a_command_line_as_it_is_stored(word: list[str], kept: list[str]) -> None:
    assert withheld.words(["program", *word]) == ["program", *kept]
    assert withheld.words(withheld.words(["program", *word])) == ["program", *kept]


def test_of_another_program_only_what_is_known_is_public() -> None:
    command = ["/usr/bin/python", "x.py", "-m", "a.gguf", "--db", "canary", "--z=canary", "-n", "5", "canary", "-q"]
    shown = ["/usr/bin/python", "x.py", "-m", WITHHELD, "--db", WITHHELD, f"--z={WITHHELD}", "-n", WITHHELD, WITHHELD]
    shown.append("-q")
    assert withheld.public_words(command) == shown
    assert privacy.scrub({"command": command})["command"] == ["python", *shown[1:]]
    ours = ["/x/llama-server", "--slot-save-path", "a", "--api-key", "canary"]
    assert withheld.public_words(ours) == [*ours[:-1], WITHHELD]
    assert withheld.public_words(["/usr/bin/env", "A=canary", *ours]) == [
        "/usr/bin/env",
        WITHHELD,
        *ours[:-1],
        WITHHELD,
    ]
    assert withheld.public_words(["sh", "/x/llama-server", "canary"]) == ["sh", WITHHELD, WITHHELD]


SIGNS = "aB3" * 12  # 36 letters and digits, as tokens have them


@pytest.mark.parametrize(
    "token",
    [
        f"hf_{SIGNS[:34]}",
        f"npm_{SIGNS}",
        "ASIA" + "A1B2" * 4,
        "AKIA" + "A1B2" * 4,
        f"SG.{SIGNS[:22]}.{SIGNS}-_{SIGNS[:5]}",
        f"sk_live_{SIGNS[:24]}",
        f"rk_live_{SIGNS[:24]}",
        f"pypi-AgEIcHlwaS5vcmc{SIGNS}",
        f"pypi-{SIGNS}",
        f"dckr_pat_{SIGNS[:27]}",
        f"ya29.a0{SIGNS}-_",
        f"sk-{SIGNS}",
        f"ghp_{SIGNS}",
        f"github_pat_{SIGNS}",
        f"glpat-{SIGNS[:20]}",
        f"xoxb-{SIGNS}",
        f"AIza{SIGNS[:35]}",
        f"eyJ{SIGNS}.{SIGNS}.{SIGNS}",
    ],
)
def test_tokens_of_services_are_withheld_wherever_they_stand(token: str) -> None:
    for before, after in (
        ("", ""),
        ("is it ", "?"),
        ("my_", ""),
        ("/models/", "/m.gguf"),
        ("/models/", ".gguf"),
        ("(", ")"),
    ):
        assert withheld.text(f"{before}{token}{after}") == f"{before}{WITHHELD}{after}"
    assert withheld.words(["program", f"--x={token}", token]) == ["program", f"--x={WITHHELD}", WITHHELD]
    assert withheld.looks_secret(token) and withheld.secret_values(["x", token], {}) == (token,)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (f"curl -H 'Authorization: token {SIGNS}' x", f"curl -H 'Authorization: {WITHHELD}' x"),
        ("it sent Authorization: hunter2", f"it sent Authorization: {WITHHELD}"),
        ('{"authorization": "Digest a=b, c", "n": 1}', f'{{"authorization": "{WITHHELD}", "n": 1}}'),
        ("Authorization: Basic YTpi\nnext", f"Authorization: {WITHHELD}\nnext"),
        ("why Bearer abcdefgh?", f"why Bearer {WITHHELD}?"),
        ("why bearer ab12?", f"why bearer {WITHHELD}?"),
        ("and Basic dXNlcjpwYXNz.", f"and Basic {WITHHELD}."),
        ("basic YWRhOmFkYQ==", f"basic {WITHHELD}"),
        ("Server=x;Uid=ada;Pwd=hunter2;", f"Server=x;Uid=ada;Pwd={WITHHELD};"),
        ("pwd = 'a b'", f"pwd = {WITHHELD}"),
        ("DB_PASSWORD=hunter2 x", f"DB_PASSWORD={WITHHELD} x"),
    ],
)
def test_credentials_in_a_text(said: str, kept: str) -> None:
    assert withheld.text(said) == kept == withheld.text(kept)


@pytest.mark.parametrize(
    "said",
    [
        "hf_model.gguf",
        "/models/hf_SmolLM2Instruct135M.gguf",
        f"hf_{SIGNS[:29]}.gguf",
        "hf_hub_download",
        "npm_config_registry",
        "Asian",
        "ASIA and EUROPE",
        "ASIAPACIFIC",
        "The SG. is high",
        "SG.",
        "MSG.length.of.the.text",
        "ya29",
        "ya29.",
        "ya29.x",
        "pypi-server",
        "pypi-server-of-the-institute-in-berlin",
        "pypi",
        "dckr_pat_",
        "sk_live_",
        "risk_live_",
        "task_live_x",
        "disk-usage-of-the-whole-model",
        "authorization",
        "its Authorization: ",
        "unauthorized",
        "bearer of news",
        "Bearer of",
        "basic arithmetic",
        "Basic understanding of it",
        "Basic 4-bit-quantization",
        "PWD=/home/x",
        "OLDPWD=/a",
        "pwd",
        "Pwd=",
        "forgotten passwords",
        "Does a prompt of 8 tokens = 8 passes?",
    ],
)
def test_ordinary_words_are_no_secrets(said: str) -> None:
    assert withheld.text(said) == said


def test_a_model_whose_name_begins_as_a_token_keeps_it_everywhere() -> None:
    path = "/models/hf_SmolLM2Instruct135M.gguf"
    facts = {"command": ["llama-cli", "-m", path, f"--model={path}"], "model": {"file": path}}
    assert encode(withheld.facts(decode(Facts, facts))) == facts
    assert withheld.words(["x", "hf_model=1.gguf"]) == ["x", "hf_model=1.gguf"]
    assert withheld.words(["x", "--disk-offload", "5"]) == ["x", "--disk-offload", "5"]
    assert privacy.scrub(facts)["model"] == {"file": "hf_SmolLM2Instruct135M.gguf"}


@pytest.mark.parametrize(
    "word",
    [
        "key" * 40_000,
        "x-key" * 5_000,
        "?key" * 20_000,
        "://" * 30_000,
        "eyJ" * 30_000,
        "bearer " * 20_000,
        "Basic a" + "a" * 90_000,
        "authorization: " * 9_000,
        "pwd" * 30_000,
    ],
)
def test_a_long_argument_takes_no_time(word: str) -> None:
    begin = time.process_time()
    withheld.words(["program", word, f"://{word}", f"{word}:"])
    withheld.secret_values([word, f"://{word}"], {})
    assert time.process_time() - begin < 5


def test_secrets_that_a_program_was_given() -> None:
    command = ["x", "--api-key", "canary-one", "--token=canary-two", "http://ada:canary-three@host/"]
    variables = {"HF_TOKEN": "canary-four", "MY_SECRET": "short", "PWD": "/a/b/c/d/e", "A_KEY_FILE": "/a/b/c/d/e"}
    variables |= {"USER_NAME": "canary-five", "DATABASE_URL": "postgres://ada:canary-six@host/", "NOTE": f"is {TOKEN}"}
    values = withheld.secret_values(command, variables)
    assert set(values) == {"canary-one", "canary-two", "canary-three", "canary-four", "canary-six", TOKEN}
    assert withheld.text("it said canary-four!", values) == f"it said {WITHHELD}!"


def test_metadata_of_a_model() -> None:
    metadata = {
        "my.api_key": "canary",
        "auth.token": "canary",
        "tokenizer.ggml.pre": "bpe",
        "general.author": "Ada",
        "llama.attention.key_length": 64,
        "general.url": "https://a:canary@b/c",
        "x": [f"see {TOKEN}"],
    }
    kept = withheld.metadata(metadata)
    assert "canary" not in json.dumps(kept)
    assert {key: kept[key] for key in ("tokenizer.ggml.pre", "general.author", "llama.attention.key_length")} == {
        "tokenizer.ggml.pre": "bpe",
        "general.author": "Ada",
        "llama.attention.key_length": 64,
    }


def test_a_run_that_was_stored_before_is_read_without_its_secrets(tmp_path: Path) -> None:
    folder = a_run_folder(tmp_path, a_run())
    path = folder / store.RUN_FILE
    document = json.loads(path.read_text(encoding="utf-8"))
    document["facts"]["trace"] = {"environment": {"LLAMA_API_KEY": "canary", "GGML_X": "canary", "OMP_DYNAMIC": "1"}}
    document["facts"]["command"] += ["--api-key", "canary"]
    document["facts"]["model"] = {"file": "m.gguf", "metadata": {"general.url": "https://canary:canary@x"}}
    document["checks"][0]["detail"] = "see https://canary:canary@x"
    path.write_text(json.dumps(document), encoding="utf-8")
    run = store.read_run(folder)
    assert "canary" not in json.dumps([facts_of(run), [check.detail for check in run.checks]])
    assert encode(run.facts.trace) == {
        "environment": {"GGML_X": WITHHELD, "OMP_DYNAMIC": "1"},
        "environment_unnamed": 1,
    }
    store.write_run_file(folder, run)
    assert store.read_run(folder).facts == run.facts and b"canary" not in path.read_bytes()


@pytest.mark.parametrize("facts", ["[]", '{"trace": {"environment": {}, "environment_unnamed": "x"}}'])
def test_broken_facts_are_refused(tmp_path: Path, facts: str) -> None:
    folder = a_run_folder(tmp_path, a_run())
    document = json.loads((folder / store.RUN_FILE).read_text(encoding="utf-8"))
    (folder / store.RUN_FILE).write_text(json.dumps({**document, "facts": json.loads(facts)}), encoding="utf-8")
    with pytest.raises(store.StoreError, match=r"run\.json: .*facts"):
        store.read_run(folder)


def test_publishing_lists_environment_and_command_line() -> None:
    command = [*facts_of(a_run())["command"]]
    command[1:1] = ["--api-key", "canary"]
    trace = {"environment": {"OMP_DYNAMIC": "1", "GGML_X": "canary"}, "environment_unnamed": 2}
    run = with_groups(a_run(), trace=trace, command=command)
    lines = privacy.public_summary(run)
    assert "environment: OMP_DYNAMIC=1, GGML_X=(withheld)" in lines
    assert "command line: llama-completion --api-key '(withheld)' -m m.gguf -p 'Hello there'" in lines
    assert "not named: 2 variables of llama.cpp and its libraries that look like secrets" in lines
    private = privacy.public_summary(privacy.made_private(run))
    assert "environment: OMP_DYNAMIC=1, GGML_X=(withheld)" in private
    assert "command line: llama-completion '(private)'" in private
