"""llama-server with several clients at once, recorded by `tracegen exec` until Ctrl-C; what it answered is the witness.

Compiling llama-server takes minutes, so only with TRACEGEN_SERVER=1 (`make server`).
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.integration.test_models import assert_no_false_alarm
from tracegen.analysis import footprint
from tracegen.analysis import served as served_of
from tracegen.measure.capture.llama_cpp import Build, ensure_build
from tracegen.measure.demo.models import write_demo_model
from tracegen.measure.trained import trained_model
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.report.figures.context import Context
from tracegen.report.findings import served as served_findings
from tracegen.report.findings.answer import quick
from tracegen.report.pages.render import render_report
from tracegen.storing.progress import Progress

pytestmark = [
    pytest.mark.llama,
    pytest.mark.skipif(
        os.environ.get("TRACEGEN_SERVER") != "1", reason="TRACEGEN_SERVER=1 builds and runs llama-server"
    ),
]

TARGET = "llama-server"
PROMPTS = (list(range(270, 290)), list(range(300, 312)), list(range(320, 327)))  # tokens, so that all is known
TOKENS = (300, 300, 5)
PATIENCE_S = 120.0


@dataclass(frozen=True)
class Served:
    """The run, and the tokens that each request got; the first two were sent at once."""

    loaded: LoadedRun
    answers: tuple[list[int], ...]


def ask(port: int, path: str, **body: Any) -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/{path}",
        json.dumps(body).encode() if body else None,
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def complete(port: int, prompt: list[int], n: int, *, keep: bool = False) -> list[int]:
    """The tokens that a request got; `keep`: the server may keep its state, and use it again."""
    return list(answered(port, prompt, n, keep=keep)["tokens"])


def answered(port: int, prompt: list[int], n: int, *, keep: bool, slot: int = -1) -> Any:
    """The server's whole answer; `slot`: the one that is asked for."""
    answer = ask(
        port,
        "completion",
        prompt=prompt,
        n_predict=n,
        ignore_eos=True,
        temperature=0,
        return_tokens=True,
        cache_prompt=keep,
        id_slot=slot,
    )
    assert answer["tokens_evaluated"] == len(prompt) and answer["tokens_predicted"] == n
    return answer


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(project: Path, programs: Path, model: Path, port: int, slots: int = 2) -> Iterator[subprocess.Popen[str]]:
    """`tracegen exec` with the server behind it, once it answers."""
    command = [
        sys.executable,
        "-m",
        "tracegen",
        "exec",
        "case",
        "--llama-cpp",
        str(programs),
        "--",
        TARGET,
        *("-m", str(model), "--host", "127.0.0.1", "--port", str(port), "-np", str(slots), "-c", "2048", "-t", "2"),
        *("--fit", "off"),
    ]
    with (project / "said.txt").open("w") as output:
        child = subprocess.Popen(
            command, cwd=project, stdin=subprocess.DEVNULL, stdout=output, stderr=output, text=True
        )
    try:
        patience = time.monotonic() + PATIENCE_S
        while True:
            assert child.poll() is None and time.monotonic() < patience, (project / "said.txt").read_text()
            try:
                ask(port, "health")
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        yield child
    finally:
        child.kill()
        child.wait()


@pytest.fixture(scope="module")
def served(hooked: Build, tmp_path_factory: pytest.TempPathFactory) -> Served:
    """Two requests at once, one more behind them, then Ctrl-C."""
    ensure_build(Progress(), target=TARGET)
    project, port = tmp_path_factory.mktemp("server"), free_port()
    (model,) = write_demo_model("moe", project / "model.gguf")
    with serving(project, hooked.programs, model, port) as child:
        with ThreadPoolExecutor(2) as clients:
            answers = list(clients.map(complete, [port] * 2, PROMPTS, TOKENS))
        answers.append(complete(port, PROMPTS[2], TOKENS[2]))
        child.send_signal(signal.SIGINT)
        child.wait(PATIENCE_S)
    assert child.returncode == 0, (project / "said.txt").read_text()
    return Served(load_run(project / "experiments" / "case" / "runs" / "001"), tuple(answers))


def passes_of_requests(served: Served) -> pd.DataFrame:
    """Without load, warm-up, and what the server tries at its start: two rows whose logits it does not read."""
    rows = served.loaded.passes.sort_values("pass_id").reset_index(drop=True)
    assert rows["kind"].tolist()[:3] == ["load", "warmup", "prompt"]
    tried = served.loaded.tokens[served.loaded.tokens["pass_id"] == rows.loc[2, "pass_id"]]
    assert tried["position"].tolist() == [0, 1] and not set(tried["token_id"]) & {t for p in PROMPTS for t in p}
    return rows[3:].reset_index(drop=True)


