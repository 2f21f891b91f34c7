"""The one line that answers a comparison: what was set differently, and what that changed."""

from typing import Any

import pytest

from tests.comparing.made import HOST, counted, side, timed
from tracegen.comparing.answer import answer
from tracegen.comparing.comparison import compare
from tracegen.comparing.machines import machines
from tracegen.publishing.side import Side


def runs(name: str, speeds: list[float], first: int = 1, copied: float = 0.0, **settings: Any) -> Side:
    rows = [[timed(speed), counted(copied, "copied_bytes_per_token")] for speed in speeds]
    return side(name, rows, first=first, settings=settings)


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


SLOW, FAST = [20.0, 20.1, 20.2, 20.05, 24.4, 20.15], [31.4, 31.5, 35.8, 31.6, 31.45, 31.3]


def test_a_difference_is_said_with_its_size_and_p() -> None:
    found = plain(answer(compare(runs("a", SLOW, threads=2), runs("b", FAST, first=9, threads=1))))
    assert found.startswith("threads 2 → 1: generation speed, 20.1 tokens/s → 31.5 tokens/s (better, +56.4 %, p = ")
    assert found.endswith("; all counters are identical.")


def test_one_run_published_twice_is_called_one_run() -> None:
    def once(name: str, ns: float, tokens: float = 7, n: int = 10, **settings: Any) -> Side:
        rows = [timed(20.0), *(timed(ns + i, "layer_ns_per_token", "layer", f"layer {i}", "ns") for i in range(n))]
        return side(name, [[*rows, counted(tokens)]], settings=settings)

    assert answer(compare(once("a", 3.0), once("b", 3.0))).startswith("Both sides are one run")
    for other in (once("b", 4.0), once("b", 3.0, threads=2), once("b", 3.0, tokens=8), side("b", [[timed(20.0)]] * 2)):
        assert "one run:" not in answer(compare(once("a", 3.0, threads=1), other))
    assert "one run:" not in answer(compare(once("a", 3.0, n=9), once("b", 3.0, n=9)))


def test_a_setting_that_did_not_do_what_it_is_for_is_named() -> None:
    noisy = [109.0, 95.0, 112.0, 90.0, 101.0, 99.0]
    a, b = runs("a", noisy, repack=True), runs("b", noisy[::-1], first=9, repack=False)
    found = plain(answer(compare(a, b)))
    assert found.startswith("repack true → false: generation speed, 100 tokens/s → 100 tokens/s (needs about ")
    unchanged = "weights touched per token, copied, 0 B → 0 B (equal, n = 6 and 6)"
    assert found.endswith(f"; all counters are identical; {unchanged}.")
    moved = plain(answer(compare(a, runs("b", noisy, first=9, copied=4096.0, repack=False))))
    assert "(equal" not in moved and "all counters are identical" not in moved


def test_long_and_many_settings_are_named_without_their_values() -> None:
    a = runs("a", [1.0], prompt="one", threads=1, seed=1, context=64, batch=8)
    b = runs("b", [1.0], first=9, prompt="two", threads=2, seed=2, context=128, batch=16)
    named = answer(compare(a, b)).partition(": ")[0]
    assert named == "another prompt, threads 1 → 2, seed 1 → 2, 2 other settings"


def test_without_a_speed_the_counts_answer() -> None:
    a, b = side("a", [[counted(5)]]), side("b", [[counted(7)]], first=9)
    assert answer(compare(a, b)).startswith("1 of 1 counted measure different")


def model(name: str, digit: str, size: int) -> dict[str, Any]:
    return {"model": {"name": name, "file": f"{name}.gguf", "sha256": digit * 64, "size_bytes": size}}


def with_facts(name: str, speed: float, first: int, more: list[tuple[Any, ...]], **facts: Any) -> Side:
    return side(name, [[timed(speed), *more]], first=first, **facts)


