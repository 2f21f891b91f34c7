"""Every sentence for one, for several, for none, and for the case that would mislead: its branch and its numbers."""

from collections.abc import Callable
from typing import Any

import pytest

from tracegen.analysis.hot_set import Gain
from tracegen.contract.model import Check
from tracegen.report.words import access_sentences, cache_sentences, disk_sentences, what_if_sentences
from tracegen.report.words import sentences as s

GIB, MIB, MS = 2**30, 2**20, 1e6
SUMS = {"duration_ns": 10e6, "disk_ns": 2e6, "behind_ns": 1e6}
NO_READS = dict.fromkeys(("page_bytes_read", "now_bytes", "never_bytes", "again_bytes"), 0.0)


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


# A sentence, what it is given, and what it says: nothing (empty), a question where nothing was found ("?"), or this.
SAID: list[tuple[Callable[..., str], tuple[Any, ...], str]] = [
    (s.token_times, ([],), "?"),
    (s.token_times, ([3 * MS],), "One token has a pass of its own: it took 3.00 ms"),
    (s.token_times, ([10 * MS, 10 * MS, 11 * MS],), "All 3 tokens take about the same time: 10.0 ms at the median"),
    (s.token_times, ([10, 10, 10, 25],), "slowest token takes 2.50 times the median; the mean is 1.38 times"),
    (s.token_times, ([1, 10, 10, 11],), "fastest token takes 10.0 % of the median; the mean is 0.800 times"),
    (s.waiting_title, (None, "", 0, 2), "?"),
    (s.waiting_title, (0.0, "ADD", 0, 2), "No thread waits"),
    (s.waiting_title, (0.002, "SET_ROWS", 0.5, 1), "One thread computes"),
    (s.waiting_title, (0.25, "MUL_MAT of ffn_up", 0.1, 2), "wait 25.0 % of their time at barriers; 10.0 % of it is at"),
    (s.outside_statistics, ({"load": 0, "warmup": 0},), ""),
    (s.outside_statistics, ({"load": 1, "warmup": 0},), "leave out 1 load."),  # no warm-up is spoken of
    (s.outside_statistics, ({"load": 1, "warmup": 1},), "leave out 1 load and 1 warm-up pass."),
    (s.outside_statistics, ({"load": 2, "warmup": 0},), "leave out 2 loads."),
    (s.heatmap_rows, (32, 0, 32), "32 measured passes in 32 rows"),
    (s.heatmap_rows, (100, 2, 60), "100 measured passes and 2 warm-up passes in 60 rows"),
    (s.heatmap_rows, (0, 1, 1), "0 measured passes and 1 warm-up pass in 1 row"),
    (s.read_and_wrote, (9, 1, 12, 11, 0), "9 prompt tokens in 1 pass and wrote 12 tokens, with 11 generate passes."),
    (s.read_and_wrote, (1, 1, 1, 0, 0), "1 prompt token in 1 pass and wrote 1 token, with 0 generate passes."),
    (s.read_and_wrote, (20, 3, None, 5, 1), "tokens of unknown number, with 5 generate passes; 1 pass is of other"),
    (s.read_and_wrote, (None, 2, 4, 3, 7), "unknown length in 2 passes and wrote 4 tokens, with 3 generate passes; 7"),
    # a window that begins after the prompt
    (s.read_and_wrote, (None, 0, 5, 5, 0), "No prompt pass was recorded; it wrote 5 tokens, with 5 generate passes."),
    (s.read_and_wrote, (None, 0, None, 0, 1), "1 pass, not of prompt or generate."),
    (s.read_and_wrote, (None, 0, None, 0, 4), "4 passes, none of them prompt or generate."),
    (s.read_and_wrote, (None, 0, 0, 0, 0), "No pass was measured."),
    (s.heatmap_title, (None, "a", 1), "?"),
    (s.heatmap_title, (1.0, "", 0), "?"),
    (s.heatmap_title, (0.982, "embd", 0.97), "touch 98.2 % of the weights; 97.0 % of the rest is in embd"),
    (s.never_touched, (0, 43, 0), "each of the 43 tensors"),
    (s.never_touched, (1, 43, 1024), "touched 1 of 43 tensors (1.00 KiB)."),
    (s.never_touched, (2, 43, 4096), "touched 2 of 43 tensors (4.00 KiB together)."),
    (s.residency_title, (0.0, 0.715, "load", 33), "0 % of the file is in memory after the load, 71.5 % at the end"),
    (s.residency_title, (0.4, 0.4, "first pass", 1), "40.0 % of the file is in memory after the first pass"),
    (s.fits_into_memory, (None, GIB), ""),
    (s.fits_into_memory, (GIB, None), ""),
    (s.fits_into_memory, (2 * GIB, GIB), "It is larger"),
    (s.fits_into_memory, (GIB, 2 * GIB), "It is smaller"),
    (s.reached, (None,), "The kernel does not count how often it was reached."),
    (s.reached, (0,), "It was never reached."),
    (s.reached, (1,), "It was reached 1 time."),
    (s.reached, (1234,), "It was reached 1 234 times."),
    (s.even_rate, (None, 1.0), ""),
    (s.even_rate, (2.0, None), ""),
    (s.even_rate, (10.0, 1e8), ""),
    (s.even_rate, (0.961, 0.28e9), "the median pass alone would give 3.57 tokens/s"),
    (s.threads_during, ("token 3", 0.847, 2), "During token 3, threads work in operations for 84.7 % of the pass"),
    (s.threads_during, ("token 3", 0.847, 1), "During token 3, the one thread is in operations for 84.7 %"),
    (s.origin, ("A lab", "MIT"), " Origin: A lab; licence: MIT."),
    (s.origin, ("A lab", None), " Origin: A lab."),
    (s.origin, (None, "MIT"), " Licence: MIT."),
    (s.origin, (None, None), ""),
    (
        what_if_sentences.memory_title,
        (0.0, 2 * MIB, 0.495),
        "of memory, half of what was touched of the mapped file, "
        "would not shorten reading with LRU; holding the most used bytes in it would serve 49.5 %",
    ),
    (what_if_sentences.memory_title, (0.835, 2 * MIB, 0.495), "would shorten reading of the scored passes by 83.5 %"),
    (
        disk_sentences.experts_title,
        (0.02, 1, 1),
        "2.0 % of the waiting of measured passes is for experts, all of that for one",
    ),
    (disk_sentences.experts_title, (0.02, 1, 3), "; 1 of 3 experts is half of that"),
    (
        disk_sentences.split_title,
        (SUMS, "generate", None),
        "20.0 % of the time of generate passes is waiting for the disk, and 10.0 % waiting for a thread that does",
    ),
    (disk_sentences.split_title, (SUMS, "generate", 4096), "is waiting for the disk"),
    (
        disk_sentences.split_title,
        (SUMS, "prompt", 0),
        "20.0 % of the time of the prompt is page faults that read nothing",
    ),
    (disk_sentences.split_title, ({**SUMS, "disk_ns": 0.0}, "generate", 0), "No operation of generate passes has"),
    (disk_sentences.read_sizes_title, ("1 MiB", 0.83, 0.082), "8.2 % of the requests, those over 1 MiB, bring 83.0 %"),
    (disk_sentences.sizes_title, (0.0, "generate", 5.0), "?"),
    (disk_sentences.sizes_title, (3.0 * MIB, "prompt", 0.0), "the prompt kept it busy, the device read 3 MiB/s"),
    (disk_sentences.requests_title, (NO_READS, "prompt"), "?"),
    (
        disk_sentences.requests_title,
        (NO_READS | {"page_bytes_read": 8.0, "now_bytes": 8.0}, "generate"),
        "Of what generate passes read, 100 % was used in the same pass, 0 % never",
    ),
    (
        cache_sentences.cliff_title,
        (0.018, 92.1 * MIB, 1.0, 83.0 * MIB, 0.9),
        "serves at most 1.8 % of repeated uses in "
        "all measured passes below 92.1 MiB, and 100 % from there on; at best 90.0 % take 83.0 MiB",
    ),
    (cache_sentences.grouped, (1,), ""),
    (cache_sentences.grouped, (8,), "after every 8 uses only: no cache serves more than this line says"),
]


