"""Nothing that names a machine or a person leaves it; private text stays private."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import with_facts
from tests.builders.runs import facts_of, with_groups
from tests.golden.hard_case import hard_case
from tests.stand_in import HOSTILE, a_report, a_run
from tracegen.contract import tables
from tracegen.contract.errors import SettingsError, StoreError
from tracegen.contract.model import Check
from tracegen.publishing import privacy
from tracegen.report.document.page import Report


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("/any/where/model.gguf", "model.gguf"),
        ("--model=/any/where/model.gguf", "--model=model.gguf"),
        ("loading '/srv/a b/m.gguf' now", "loading 'm.gguf' now"),
        ("PATH=/usr/bin:/opt/x/bin", "PATH=bin:bin"),
        ("file:///srv/m/x.gguf", "x.gguf"),
        ("C:\\Users\\ada\\m.gguf", "m.gguf"),
        ("~/models/x.gguf", "x.gguf"),
        ("see https://example.org/a/b.html", "see https://example.org/a/b.html"),
        ("12 tokens/s and/or 3/4", "12 tokens/s and/or 3/4"),
        ("(/proc/self/maps)", "(maps)"),
        ("ran on countess as ada", "ran on (removed) as (removed)"),
        ("COUNTESS.example.org", "(removed)"),
        ("Canada and countesses", "Canada and countesses"),
        ("/home/ada", "~"),
        ("cd /home/ada && ls", "cd ~ && ls"),
        ("/home/grace/x/y.c:12: warning", "y.c:12: warning"),
        ("grace wrote it", "(removed) wrote it"),
        (HOSTILE, HOSTILE),
    ],
)
def test_names_of_machine_and_user_and_paths_leave_no_string(before: str, after: str) -> None:
    facts = {
        "host": {"hostname": "countess.example.org", "user": "ada", "note": "/home/grace/x"},
        "known": "/srv/a b/m.gguf",
        "log": [{"lines": [before]}],
    }
    assert privacy.scrub(facts)["log"] == [{"lines": [after]}]


def test_host_user_and_environment_go() -> None:
    facts = {
        "host": {"hostname": "countess", "user": "ada", "home": "/home/ada", "cpu": "A CPU", "cores": 2},
        "trace": {"environment": {"HF_TOKEN": "hf_secret", "GGML_X": "/home/ada/x/y", "OMP_NUM_THREADS": "2"}},
        "command": {"env": ["SECRET=1", "LLAMA_ARG=/home/ada/m.gguf"]},
    }
    assert privacy.scrub(facts) == {
        "host": {"cpu": "A CPU", "cores": 2},
        "trace": {"environment": {"GGML_X": "(withheld)", "OMP_NUM_THREADS": "2"}},
        "command": {"env": ["LLAMA_ARG=(withheld)"]},
    }


def test_the_prompt_is_quoted_as_it_is() -> None:
    facts = {"settings": {"prompt": "Look in /home/ada/notes"}, "command": ["-p", "Look in /home/ada/notes"]}
    assert privacy.scrub(facts) == facts


def test_private_hides_every_text() -> None:
    run = a_run(private=True, prompt="the secret question")
    run = with_groups(
        replace(run, checks=(Check("text", "Text", "passed", "the secret answer", ""),)),
        command=["-p", "the secret question"],
        text={"generated": "the secret answer", "tokens": [1, 2], "n": 2},
        trace={"sampled_tokens": [1, 2], "host": {"name": "countess", "cpu": "A"}},
        log="> the secret question\nthe secret answer\n",
    )
    public = privacy.public_run(run)
    assert "secret" not in json.dumps([facts_of(public), [c.found for c in public.checks]])
    assert facts_of(public)["text"] == {"generated": "(private)", "tokens": [], "n": 2}
    assert facts_of(public)["trace"] == {"sampled_tokens": [], "host": {"cpu": "A"}}
    assert "secret" not in "\n".join(privacy.public_summary(run))


def test_private_tables_tell_no_token() -> None:
    """No id, no row of the vocabulary, and no weight of a router: at full precision it tells one token from another."""
    case, public = hard_case(), privacy.public_tables(a_run(private=True), hard_case())
    assert public["tokens"]["token_id"].isna().all() and set(case["touches"]["node"]) == {0, 4}
    assert set(public["touches"]["node"]) == {4}
    assert public["routing"]["weight"].isna().all() and public["routing"]["expert"].notna().all()
    for name in tables.BY_NAME:
        tables.check(name, public[name])
    shown = privacy.public_tables(a_run(), case)
    assert shown["tokens"]["token_id"].tolist() == [7, 8, 9, 7, 4] and shown["routing"]["weight"].notna().all()


def test_the_summary_names_what_becomes_public() -> None:
    lines = "\n".join(privacy.public_summary(a_run()))
    for text in ("Hello there", "General Kenobi", "A CPU <b>fast</b>", "What is read?"):
        assert text in lines
    assert "/home/ada" not in lines and "countess" not in lines


@pytest.mark.parametrize("leak", ["/home/ada/models/m.gguf", "countess"])
def test_a_leak_stops_publishing(leak: str) -> None:
    with pytest.raises(StoreError, match="must not become public"):
        privacy.refuse_leaks(a_run(), a_report(extra=leak))
    with pytest.raises(StoreError, match="data/x"):
        privacy.refuse_leaks(a_run(), Report("t", (), {"data/x.js": json.dumps({"p": leak}).encode()}))
    privacy.refuse_leaks(a_run(), a_report(extra="Hello there"))


def test_a_private_text_that_leaks_stops_publishing() -> None:
    with pytest.raises(StoreError, match="General Kenobi"):
        privacy.refuse_leaks(a_run(private=True), a_report(extra="General Kenobi, you are a bold one"))


def test_no_argument_of_a_private_run_is_shown() -> None:
    """A system prompt may stand in any flag; the program may be named."""
    run = a_run(private=True, prompt="the secret question", flags=["-sys", "be a secret pirate"])
    run = with_groups(run, command=["/opt/x/llama-cli", "-sys", "be a secret pirate"])
    public = privacy.public_run(run)
    assert public.facts.command == ("llama-cli", privacy.PRIVATE)
    assert public.facts.settings.flags == (privacy.PRIVATE,)
    assert "pirate" not in str(public.facts)


def test_an_experiment_that_became_private_after_its_run(tmp_path: Path) -> None:
    assert not privacy.is_requested(tmp_path)
    (tmp_path / "experiment.toml").write_text("private = true\n")
    assert privacy.is_requested(tmp_path)
    run = a_run(private=False, prompt="the secret question")
    assert privacy.made_private(run).facts.private
    assert "secret" not in str(privacy.public_run(privacy.made_private(run)).facts)
    (tmp_path / "experiment.toml").write_text("private = tr")
    with pytest.raises(SettingsError, match="may ask for privacy"):
        privacy.is_requested(tmp_path)


def test_what_becomes_public_names_text_per_token_only_where_it_is_stored() -> None:
    run = a_run()
    for pieces, expected in (({"1": "a"}, "token ids and text per token ("), (None, "token ids, without the text of")):
        of = with_facts(run, text=dict(pieces=pieces))
        assert expected in "\n".join(privacy.public_summary(of))
