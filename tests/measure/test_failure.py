"""Why a program failed: what is read out of logs of llama.cpp, and what the first page says of it."""

import pytest

from tests.builders import a_run, only, scaled_case
from tracegen.contract.facts import Failure
from tracegen.measure.runs.failure import MOST, failure_in
from tracegen.report.figures.context import Context
from tracegen.report.findings import failed
from tracegen.report.findings.answer import quick

KV = """
0.00.380.211 W llama_context: n_ctx_seq (100000000) > n_ctx_train (8192) -- possible training context overflow
0.12.428.680 E ggml_aligned_malloc: insufficient memory (attempted to allocate 2197265.62 MB)
0.12.428.780 E alloc_tensor_range: failed to allocate CPU buffer of size 2304000000000
0.12.958.877 E llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache
0.12.959.142 E llama_completion: error: unable to create context
"""
WEIGHTS = """
ggml_vulkan: Device memory allocation of size 1073741824 failed.
alloc_tensor_range: failed to allocate Vulkan0 buffer of size 98363392
llama_model_load: error loading model: unable to allocate Vulkan0 buffer
llama_model_load_from_file_impl: failed to load model
"""
CUT = """
llama_model_load: error loading model: tensor 'blk.3.ffn_up.weight' data is not within the file bounds
"""


@pytest.mark.parametrize(
    ("log", "place", "size", "what"),
    [
        (KV, "CPU", 2_304_000_000_000, "KV cache"),
        (WEIGHTS, "Vulkan0", 98_363_392, "weights"),
        (CUT, None, None, None),
        ("graph_reserve: failed to allocate compute buffers", None, None, None),
    ],
)
def test_what_could_not_be_allocated(log: str, place: str | None, size: int | None, what: str | None) -> None:
    found = failure_in(log, 1)
    assert found is not None and (found.place, found.wanted_bytes, found.what) == (place, size, what)
    assert found.words and len(found.words) <= MOST and found.signal is None


def test_a_program_that_ended_well_did_not_fail() -> None:
    assert failure_in(KV, 0) is None


def test_signals_have_their_names() -> None:
    found, other = failure_in("", -7), failure_in("", -99)
    assert found is not None and found.signal == "SIGBUS" and found.words == ()
    assert other is not None and other.signal == "signal 99"


def test_secrets_and_long_lines_are_not_kept() -> None:
    found = failure_in(f"error: https://ada:pa55w0rd@example.org/m.gguf {'x' * 5000}", 1)
    assert found is not None and "pa55w0rd" not in found.words[0] and len(found.words[0]) <= 300


def said(failure: Failure, *command: str) -> str:
    run = a_run(failure=failure, exit_status=1, command=["llama-completion", *command])
    context = Context(run, only(scaled_case(1, 1), ("load",)))
    answer = quick(context)
    assert answer is not None and [f.text for f in failed.findings(context)] == [answer.text]
    return answer.text


def test_the_answer_says_which_context_would_fit() -> None:
    failure = failure_in(KV, 1)
    assert failure is not None
    text = said(failure, "-c", "100000000")
    assert text.startswith("2.10 TiB for the KV cache could not be allocated; the machine has 8.00 GiB.")
    n = int(text.split("`-c ")[1].split("`")[0])
    assert n % 256 == 0 and 0.79 < n * 23_040 / (8 << 30) <= 0.8  # the bytes of a token, times what fits
    assert "`-ctk q8_0" in said(failure)


def test_the_answer_says_what_a_device_could_not_hold() -> None:
    failure = failure_in(WEIGHTS, 1)
    assert failure is not None
    assert said(failure) == (
        "93.8 MiB for the weights could not be allocated in the memory of Vulkan0. Fewer layers there (`-ngl`, "
        "`--n-cpu-moe`) take less."
    )


def test_an_assertion_is_said_without_the_folders_of_the_build() -> None:
    failure = failure_in("load\n/home/ada/build/ggml/src/ggml-backend.cpp:1957: GGML_ASSERT(n <= 16) failed", -6)
    assert failure is not None
    assert said(failure) == "The program stopped itself: “ggml-backend.cpp:1957: GGML_ASSERT(n <= 16) failed”."
    calls = '#2  0x00007f ggml_abort (fmt="GGML_ASSERT(%s) failed")'
    assert said(Failure(words=(*failure.words, calls), signal="SIGABRT")) == said(failure)
    assert said(Failure(words=(), signal="SIGABRT")) == "The program was killed by SIGABRT."


def test_other_failures_are_said_in_their_own_words() -> None:
    failure = failure_in(CUT, 1)
    assert failure is not None and "data is not within the file bounds" in said(failure)
    assert said(Failure(words=())) == "The program ended with exit status 1, and said nothing."
    assert said(Failure(words=(), signal="SIGBUS")).startswith("The program was killed by SIGBUS. A page of a mapped")
