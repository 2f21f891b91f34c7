"""Every sentence for one, for several, for none, and for the case that would mislead."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from tracegen.analysis.hot_set import Gain
from tracegen.contract.model import Check
from tracegen.report.figures import caches
from tracegen.report.words import access_sentences, cache_sentences, disk_sentences, what_if_sentences
from tracegen.report.words import sentences as s

GIB, MS = 2**30, 1e6


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((0, 0), ""),
        ((10, 0), "All weights that a token touches are mapped: operations read them from the mapped model file."),
        ((0, 10), "All weights that a token touches were copied out of the file at load; no operation reads the file."),
        ((30, 10), "25.0 % of the weight bytes that a token touches were copied out of the file at load; no "
                   "operation reads them from the file."),
    ],
)  # fmt: skip
def test_copied(given: tuple[int, int], expected: str) -> None:
    assert plain(s.copied_weights(*given)) == expected


@pytest.mark.parametrize(
    ("times_ms", "expected"),
    [
        ((), "How long does each token take?"),
        ((3,), "One token has a pass of its own: it took 3.00 ms"),
        ((10, 10, 11), "All 3 tokens take about the same time: 10.0 ms at the median"),
        ((10, 10, 10, 25), "The slowest token takes 2.50 times the median; the mean is 1.38 times the median"),
        ((10, 10, 10, 12.5, 10, 10), "The slowest token takes 1.25 times the median"),
        ((1, 10, 10, 11), "The fastest token takes 10.0 % of the median; the mean is 0.800 times the median"),
        ((9, 10, 10, 10, 10, 30), "The slowest token takes 3.00 times the median; the mean is 1.32 times the median"),
    ],
)
def test_token_times(times_ms: tuple[float, ...], expected: str) -> None:
    assert plain(s.token_times([t * MS for t in times_ms])) == expected


def test_waiting() -> None:
    assert s.waiting_title(None, "", 0, 2).endswith("?")
    assert s.waiting_title(0.0, "ADD", 0, 2).startswith("No thread waits")
    assert s.waiting_title(0.002, "SET_ROWS", 0.5, 1).startswith("One thread computes")
    said = plain(s.waiting_title(0.25, "MUL_MAT of ffn_up", 0.1, 2))
    assert "wait 25.0 % of their time" in said and said.endswith("; 10.0 % of it is at MUL_MAT of ffn_up")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"load": 0, "warmup": 0}, ""),
        ({"load": 1, "warmup": 0}, "Statistics leave out 1 load."),  # no warm-up is spoken of
        ({"load": 1, "warmup": 1}, "Statistics leave out 1 load and 1 warm-up pass."),
        ({"load": 2, "warmup": 0}, "Statistics leave out 2 loads."),
    ],
)
def test_outside(given: dict[str, int], expected: str) -> None:
    assert s.outside_statistics(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((32, 0, 32), "32 measured passes in 32 rows"),
        ((1, 1, 2), "1 measured pass and 1 warm-up pass in 2 rows"),
        ((100, 2, 60), "100 measured passes and 2 warm-up passes in 60 rows"),
        ((0, 1, 1), "0 measured passes and 1 warm-up pass in 1 row"),
    ],
)
def test_rows_of_the_heatmap(given: tuple[int, int, int], expected: str) -> None:
    assert plain(s.heatmap_rows(*given)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((9, 1, 12, 11, 0), "9 prompt tokens in 1 pass and wrote 12 tokens, with 11 generate passes."),
        ((1, 1, 1, 0, 0), "1 prompt token in 1 pass and wrote 1 token, with 0 generate passes."),
        ((20, 3, None, 5, 1), "wrote tokens of unknown number, with 5 generate passes; 1 pass is of other kinds."),
        ((None, 2, 4, 3, 7), "unknown length in 2 passes and wrote 4 tokens, with 3 generate passes; 7 passes are of "),
        # a window that begins after the prompt
        ((None, 0, 5, 5, 0), "No prompt pass was recorded; it wrote 5 tokens, with 5 generate passes."),
        ((None, 0, None, 0, 1), "1 pass, not of prompt or generate."),
        ((None, 0, None, 0, 4), "4 passes, none of them prompt or generate."),
        ((None, 0, 0, 0, 0), "No pass was measured."),
    ],
)
def test_what_ran(given: tuple[int | None, int, int | None, int, int], expected: str) -> None:
    assert expected in plain(s.read_and_wrote(*given))


def test_memory_titles() -> None:
    assert s.heatmap_title(None, "a", 1) == s.heatmap_title(1.0, "", 0) and s.heatmap_title(1.0, "", 0).endswith("?")
    assert plain(s.heatmap_title(0.982, "token_embd.weight", 0.97)) == (
        "All measured passes together touch 98.2 % of the weights; 97.0 % of the rest is in token_embd.weight"
    )
    assert "each of the 43 tensors" in s.never_touched(0, 43, 0)
    assert plain(s.never_touched(1, 43, 1024)).endswith("touched 1 of 43 tensors (1.00 KiB).")
    assert plain(s.never_touched(2, 43, 4096)).endswith("touched 2 of 43 tensors (4.00 KiB together).")
    grown, still = s.residency_title(0.0, 0.715, "load", 33), s.residency_title(0.4, 0.4, "first pass", 1)
    assert plain(grown).startswith("0 % of") and plain(grown).endswith("after the load, 71.5 % at the end")
    assert plain(still).startswith("40.0 % of") and still.endswith("after the first pass")


def test_room() -> None:
    def said(file: int | None, memory: int | None, buffers: int | None) -> str:
        return plain(s.fits_into_memory(file, memory, buffers))

    assert said(None, GIB, 0) == said(GIB, None, 0) == ""
    assert said(2 * GIB, GIB, None).startswith("It is larger") and said(GIB, 2 * GIB, None).startswith("It is smaller")
    fits = said(11 * GIB, 16 * GIB, GIB)
    assert "take 1.00 GiB and leave 15.0 GiB: the file may stay in memory" in fits
    # a file that is smaller than memory, and larger than what repacked weights leave of it
    tight = said(11 * GIB, 15 * GIB, int(9.88 * GIB))
    assert "take 9.88 GiB and leave 5.12 GiB: not all of the file can stay" in tight


def test_rates() -> None:
    assert s.even_rate(None, 1.0) == s.even_rate(2.0, None) == s.even_rate(10.0, 1e8) == ""
    assert plain(s.even_rate(0.961, 0.28e9)) == "the median pass alone would give 3.57 tokens/s"


def test_threads_during() -> None:
    several, one = (plain(s.threads_during("token 3", 0.847, n)) for n in (2, 1))
    assert "During token 3, threads work" in several and "for 84.7 % of the pass" in several
    assert "During token 3, the one thread" in one and "for 84.7 % of the pass" in one


def test_the_origin_of_a_model() -> None:
    assert s.origin("A lab", "MIT") == " Origin: A lab; licence: MIT."
    assert s.origin("A lab", None) == " Origin: A lab." and s.origin(None, "MIT") == " Licence: MIT."
    assert s.origin(None, None) == "" and "\x1b" not in s.origin("\x1b[31m", None)


def test_times_with_care() -> None:
    whose = "other programs had them"
    slow = Check("interference", "Threads had a processor", "warning", "36 % without", "≤ 2 %", whose)
    apart = Check("even_tokens", "They agree", "warning", "mean 4.55 times the median", "1.2", "some took longer")
    imported = Check("op_times", "Times", "warning", "gaps", "", "")
    assert s.times_with_care([]) == ""
    both = s.times_with_care([slow, apart])
    assert "waited for a processor; mean and median" in both and both.endswith("run it again without them.")
    assert s.times_with_care([apart]).endswith("token times differ. Touched bytes are not affected.")
    assert s.times_with_care([imported]).endswith("not its own.")
    cost = Check("tracing_cost", "Tracing costs little", "warning", "4 %", "1 %", "")
    assert "longer prompt or a larger model, or with fewer kinds of records" in s.times_with_care([cost])
    assert "fewer kinds" not in s.times_with_care([slow, apart])


def test_where_steps_leave_no_gap_and_memory_saves_nothing() -> None:
    """As in a small dense model, whose file is in the order of its operations, and of which each token reads all."""
    assert (
        access_sentences.distances_title(0, "generate") == "Half of the steps of generate passes or more leave no gap"
    )
    assert access_sentences.distances_title(2048, "prompt") == "Half of the steps of the prompt go 2.00 KiB or further"
    assert access_sentences.distances_title(None, "prompt") == "How far do the steps go?"
    what = "MiB of memory, half of what was touched of the mapped file, would"
    still = "holding the most used bytes in it would serve 49.5 % of what is touched there"
    assert what_if_sentences.memory_title(0.0, 2 << 20, 0.495) == f"2.00 {what} not shorten reading with LRU; {still}"
    assert what_if_sentences.memory_title(0.835, 2 << 20, 0.495) == (
        f"2.00 {what} shorten reading of the scored passes by 83.5 % with LRU; {still}"
    )


def test_titles_of_what_lies_in_the_mapping_say_so() -> None:
    """Weights that were copied at load are in none of these sums: a run may touch more in its copies."""
    for said in (
        cache_sentences.working_set_title("generate", 4096, [(1, 2**20), (2, 2**21)]),
        cache_sentences.concentration_title(0.3, 0.7),
        cache_sentences.keep_title(0.5, 2**20),
        access_sentences.blocks_title(2**21, 2**20, 2**22, "generate"),
        access_sentences.blocks_title(2**21, 2**20, 2**22, "prompt"),
        what_if_sentences.memory_title(0.2, 2**20, 0.5),
    ):
        assert "mapped file" in said


def test_one_is_no_plural() -> None:
    assert what_if_sentences.population(1, 5, apart=True, phase="generate").startswith("n = 1 generate pass, the last ")
    assert "the last one;" in what_if_sentences.population(1, 5, apart=True, phase="generate")
    assert "the last ones;" in what_if_sentences.population(2, 5, apart=True, phase="generate")
    assert disk_sentences.experts_title(0.02, 1, 1) == (
        "2.0 % of the waiting of measured passes is for experts, all of that for one"
    )
    assert disk_sentences.experts_title(0.02, 1, 3).endswith("; 1 of 3 experts is half of that")


GAINS = {
    "yes": (Gain(0.675, 0.351, 0.262, 0.440), ", at least the limit of 0.1"),
    "open, above chance": (  # of hot-set-wide@v1: “no 8 of 32 experts serve clearly more than chance”
        Gain(0.294, 0.0593, 0.0109, 0.1076),
        ", more than chance; that it reaches the limit of 0.1 is neither shown nor excluded",
    ),
    "open": (Gain(0.28, 0.04, -0.02, 0.12), "; neither more than chance nor the limit of 0.1 is shown or excluded"),
    "no, above chance": (Gain(0.28, 0.04, 0.01, 0.07), ", below the limit of 0.1; more than chance"),
    "no": (Gain(0.25, 0.0, -0.03, 0.03), ", below the limit of 0.1; more than chance is neither shown nor excluded"),
    "no, below chance": (Gain(0.2, -0.07, -0.09, -0.05), ", below the limit of 0.1 and less than chance"),
}


@pytest.mark.parametrize("kind", GAINS)
def test_a_gain_stands_with_its_interval_its_limit_and_what_is_not_shown(kind: str) -> None:
    gain, said = GAINS[kind]
    assert gain.reaches == kind.partition(",")[0]
    words = cache_sentences.gain_words(gain)
    assert words.startswith(f"a gain of {gain.gain:+.3f} (95 % interval ".replace("-", "−"))
    assert words.endswith(f"){said}")
    title = cache_sentences.hot_title(gain, gain, 8, 32)
    assert words in title and "no 8 of" not in title and "clearly" not in title
    assert title.startswith("There is a hot set: ") == (kind == "yes")


def test_what_was_chosen_last_is_told_where_it_alone_is_worth_a_cache() -> None:
    static, recent = GAINS["no"][0], GAINS["yes"][0]
    told = cache_sentences.hot_title(static, recent, 8, 32)
    assert "below the limit of 0.1" in told and "those chosen last serve 67.5 %" in told
    assert cache_sentences.gain_words(recent) in told


def test_a_cliff_of_a_cache_is_no_share_of_it() -> None:
    title = cache_sentences.cliff_title(0.018, 92.1 * 2**20, 1.0, 83.0 * 2**20, 0.9)
    assert title == (
        "A cache that drops what was not used for longest serves at most 1.8 % of repeated uses in all measured passes "
        "below 92.1 MiB, and 100 % from there on; at best 90.0 % take 83.0 MiB"
    )
    assert cache_sentences.cliff("LRU", 2**20, 0.018, 2**21, 0.993).endswith(
        "below 2.00 MiB it serves at most 1.8 %, from there on at least 99.3 %."
    )
    assert cache_sentences.cliff("LRU", 2**20, 0.6, 2**21, 0.9995).endswith("60.0 %, from there on > 99.9 %.")
    assert "with 1.00 MiB it serves 1.8 %, with 2.00 MiB 99.3 %" in cache_sentences.cliff(
        "FIFO", 2**20, 0.018, 2**21, 0.993
    )


def test_two_steps_of_one_size_are_told_once() -> None:
    """Of a small dense model: 4.0 % below 1,254 granules, 91.2 % below 1,255; both sizes read 4.90 MiB."""
    steps = pd.DataFrame(
        [("LRU", 1253, 0.04, 1254, 0.912), ("LRU", 1254, 0.912, 1255, 0.9995), ("FIFO", 1240, 0.1, 1255, 1.0)],
        columns=["policy", "below_granules", "below_rate", "size_granules", "hit_rate"],
    )
    context: Any = SimpleNamespace(granule_bytes=4096, hit_rates=SimpleNamespace(cliffs=steps))
    told = caches.cliffs(context)
    assert told.count("LRU has a cliff") == 1 and "at most 4.0 %, from there on at least 91.2 %." in told
    assert told.count("FIFO has a cliff") == 1


def test_the_error_of_a_sample_is_said_of_each_policy() -> None:
    errors = {"LRU": 0.004, "LFU": 0.031, "FIFO": 0.018}
    told = cache_sentences.sampled(0.125, errors)
    assert "LFU by up to 3.1 %, FIFO by up to 1.8 %" in told and "(up to 0.4 %)" in told
    assert "Belady, static and LRU are counted for all granules" in told
    assert cache_sentences.sampled(1, {}) == "" and cache_sentences.grouped(1) == ""
    assert "no cache serves more than this line says" in cache_sentences.grouped(8)


def test_titles_of_one_page_say_of_which_passes_they_are() -> None:
    """Beside titles of generate passes alone, those of all measured passes say so."""
    for title in (
        cache_sentences.rates_title(2 << 20, 1 << 20, 0.9),
        cache_sentences.cliff_title(0.018, 2 << 20, 1.0, 1 << 20, 0.9),
        cache_sentences.reuse_title(True, 1, 3),
        cache_sentences.reuse_title(False, 1, 1),
        cache_sentences.concentration_title(0.3, 0.7),
        cache_sentences.keep_title(0.5, 1 << 20),
        access_sentences.ledger_title({"size_bytes": 100, "loaded_bytes": 100, "waste_bytes": 40}),
        access_sentences.ledger_title({"size_bytes": 100, "touched_bytes": 100, "gone_bytes": 40}),
        disk_sentences.map_title(3, 10),
        disk_sentences.experts_title(0.5, 3, 8),
        disk_sentences.tensors_title("token_embd.weight", 0.4, "embedding", 0.466, "MUL_MAT", 0.997),
    ):
        assert "measured pass" in title, title
    assert "99.7 % of that in MUL_MAT operations" in plain(
        disk_sentences.tensors_title("token_embd.weight", 0.4, "embedding", 0.466, "MUL_MAT", 0.997)
    )