def test_everything_is_accounted_for_and_nothing_is_a_false_alarm(served: Served) -> None:
    assert_no_false_alarm(served.loaded)
    assert served.loaded.run.facts.stopped is True
    checks = {check.key: check.state for check in served.loaded.run.checks}
    assert checks["nodes_accounted"] == checks["threads_accounted"] == checks["trace_complete"] == "passed"
    assert checks["buffers_balance"] == "not checked"


def test_passes_of_several_sequences_are_mixed_and_those_of_one_request_are_known(served: Served) -> None:
    rows = passes_of_requests(served)
    several = rows["n_sequences"] > 1
    assert set(rows.loc[several, "kind"]) == {"mixed"} and several.sum() > TOKENS[0] // 2
    last = rows[-TOKENS[2] :]
    assert last["kind"].tolist() == ["prompt", *["generate"] * (TOKENS[2] - 1)]
    assert last["n_tokens"].tolist() == [len(PROMPTS[2]), *[1] * (TOKENS[2] - 1)]
    mixed = rows[several.idxmax() :]  # the first request may have been alone for some passes
    assert mixed["produced_token"].isna().all()  # after two at once nobody knows how many there were


def test_each_sequence_has_the_tokens_that_its_client_sent_and_got(served: Served) -> None:
    """What went in: the prompt, then each answer's tokens but the last, at their positions, in order."""
    tokens = served.loaded.tokens[served.loaded.tokens["pass_id"].isin(passes_of_requests(served)["pass_id"])]
    sequences = []
    for _, rows in tokens.sort_values(["pass_id", "row"]).groupby("sequence"):
        begins = rows["position"].eq(0).cumsum()
        for _, request in rows.groupby(begins):
            assert request["position"].tolist() == list(range(len(request)))
            sequences.append(request["token_id"].tolist())
    sent = [[*prompt, *answer[:-1]] for prompt, answer in zip(PROMPTS, served.answers, strict=True)]
    assert sorted(sequences) == sorted(sent)


def test_rows_whose_logits_were_asked_for_are_one_for_each_token(served: Served) -> None:
    assert passes_of_requests(served)["n_outputs"].sum() == sum(TOKENS)


def test_routing_names_the_sequence(served: Served) -> None:
    loaded = served.loaded
    routed = loaded.routing.merge(loaded.tokens[["pass_id", "row", "sequence"]], on=["pass_id", "row"])
    assert len(routed) == len(loaded.routing) and routed["sequence_x"].eq(routed["sequence_y"]).all()
    assert set(routed["sequence_x"]) == {0, 1}


def test_the_pages_of_such_a_run(served: Served) -> None:
    loaded = served.loaded
    report = render_report(loaded.run, loaded.tables, citable=None)
    overview = next(page.body for page in report.pages if page.key == "overview")
    assert "wrote tokens of unknown number" in overview


# ---- what the server keeps ----

N_REQUESTS, N_ASKED, N_TOKENS = 24, 110, 8


