"""The one line that answers a comparison: what was set differently, and what that changed."""

from typing import Any

from tests.comparing.made import counted, side, timed
from tracegen.comparing.answer import answer
from tracegen.comparing.comparison import compare
from tracegen.comparing.side import Side

COPIED = "weights touched by a token, copied"


def runs(name: str, speeds: list[float], first: int = 1, copied: float = 0.0, **settings: Any) -> Side:
    rows = [[timed(speed), ("generate", "run", "", COPIED, "counted", "bytes", copied)] for speed in speeds]
    return side(name, rows, first=first, settings=settings)


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


SLOW, FAST = [20.0, 20.1, 20.2, 20.05, 24.4, 20.15], [31.4, 31.5, 35.8, 31.6, 31.45, 31.3]


def test_a_difference_is_said_with_its_size_and_p() -> None:
    found = plain(answer(compare(runs("a", SLOW, threads=2), runs("b", FAST, first=9, threads=1))))
    assert found.startswith("threads 2 → 1: generation speed, 20.1 tokens/s → 31.5 tokens/s, better by 56.4 % (p = ")
    assert found.endswith("; nothing that was counted changed.")


def test_one_run_a_side_shows_no_difference_however_large() -> None:
    found = plain(answer(compare(runs("a", [159.0]), runs("b", [18.1], first=9))))
    assert found.startswith("Generation speed, 159 tokens/s → 18.1 tokens/s in one run a side, which is too few")


def test_a_setting_that_did_not_do_what_it_is_for_is_named() -> None:
    noisy = [109.0, 95.0, 112.0, 90.0, 101.0, 99.0]
    a, b = runs("a", noisy, repack=True), runs("b", noisy[::-1], first=9, repack=False)
    found = plain(answer(compare(a, b)))
    assert found.startswith("repack true → false: no difference in generation speed was shown, 100 tokens/s → 100")
    assert "0 B on both sides: repack changed nothing here" in found
    moved = plain(answer(compare(a, runs("b", noisy, first=9, copied=4096.0, repack=False))))
    assert "changed nothing" not in moved and "nothing that was counted changed" not in moved


def test_long_and_many_settings_are_named_without_their_values() -> None:
    a = runs("a", [1.0], prompt="one", threads=1, seed=1, context=64, batch=8)
    b = runs("b", [1.0], first=9, prompt="two", threads=2, seed=2, context=128, batch=16)
    named = answer(compare(a, b)).partition(": ")[0]
    assert named == "another prompt, threads 1 → 2, seed 1 → 2, 2 other settings"


def test_without_a_speed_the_counts_answer() -> None:
    a, b = side("a", [[counted(5)]]), side("b", [[counted(7)]], first=9)
    assert answer(compare(a, b)).startswith("1 counted difference")