def test_another_model_comes_first_and_settings_that_one_side_lacks_are_left_out() -> None:
    """The model and what a token touches are real; a version that holds no `chat` says nothing about it."""
    reads = [counted(n << 20, "mapped_bytes_per_token") for n in (8, 92)]
    copies = counted(0.0, "copied_bytes_per_token")
    a = with_facts(
        "old", 3484.0, 1, [reads[0], copies], **model("moe", "a", 26 << 20), settings={"model": "moe", "threads": 2}
    )
    b = with_facts(
        "new",
        159.0,
        9,
        [reads[1], copies],
        **model("dense", "b", 94 << 20),
        settings={"model": "dense", "threads": 1, "chat": True, "repack": True},
    )
    assert plain(answer(compare(a, b))) == (
        "Model moe, 26.0 MiB → dense, 94.0 MiB, threads 2 → 1: generation speed, 3 484 tokens/s → 159 tokens/s "
        "(needs at least 5 runs per side, n = 1 and 1); weights touched per token, mapped, 8.00 MiB → "
        "92.0 MiB (different, × 11.5, n = 1 and 1)."
    )


def test_what_a_setting_did_not_change_is_named_only_where_all_counters_are_identical() -> None:
    on, off = dict(settings={"repack": True}), dict(settings={"repack": False})
    copies = counted(0.0, "copied_bytes_per_token")
    a, b = (with_facts(n, 9.0, i, [copies, counted(i)], **of) for n, i, of in (("a", 1, on), ("b", 9, off)))
    assert "(equal" not in answer(compare(a, b)).partition(";")[2], "another number of tokens was counted"
    faster = answer(compare(runs("a", SLOW, repack=True), runs("b", FAST, first=9, repack=False)))
    assert plain(faster).endswith("copied, 0 B → 0 B (equal, n = 6 and 6).")


def test_the_same_file_under_another_name_is_no_other_model() -> None:
    a, b = (
        with_facts(n, 9.0, i, [], **model("m", "a", 1), settings={"model": f"{n}.gguf"}) for i, n in enumerate("ab")
    )
    assert answer(compare(a, b)).startswith("Generation speed, 9")
    other = with_facts("b", 9.0, 5, [], **model("m", "b", 1), settings={"model": "b.gguf"})
    assert answer(compare(a, other)).startswith("Another file of the model m, 1 B: generation speed")


def test_bytes_and_waiting_are_said_beside_the_speed() -> None:
    """What a limit of memory does to one run: slower, because it reads and waits."""
    a, b = (
        with_facts(
            name,
            speed,
            first,
            [
                timed(read, "disk_read_bytes"),
                timed(ns, "disk_wait_ns_per_token"),
            ],
            settings={"memory_limit_gb": limit},
        )
        for name, speed, first, read, ns, limit in (
            ("a", 151.0, 1, 0.0, 0.0, "none"),
            ("b", 8.92, 9, 2**30, 74e6, 0.12),
        )
    )
    assert plain(answer(compare(a, b))).startswith(
        "memory_limit_gb none → 0.12 GiB: generation speed, 151 tokens/s → 8.92 tokens/s; read from the disk after "
        "loading, 0 B → 1.00 GiB; waiting for the disk per token, 0 ns → 74.0 ms (needs at "
        "least 5 runs per side, n = 1 and 1)"
    )


MADE = {**HOST, "id": "f00d"}


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (MADE, MADE, "Same machine: Example CPU, 2 cores, 8.00 GiB."),
        (
            HOST,
            MADE,
            "Both sides name Example CPU, 2 cores, 8.00 GiB. That it is one machine is not known: a holds "
            "no id of a machine.",
        ),
        ({}, MADE, "The machine of a is not known: times are not compared."),
        ({}, {}, "The machines of a and b are not known: times are not compared."),
        (MADE, {**MADE, "id": "beef"}, "The machines differ (id): times are not compared."),
        (MADE, {**MADE, "cpu": "Other", "cores": 4}, "The machines differ (processor, cores): times are not compared."),
    ],
)
def test_the_same_machine_is_said_only_where_it_is_known(a: dict[str, Any], b: dict[str, Any], said: str) -> None:
    left, right = side("a", [[timed(100.0)]], host=a), side("b", [[timed(99.0)]], first=9, host=b)
    assert plain(machines(left, right)) == said
