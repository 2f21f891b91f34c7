"""What answers a comparison, in sentences: what was set differently, and what that changed."""

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
    assert found == (
        "One setting differs: threads is 2 in A and 1 in B. Generation speed is 20.1 tokens/s in A and 31.5 tokens/s "
        "in B, 1.56 × as fast: better. These are medians of 6 and 6 runs. The 99 % interval of the change is "
        "+35.0 % to +78.0 % (p = 0.0022). All counters are identical: 1 measure."
    )


def test_one_run_published_twice_is_called_one_run() -> None:
    def once(name: str, ns: float, tokens: float = 7, n: int = 10, **settings: Any) -> Side:
        rows = [timed(20.0), *(timed(ns + i, "layer_ns_per_token", "layer", f"layer {i}", "ns") for i in range(n))]
        return side(name, [[*rows, counted(tokens)]], settings=settings)

    assert answer(compare(once("a", 3.0), once("b", 3.0))).startswith("Both sides are one run")
    for other in (once("b", 4.0), once("b", 3.0, threads=2), once("b", 3.0, tokens=8), side("b", [[timed(20.0)]] * 2)):
        assert "are one run:" not in answer(compare(once("a", 3.0, threads=1), other))
    assert "are one run:" not in answer(compare(once("a", 3.0, n=9), once("b", 3.0, n=9)))


def test_a_setting_that_did_not_do_what_it_is_for_is_named() -> None:
    noisy = [109.0, 95.0, 112.0, 90.0, 101.0, 99.0]
    a, b = runs("a", noisy, repack=True), runs("b", noisy[::-1], first=9, repack=False)
    found = plain(answer(compare(a, b)))
    assert found.startswith("One setting differs: repack is true in A and false in B. Generation speed is 100 tokens/s")
    assert "includes zero; it takes about " in found and "better" not in found and "worse" not in found
    unchanged = "A token touches 0 B of copied weights in A and 0 B in B, which repack is there to change."
    assert found.endswith(f"All counters are identical: 1 measure. {unchanged}")
    moved = plain(answer(compare(a, runs("b", noisy, first=9, copied=4096.0, repack=False))))
    assert "there to change" not in moved and "All counters are identical" not in moved
    assert "A token touches 0 B of copied weights in A and 4.00 KiB in B." in moved


def test_that_several_settings_differ_is_said_first_and_that_none_of_them_is_the_cause() -> None:
    a = runs("a", [1.0], prompt="one", threads=1, seed=1, context=64, batch=8)
    b = runs("b", [1.0], first=9, prompt="two", threads=2, seed=2, context=128, batch=16)
    assert answer(compare(a, b)).startswith(
        "Five settings differ (prompt, threads, seed, context and 1 more), so the difference cannot be assigned to one "
        "of them. Generation speed is "
    )
    three = [runs("a", [1.0], threads=1, memory_limit_gb=1.0, prefault=True)]
    three += [runs("b", [1.0], first=9, threads=2, memory_limit_gb=2.0, prefault=False)]
    assert answer(compare(*three)).startswith(
        "Three settings differ (threads, memory_limit_gb, prefault), so the difference cannot be assigned to one of "
    )


def test_a_long_setting_is_named_without_its_values_and_another_build_beside_it() -> None:
    a, b = runs("a", [1.0], prompt="one"), runs("b", [1.0], first=9, prompt="two")
    assert answer(compare(a, b)).startswith("One setting differs: B has another prompt.")
    built: list[dict[str, Any]] = [{"settings": {"threads": n}, "llama_cpp": {"version": f"b{n}"}} for n in (1, 2)]
    c, d = (side(name, [[timed(1.0)]], **facts) for name, facts in zip("cd", built, strict=True))
    assert answer(compare(c, d)).startswith(
        "Two things differ (threads, build of llama.cpp), so the difference cannot "
    )


def test_without_a_speed_the_counts_answer() -> None:
    a, b = side("a", [[counted(5)]]), side("b", [[counted(7)]], first=9)
    assert answer(compare(a, b)) == "1 of 1 counted measure differs. A has 5 generated tokens and B 7, 1.40 × as much."


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
        "Two settings differ (model, threads), so the difference cannot be assigned to one of them. "
        "The model of A is moe (26.0 MiB), that of B dense (94.0 MiB). "
        "Generation speed is 3 484 tokens/s in A and 159 tokens/s in B, 0.0456 × as fast. "
        "There is one run each, so the size of the effect has no error bar. "
        "A token touches 8.00 MiB of mapped weights in A and 92.0 MiB in B, 11.5 × as much."
    )


def test_what_a_setting_did_not_change_is_named_only_where_all_counters_are_identical() -> None:
    on, off = dict(settings={"repack": True}), dict(settings={"repack": False})
    copies = counted(0.0, "copied_bytes_per_token")
    a, b = (with_facts(n, 9.0, i, [copies, counted(i)], **of) for n, i, of in (("a", 1, on), ("b", 9, off)))
    assert "there to change" not in answer(compare(a, b)), "another number of tokens was counted"
    faster = answer(compare(runs("a", SLOW, repack=True), runs("b", FAST, first=9, repack=False)))
    assert plain(faster).endswith("0 B of copied weights in A and 0 B in B, which repack is there to change.")


def test_the_same_file_under_another_name_is_no_other_model() -> None:
    a, b = (
        with_facts(n, 9.0, i, [], **model("m", "a", 1), settings={"model": f"{n}.gguf"}) for i, n in enumerate("ab")
    )
    assert answer(compare(a, b)).startswith("Generation speed is 9")
    other = with_facts("b", 9.0, 5, [], **model("m", "b", 1), settings={"model": "b.gguf"})
    assert answer(compare(a, other)).startswith("B has another file of the model m (1 B). Generation speed is ")


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
