"""Other orders of tensors in a file: by hand, and the accesses that move with them, byte by byte."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tracegen.analysis import file_order

TENSORS = pd.DataFrame(
    {
        "tensor": [0, 1, 2, 3, 4], "file": 0, "offset": [100, 164, 228, 324, 356], "size_bytes": [64, 40, 96, 32, 8],
        "component": ["output", "ffn_up", "attention_q", "embedding", "ffn_up"],
        "layer": pd.array([None, 1, 0, None, 1], dtype="Int32")}
)  # fmt: skip


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


def test_today_s_order_is_where_tensors_are_today() -> None:
    same = file_order.places(TENSORS)
    assert same.tolist() == TENSORS["offset"].tolist()


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
