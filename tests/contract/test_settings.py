from pathlib import Path

import pytest

from tracegen.contract.errors import SettingsError
from tracegen.contract.experiment import Experiment
from tracegen.contract.settings import OWN_FLAGS, experiment_from, read_experiment
from tracegen.measure.capture.plan import settings_of

LEAST: dict[str, object] = {"question": "Why?", "model": "demo", "prompt": "Hello", "tokens": 4}


def written(tmp_path: Path, text: str, name: str = "my-test") -> Path:
    path = tmp_path / name / "experiment.toml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_are_those_of_the_model(tmp_path: Path) -> None:
    assert experiment_from("a", LEAST, tmp_path) == Experiment("a", "Why?", "demo", "Hello", 4)


def test_residency_needs_a_mapping_and_the_page_cache_does_not(tmp_path: Path) -> None:
    assert experiment_from("a", LEAST | {"residency": True}, tmp_path).residency
    assert experiment_from("a", LEAST | {"page_cache": "cold", "mmap": False}, tmp_path).page_cache == "cold"


@pytest.mark.parametrize(
    ("mode", "mapped"), [("none", False), ("mmap", True), ("mlock", False), ("mmap+mlock", True), ("dio", False)]
)
def test_a_way_to_load_says_whether_the_model_is_mapped(mode: str, mapped: bool, tmp_path: Path) -> None:
    assert experiment_from("a", LEAST | {"load_mode": mode}, tmp_path).mmap is mapped
    assert experiment_from("a", LEAST | {"load_mode": mode, "mmap": mapped}, tmp_path).load_mode == mode


def test_a_limit_to_memory_counts_a_model_that_is_read(tmp_path: Path) -> None:
    """Without mmap the model's bytes are memory of the program, and so they count towards the limit."""
    experiment = experiment_from("a", LEAST | {"memory_limit_gb": 4, "mmap": False}, tmp_path)
    assert (experiment.memory_limit_gb, experiment.page_cache) == (4, "as is")


def test_a_prompt_file_is_kept_to_the_byte(tmp_path: Path) -> None:
    path = written(tmp_path, 'question = "?"\nmodel = "moe"\ntokens = 1\nprompt_file = "p.txt"')
    (path.parent / "p.txt").write_bytes("Grüße\r\n".encode())
    assert read_experiment(path).prompt == "Grüße\r\n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"token": 3}, "token: is not a setting; did you mean `tokens`?"),
        ({"zzz": 3}, "zzz: is not a setting; the settings are question, model"),
        ({"limits": {"timeout": 3}}, "limits.timeout: is not a setting; did you mean `limits.timeout_s`?"),
        ({"limits": {"timeout_s": 0}}, "limits.timeout_s: is 0; must be a whole number from 1 to"),
        ({"limits": 3}, "limits: is 3; must be a table"),
        ({"tokens": 0}, "tokens: is 0; must be a whole number from 1 to"),
        ({"tokens": True}, "tokens: is true; must be a whole number"),
        ({"tokens": 1.5}, "tokens: is 1.5;"),
        ({"tokens": "4"}, "tokens: is '4';"),
        ({"repeat": 10**9}, "repeat: is 1000000000; must be a whole number from 1 to 1000"),
        *(
            ({key: value}, f"{key}: is {shown}; must be a number of GiB from 0.001 to 1048576")
            for key in ("mlock_gb", "memory_limit_gb")
            for value, shown in (
                (0, "0"),
                (float("nan"), "nan"),
                (True, "true"),
                ("4GiB", "'4GiB'"),
                (10**7, "10000000"),
            )
        ),
        ({"memory_limit_gb": 4, "page_cache": "warm"}, 'memory_limit_gb: needs page_cache = "cold"'),
        ({"seed": -1}, "seed: is -1; must be a whole number from 0 to 4294967294"),
        ({"seed": 2**32 - 1}, "seed: is 4294967295;"),
        ({"threads": 0}, "threads: is 0;"),
        ({"warmup": 1}, "warmup: is 1; must be true or false"),
        ({"flash_attention": "yes"}, 'flash_attention: is \'yes\'; must be "auto", "on" or "off"'),
        ({"flags": "--temp 1"}, "flags: is '--temp 1'; must be a list of texts"),
        ({"flags": ["--temp", 1]}, "flags: is ['--temp', 1]; must be a list of texts"),
        ({"flags": ["-t", "4"]}, "flags: '-t' is not allowed: the key `threads` sets it"),
        ({"flags": ["--seed=4"]}, "flags: '--seed=4' is not allowed: the key `seed` sets it"),
        *(
            ({"tags": value}, "must be a list of at most 12 different tags of 1 to 24 small letters")
            for value in (
                "disk",
                {"disk": True},
                [1],
                [["disk"]],
                [""],
                ["Disk"],
                ["-disk"],
                ["disk."],
                ["disk\n"],
                ["<b>"],
                ["é"],
                ["disk", "moe", "disk"],
                ["a" * 25],
                [f"t{i}" for i in range(13)],
            )
        ),
        ({"prompt": "  "}, "prompt: is '  '; must be a text that is not empty"),
        ({"prompt": "a\0b"}, "prompt: is 'a\\x00b'; must be a text that is not empty and has no NUL"),
        ({"prompt_file": "p"}, "prompt, prompt_file: both are set; keep one"),
        ({"question": ""}, "question: is ''"),
        ({"model": 3}, "model: is 3"),
        ({"residency": True, "mmap": False}, "residency: needs mmap"),
        ({"residency": True, "load_mode": "dio"}, 'load_mode = "dio" does not map the model'),
        ({"load_mode": "direct"}, "load_mode: is 'direct'"),
        ({"load_mode": "none", "mmap": True}, "mmap, load_mode: say different things"),
        ({"lazy_mode": "yes"}, "lazy_mode: is 'yes'"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError) as error:
        experiment_from("a", LEAST | change, tmp_path)
    assert message in str(error.value)


