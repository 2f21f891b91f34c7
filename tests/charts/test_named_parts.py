"""In the picture of the first page, what a part of a bar is stands at that part, and only where there is room."""

import pandas as pd

from tracegen.charts.file_tokens import _named

BARS = pd.DataFrame(
    [
        ("router 2 %", 100.0, 104.0, 40.0),  # too narrow for its words
        ("attention 23 %", 104.0, 260.0, 40.0),
        ("waiting for the disk 1 %", 260.0, 262.0, 40.0),
        ("experts 44 %", 262.0, 520.0, 60.0),
    ],
    columns=["short", "left", "right", "bottom"],
)


def test_a_name_stands_at_the_part_that_it_names() -> None:
    named = _named(BARS)
    assert named[["text", "left", "top"]].to_numpy().tolist() == [
        ["attention 23 %", 104.0, 50.0],
        ["experts 44 %", 262.0, 70.0],
    ]
