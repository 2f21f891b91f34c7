"""Other orders of tensors in a file: by hand, and the accesses that move with them, byte by byte."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis import file_order

TENSORS = pd.DataFrame(
    {
        "tensor": [0, 1, 2, 3, 4],
        "file": 0,
        "offset": [100, 164, 228, 324, 356],
        "size_bytes": [64, 40, 96, 32, 8],
        "component": ["output", "ffn_up", "attention_q", "embedding", "ffn_up"],
        "layer": pd.array([None, 1, 0, None, 1], dtype="Int32"),
    }
)


def touched(*rows: tuple[int, int, int]) -> pd.DataFrame:
    """Accesses (tensor, begin, end), in bytes of the tensor."""
    table = pd.DataFrame(rows, columns=["tensor", "begin", "end"])
    offset = table["tensor"].map(TENSORS.set_index("tensor")["offset"])
    return table.assign(begin=table["begin"] + offset, end=table["end"] + offset, pass_id=0, node=0, file=0)


def names(order: file_order.Order, accesses: pd.DataFrame) -> list[int]:
    return file_order.arranged(TENSORS, order, accesses)["tensor"].tolist()


def test_each_order_by_hand() -> None:
    accesses = touched((4, 0, 8), (2, 0, 96), (4, 0, 8), (1, 0, 10), (2, 0, 48))
    assert names("layer", accesses) == [3, 2, 1, 4, 0] and names("first-touch", accesses) == [4, 2, 1, 0, 3]
    assert names("hot", accesses) == [4, 2, 1, 0, 3]  # 2, 1.5, 0.25, 0, 0 bytes a byte


def test_tensors_stay_in_their_file() -> None:
    two = TENSORS.assign(file=[0, 0, 0, 1, 1], offset=[100, 164, 228, 64, 96])
    assert file_order.arranged(two, "layer", touched())["tensor"].tolist() == [2, 1, 0, 3, 4]
    assert file_order.places(two).to_dict() == {0: 100, 1: 164, 2: 228, 3: 64, 4: 96}


@given(st.permutations(range(5)), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 7), st.integers(8, 8))))
def test_each_byte_moves_with_its_tensor(order: list[int], ranges: list[tuple[int, int, int]]) -> None:
    """A file written in the new order holds at the moved places the bytes that today's file holds at today's."""
    today = bytearray(400)
    for tensor in TENSORS.to_dict("records"):
        for n in range(tensor["size_bytes"]):
            today[tensor["offset"] + n] = (tensor["tensor"] * 50 + n) % 251 + 1
    rows = TENSORS.iloc[order]
    written = bytearray(100)
    for tensor in rows.to_dict("records"):
        content = today[tensor["offset"] : tensor["offset"] + tensor["size_bytes"]]
        written += content + bytes(-len(content) % 32)
    accesses = touched(*ranges)
    new = file_order.moved(accesses, TENSORS, file_order.places(rows))
    for before, after in zip(accesses.to_dict("records"), new.to_dict("records"), strict=True):
        assert today[before["begin"] : before["end"]] == written[after["begin"] : after["end"]]


# In another file with the same tensors


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
    same = file_order.pairs(RUN, OTHER)
    assert same["alike"].all()
    assert same.set_index("name")[["tensor_run", "tensor"]].to_dict("index") == {
        "a": {"tensor_run": 0, "tensor": 2},
        "b": {"tensor_run": 1, "tensor": 1},
        "c": {"tensor_run": 2, "tensor": 0},
    }
    draft = file_order.pairs(RUN, tensors((0, "b", 0, 32, 4), (1, "a", 0, 64, 4)))
    assert draft["alike"].all() and set(draft["tensor_run"]) == {3, 4}


def test_a_tensor_of_another_shape_or_type_does_not_match() -> None:
    assert not file_order.pairs(RUN, OTHER.assign(ne0=1, ne1=OTHER["ne0"])).set_index("name")["alike"].any()
    assert not file_order.pairs(RUN, OTHER.assign(dtype="I32"))["alike"].any()
    assert file_order.pairs(RUN, OTHER.iloc[:2]).set_index("name")["alike"].to_dict() == {
        "a": False,
        "b": True,
        "c": True,
    }
    assert not file_order.pairs({name: table.iloc[:0] for name, table in RUN.items()}, OTHER)["alike"].any()


def test_accesses_move_with_their_tensors_into_one_file() -> None:
    same = file_order.pairs(RUN, OTHER)
    accesses = pd.DataFrame(
        [(0, 0, 100, 140), (1, 1, 1074, 1084), (2, 1, 1160, 1168), (3, 2, 3064, 3068), (None, 0, 1, 2)],
        columns=["tensor", "file", "begin", "end"],
    ).astype({"tensor": "Int32"})
    moved = file_order.placed(RUN, accesses, same, pd.Series({0: 32, 1: 64, 2: 160}))
    assert moved[["tensor", "file", "begin", "end"]].to_numpy().tolist() == [
        [2, 0, 160, 200],
        [1, 0, 74, 84],
        [0, 0, 32, 40],
    ]