@pytest.mark.parametrize("key", ["question", "model", "tokens", "prompt"])
def test_a_missing_setting_is_named(tmp_path: Path, key: str) -> None:
    with pytest.raises(SettingsError, match=rf"{key}.*missing"):
        experiment_from("a", {k: v for k, v in LEAST.items() if k != key}, tmp_path)


def test_tags_stand_in_the_run_only_if_there_are_any(tmp_path: Path) -> None:
    assert "tags" not in settings_of(experiment_from("a", LEAST, tmp_path))
    assert settings_of(experiment_from("a", LEAST | {"tags": ["moe", "disk"]}, tmp_path))["tags"] == ["moe", "disk"]


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as error:
        experiment_from("a", {"tokens": 0, "wramup": True, "flags": ["-m", "x"]}, tmp_path)
    message = str(error.value)
    assert message.startswith("6 problems:\n  ")
    for part in ("tokens: is 0", "`warmup`?", "question: is missing", "model: is missing", "'-m'", "prompt_file"):
        assert part in message


@pytest.mark.parametrize("flag", OWN_FLAGS)
def test_flags_that_tracegen_sets_are_refused(tmp_path: Path, flag: str) -> None:
    with pytest.raises(SettingsError, match="1 problem:"):
        experiment_from("a", LEAST | {"flags": [flag]}, tmp_path)


@pytest.mark.parametrize("name", ["_a", "-a", ".a", "a b", "ä", "", "a" * 65, "run-001", "v1", "a\n", "../a"])
def test_a_name_with_other_signs_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="name: "):
        experiment_from(name, LEAST, tmp_path)


@pytest.mark.parametrize("name", ["a", "0", "A", "a_b", "a.b", "v1-cold", "run", "runs-of-mine", "a" * 64])
def test_a_name_of_allowed_signs_is_taken(tmp_path: Path, name: str) -> None:
    assert experiment_from(name, LEAST, tmp_path).name == name


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"", "must hold a text that is not empty"),
        (b"\xff", "is not UTF-8 at byte 0"),
    ],
)
def test_a_bad_prompt_file(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "p.txt").write_bytes(content)
    settings = {k: v for k, v in LEAST.items() if k != "prompt"} | {"prompt_file": "p.txt"}
    with pytest.raises(SettingsError, match=message):
        experiment_from("a", settings, tmp_path)


@pytest.mark.parametrize(("content", "message"), [(b"a = ", "is not TOML"), (b"\xff", "is not UTF-8 at byte 0")])
def test_a_file_that_is_no_toml(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "experiment.toml"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=message):
        read_experiment(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        read_experiment(tmp_path / "experiment.toml")