@pytest.mark.parametrize(("sentence", "given", "said"), SAID)
def test_each_branch_says_what_was_found(sentence: Callable[..., str], given: tuple[Any, ...], said: str) -> None:
    text = plain(sentence(*given))
    assert text.endswith("?") if said == "?" else said in text if said else text == ""


def test_an_origin_is_printable() -> None:
    assert "\x1b" not in s.origin("\x1b[31m", None)


def test_times_with_care() -> None:
    slow, apart, imported, cost = (
        Check(key, "", "warning", "", "") for key in ("interference", "even_tokens", "op_times", "tracing_cost")
    )
    assert s.times_with_care([]) == ""
    both = s.times_with_care([slow, apart])
    assert "waited for a processor; mean and median" in both and both.endswith("run it again without them.")
    assert s.times_with_care([apart]).endswith("token times differ. Touched bytes are not affected.")
    assert s.times_with_care([imported]).endswith("not its own.")
    assert "longer prompt or a larger model" in s.times_with_care([cost]) and "larger model" not in both


@pytest.mark.parametrize(("n", "last"), [(1, "the last one;"), (2, "the last ones;")])
def test_one_is_no_plural(n: int, last: str) -> None:
    assert last in what_if_sentences.population(n, 5, apart=True, phase="generate")


