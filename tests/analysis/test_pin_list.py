"""The list of tensors to pin, against a plain count; and the patterns that name them."""

from fnmatch import fnmatchcase

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis.pin_list import patterns, pin_list

NAMES = [f"blk.{layer}.{kind}.weight" for layer in range(12) for kind in ("attn_q", "attn_q_norm", "ffn_up")]
NAMES += [
    "token_embd.weight",
    "output.weight",
    "blk.1.odd",
    "a*b",
    "a[b",
    "blk.0.weight",
    "blk.1.weight",
    "blk.0.a[b",
    "blk.1.a[b",
]


def tables(sizes: list[int], n_threads: int = 2) -> dict[str, pd.DataFrame]:
    """Tensors one after the other, and two passes of some threads."""
    ends = pd.Series(sizes).cumsum()
    tensors = {
        "tensor": range(len(sizes)),
        "name": NAMES[: len(sizes)],
        "file": 0,
        "offset": ends - sizes,
        "size_bytes": sizes,
    }
    spans = [(pass_id, thread) for pass_id in (3, 4) for thread in range(n_threads)]
    return {"tensors": pd.DataFrame(tensors), "spans": pd.DataFrame(spans, columns=["pass_id", "thread"])}


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=len(NAMES)),
    st.lists(
        st.tuples(
            st.sampled_from([3, 4]),
            st.sampled_from(["disk_ns", "behind_ns", "paging_ns", "computing_ns", "barrier_ns"]),
            st.integers(0, len(NAMES) - 1),
            st.integers(1, 100),
        ),
        max_size=40,
    ),
    st.sampled_from([0, 5, 100, None]),
)
def test_it_is_what_a_plain_count_says(
    sizes: list[int], waited: list[tuple[int, str, int, int]], window: int | None
) -> None:
    waited = [row for row in waited if row[2] < len(sizes)]
    rows = pd.DataFrame(waited, columns=["pass_id", "part", "tensor", "thread_ns"]).astype({"tensor": "Int64"})
    both = pd.DataFrame([(3, "outside_ns", None, 1), (4, "outside_ns", None, 1)], columns=rows.columns)
    found = pin_list(tables(sizes), pd.concat([rows, both.astype({"tensor": "Int64"})]), window)

    waiting = dict.fromkeys(range(len(sizes)), 0.0)
    for _, part, tensor, ns in waited:
        if part in ("disk_ns", "behind_ns", "paging_ns"):
            waiting[tensor] += ns / 2 / 2  # threads, passes
    kinds: dict[str, list[int]] = {}
    for tensor in range(len(sizes)):
        name = NAMES[tensor]
        of_layer = name.startswith("blk.")
        kind = "blk.*." + name.split(".", 2)[2] if of_layer else name
        if window is None and of_layer:
            kind = "tensors of layers"
        elif window is not None and sizes[tensor] < window:
            kind = "small tensors"
        kinds.setdefault(kind, []).append(tensor)
    rates = {kind: sum(waiting[t] for t in of) / sum(sizes[t] for t in of) for kind, of in kinds.items()}
    order = [
        tensor
        for kind in sorted(kinds, key=lambda kind: (-rates[kind], kind))
        if rates[kind] > 0
        for tensor in kinds[kind]
    ]
    assert found["tensor"].tolist() == order
    assert found["n_bytes"].tolist() == [sum(sizes[t] for t in order[: n + 1]) for n in range(len(order))]
    sums = [sum(waiting[t] for t in order[: n + 1]) for n in range(len(order))]
    assert all(abs(a - b) < 1e-6 for a, b in zip(found["saved_ns"].tolist(), sums, strict=True))


@given(st.sets(st.sampled_from(NAMES)))
def test_patterns_find_just_these_tensors(chosen: set[str]) -> None:
    found = patterns(sorted(chosen), NAMES)
    assert {name for name in NAMES if any(fnmatchcase(name, pattern) for pattern in found)} == chosen


def test_kinds_and_layers_that_are_whole_are_one_pattern() -> None:
    every = [f"blk.{layer}.{kind}" for layer in range(3) for kind in ("a", "b")] + ["out"]
    assert patterns(every, every) == ("blk.*.a", "blk.*.b", "out")
    assert patterns(["blk.0.a", "blk.0.b", "blk.1.a"], every) == ("blk.0.*", "blk.1.a")