@pytest.fixture(scope="module")
def kept(hooked: Build, tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    """Requests one after another on one slot, each of other tokens: the server saves the state of the one before."""
    ensure_build(Progress(), target=TARGET)
    project, port = tmp_path_factory.mktemp("kept"), free_port()
    model = trained_model("smollm2", Progress())
    with serving(project, hooked.programs, model, port, slots=1) as child:
        for i in range(N_REQUESTS):
            complete(port, [300 + (131 * i + 7 * j) % 4000 for j in range(N_ASKED)], N_TOKENS, keep=True)
        child.send_signal(signal.SIGINT)
        child.wait(PATIENCE_S)
    assert child.returncode == 0, (project / "said.txt").read_text()
    return load_run(project / "experiments" / "case" / "runs" / "001")


def test_each_finished_request_is_a_state_of_its_tokens(kept: LoadedRun) -> None:
    """All but the last, which is in its slot still; a token that was generated last was never computed."""
    states = kept.tables["saved_states"]
    assert len(states) == N_REQUESTS - 1 and set(states["event"]) == {"saved"} and not states["partial"].any()
    n_tokens = footprint._n_tokens(kept.tables, states.set_index("saved"))
    assert set(n_tokens) == {N_ASKED + N_TOKENS - 1}
    layers, heads, size = 30, 3 * 64, 2  # of SmolLM2: keys and values of half precision
    assert (states["size_bytes"] / (2 * layers * heads * size * (N_ASKED + N_TOKENS - 1))).between(1, 1.01).all()


def test_the_answer_says_what_grows_by_how_much_and_what_bounds_it(kept: LoadedRun) -> None:
    said = quick(Context(kept.run, kept.tables))
    assert said is not None and said.text.startswith("Memory grows by 2.57 MiB with each finished request")
    assert f"llama-server keeps the KV state of {N_ASKED + N_TOKENS - 1} tokens" in said.text
    assert "`--cache-ram N` bounds them" in said.text


def test_what_memory_is_made_of_adds_up(kept: LoadedRun) -> None:
    (check,) = (check for check in kept.run.checks if check.key == "footprint")
    assert check.state == "passed"
    rows = footprint.footprint(kept.tables)
    last = rows[rows["occasion"].isin(footprint.WHILE)].groupby("group")["resident_bytes"].last()
    states = kept.tables["saved_states"]["size_bytes"]
    assert 0.5 * states.sum() < last["saved states"] <= states.sum()
    took = kept.tables["footprint"].groupby("sample")[["took_ns", "occasion"]].first()
    spent = took[took["occasion"].isin(footprint.WHILE)]["took_ns"].sum()
    whole = kept.passes["end_ns"].max() - kept.passes["begin_ns"].min()
    assert spent <= 0.005 * whole + 10_000_000 + took["took_ns"].max()  # some ms at first, and one sample more


# ---- what each prompt kept ----

COMMON = [300 + 7 * i % 4000 for i in range(400)]


@pytest.fixture(scope="module")
def asked(hooked: Build, tmp_path_factory: pytest.TempPathFactory) -> tuple[LoadedRun, list[Any]]:
    """Prompts that begin alike, in two slots; what the server said of each in its answer."""
    ensure_build(Progress(), target=TARGET)
    project, port = tmp_path_factory.mktemp("asked"), free_port()
    model = trained_model("smollm2", Progress())
    with serving(project, hooked.programs, model, port) as child:
        talk = [*COMMON, 901, 902, 903]
        answers = [answered(port, talk, 6, keep=True, slot=0)]
        talk = [*talk, *answers[0]["tokens"], 911, 912, 913]  # a conversation goes on
        answers.append(answered(port, talk, 6, keep=True, slot=0))
        answers.append(answered(port, [*COMMON, 921, 922], 4, keep=True, slot=1))  # the other slot has it
        answers.append(answered(port, [*COMMON, 931], 4, keep=False, slot=0))  # its own slot has it
        answers.append(answered(port, [77, *COMMON, 941], 4, keep=True, slot=0))  # all of it stands behind a change
        answers.append(answered(port, [77, *COMMON, 941], 4, keep=True, slot=0))  # the same again
        with ThreadPoolExecutor(2) as clients:
            answers += clients.map(
                lambda slot: answered(port, [1000 + slot, *COMMON[:64]], 20, keep=True, slot=slot), (0, 1)
            )
        child.send_signal(signal.SIGINT)
        child.wait(PATIENCE_S)
    assert child.returncode == 0, (project / "said.txt").read_text()
    return load_run(project / "experiments" / "case" / "runs" / "001"), answers


def test_what_each_prompt_kept_is_what_the_server_said(asked: tuple[LoadedRun, list[Any]]) -> None:
    loaded, answers = asked
    table = served_of.served(loaded.tables)
    found = table[["sequence", "n_kept", "n_computed", "n_generated"]].itertuples(index=False, name=None)
    timings = [(one["id_slot"], one["timings"]) for one in answers]
    said = [(slot, of["cache_n"], of["prompt_n"], of["predicted_n"]) for slot, of in timings]
    *alone, one, other = found
    assert alone == said[:-2] and {one, other} == set(said[-2:])
    for prompt_ns, (_, of) in list(zip(table["prompt_ns"], timings, strict=True))[:5]:
        assert (
            0.5 * of["prompt_ms"] < prompt_ns / 1e6 < 1.05 * of["prompt_ms"] + 1
        )  # the server's own time is around it


def test_what_was_computed_again_is_named(asked: tuple[LoadedRun, list[Any]]) -> None:
    loaded, _ = asked
    table = served_of.served(loaded.tables)
    again = table[["n_again", "again_from"]].astype(object).where(table[["n_again", "again_from"]].notna(), None)
    n = len(COMMON)
    assert [tuple(row) for row in again.head(6).itertuples(index=False)] == [
        (0, None),
        (0, None),
        (n, "another slot"),
        (n, "its slot"),
        (n, "behind a change"),
        (0, None),
    ]
    (text,) = (finding.text for finding in served_findings.findings(Context(loaded.run, loaded.tables)))
    took = table.groupby("again_from")["again_ns"].agg(["sum", "size"]).sort_values("sum")  # two prompts share a pass
    assert f"had been computed before. For {took['size'].iloc[-1]} of 8 prompts," in text
    assert text in quick(Context(loaded.run, loaded.tables)).text