GAINS = {
    "yes": (Gain(0.675, 0.351, 0.262, 0.440), ", at least the limit of 0.1"),
    "open, above chance": (  # it was “no 8 of 32 experts serve clearly more than chance”
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


def test_what_was_chosen_last_is_named_where_it_alone_is_worth_a_cache() -> None:
    static, recent = GAINS["no"][0], GAINS["yes"][0]
    title = cache_sentences.hot_title(static, recent, 8, 32)
    assert "below the limit of 0.1" in title and "those chosen last serve 67.5 %" in title
    assert cache_sentences.gain_words(recent) in title


@pytest.mark.parametrize(
    ("title", "whose"),
    [
        # weights that were copied at load are in none of these sums: a run may touch more in its copies
        (cache_sentences.working_set_title("generate", 4096, [(1, MIB), (2, 2 * MIB)]), ("mapped file",)),
        (cache_sentences.concentration_title(0.3, 0.7), ("mapped file", "measured pass")),
        (cache_sentences.keep_title(0.5, MIB), ("mapped file", "measured pass")),
        (access_sentences.blocks_title(2 * MIB, MIB, 4 * MIB, "generate"), ("mapped file",)),
        # beside titles of generate passes alone, those of all measured passes say so
        (cache_sentences.rates_title(2 * MIB, MIB, 0.9), ("measured pass",)),
        (cache_sentences.reuse_title(True, 1, 3), ("measured pass",)),
        (
            access_sentences.ledger_title({"size_bytes": 100, "loaded_bytes": 100, "waste_bytes": 40}),
            ("measured pass",),
        ),
        (access_sentences.ledger_title({"size_bytes": 100, "touched_bytes": 9, "gone_bytes": 4}), ("measured pass",)),
        (disk_sentences.map_title(3, 10), ("measured pass",)),
        (disk_sentences.tensors_title("embd", 0.4, "embedding", 0.466, "MUL_MAT", 0.997), ("measured pass", "99.7")),
    ],
)
def test_titles_say_of_which_passes_and_which_memory_they_are(title: str, whose: tuple[str, ...]) -> None:
    assert all(words in title for words in whose)
