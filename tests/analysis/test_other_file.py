"""The accesses of a run in another file with the same tensors, by hand."""

import pandas as pd

from tracegen.analysis import other_file


def tensors(*rows: tuple[int, str, int, int, int], dtype: str = "F32") -> pd.DataFrame:
    """Rows (number, name, file, offset, bytes); each tensor has one dimension."""
    table = pd.DataFrame(rows, columns=["tensor", "name", "file", "offset", "size_bytes"])
    return table.assign(dtype=pd.Categorical([dtype] * len(rows)), ne0=table["size_bytes"] // 4, ne1=1, ne2=1, ne3=1)


# A model in two files, and a draft model with tensors of the same names
RUN = {
    "files": pd.DataFrame({"file": [0, 1, 2], "model": [0, 0, 1], "axis_begin": [0, 1000, 3000]}),
    "tensors": tensors(
        (0, "a", 0, 100, 40), (1, "b", 1, 64, 80), (2, "c", 1, 160, 8), (3, "a", 2, 64, 4), (4, "b", 2, 96, 4)
    ),
}
OTHER = tensors((0, "c", 0, 32, 8), (1, "b", 0, 64, 80), (2, "a", 0, 160, 40))


def test_the_model_of_a_run_that_is_most_like_the_file() -> None:
    same = other_file.pairs(RUN, OTHER)
    assert same["alike"].all()
    assert same.set_index("name")[["tensor_run", "tensor"]].to_dict("index") == {
        "a": {"tensor_run": 0, "tensor": 2}, "b": {"tensor_run": 1, "tensor": 1}, "c": {"tensor_run": 2, "tensor": 0},
    }  # fmt: skip
    draft = other_file.pairs(RUN, tensors((0, "b", 0, 32, 4), (1, "a", 0, 64, 4)))
    assert draft["alike"].all() and set(draft["tensor_run"]) == {3, 4}


def test_differences() -> None:
    assert not other_file.pairs(RUN, OTHER.assign(ne0=1, ne1=OTHER["ne0"])).set_index("name")["alike"].any()
    assert not other_file.pairs(RUN, OTHER.assign(dtype="I32"))["alike"].any()
    assert other_file.pairs(RUN, OTHER.iloc[:2]).set_index("name")["alike"].to_dict() == {
        "a": False, "b": True, "c": True,
    }  # fmt: skip
    assert not other_file.pairs({name: table.iloc[:0] for name, table in RUN.items()}, OTHER)["alike"].any()


def test_accesses_move_with_their_tensors_into_one_file() -> None:
    same = other_file.pairs(RUN, OTHER)
    accesses = pd.DataFrame(
        [(0, 0, 100, 140), (1, 1, 1074, 1084), (2, 1, 1160, 1168), (3, 2, 3064, 3068), (None, 0, 1, 2)],
        columns=["tensor", "file", "begin", "end"],
    ).astype({"tensor": "Int32"})
    moved = other_file.placed(RUN, accesses, same, pd.Series({0: 32, 1: 64, 2: 160}))
    assert moved[["tensor", "file", "begin", "end"]].to_numpy().tolist() == [
        [2, 0, 160, 200], [1, 0, 74, 84], [0, 0, 32, 40],
    ]  # fmt: skip
