"""The weights of a model, against tables made by hand."""

import pandas as pd

from tracegen.analysis import weights

TENSORS = pd.DataFrame(
    {
        "tensor": [0, 1, 2, 3],
        "name": ["token_embd.weight", "blk.0.ffn.weight", "blk.11.ffn.weight", "blk.0.exps.7.weight"],
        "dtype": pd.Categorical(["F16", "Q8_0", "Q4_K", "F16"]),
        "size_bytes": [100, 60, 300, 40],
        "ne0": [10, 10, 10, 2**31],
        "ne1": [5, 6, 60, 2**31],
        "ne2": [1, 1, 1, 2**31],
        "ne3": [1, 1, 1, 2],
    }
)


def test_types_are_sorted_by_their_bytes() -> None:
    assert weights.by_type(TENSORS).to_dict("list") == {
        "dtype": ["Q4_K", "F16", "Q8_0"],
        "n_tensors": [1, 2, 1],
        "size_bytes": [300, 140, 60],
        "share": [0.6, 0.28, 0.12],
    }
    assert weights.by_type(TENSORS.head(0)).empty


def test_parameters_are_counted_beyond_64_bits() -> None:
    assert weights.n_elements(TENSORS) == 50 + 60 + 600 + 2**94 and weights.n_elements(TENSORS.head(0)) == 0


def op(pass_id: int, component: str | None, state: str, *sizes: int | None) -> dict[str, object]:
    return dict(
        zip(
            ("pass_id", "component", "state", "disk_bytes", "copied_bytes", "buffer_bytes"),
            (pass_id, component, state, *sizes),
            strict=True,
        )
    )


def test_bytes_of_a_group_are_a_mean_over_passes() -> None:
    ops = pd.DataFrame(
        [
            op(1, "a", "executed", 10, 2, 1),
            op(2, "a", "fused", 20, 0, 0),
            op(2, "b", "executed", 0, 6, 4),
            op(1, "c", "executed", None, 0, 3),
            op(2, "c", "executed", 5, 0, 3),
            op(9, "a", "executed", 900, 0, 0),
            op(1, None, "executed", 0, 0, 8),
            op(1, "a", "empty", None, None, None),
        ]
    ).astype(dict.fromkeys(("disk_bytes", "copied_bytes", "buffer_bytes"), "Int64"))
    found = weights.touched_by_group(ops, pd.Series([1, 2]), {"a": "A", "b": "A", "c": "C"})
    assert found["group"].tolist() == ["A", "C", "other"]
    assert found["weight_bytes"].astype(object).where(found["weight_bytes"].notna(), None).tolist() == [19.0, None, 0.0]
    assert found["buffer_bytes"].tolist() == [2.5, 3.0, 4.0]


def test_tensors_of_all_layers_are_one_row() -> None:
    rows = [
        (1, 1, "disk", 60),
        (1, 2, "copied", 200),
        (2, 2, "disk", 40),
        (2, 3, "disk", None),
        (1, 0, "disk", 10),
        (1, None, "buffer", 7),
        (9, 0, "disk", 5000),
    ]
    accessed = pd.DataFrame(rows, columns=["pass_id", "tensor", "memory", "touched_bytes"]).astype(
        {"tensor": "Int32", "touched_bytes": "Int64"}
    )
    found = weights.touched_by_name(accessed, TENSORS, pd.Series([1, 2]))
    assert found["name"].tolist() == ["blk.*.ffn.weight", "token_embd.weight", "blk.*.exps.7.weight"]
    assert found["n_tensors"].tolist() == [2, 1, 1] and found["dtype"].tolist() == ["Q4_K", "F16", "F16"]
    assert found["size_bytes"].tolist() == [360, 100, 40]
    assert found["bytes_per_pass"].head(2).tolist() == [150.0, 5.0] and pd.isna(found["bytes_per_pass"].iloc[2])
