import os
from dataclasses import replace
from pathlib import Path

import pytest

from tracegen.contract.errors import SettingsError
from tracegen.contract.experiment import Experiment
from tracegen.contract.settings import OWN_FLAGS
from tracegen.measure.capture.plan import command_for, settings_of, timings_in

EXPERIMENT = Experiment(name="x", question="?", model="m.gguf", prompt="-a prompt\\n", tokens=3, flags=("--temp", "0"))
LOG = """
0.00.023.215 I common_perf_print:    sampling time =       0.11 ms
0.00.023.250 I common_perf_print:        load time =       9.97 ms
0.00.023.264 I common_perf_print: prompt eval time =       2.49 ms /    12 tokens (    0.21 ms per token)
0.00.023.278 I common_perf_print:        eval time =       1.62 ms /     4 runs   (    0.41 ms per token)
0.00.023.291 I common_perf_print:       total time =       4.56 ms /    16 tokens
0.00.023.317 I common_perf_print:    graphs reused =          3
"""


def test_the_command_never_talks_and_keeps_the_prompt_as_it_is() -> None:
    command = command_for(EXPERIMENT, Path("llama-completion"), Path("m.gguf"))
    assert {"-no-cnv", "--no-escape", "--ignore-eos"} <= set(command)
    assert command[command.index("-p") + 1] == EXPERIMENT.prompt and command[-2:] == ("--temp", "0")
    assert "--no-warmup" not in command and "--no-repack" not in command


def test_a_conversation_is_one_answer_that_may_end() -> None:
    command = command_for(replace(EXPERIMENT, chat=True), Path("llama-completion"), Path("m.gguf"))
    assert {"-cnv", "-st", "--jinja", "--no-escape"} <= set(command) and not {"-no-cnv", "--ignore-eos"} & set(command)


def test_settings_that_are_off_become_flags() -> None:
    off = Experiment(**{**vars(EXPERIMENT), "warmup": False, "repack": False, "mmap": False, "flash_attention": "off"})
    command = command_for(off, Path("p"), Path("m"))
    assert {"--no-warmup", "--no-repack"} <= set(command) and command[command.index("--load-mode") + 1] == "none"
    assert command[command.index("-fa") + 1] == "off"


def test_each_thread_has_a_processor_of_those_that_the_run_may_use() -> None:
    strict = replace(EXPERIMENT, cpu_strict=True)
    command = command_for(replace(strict, processors=(0, 2, 65)), Path("p"), Path("m"))
    assert command[command.index("--cpu-mask") + 1] == "0x20000000000000005"
    assert command[command.index("--cpu-strict") + 1] == "1"
    command = command_for(strict, Path("p"), Path("m"))
    assert int(command[command.index("--cpu-mask") + 1], 16) == sum(1 << number for number in os.sched_getaffinity(0))
    assert "--cpu-mask" not in command_for(EXPERIMENT, Path("p"), Path("m"))


def test_older_releases_say_it_otherwise() -> None:
    """`--load-mode` came between the releases 0.3.28 and 0.3.36 of llama-cpp-python."""
    off = Experiment(**{**vars(EXPERIMENT), "mmap": False})
    for experiment, option in ((EXPERIMENT, "--mmap"), (off, "--no-mmap")):
        command = command_for(experiment, Path("p"), Path("m"), has_load_mode=False)
        assert option in command and "--load-mode" not in command


@pytest.mark.parametrize("mode", ["none", "mmap", "mlock", "mmap+mlock", "dio"])
def test_a_way_to_load_is_given_once_in_the_words_of_llama_cpp(mode: str) -> None:
    experiment = replace(EXPERIMENT, load_mode=mode, lazy_mode="off", mmap=mode.startswith("mmap"))
    command = command_for(experiment, Path("p"), Path("m"))
    assert command.count("--load-mode") == 1 and command[command.index("--load-mode") + 1] == mode
    assert command[command.index("--lazy-mode") + 1] == "off"
    with pytest.raises(SettingsError, match="has no --load-mode"):
        command_for(experiment, Path("p"), Path("m"), has_load_mode=False)


def test_what_tracegen_sets_nobody_else_may() -> None:
    ours = {part for part in command_for(EXPERIMENT, Path("p"), Path("m"))[1:-2] if part.startswith("-")}
    assert ours - {EXPERIMENT.prompt, "--fit", "--log-colors", "--no-escape", "--no-display-prompt"} <= set(OWN_FLAGS)


def test_llama_cpps_own_counters() -> None:
    assert timings_in(LOG) == {
        "load_ms": 9.97,
        "prompt_ms": 2.49,
        "prompt_tokens": 12,
        "eval_ms": 1.62,
        "eval_runs": 4,
        "total_ms": 4.56,
        "graphs_reused": 3,
    }
    assert set(timings_in("").values()) == {None}


def test_without_a_mapping_nothing_is_prefaulted() -> None:
    assert settings_of(EXPERIMENT)["prefault"] is True
    assert settings_of(Experiment(**{**vars(EXPERIMENT), "mmap": False}))["prefault"] is False
